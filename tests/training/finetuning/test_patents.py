import json
import statistics

import pytest
from datasets import Dataset

import run_glue
from vocabless.training.finetuning.base_problem import Problem
from vocabless.training.finetuning.patent_files import read_patents
from vocabless.training.finetuning.patents import (
    deviations_table,
    label_deviations,
    label_positions,
    position_names,
    shorten_codes,
)
from vocabless.training.finetuning.problems import MultiLabel

# Elementwise 4.1: two patents with the same set of codes, their labels, and their encodings over the four labels.
PAPER = {
    ("A01B", "G06Q", "A01B"): (["First-A01B", "Later-G06Q", "Later-A01B"], [1, 0, 1, 1]),
    ("G06Q", "A01B"): (["First-G06Q", "Later-A01B"], [0, 1, 1, 0]),
}
LABELS = ["First-A01B", "First-G06Q", "Later-A01B", "Later-G06Q"]
CODES = ["A01B", "A01N", "C07D", "G06Q"]
QUICK = ["--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none", "--num_train_epochs", "1"]


def patents(count=12):
    """Patents of 2013 to 2015, with 25 claims each; G06Q comes first in 2015 alone."""
    rows = []
    for number in range(count):
        year = 2013 + number % 3
        first = "G06Q 10/02" if year == 2015 else "A01B 1/00"
        codes = [first, "A01N53/12", "A01N 1/00"]
        claims = [f"{place}. A device number {number}." for place in range(1, 26)]
        rows.append({"claims": claims, "cpc_codes": codes, "publication_date": year * 10_000 + 101 + number})
    return rows


def write(rows, file):
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def test_the_papers_two_patents_get_its_labels_and_encodings():
    assert position_names(["A01B", "G06Q"]) == LABELS
    problem: Problem = MultiLabel(LABELS)
    for codes, (labels, encoding) in PAPER.items():
        assert label_positions(codes) == labels
        assert problem.target(labels).tolist() == encoding


def test_a_label_is_given_once():
    assert label_positions(["A01B", "C07D", "C07D", "C07D"]) == ["First-A01B", "Later-C07D"]
    assert label_positions(["A01B"]) == ["First-A01B"]
    assert label_positions([]) == []


def test_the_papers_code_becomes_its_subclass_and_664_of_them_1328_labels():
    codes = [f"{section}{number:02}{letter}" for section in "ABCDEFGH" for number in range(1, 5) for letter in "ABCDEF"]
    assert shorten_codes(["A01N 53/12"], "subclass") == ["A01N"]
    assert [shorten_codes(["A01N53/12"], level)[0] for level in ("section", "class")] == ["A", "A01"]
    assert len(position_names((codes * 4)[:664])) == 1_328
    with pytest.raises(ValueError, match="'A01' is too short for a subclass"):
        shorten_codes(["A01"], "subclass")


def test_the_first_20_claims_are_joined_and_the_test_year_is_cut_in_two_by_date(tmp_path):
    rows = patents()
    splits = read_patents([write(rows, tmp_path / "p.jsonl")], "2013-2014", "2015")
    assert {name: len(part) for name, part in splits.items()} == {"train": 8, "validation": 2, "validation_b": 2}
    assert splits["train"][0]["text"] == " ".join(rows[0]["claims"][:20])
    later = [row for row in rows if row["publication_date"] // 10_000 == 2015]
    assert [part["text"] for name in ("validation", "validation_b") for part in splits[name]] == [
        " ".join(row["claims"][:20]) for row in later
    ]


def test_claims_in_rows_of_their_own_are_joined_in_the_order_of_their_numbers(tmp_path):
    rows = [
        {"text": f"claim {number}", "subclass": code, "claim_number": number, "document": document}
        for number in range(25, 0, -1)
        for document, code in enumerate(("A01B", "G06Q"))
    ]
    Dataset.from_list(rows).to_parquet(tmp_path / "claims.parquet")
    splits = read_patents([str(tmp_path / "claims.parquet")], "2006-2014", "2015")
    assert list(splits) == ["train"]  # without dates
    assert splits["train"]["labels"][:] == [["A01B"], ["G06Q"]]
    assert splits["train"]["text"][0] == " ".join(f"claim {number}" for number in range(1, 21))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claims": []}, "has no claim"),
        ({"cpc_codes": []}, "give it a CPC code"),
        ({"publication_date": 12}, "12 in the column 'publication_date' of .* is no date"),
    ],
)
def test_a_patent_without_claim_code_or_date_is_refused(change, message, tmp_path):
    rows = patents()
    rows[3] |= change
    with pytest.raises(ValueError, match=message):
        read_patents([write(rows, tmp_path / "p.jsonl")], "2013-2014", "2015")


