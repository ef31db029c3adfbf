r"""Makes a data set with labels of patents: claims and CPC codes, as parquet. Source: Elementwise, section 4.1.

    python -m papers patents us-*.jsonl --codes cpc.txt --output_dir patents
    vocabless finetune --recipe elementwise-patents --train_file patents/train.parquet \
        --validation_file patents/validation.parquet --test_file patents/test.parquet

A line of a file is a patent: `claims`, a list of texts, or one text with the number of each claim at the beginning of a
line; `cpc`, a list of codes of the Cooperative Patent Classification in their order, such as "A01N 53/12"; and
`publication_date`, a number such as 20150331. patents.sql, beside this file, is a query for such lines. A label is the
subclass of a code, A01N. The first code is the main subject, and the labels tell it from the others: `First-X` for the
first code, `Later-X` for each code after it. The text is the first 20 claims, joined.
The column of the labels declares all of them, so that a run knows those that training never saw. The files are read
twice, first their codes and then their texts, because two million patents do not fit in memory.
"""

import json
import re
import statistics
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

import datasets
from pyarrow import Table
from pyarrow.parquet import ParquetWriter

from benchmarks.measure import aligned_table
from papers.table import format_figure
from vocabless.texts.tables import load_table

MAX_CLAIMS = 20
TRAIN_YEARS, TEST_YEAR = range(2006, 2015), 2015
SUBCLASS = 4  # characters of a code
POSITIONS = ("First", "Later")
MAJOR_SHARE = 0.9
ROWS_AT_ONCE = 2_000  # that are written together
_NUMBERED = re.compile(r"^[^\S\n]*(\d{1,9})\s*\.(?!\d)", re.MULTILINE)  # the beginning of a claim
# The last two are 2015 A and B of the paper, which does not say how it made them; their sizes fit half-years.
TRAIN, TEST_A, TEST_B = "train.parquet", "validation.parquet", "test.parquet"
# Table 1: samples, SD and SD major of the training patents, 2015 A and 2015 B; docs/papers.md doubts 14.5k and 15.4k.
PRINTED = {
    "Original": "1.9M 21k 35.4k 14.5k 1.8k 3k 15.4k 1.9k 3.2k",
    "Relabeled": "1.9M 12.6k 21k 14.5k 1.1k 1.9k 15.4k 1.2k 2k",
}


class Patent(NamedTuple):
    """The text of a patent and its subclasses in their order."""

    text: str
    codes: list[str]


