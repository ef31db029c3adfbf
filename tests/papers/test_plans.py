"""The plan of a table: every printed command is one that its script takes, with the settings of the paper."""

import shlex

import pytest

import run_glue
from papers import __main__ as papers
from vocabless.training.finetuning.glue import GLUE
from vocabless.training.pretraining.command_line import parse_command_line

RATES = [5e-5, 4e-5, 3e-5, 2e-5]
WORDPIECE, BPE = "google-bert/bert-base-uncased", "FacebookAI/roberta-base"


def lines_of(capsys, table):
    """The commands of each line of the printed script, as their words behind `python`."""
    papers.main([table, "--dry_run"])
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    return [[shlex.split(each)[1:] for each in line.replace("||", "&&").split("&&")] for line in lines]


def parsed(words):
    """The arguments and the training arguments of a command, by its script's own parser, and its objective's name."""
    if words[0] == "run_pretraining.py":
        objective = parse_command_line(words[1:], None)
        return objective.arguments, objective.training, objective.name
    assert words[0] == "run_glue.py"
    return *run_glue.parse_command_line(words[1:]), None


@pytest.mark.parametrize("name", papers.TABLES)
def test_a_line_is_a_row_that_is_pre_trained_and_then_fine_tuned_by_the_papers_recipes(name, capsys):
    table = papers.TABLES[name]
    lines = lines_of(capsys, name)
    assert len(lines) == len(table.rows)
    for row, line in zip(table.rows, lines, strict=True):
        assert len(row.published(table.columns)) == len(table.columns)
        scripts = [(words, *parsed(words)) for words in line if words[0].startswith("run_")]
        tuned = [(arguments, training) for _, arguments, training, objective in scripts if objective is None]
        rates, model = [training.learning_rate for _, training in tuned], row.weights or row.model
        for words, arguments, training, objective in scripts[: len(scripts) - len(tuned)]:
            assert (objective, words[2]) == (row.objective, row.recipe or table.recipe)
            assert arguments.variant == (None if row.is_hashed else row.model)
            model = training.output_dir
        assert len(scripts) - len(tuned) == (row.objective is not None)
        assert {arguments.model_name_or_path for arguments, _ in tuned} == {model}
        if name.startswith("hashformers"):  # Table 1: three runs; Table 5
            assert (rates, tuned[0][0].seeds) == ([3e-5], 3)
        elif name.startswith("eelbert"):  # 4.2: nine tasks, five seeds; the best of the rates of Devlin et al.
            assert (rates, tuned[0][0].seeds) == (RATES, 5)
            tasks = set(GLUE) - ({"stsb"} if name == "eelbert-2" else set())  # Table 2 does not print it
            assert all(set(arguments.task_name) == tasks for arguments, _ in tuned)
        else:  # section 5: CANINE reads 512 characters or units
            ((arguments, training),) = tuned
            assert (rates, training.do_predict) == ([2e-5], True)
            assert arguments.max_seq_length == (512 if "canine" in row.model else 128)


@pytest.mark.parametrize(
    ("table", "row", "words"),
    [
        ("hashformers-1", "BERT-S+R", f"--variant roberta-base --subword {BPE}"),  # 4.2: that of Liu et al.
        ("hashformers-1", "CANINE-C", "--model_name_or_path google/canine-c"),  # 4.1: "off-the-shelf"
        ("eelbert-1", "EELBERT-base", f"--variant eelbert-base --subword {WORDPIECE}"),
        ("eelbert-4", "hash", "test -f out/hashed/bert-base/config.json || python -m papers hash-init bert-base "
                              f"out/hashed/bert-base --subword {WORDPIECE} && python run_pretraining.py "
                              "--recipe eelbert --model_name_or_path out/hashed/bert-base"),
        ("elementwise-3", "ALBERT, original", "--tokenizer_name albert/albert-base-v2"),
    ],
)  # fmt: skip
def test_a_row_has_its_published_vocabulary_or_weights(table, row, words, capsys):
    papers.main([table, "--dry_run", "--rows", row, "--output_dir", "out"])
    assert words in capsys.readouterr().out
    with pytest.raises(SystemExit, match=f"Table {table[-1]} has no row X; its rows are "):
        papers.main([table, "--rows", "X"])
