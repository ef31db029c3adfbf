"""Reads patents with claims, dates and CPC codes, and splits them by year. Source: Elementwise, section 4.1."""
# mypy: allow-untyped-calls

import datetime
from collections.abc import Sequence
from typing import Any

from datasets import Dataset

from vocabless.training.finetuning.task_files import find_columns, read_files
from vocabless.training.texts.text_format import UTF8, TextFormat

MAX_CLAIMS = 20
TRAIN_YEARS, TEST_YEARS = "2006-2014", "2015"
CLAIM_COLUMNS = ("claims", "claim", "text")
CODE_COLUMNS = ("cpc_codes", "cpc", "codes", "subclass")
DATE_COLUMNS = ("date", "publication_date", "grant_date", "year")
PATENT_COLUMNS = ("document", "patent", "publication_number")  # of files with one claim in a row
NUMBER_COLUMNS = ("claim_number", "number")
TEXT, LABELS = "text", "labels"  # the columns of the tables that are returned


def read_patents(
    files: Sequence[str],
    train_years: str,
    test_years: str,
    text_column: str | None = None,
    label_column: Sequence[str] | None = None,
    text_format: TextFormat = UTF8,
) -> dict[str, Dataset]:
    """Returns the patents of all splits, with the columns `text` (first 20 claims, joined) and `labels` (codes).

    With dates, the splits are `train`, `validation` and `validation_b`: the patents of the test years in the order of
    their dates, in two halves. The paper has two such splits, and does not say how it made them. Without dates, all
    patents are in `train`.

    Args:
        files: parquet, jsonl or json files. A row is a patent, with a list of claims or one text, or a claim; then the
            rows of a patent have the same value in the column `document`, and their order is that of `claim_number`.
        train_years: first and last year, such as 2006-2014.
        test_years: the same, or a single year.
        text_column: column of the claims; None searches `CLAIM_COLUMNS`.
        label_column: column of the codes; None searches `CODE_COLUMNS`.
        text_format: encoding of the files.

    Raises:
        ValueError: a column is missing, a patent has no claim, code or date, or a split has no patent.
    """
    table = read_files(files, text_format)
    where = files[0]
    (claims,) = find_columns(table, where, [text_column] if text_column else (), CLAIM_COLUMNS, "--text_column")
    (codes,) = find_columns(table, where, list(label_column or ())[:1], CODE_COLUMNS, "--label_column")
    dates = next((name for name in DATE_COLUMNS if name in table.column_names), None)
    patents = [
        {
            TEXT: _join(rows[0][claims] if len(rows) == 1 else [row[claims] for row in rows], where, rows),
            LABELS: _codes(rows[0][codes], where),
            "date": None if dates is None else _date(rows[0][dates], dates, where),
        }
        for rows in _by_patent(table, {claims, codes, *([dates] if dates else [])})
    ]
    if dates is None:
        return {"train": _table(patents)}
    return _split_by_year(patents, _years(train_years), _years(test_years), where)


def _by_patent(table: Dataset, columns: set[str]) -> list[list[dict[str, Any]]]:
    """Returns the rows of each patent, in the order of their numbers."""
    patent = next((name for name in PATENT_COLUMNS if name in table.column_names), None)
    number = next((name for name in NUMBER_COLUMNS if name in table.column_names), None)
    kept = sorted(columns | {name for name in (patent, number) if name})
    patents: dict[Any, list[dict[str, Any]]] = {}
    for index, row in enumerate(table.select_columns(kept)):
        patents.setdefault(index if patent is None else row[patent], []).append(dict(row))
    if number is not None:
        for rows in patents.values():
            rows.sort(key=lambda row: int(row[number]))
    return list(patents.values())


def _join(claims: Any, where: str, rows: Sequence[Any]) -> str:
    texts = [claims] if isinstance(claims, str) else list(claims or ())
    text = " ".join(claim.strip() for claim in texts[:MAX_CLAIMS] if claim)
    if not text:
        raise ValueError(f"a patent of {where} has no claim (its first row: {str(rows[0])[:80]}); drop it.")
    return text


def _codes(value: Any, where: str) -> list[str]:
    codes = [value] if isinstance(value, str) else [str(code) for code in value or ()]
    if not codes or not all(codes):
        raise ValueError(f"a patent of {where} has the codes {value!r}; drop it, or give it a CPC code.")
    return codes


def _date(value: Any, column: str, where: str) -> str:
    """Returns a date as digits that sort, beginning with the year: of a date, 20150331, "2015-03-31" or 2015."""
    is_date = isinstance(value, datetime.date)
    digits = value.strftime("%Y%m%d") if is_date else "".join(filter(str.isdigit, str(value)))
    if not 4 <= len(digits) or not 1790 <= int(digits[:4]) <= 2200:
        raise ValueError(
            f"{value!r} in the column {column!r} of {where} is no date; write 2015-03-31, 20150331 or 2015."
        )
    return digits


def _years(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError as error:
        raise ValueError(f"{text!r} is no range of years; write 2006-2014 or 2015.") from error


def _split_by_year(patents: list[dict[str, Any]], train: range, test: range, where: str) -> dict[str, Dataset]:
    by_date = sorted(patents, key=lambda patent: str(patent["date"]))
    chosen = {
        name: [patent for patent in by_date if int(patent["date"][:4]) in years]
        for name, years in (("train", train), ("test", test))
    }
    half = -(-len(chosen["test"]) // 2)
    splits = {
        "train": chosen["train"], "validation": chosen["test"][:half], "validation_b": chosen["test"][half:],
    }  # fmt: skip
    empty = [name for name, part in splits.items() if not part]
    if empty:
        found = f"{by_date[0]['date'][:4]} to {by_date[-1]['date'][:4]}"
        raise ValueError(
            f"{where} has patents of {found} and too few for the split {empty[0]}; give other --train_years or "
            "--test_years."
        )
    return {name: _table(part) for name, part in splits.items()}


def _table(patents: Sequence[dict[str, Any]]) -> Dataset:
    return Dataset.from_dict({column: [patent[column] for patent in patents] for column in (TEXT, LABELS)})
