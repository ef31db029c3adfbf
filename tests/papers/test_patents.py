import json
import re
import statistics
from pathlib import Path

import datasets
import pytest

import run_glue
from papers import patents
from papers.__main__ import main
from papers.patents import (
    claims_of,
    known_codes,
    label_deviations,
    label_positions,
    read_codes,
    read_patents,
    write_patents,
)

CODES = ["A01B", "A01N", "C07D", "G06Q"]
DATES = [*(20060101 + 10_000 * year for year in range(9)), 20150101, 20150630, 20150701, 20151231, 20051231, 20160101]


@pytest.fixture
def file(tmp_path):
    """Patents with 25 claims each; G06Q comes first in 2015 alone."""
    rows = [
        {"claims": [f"{place}. A device of {date}. " for place in range(1, 26)], "publication_date": date,
         "cpc": ["G06Q 10/02" if date // 10_000 == 2015 else "A01B 1/00", "A01N53/12", "A01N 1/00"]}
        for date in DATES
    ]  # fmt: skip
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return str(tmp_path / "p.jsonl")


def test_the_first_20_claims_are_joined_and_2015_is_cut_into_half_years(file):
    read = list(read_patents([file]))
    assert known_codes(read_codes([file]), None) == ["A01B", "A01N", "G06Q"]
    dates: dict[str, list[int]] = {}
    for name, patent in read:
        dates.setdefault(name, []).append(int(patent.text.split()[-1][:-1]))
    assert dates == {"train.parquet": DATES[:9], "validation.parquet": DATES[9:11], "test.parquet": DATES[11:13]}
    _, first = read[0]
    assert first.text == " ".join(f"{place}. A device of 20060101." for place in range(1, 21))
    assert first.codes == ["A01B", "A01N", "A01N"]  # the paper: A01N 53/12 is A01N


def test_a_line_of_bigquery_is_the_same_patent(file, tmp_path):
    """It has one text with all claims, and a date that is a string."""
    rows = [json.loads(line) for line in Path(file).read_text().splitlines()]
    for row in rows:
        claims = "\n     \n         \n       ".join([" What is claimed is: ", *row["claims"]])
        row |= {"claims": claims, "publication_date": str(row["publication_date"])}
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert list(read_patents([str(tmp_path / "q.jsonl")])) == list(read_patents([file]))


def test_patents_are_written_in_parts_with_their_labels(file, tmp_path, monkeypatch):
    monkeypatch.setattr(patents, "ROWS_AT_ONCE", 4)
    read = list(read_patents([file]))
    write_patents(iter(read), CODES, tmp_path)
    for name in ("train.parquet", "validation.parquet", "test.parquet"):
        data = datasets.Dataset.from_parquet(str(tmp_path / name), cache_dir=str(tmp_path / "cache"))
        expected = [patent for part, patent in read if part == name]
        assert data["text"][:] == [patent.text for patent in expected]
        labels = data.features["labels"].feature
        assert [labels.int2str(own) for own in data["labels"]] == [label_positions(each.codes) for each in expected]
        assert labels.names[:2] == ["First-A01B", "First-A01N"] and len(labels.names) == 8


@pytest.mark.parametrize(("text", "claims"), [
    ("1. A.\n3. C.\n2. B 2.5.\n2.5 of it.\n  3 . D", ["1. A. 3. C.", "2. B 2.5. 2.5 of it.", "3 . D"]),
    ("I claim:\n1. A part, step\n1. of it.", ["1. A part, step 1. of it."]),
    ("The  design,\nas shown.", ["The design, as shown."]), (" \n", []),
])  # fmt: skip
def test_a_claim_begins_a_line_with_the_next_number(text, claims):
    assert claims_of(text) == claims


def test_the_query_gives_what_is_read():
    query = Path(patents.__file__).with_suffix(".sql").read_text(encoding="utf-8")
    assert {"claims", "cpc"} == {*re.findall(r" AS (\w+),?\n", query)} and "  publication_date,\n" in query
    first, last = map(int, re.search(r"publication_date BETWEEN (\d+) AND (\d+)", query).groups())
    assert (first, last) == (patents.TRAIN_YEARS[0] * 10_000 + 101, patents.TEST_YEAR * 10_000 + 1231)


def test_deviations_are_those_of_plain_python():
    parts = {"train": [["A", "B", "A"], ["A"], ["B", "A"], ["A", "C"]], "test": [["C"]]}
    table = label_deviations(parts, ["A", "B", "C", "D"])
    assert table["Original"]["train"].all_labels == pytest.approx(statistics.pstdev([4, 2, 1, 0]))
    # First-A 3, First-B 1, Later-A 2, Later-B 1, Later-C 1
    assert table["Relabeled"]["train"].all_labels == pytest.approx(statistics.pstdev([3, 1, 0, 0, 2, 1, 1, 0]))
    assert table["Original"]["test"].all_labels == pytest.approx(statistics.pstdev([0, 0, 1, 0]))
    assert table["Original"]["train"].major == pytest.approx(statistics.pstdev([4, 2, 1]))  # 6 of 7 are below 90 %


def test_a_run_on_the_data_knows_labels_that_training_never_saw(file, tmp_path, capsys):
    codes, data = tmp_path / "cpc.txt", tmp_path / "data"
    command = ["patents", file, "--codes", str(codes), "--output_dir", str(data)]
    codes.write_text("A01B A01N")
    with pytest.raises(SystemExit, match="lacks the codes G06Q; add them"):
        main(command)
    codes.write_text("\n".join(CODES))
    main(command)
    shown = capsys.readouterr().out
    assert "| Relabeled, paper | " in shown and "| Relabeled  " in shown and "4 codes, 8 labels" in shown
    with pytest.raises(SystemExit, match="holds files; give a new or an empty one"):
        main(command)
    flags = ["--model_name_or_path", "ewe-bert-tiny", "--max_seq_length", "16", "--do_predict", "--use_cpu", "true"]
    flags += ["--num_train_epochs", "1"]
    files = [
        word for split in ("train", "validation", "test") for word in (f"--{split}_file", f"{data}/{split}.parquet")
    ]
    run_glue.main([*flags, *files, "--output_dir", str(tmp_path / "run")])
    assert "with 8 labels (First-A01B, First-A01N, " in capsys.readouterr().out
    (seeds,) = json.loads((tmp_path / "run" / "results.json").read_text())["runs"].values()
    assert {"micro_f1", "micro_recall", "test_micro_precision"} <= set(seeds["42"]["measures"])


@pytest.mark.parametrize(("row", "message"), [
    ({}, "line 1 of .* is no patent with claims, cpc and publication_date"),
    ({"cpc": ["A01"]}, "'A01' is too short for a subclass"),
    ({"claims": []}, "line 1 of .* has no claim or no CPC code"),
    ({"claims": ["a claim"]}, "no patent is for validation.parquet, test.parquet"),
])  # fmt: skip
def test_a_file_that_holds_no_patents_is_refused(row, message, tmp_path):
    row = row and {"claims": ["a claim"], "cpc": ["A01B"], "publication_date": 20100101} | row
    (tmp_path / "p.jsonl").write_text(json.dumps(row))
    with pytest.raises(SystemExit, match=message):
        main(["patents", str(tmp_path / "p.jsonl"), "--output_dir", str(tmp_path / "data")])
