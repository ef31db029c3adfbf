"""The rows of jsonl and json files, as Python reads them: what `datasets` would misread is named."""

import json
from collections.abc import Iterator, Sequence
from typing import IO, Any

from datasets import Features, Json, LargeList, List, Value

from vocabless.texts.csv_records import MisreadError

Path = tuple[str | int, ...]  # of a value in a row: the column and the names within it; 0 is each element of a list


def check_json(stream: IO[str], file: str, lists_only: bool = False) -> None:
    """Raises MisreadError for the first line that is not a JSON object, or for a list that is not JSON."""
    is_list = stream.read(1 << 10).lstrip().startswith("[")
    stream.seek(0)
    if lists_only and not is_list:
        return
    for number, text in [(1, stream.read())] if is_list else enumerate(map(str.strip, stream), 1):
        line = f"line {number} of {file!r}"
        try:
            value = json.loads(text or "{}")
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:  # `datasets` would drop it from a list without a word
            half = f"half of a surrogate pair, {error.object[: error.end][-20:]!r}"
            raise MisreadError(f"the JSON from {line} has {half}; replace it.") from error
        except json.JSONDecodeError as error:
            remedy = "drop the commas at the ends of lines" if text.endswith("},") else "check that it is complete"
            line = f"line {number + error.lineno - 1} of {file!r}"
            raise MisreadError(f"{line} is no whole JSON ({error.msg}); {remedy}.") from error
        if not is_list and not isinstance(value, dict):
            raise MisreadError(f'{line} is no object such as {{"text": "…"}}; make it one.')


def mixed_values(features: Features) -> list[Path]:
    """Returns where a table holds values of several types: there, `datasets` reads a text as JSON if it can.

    >>> from datasets import List, Value
    >>> mixed_values(Features({"text": Value("string"), "label": Json(), "tags": List(Json())}))
    [('label',), ('tags', 0)]
    """
    return [path for column, feature in features.items() for path in _mixed(feature, (column,))]


def _mixed(feature: Any, path: Path) -> list[Path]:
    if isinstance(feature, Json):
        return [path]
    inner = feature.items() if isinstance(feature, dict) else [(0, getattr(feature, "feature", None))]
    return [found for name, part in inner if part is not None for found in _mixed(part, (*path, name))]


def with_times_as(feature: Any, form: Any) -> Any:
    """Returns a feature in which the times are another one. JSON has no times: `datasets` makes them of texts.

    >>> with_times_as(Features({"day": Value("timestamp[s]"), "number": Value("int64")}), Value("string"))
    {'day': Value('string'), 'number': Value('int64')}
    """
    if isinstance(feature, dict):
        return type(feature)({name: with_times_as(part, form) for name, part in feature.items()})
    if isinstance(feature, List | LargeList):
        return type(feature)(with_times_as(feature.feature, form))
    return form if isinstance(feature, Value) and feature.dtype.startswith("timestamp") else feature


def check_mixed(stream: IO[str], file: str, paths: Sequence[Path]) -> None:
    """Raises MisreadError for the first row with a text, at one of the paths, that would be read as another value."""
    is_list = stream.read(1 << 10).lstrip().startswith("[")
    stream.seek(0)
    rows = json.load(stream) if is_list else map(json.loads, filter(str.strip, stream))
    for number, row in enumerate(rows, 1):
        for path in paths:
            text = next((text for text in _texts(row, path) if _is_misread(text)), None)
            if text is not None:
                raise MisreadError(
                    f"row {number} of {file!r} has the text {text!r} in {path[0]!r}, but other types elsewhere, and "
                    "would be read as one of them; write all of them as texts, or none."
                )


def _texts(value: Any, path: Path) -> Iterator[str]:
    """Yields the texts at a path of a row."""
    if not path:
        if isinstance(value, str):
            yield value
        return
    parts = value if isinstance(value, list) else [value.get(path[0])] if isinstance(value, dict) else []
    for part in parts:
        yield from _texts(part, path[1:])


def _is_misread(text: str) -> bool:
    feature = Json()
    return bool(feature.decode_example(feature.encode_example(text)) != text)
