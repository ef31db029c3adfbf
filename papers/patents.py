r"""Makes a data set with labels of patents: claims, dates and CPC codes. Source: Elementwise, section 4.1.

    python -m papers patents us-*.parquet --codes cpc.txt --output_dir patents
    python run_glue.py --recipe elementwise-patents --train_file patents/train.jsonl --do_predict \
        --validation_file patents/validation.jsonl --test_file patents/test.jsonl --label_names patents/label_names.txt

A patent has a list of codes of the Cooperative Patent Classification (CPC), such as "A01N 53/12". A label is the
beginning of a code. The first code is the main subject, and the labels tell it from the others: `First-X` for the first
code, `Later-X` for each code after it. The text is the first 20 claims, joined.

Files are parquet, jsonl or json. A row is a patent, with a list of claims or one text; or it is a claim, and then the
rows of a patent have the same value in a column for `patent`, see `COLUMNS`, and their order is that of `claim_number`.
"""

import datetime
import json
import statistics
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

from datasets import load_dataset
from datasets.exceptions import DatasetGenerationError

from benchmarks.measure import aligned_table
from papers.table import format_figure

MAX_CLAIMS = 20
TRAIN_YEARS, TEST_YEARS = "2006-2014", "2015"
# What a patent has → the names of its column that are found. `patent` and `number`: of files with one claim in a row.
COLUMNS = {
    "claims": ("claims", "claim", "text"),
    "codes": ("cpc_codes", "cpc", "codes", "subclass"),
    "date": ("date", "publication_date", "grant_date", "year"),
    "patent": ("document", "patent", "publication_number"),
    "number": ("claim_number", "number"),
}
NEEDED = ("claims", "codes")
LEVELS = {"section": 1, "class": 3, "subclass": 4}  # characters of a code: A, A01, A01N
POSITIONS = ("First", "Later")
MAJOR_SHARE = 0.9
YEAR_AND_MONTH = 6  # digits of a date that names a month
TRAIN, TEST_A, TEST_B = "train", "validation", "test"  # names of the files; the last two are 2015 A and B of the paper
LABEL_NAMES = "label_names.txt"


class Patent(NamedTuple):
    """The text of a patent, its codes in their order, and its date as digits that begin with the year ("": none)."""

    text: str
    codes: list[str]
    date: str