Splits = Mapping[str, Sequence[Sequence[str]]]  # name of a file → the codes of its patents


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers patents`."""
    parser.add_argument("patents", metavar="FILE", nargs="+", help="jsonl files of patents")
    parser.add_argument("--output_dir", default="patents", help="new folder for the data (default: patents)")
    parser.add_argument("--codes", metavar="FILE", help="all subclasses, one in a line; None takes those that occur")


def run(arguments: Namespace) -> str:
    """Writes the splits; returns Table 1 of these patents and the files.

    Raises:
        ValueError: see `read_patents`, `read_codes` and `known_codes`; or the folder holds other data.
    """
    folder = Path(arguments.output_dir)
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"the folder {str(folder)!r} holds files; give a new or an empty one.")
    splits = read_codes(arguments.patents)
    codes = known_codes(splits, arguments.codes)
    folder.mkdir(parents=True, exist_ok=True)
    write_patents(read_patents(arguments.patents), codes, folder)
    written = f"{len(codes)} codes, {2 * len(codes):,} labels; the paper has 664 codes. The data are in {folder}."
    return "\n".join(["Elementwise, Table 1", "", deviations_table(splits, codes), "", written])


def read_patents(files: Iterable[str]) -> Iterator[tuple[str, Patent]]:
    """Yields the patents of the three splits, each with the name of its file; those of other years are left out.

    Raises:
        ValueError: a line is no patent as described above.
    """
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = json.loads(line)
                    claims = claims_of(row["claims"]) if isinstance(row["claims"], str) else row["claims"]
                    text = " ".join(claim.strip() for claim in claims[:MAX_CLAIMS])
                    codes = [subclass(code) for code in row["cpc"]]
                    date = int(row["publication_date"])  # BigQuery writes whole numbers as strings
                    year, month = date // 10_000, date // 100 % 100
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise ValueError(
                        f"line {number} of {file} is no patent with claims, cpc and publication_date ({error!r}); "
                        "correct it."
                    ) from error
                if not text or not codes:
                    raise ValueError(f"the patent in line {number} of {file} has no claim or no CPC code; drop it.")
                name = TRAIN if year in TRAIN_YEARS else TEST_A if month <= 6 else TEST_B
                if name == TRAIN or year == TEST_YEAR:
                    yield name, Patent(text, codes)


def read_codes(files: Iterable[str]) -> Splits:
    """Returns the codes of the patents of the three splits. Raises ValueError if a split has none."""
    splits: dict[str, list[list[str]]] = {TRAIN: [], TEST_A: [], TEST_B: []}
    for name, patent in read_patents(files):
        splits[name].append([sys.intern(code) for code in patent.codes])
    if empty := [name for name, patents in splits.items() if not patents]:
        raise ValueError(
            f"no patent is for {', '.join(empty)}; give patents of 2006 to 2014 and of both halves of 2015."
        )
    return splits


def write_patents(patents: Iterable[tuple[str, Patent]], codes: Sequence[str], folder: Path) -> None:
    """Writes the texts and labels of patents into the files of the three splits; `codes` are all codes."""
    names = position_names(codes)
    place = {name: index for index, name in enumerate(names)}
    labels = datasets.Sequence(datasets.ClassLabel(names=names))
    schema = datasets.Features(text=datasets.Value("string"), labels=labels).arrow_schema
    with ExitStack() as stack:
        files = {name: stack.enter_context(ParquetWriter(folder / name, schema)) for name in (TRAIN, TEST_A, TEST_B)}
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in files}
        for name, patent in patents:
            indices = [place[label] for label in label_positions(patent.codes)]
            rows[name].append({"text": patent.text, "labels": indices})
            if len(rows[name]) == ROWS_AT_ONCE:
                files[name].write_table(Table.from_pylist(rows[name], schema))
                rows[name] = []
        for name, file in files.items():
            file.write_table(Table.from_pylist(rows[name], schema))


def claims_of(text: str) -> list[str]:
    r"""Returns the claims of a text: each begins a line with the next number, 1 to `MAX_CLAIMS` + 1.

    What stands before claim 1 is left out. A text without numbers is one claim.

    >>> claims_of("What is claimed is: \n 1. A plough. \n 2 . The plough of claim 1,\n having 2. 5 wheels.")
    ['1. A plough.', '2 . The plough of claim 1, having 2. 5 wheels.']
    """
    starts: list[int] = []
    for found in _NUMBERED.finditer(text):
        if int(found[1]) == len(starts) + 1 <= MAX_CLAIMS + 1:
            starts.append(found.start())
    starts = starts or [0]
    parts = [text[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)]
    return [" ".join(part.split()) for part in parts if part.strip()]


def write_claims(file: str, folder: Path) -> None:
    """Writes the splits of a file of claims, see `read_claims`; their labels are those that occur.

    Raises:
        ValueError: see `read_claims`.
    """
    claims = [*read_claims(file)]
    folder.mkdir(parents=True, exist_ok=True)
    write_patents(claims, sorted({code for _, claim in claims for code in claim.codes}), folder)


def read_claims(file: str) -> Iterator[tuple[str, Patent]]:
    """Yields the claims of a parquet file with the columns `text`, `subclass` and `document`, as `read_patents` does.

    Each is a text of its own. Its codes are the section and the class of its patent, A and A01. All claims of a patent,
    a document, are in the same split: of ten patents, eight are trained on.

    Raises:
        ValueError: the file cannot be read, or lacks a column.
    """
    table = load_table(file, "--claims", ("text", "subclass", "document"))
    for text, code, document in zip(table["text"], table["subclass"], table["document"], strict=True):
        yield {8: TEST_A, 9: TEST_B}.get(int(document) % 10, TRAIN), Patent(text, [code[:1], code[:3]])


def known_codes(splits: Splits, file: str | None) -> list[str]:
    """Returns the subclasses of a file, one in a line, or those that occur in any split, sorted.

    Raises:
        ValueError: a patent has a code that the file lacks.
    """
    occurring = {code for patents in splits.values() for own in patents for code in own}
    if file is None:
        return sorted(occurring)
    known = list(dict.fromkeys(Path(file).read_text(encoding="utf-8").split()))
    if missing := sorted(occurring.difference(known)):
        raise ValueError(f"{file} lacks the codes {', '.join(missing[:5])}; add them, or leave the file out.")
    return known


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


def subclass(code: str) -> str:
    """Returns the subclass of a code.

    Raises:
        ValueError: the code is shorter.

    >>> subclass("A01N 53/12")
    'A01N'
    """
    short = code.strip()[:SUBCLASS]
    if len(short) < SUBCLASS:
        raise ValueError(f"the code {code!r} is too short for a subclass, which has {SUBCLASS} characters.")
    return short


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
    labellings: dict[str, tuple[Callable[[Sequence[str]], Iterable[str]], Sequence[str]]] = {
        "Original": (set, codes),
        "Relabeled": (label_positions, position_names(codes)),
    }
    for labelling, (labels_of, names) in labellings.items():
        counts = {part: Counter(chain.from_iterable(map(labels_of, own))) for part, own in parts.items()}
        kept = (names, _major_labels(next(iter(counts.values()))))
        table[labelling] = {
            part: Deviations(*(statistics.pstdev([count[name] for name in labels]) for labels in kept))
            for part, count in counts.items()
        }
    return table


def deviations_table(splits: Splits, codes: Sequence[str]) -> str:
    """Returns Table 1: patents and deviations of the labels' frequencies, ours below the paper's."""
    deviations = label_deviations(splits, codes)
    parts = ("train", "2015 A", "2015 B")
    rows = [["labelling", *(f"{part} {name}" for part in parts for name in ("samples", "SD", "SD major"))]]
    for labelling, row in deviations.items():
        cells = ((f"{len(splits[part]):,}", *map(format_figure, row[part])) for part in splits)
        rows.append([f"{labelling}, paper", *PRINTED[labelling].split()])
        rows.append([labelling, *(cell for each in cells for cell in each)])
    return aligned_table(rows, 1)


def _major_labels(counts: Counter[str]) -> list[str]:
    """Returns the most frequent labels that make up more than `MAJOR_SHARE` of all labels; at least one."""
    names, numbers = zip(*counts.most_common(), strict=True)
    less = sum(covered <= MAJOR_SHARE * counts.total() for covered in accumulate(numbers))
    return list(names[: less + 1])
