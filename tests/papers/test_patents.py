import json
import statistics
from argparse import Namespace

import pytest
from datasets import Dataset

import run_glue
from papers.__main__ import main
from papers.patents import label_deviations, label_positions, position_names, read_patents, shorten_codes
from vocabless.training.finetuning.base_problem import Problem
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
        month = 1 + number  # so two patents of each half of 2015, at least
        rows.append({"claims": claims, "cpc_codes": codes, "publication_date": year * 10_000 + 100 * month + 1})
    return rows


def write(rows, file):
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def splits_of(file, train_years="2013-2014"):
    return read_patents(Namespace(patents=[file], cpc_level="subclass", train_years=train_years, test_years="2015"))


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


def test_the_first_20_claims_are_joined_and_the_test_year_is_cut_into_half_years(tmp_path):
    rows = patents()
    splits = splits_of(write(rows, tmp_path / "p.jsonl"))
    assert {name: len(part) for name, part in splits.items()} == {"train": 8, "validation": 2, "test": 2}
    assert splits["train"][0].text == " ".join(rows[0]["claims"][:20])
    assert splits["train"][0].codes == ["A01B", "A01N", "A01N"]
    later = [row for row in rows if row["publication_date"] // 10_000 == 2015]
    assert [patent.text for name in ("validation", "test") for patent in splits[name]] == [
        " ".join(row["claims"][:20]) for row in later
    ]


@pytest.mark.parametrize(
    ("dates", "sizes"),
    [
        (["2015-06-30", "2015-07-01", "2015-08-01"], (1, 2)),  # Table 1: 14.5k and 15.4k
        ([20150101, 20150301, 20151231], (2, 1)),
        ([2015, 2015, 2015], (2, 1)),  # no months: as many in both
    ],
)
def test_2015_a_is_the_first_half_of_the_year(dates, sizes, tmp_path):
    rows = [{"text": "a claim", "cpc": "A01B", "date": str(date)} for date in (*dates, "2014")]
    splits = splits_of(write(rows, tmp_path / "p.jsonl"))
    assert (len(splits["validation"]), len(splits["test"])) == sizes


def test_claims_in_rows_of_their_own_are_joined_in_the_order_of_their_numbers(tmp_path):
    rows = [
        {"text": f"claim {number}", "subclass": code, "claim_number": number, "document": document}
        for number in range(25, 0, -1)
        for document, code in enumerate(("A01B", "G06Q"))
    ]
    Dataset.from_list(rows).to_parquet(tmp_path / "claims.parquet")
    splits = splits_of(str(tmp_path / "claims.parquet"))
    assert list(splits) == ["train"]  # without dates
    assert [patent.codes for patent in splits["train"]] == [["A01B"], ["G06Q"]]
    assert splits["train"][0].text == " ".join(f"claim {number}" for number in range(1, 21))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claims": []}, "has no claim"),
        ({"cpc_codes": []}, "no CPC code"),
        ({"publication_date": 12}, "12 in .* is no date"),
    ],
)
def test_a_patent_without_claim_code_or_date_is_refused(change, message, tmp_path):
    rows = patents()
    rows[3] |= change
    with pytest.raises(ValueError, match=message):
        splits_of(write(rows, tmp_path / "p.jsonl"))


def test_years_without_patents_are_refused(tmp_path):
    file = write(patents(), tmp_path / "p.jsonl")
    with pytest.raises(ValueError, match="patents of 2013 to 2015 and too few for the split train"):
        splits_of(file, "2001-2002")
    with pytest.raises(ValueError, match="'now' is no range of years"):
        splits_of(file, "now")


def test_deviations_are_those_of_plain_python():
    parts = {"train": [["A", "B", "A"], ["A"], ["B", "A"], ["A", "C"]], "test": [["C"]]}
    table = label_deviations(parts, ["A", "B", "C", "D"])
    assert table["Original"]["train"].all_labels == pytest.approx(statistics.pstdev([4, 2, 1, 0]))
    # First-A 3, First-B 1, Later-A 2, Later-B 1, Later-C 1
    assert table["Relabeled"]["train"].all_labels == pytest.approx(statistics.pstdev([3, 1, 0, 0, 2, 1, 1, 0]))
    assert table["Original"]["test"].all_labels == pytest.approx(statistics.pstdev([0, 0, 1, 0]))
    assert table["Original"]["train"].major == pytest.approx(statistics.pstdev([4, 2, 1]))  # 6 of 7 are below 90 %
    assert table["Relabeled"]["train"].all_labels < table["Original"]["train"].all_labels  # what Table 1 shows


def test_a_run_on_the_data_knows_labels_that_training_never_saw(tmp_path, capsys):
    file, codes, data = write(patents(), tmp_path / "p.jsonl"), tmp_path / "cpc.txt", tmp_path / "data"
    codes.write_text("\n".join(CODES))
    main(["patents", file, "--codes", str(codes), "--train_years", "2013-2014", "--output_dir", str(data)])
    shown = capsys.readouterr().out
    assert "| Relabeled | " in shown and "8 in train, 2 in validation, 2 in test; 4 codes, 8 labels" in shown
    assert (data / "label_names.txt").read_text().split() == position_names(CODES)
    command = ["--model_name_or_path", "ewe-bert-tiny", "--max_seq_length", "16", "--do_predict", *QUICK]
    for split in ("train", "validation", "test"):
        command += [f"--{split}_file", str(data / f"{split}.jsonl")]
    names = ["--label_names", str(data / "label_names.txt")]
    run_glue.main([*command, *names, "--output_dir", str(tmp_path / "run")])
    assert "with 8 labels (First-A01B, First-A01N, " in capsys.readouterr().out
    (seeds,) = json.loads((tmp_path / "run" / "results.json").read_text())["runs"].values()
    assert {"micro_f1", "micro_recall", "test_micro_precision"} <= set(seeds["42"]["measures"])
    with pytest.raises(SystemExit, match=r"labels that the training rows do not have: First-G06Q; .*--label_names"):
        run_glue.main([*command, "--output_dir", str(tmp_path / "other")])


def test_codes_are_those_that_occur_or_those_of_a_file_that_has_all(tmp_path):
    file, codes = write(patents(), tmp_path / "p.jsonl"), tmp_path / "cpc.txt"
    command = ["patents", file, "--train_years", "2013-2014"]
    main([*command, "--output_dir", str(tmp_path / "data")])
    assert (tmp_path / "data" / "label_names.txt").read_text().split() == position_names(["A01B", "A01N", "G06Q"])
    codes.write_text("A01B A01N")
    with pytest.raises(SystemExit, match="lacks the codes G06Q; add them"):
        main([*command, "--codes", str(codes), "--output_dir", str(tmp_path / "other")])
    with pytest.raises(SystemExit, match="holds files; give a new or an empty one"):
        main([*command, "--output_dir", str(tmp_path / "data")])


@pytest.mark.parametrize(("name", "text", "message"), [
    ("no.jsonl", None, "'.*no.jsonl' cannot be read; give parquet, jsonl or json files"),
    ("p.csv", "text,cpc", "'.*p.csv' cannot be read"),
    ("p.jsonl", '{"text": "a"', "is damaged or no json file"),
    ("p.jsonl", '{"text": "a claim"}', "has no column cpc_codes or cpc or codes or subclass; its columns are text"),
])  # fmt: skip
def test_a_file_that_holds_no_patents_is_refused(name, text, message, tmp_path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SystemExit, match=message) as stopped:
        main(["patents", str(tmp_path / name), "--output_dir", str(tmp_path / "data")])
    assert "\n" not in str(stopped.value)
