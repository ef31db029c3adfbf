"""Rows of any file → an Arrow table in the cache of `datasets`, or a stream; each value stays as it is written."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
from datasets import ArrowBasedBuilder, BuilderConfig, DatasetInfo, Features, IterableDataset, Json, SplitGenerator
from datasets.builder import Key

from vocabless.texts.csv_records import FIRST_ROWS, MisreadError

BATCH = 1000  # rows of a table: a fraction of the time that one row after the other takes

Row = dict[str, Any]
Reader = Callable[[], Iterator[Row]]  # of the rows of a file; it can be pickled


def load_rows(readers: Sequence[Reader], cache_id: str | None, features: Features | None = None) -> Any:
    """Returns the rows of files, in the cache under `cache_id`, or as a stream without one.

    A value that a row lacks is None. Without `features`, they are those of the values; those of a stream are of its
    first rows.
    """
    if cache_id is None:
        features = features or features_of(row for reader in readers for row in islice(reader(), FIRST_ROWS))
        kwargs = {"readers": list(readers), "features": features}
        return IterableDataset.from_generator(_rows, features, gen_kwargs=kwargs)
    builder = _Rows(config_id=cache_id, features=features, readers=list(readers))
    builder.download_and_prepare()
    return builder.as_dataset(split="train")


def features_of(rows: Iterable[Row]) -> Features:
    """Returns what the columns of rows hold. A column with values of several types is one of JSON.

    >>> features = features_of([{"text": "a", "label": 7}, {"text": "2024-01-01", "label": "007"}])
    >>> [type(features[name]).__name__ for name in ("text", "label")]
    ['Value', 'Json']
    """
    types: dict[str, pa.DataType | None] = {}
    for batch in _batches(iter(rows)):
        for name in dict.fromkeys(name for row in batch for name in row):
            known, found = types.get(name, pa.null()), _type_of(name, [row.get(name) for row in batch])
            types[name] = None if known is None or found is None else _common_type(known, found)
    return Features({
        name: Json() if kind is None else Features.from_arrow_schema(pa.schema({name: kind}))[name]
        for name, kind in types.items()
    })  # fmt: skip


def _type_of(name: str, values: list[Any]) -> pa.DataType | None:
    """Returns the type of values, None if they have several."""
    try:
        return pa.array(values).type
    except OverflowError as error:
        raise MisreadError(f"the column {name!r} has a number above 64 bits; write such numbers as texts.") from error
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None


def _common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Returns the type that has the values of both, None without one."""
    try:
        schemas = [pa.schema({"": kind}) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


@dataclass
class _RowsConfig(BuilderConfig):
    features: Features | None = None
    readers: Any = None


class _Rows(ArrowBasedBuilder):
    BUILDER_CONFIG_CLASS = _RowsConfig

    def _info(self) -> DatasetInfo:
        return DatasetInfo(features=self.config.features)

    def _split_generators(self, dl_manager: Any) -> list[SplitGenerator]:
        if self.info.features is None:
            self.info.features = features_of(row for reader in self.config.readers for row in reader())
        return [SplitGenerator("train")]

    def _generate_tables(self) -> Iterator[tuple[Key, pa.Table]]:
        features = self.info.features
        for number, reader in enumerate(self.config.readers):
            for index, batch in enumerate(_batches(reader())):
                columns = {
                    name: [_stored(row.get(name), feature) for row in batch] for name, feature in features.items()
                }
                yield Key(number, index), pa.table(columns, schema=features.arrow_schema)


def _rows(readers: list[Reader], features: Mapping[str, Any]) -> Iterator[Row]:
    for reader in readers:
        for row in reader():
            yield {name: _stored(row.get(name), feature) for name, feature in features.items()}


def _stored(value: Any, feature: Any) -> Any:
    """Returns a value as a feature stores it. `datasets` would read a text in a JSON column as JSON if it can."""
    return value if value is None or not isinstance(feature, Json) else json.dumps(value, ensure_ascii=False)


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, BATCH)):
        yield batch
