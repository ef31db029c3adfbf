"""The papers' rows from scratch: one budget for all rows of an objective, and a plan that continues after any end."""

import itertools
import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import datasets
import pytest
from datasets import Dataset

import run_glue
from papers import __main__ as papers
from papers import scratch
from papers.patents import TEST_A, TEST_B, TRAIN
from papers.plan import Plan
from papers.table import PRETRAINING
from vocabless.training.pretraining.command_line import parse_command_line

TASKS = ("sst2", "mrpc", "cola", "stsb", "rte")
EQUAL = (
    "corpus",
    "max_steps",
    "max_seq_length",
    "train_batch_size",
    "learning_rate",
    "warmup_steps",
    "dropout",
    "seed",
)


@pytest.mark.parametrize("table", scratch.TABLES, ids=lambda table: table.title)
def test_all_rows_have_equal_data_tokens_and_steps(table):
    plan, budgets, tasks = Plan(table, Path("out"), ("a.txt",), subword="vocab.json"), set(), set()
    for row in table.rows:
        assert len(row.published(table.columns)) == len(table.columns)
        stages = [parse_command_line(words[1:]) for words in plan.pretraining(row)]
        budgets.add(tuple(str(run.fingerprint()[name]) for run in stages for name in EQUAL))
        for run in stages[:1]:
            assert run.arguments.subword == ("vocab.json" if row.reads_subwords and not row.is_hashed else None)
            is_small = "tiny" in row.model or row.model == "eelbert-uno" or run.arguments.overrides["size"] == "tiny"
            assert is_small, row
        for before, run in itertools.pairwise(stages):  # a stage goes on from the one before it
            assert run.arguments.model_name_or_path == before.training.output_dir
            assert run.arguments.max_seq_length > before.arguments.max_seq_length
        (words,) = plan.fine_tuning(row)
        arguments, training, data = run_glue.parse_command_line(words[1:])
        tasks.add((*sorted(data.task_name or ()), training.learning_rate, training.num_train_epochs, arguments.seeds))
        assert table.is_patents == (data.task_name is None) and PRETRAINING not in (data.task_name or ())
    assert len(budgets) == len(tasks) == 1 and budgets.isdisjoint({()}) == (not table.is_patents)


@pytest.fixture
def trainer(monkeypatch):
    """In place of a shell: writes the results that the commands of a line would write, as long as `lives` says so."""
    state = SimpleNamespace(lives=99, lines=[])

    def run(words, **_):
        state.lines.append(words[-1])
        for command in words[-1].split("&&"):
            if "run_" not in command or state.lives == 0:
                continue
            state.lives -= 1
            script, *flags = shlex.split(command)[1:]
            folder = Path(flags[-1])
            folder.mkdir(parents=True, exist_ok=True)
            log = [{"step": 1, "loss": 2.0, "grad_norm": 1.0}, {"step": 2, "eval_loss": 1.5, "eval_runtime": 3.0}]
            record = {"arguments": {}, "log": log}
            if script == "run_glue.py":
                seeds = {str(seed): {"measures": {"accuracy": 0.5 + seed / 10}} for seed in (1, 2, 4)}
                record |= {"runs": dict.fromkeys(TASKS, seeds), "constant_baselines": {"sst2": {"accuracy": 0.5}}}
            else:
                record |= {
                    "metric_names": ["balanced_accuracy"],
                    "before": {},
                    "after": {"eval_balanced_accuracy": 0.4},
                }
            (folder / "results.json").write_text(json.dumps(record))
        return SimpleNamespace(returncode=0 if state.lives else 137)

    monkeypatch.setattr(scratch.subprocess, "run", run)
    return state


def test_a_plan_that_was_killed_goes_on_where_it_was_and_its_records_are_enough_afterwards(trainer, tmp_path, capsys):
    flags = ["scratch", "--rows", "MD Pool", "LSH Add", "--records", str(tmp_path / "records")]
    trainer.lives = 4
    papers.main([*flags, "--output_dir", str(tmp_path / "runs")])
    shown = capsys.readouterr().out
    assert "The commands of LSH Add failed" in shown and "LSH Add: 2 of 3 commands are not finished." in shown
    trainer.lives, trainer.lines[:] = 99, []
    papers.main([*flags, "--show", "--output_dir", str(tmp_path / "runs")])
    assert trainer.lines == []
    papers.main([*flags, "--output_dir", str(tmp_path / "runs")])
    assert len(trainer.lines) == 1 and "lsh-add" in trainer.lines[0]
    capsys.readouterr()
    papers.main([*flags, "--output_dir", str(tmp_path / "elsewhere")])  # another machine, with the records alone
    shown = capsys.readouterr().out
    assert len(trainer.lines) == 1 and "not finished" not in shown
    cells = [[cell.strip() for cell in line.split("|")] for line in shown.splitlines() if "| ours" in line]
    assert [row[4:6] for row in cells[:2]] == [["40.0", "70.0"]] * 2  # the median of 60, 70 and 90
    (record, *_) = (tmp_path / "records/pre-trained").glob("*/results.json")
    assert json.loads(record.read_text())["log"] == [{"step": 1, "loss": 2.0}, {"step": 2, "eval_loss": 1.5}]
    (record,) = (tmp_path / "records/fine-tuned").glob("*lsh-add*/results.json")
    content = json.loads(record.read_text())
    del content["runs"]["rte"]  # as if the plan had got a new task
    record.write_text(json.dumps(content))
    papers.main([*flags, "--output_dir", str(tmp_path / "third")])
    assert len(trainer.lines) == 2 and "lsh-add" in trainer.lines[1]


def test_the_patents_need_claims_of_which_a_patent_is_in_one_split(trainer, tmp_path, capsys):
    flags = ["scratch", "--rows", "BERT, elementwise", "--output_dir", str(tmp_path / "runs")]
    flags += ["--records", str(tmp_path / "records")]
    papers.main(flags)
    assert trainer.lines == [] and "not finished" in capsys.readouterr().out
    rows = {"text": [f"a plough {place}" for place in range(40)], "document": [place // 2 for place in range(40)],
            "subclass": ["A01B", "A01B", "G06Q", "G06Q"] * 10}  # fmt: skip
    Dataset.from_dict(rows).to_parquet(tmp_path / "claims.parquet")
    papers.main([*flags, "--claims", str(tmp_path / "claims.parquet")])
    assert len(trainer.lines) == 1
    splits = {name: datasets.load_dataset("parquet", data_files=str(tmp_path / "runs/patents" / name))["train"]
              for name in (TRAIN, TEST_A, TEST_B)}  # fmt: skip
    assert [len(split) for split in splits.values()] == [32, 4, 4]
    names = splits[TEST_B].features["labels"].feature.names
    assert [names[label] for label in splits[TEST_B][0]["labels"]] == ["First-G", "Later-G06"]
    assert [text.split()[-1] for text in splits[TEST_B]["text"]] == ["18", "19", "38", "39"]
    Dataset.from_dict({"text": ["a"]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(SystemExit, match=r"--claims '.*other\.parquet' lacks subclass, document"):
        papers.main([*flags, "--claims", str(tmp_path / "other.parquet"), "--output_dir", str(tmp_path / "new")])


def test_an_unknown_row_lists_those_of_all_tables():
    with pytest.raises(SystemExit, match=r"the plan has no row X; its rows are BERT-S\+R, .*BERT-tiny, .*elementwise"):
        papers.main(["scratch", "--rows", "X"])