Row = dict[str, Any]
Labellings = dict[str, tuple[Callable[[Sequence[str]], Iterable[str]], Sequence[str]]]  # labels of codes; all labels
Splits = dict[str, list[Patent]]


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers patents`."""
    parser.add_argument("patents", metavar="FILE", nargs="+", help="parquet, jsonl or json files of patents")
    parser.add_argument("--output_dir", default="patents", help="new folder for the data (default: patents)")
    add_choices(parser)


def add_choices(parser: ArgumentParser) -> None:
    """Declares the arguments that say how patents are read."""
    parser.add_argument("--codes", metavar="FILE", help="all CPC codes, one in a line; None takes those that occur")
    parser.add_argument("--cpc_level", default="subclass", choices=LEVELS, help="codes are shortened to it")
    parser.add_argument("--train_years", default=TRAIN_YEARS, help=f"of the training patents (default: {TRAIN_YEARS})")
    parser.add_argument("--test_years", default=TEST_YEARS, help=f"of the evaluated patents (default: {TEST_YEARS})")


def run(arguments: Namespace) -> str:
    """Writes the splits and the names of the labels; returns Table 1 of these patents and the files.

    Raises:
        ValueError: see `read_patents`; or the folder holds other data.
    """
    folder = Path(arguments.output_dir)
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"the folder {str(folder)!r} holds files; give a new or an empty one.")
    splits = read_patents(arguments)
    codes = known_codes(splits, arguments.codes)
    folder.mkdir(parents=True, exist_ok=True)
    for name, patents in splits.items():
        rows = ({"text": patent.text, "labels": label_positions(patent.codes)} for patent in patents)
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / LABEL_NAMES).write_text("\n".join(position_names(codes)) + "\n", encoding="utf-8")
    files = ", ".join([*(f"{name}.jsonl" for name in splits), LABEL_NAMES])
    return f"{deviations_table(splits, codes)}\n\n{describe(splits, codes)} The data are in {folder}: {files}."


def read_patents(arguments: Namespace) -> Splits:
    """Returns the patents of all splits, with shortened codes.

    With dates, the splits are `train`, and `validation` and `test`: the patents of the test years in the order of their
    dates, cut at the middle of the time. The paper has two such splits, A and B, and does not say how it made them;
    their sizes, 14.5k and 15.4k, fit half-years. Where dates are years alone, both have as many patents. Without dates,
    all patents are in `train`.

    Raises:
        ValueError: a file cannot be read, a column is missing, a patent has no claim, code or date, a code is too
            short, or a split has no patent.
    """
    table, where = _read(arguments.patents), arguments.patents[0]
    columns = {kind: next((n for n in names if n in table.column_names), None) for kind, names in COLUMNS.items()}
    for kind in NEEDED:
        if columns[kind] is None:
            found = ", ".join(table.column_names)
            raise ValueError(f"{where} has no column {' or '.join(COLUMNS[kind])}; its columns are {found}.")
    by_patent: dict[Any, list[Row]] = {}
    for index, row in enumerate(table):
        named = {kind: row[name] for kind, name in columns.items() if name is not None}
        by_patent.setdefault(named.get("patent", index), []).append(named)
    patents = [_patent(rows, arguments.cpc_level, where) for rows in by_patent.values()]
    if columns["date"] is None:
        return {TRAIN: patents}
    return _split_by_year(patents, _years(arguments.train_years), _years(arguments.test_years), where)


def known_codes(splits: Splits, file: str | None) -> list[str]:
    """Returns the codes of a file, one in a line, or those that occur in any split, sorted.

    Raises:
        ValueError: a patent has a code that the file lacks.
    """
    occurring = {code for patents in splits.values() for patent in patents for code in patent.codes}
    if file is None:
        return sorted(occurring)
    known = list(dict.fromkeys(Path(file).read_text(encoding="utf-8").split()))
    if missing := sorted(occurring.difference(known)):
        raise ValueError(f"{file} lacks the codes {', '.join(missing[:5])}; add them, or leave the file out.")
    return known


def describe(splits: Splits, codes: Sequence[str]) -> str:
    """Returns a sentence with the numbers of patents, codes and labels."""
    sizes = ", ".join(f"{len(patents):,} in {name}" for name, patents in splits.items())
    return f"Patents: {sizes}; {len(codes)} codes, {2 * len(codes):,} labels."


def label_positions(codes: Sequence[str]) -> list[str]:
    """Returns the position labels of a patent's codes: `First-` before the first code, `Later-` before the others.

    A code that occurs again after the first place is `Later-`, too. Each label is returned once.

    Example:
        The paper's own two patents, which have the same set of codes:

        >>> label_positions(["A01B", "G06Q", "A01B"])
        ['First-A01B', 'Later-G06Q', 'Later-A01B']
        >>> label_positions(["G06Q", "A01B"])
        ['First-G06Q', 'Later-A01B']
    """
    return list(dict.fromkeys(f"{POSITIONS[place > 0]}-{code}" for place, code in enumerate(codes)))


def shorten_codes(codes: Sequence[str], level: str) -> list[str]:
    """Returns the beginnings of codes, one for each, in their order.

    Args:
        codes: codes such as "A01N 53/12" or "A01N53/12".
        level: key of `LEVELS`.

    Raises:
        ValueError: a code that is shorter.

    >>> shorten_codes(["A01N 53/12", "G06Q10/02"], "subclass")
    ['A01N', 'G06Q']
    """
    length = LEVELS[level]
    short = [code.strip() for code in codes if len(code.strip()) < length]
    if short:
        raise ValueError(f"the code {short[0]!r} is too short for a {level}, which has {length} characters.")
    return [code.strip()[:length] for code in codes]


def position_names(codes: Sequence[str]) -> list[str]:
    """Returns the names of all position labels: First- and Later- for each code, in the order of the paper's example.

    >>> position_names(["A01B", "G06Q"])
    ['First-A01B', 'First-G06Q', 'Later-A01B', 'Later-G06Q']
    """
    return [f"{position}-{code}" for position in POSITIONS for code in codes]


class Deviations(NamedTuple):
    """Standard deviations of the frequencies of labels: one row of Table 1 for one part of the data."""

    all_labels: float  # over all labels, those that do not occur included
    major: float  # over the labels that make up more than 90 % of the labels of the training patents


def label_deviations(
    parts: Mapping[str, Sequence[Sequence[str]]], codes: Sequence[str]
) -> dict[str, dict[str, Deviations]]:
    """Returns labelling → part → deviations, as Table 1: `Original` labels and `Relabeled` ones.

    The deviation is that of the population. The paper does not say which one it is. `parts` has the codes of each
    patent, in their order; the first part is the training patents. `codes` are all codes.
    """
    table = {}
    labellings: Labellings = {"Original": (set, codes), "Relabeled": (label_positions, position_names(codes))}
    for labelling, (labels_of, names) in labellings.items():
        counts = {part: Counter(chain.from_iterable(map(labels_of, own))) for part, own in parts.items()}
        kept = (names, _major_labels(next(iter(counts.values()))))
        table[labelling] = {
            part: Deviations(*(statistics.pstdev([count[name] for name in labels]) for labels in kept))
            for part, count in counts.items()
        }
    return table


def deviations_table(splits: Splits, codes: Sequence[str], printed: Iterable[Sequence[str]] = ()) -> str:
    """Returns Table 1: patents, deviations of the labels' frequencies, and below them the rows `printed`."""
    deviations = label_deviations({name: [p.codes for p in patents] for name, patents in splits.items()}, codes)
    rows: list[Sequence[str]] = [
        ["labelling", *(f"{part} {name}" for part in splits for name in ("samples", "SD", "SD major"))]
    ]
    for labelling, row in deviations.items():
        cells = ((f"{len(splits[part]):,}", *map(format_figure, row[part])) for part in splits)
        rows.append([labelling, *(cell for each in cells for cell in each)])
    return aligned_table([*rows, *printed], 1)


def _major_labels(counts: Counter[str]) -> list[str]:
    """Returns the most frequent labels that make up more than `MAJOR_SHARE` of all labels; at least one."""
    names, numbers = zip(*counts.most_common(), strict=True)
    less = sum(covered <= MAJOR_SHARE * counts.total() for covered in accumulate(numbers))
    return list(names[: less + 1])


def _read(files: Sequence[str]) -> Any:
    kind = Path(files[0]).suffix.removeprefix(".").replace("jsonl", "json")
    missing = [file for file in files if not Path(file).is_file()]
    if missing or kind not in ("json", "parquet"):
        raise ValueError(f"the file {(missing or files)[0]!r} cannot be read; give parquet, jsonl or json files.")
    try:
        return load_dataset(kind, data_files=list(files), split="train")
    except DatasetGenerationError as error:
        raise ValueError(f"{files[0]} is damaged or no {kind} file ({error.__cause__}); correct it.") from error


def _patent(rows: list[Row], level: str, where: str) -> Patent:
    """Returns the patent of a row, or of rows with one claim each, whose values stand under the keys of `COLUMNS`."""
    if "number" in rows[0]:
        rows = sorted(rows, key=lambda row: int(row["number"]))
    first = rows[0]
    claims = first["claims"] if len(rows) == 1 else [row["claims"] for row in rows]
    texts, codes = ([value] if isinstance(value, str) else value or [] for value in (claims, first["codes"]))
    text = " ".join(claim.strip() for claim in texts[:MAX_CLAIMS] if claim)
    if not text or not codes or not all(codes):
        raise ValueError(
            f"a patent of {where} has no claim or no CPC code (its first row: {str(first)[:80]}); drop it."
        )
    return Patent(text, shorten_codes(codes, level), _date(first["date"], where) if "date" in first else "")


def _date(value: Any, where: str) -> str:
    """Returns a date as digits that sort, beginning with the year: of a date, 20150331, "2015-03-31" or 2015."""
    is_date = isinstance(value, datetime.date)
    digits = value.strftime("%Y%m%d") if is_date else "".join(filter(str.isdigit, str(value)))
    if not 4 <= len(digits) or not 1790 <= int(digits[:4]) <= 2200:
        raise ValueError(f"{value!r} in {where} is no date; write 2015-03-31, 20150331 or 2015.")
    return digits


def _years(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError as error:
        raise ValueError(f"{text!r} is no range of years; write 2006-2014 or 2015.") from error


def _split_by_year(patents: list[Patent], train: range, test: range, where: str) -> Splits:
    by_date = sorted(patents, key=lambda patent: patent.date)
    trained, tested = ([patent for patent in by_date if int(patent.date[:4]) in years] for years in (train, test))
    cut = -(-len(tested) // 2)
    if all(len(patent.date) >= YEAR_AND_MONTH for patent in tested):
        months = [12 * (int(patent.date[:4]) - test.start) + int(patent.date[4:6]) for patent in tested]
        cut = sum(month <= 6 * len(test) for month in months)
    splits = {TRAIN: trained, TEST_A: tested[:cut], TEST_B: tested[cut:]}
    empty = [name for name, part in splits.items() if not part]
    if empty:
        found = f"{by_date[0].date[:4]} to {by_date[-1].date[:4]}"
        raise ValueError(
            f"{where} has patents of {found} and too few for the split {empty[0]}; give other --train_years or "
            "--test_years."
        )
    return splits
