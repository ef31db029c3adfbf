"""Csv and tsv files → Arrow tables of texts in the cache of `datasets`, or rows of a stream."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

import pyarrow as pa
from datasets import ArrowBasedBuilder, BuilderConfig, Dataset, DatasetInfo, Features, IterableDataset, SplitGenerator
from datasets.builder import Key

BATCH = 1000  # rows of a table: a fraction of the time that one row after the other takes

Records = Iterator[tuple[int, list[str]]]


def load_csv(readers: Iterable[Any], features: Features, cache_id: str | None) -> Dataset | IterableDataset:
    """Returns the rows of csv files with the same columns, in the cache under `cache_id`, or as a stream without one.

    An empty cell, or one that a row lacks, is None. Each reader, which can be pickled, returns the header and the rows
    of a file with their lines.
    """
    if cache_id is None:
        return IterableDataset.from_generator(_rows, features, gen_kwargs={"readers": list(readers)})
    builder = _Csv(config_id=cache_id, features=features, readers=list(readers))
    builder.download_and_prepare()
    return builder.as_dataset(split="train")


@dataclass
class _CsvConfig(BuilderConfig):
    features: Features | None = None
    readers: Any = None


class _Csv(ArrowBasedBuilder):
    BUILDER_CONFIG_CLASS = _CsvConfig

    def _info(self) -> DatasetInfo:
        return DatasetInfo(features=self.config.features)

    def _split_generators(self, dl_manager: Any) -> list[SplitGenerator]:
        return [SplitGenerator("train")]

    def _generate_tables(self) -> Iterator[tuple[Key, pa.Table]]:
        features = self.info.features
        for number, reader in enumerate(self.config.readers):
            records: Records = reader()
            _, header = next(records, (1, []))
            for index, batch in enumerate(_batches(record for _, record in records)):
                columns = dict(zip_longest(header, zip_longest(*batch), fillvalue=(None,) * len(batch)))
                cells = {name: [cell or None for cell in columns[name]] for name in features}
                yield Key(number, index), pa.table(cells, schema=features.arrow_schema)


def _batches(records: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    while batch := list(islice(records, BATCH)):
        yield batch


def _rows(readers: list[Any]) -> Iterator[dict[str, str | None]]:
    for reader in readers:
        records: Records = reader()
        _, header = next(records, (1, []))
        for _, record in records:
            yield {name: cell or None for name, cell in zip_longest(header, record)}