def test_years_without_patents_are_refused(tmp_path):
    file = write(patents(), tmp_path / "p.jsonl")
    with pytest.raises(ValueError, match="patents of 2013 to 2015 and too few for the split train"):
        read_patents([file], "2001-2002", "2015")
    with pytest.raises(ValueError, match="'now' is no range of years"):
        read_patents([file], "now", "2015")


def test_deviations_are_those_of_plain_python():
    parts = {"train": [["A", "B", "A"], ["A"], ["B", "A"], ["A", "C"]], "test": [["C"]]}
    table = label_deviations(parts, ["A", "B", "C", "D"])
    assert table["Original"]["train"].all_labels == pytest.approx(statistics.pstdev([4, 2, 1, 0]))
    # First-A 3, First-B 1, Later-A 2, Later-B 1, Later-C 1
    assert table["Relabeled"]["train"].all_labels == pytest.approx(statistics.pstdev([3, 1, 0, 0, 2, 1, 1, 0]))
    assert table["Original"]["test"].all_labels == pytest.approx(statistics.pstdev([0, 0, 1, 0]))
    assert table["Original"]["train"].major == pytest.approx(statistics.pstdev([4, 2, 1]))  # 6 of 7 are below 90 %
    assert table["Relabeled"]["train"].all_labels < table["Original"]["train"].all_labels  # what Table 1 shows
    assert "| Relabeled | " in deviations_table(table)


def test_a_run_on_patents_knows_labels_that_training_never_saw(tmp_path, capsys):
    file, names = write(patents(), tmp_path / "p.jsonl"), tmp_path / "cpc.txt"
    names.write_text("\n".join(CODES))
    command = [
        "--model_name_or_path", "ewe-bert-tiny", "--patents", file, "--train_years", "2013-2014",
        "--max_seq_length", "16", *QUICK,
    ]  # fmt: skip
    run_glue.main([*command, "--label_names", str(names), "--output_dir", str(tmp_path / "run")])
    shown = capsys.readouterr().out
    assert "with 8 labels (First-A01B, First-A01N, " in shown and "| Relabeled | " in shown
    top = json.loads((tmp_path / "run" / "results.json").read_text())
    assert {"micro_f1", "micro_recall", "micro_precision_b"} <= set(top["summary"]["p"])
    config = json.loads((tmp_path / "run" / "p" / "seed-42" / "config.json").read_text())
    assert list(config["label2id"]) == position_names(CODES)
    with pytest.raises(SystemExit, match=r"labels that the training rows do not have: First-G06Q; .*--label_names"):
        run_glue.main([*command, "--output_dir", str(tmp_path / "other")])


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), ("A01B\nA01B", "names 'A01B' twice")])
def test_a_file_of_labels_names_each_once(text, message, tmp_path):
    (tmp_path / "names.txt").write_text(text)
    with pytest.raises(SystemExit, match=message):
        run_glue.main([
            "--model_name_or_path", "ewe-bert-tiny", "--patents", write(patents(), tmp_path / "p.jsonl"),
            "--train_years", "2013-2014", "--label_names", str(tmp_path / "names.txt"), *QUICK,
            "--output_dir", str(tmp_path / "run"),
        ])  # fmt: skip
