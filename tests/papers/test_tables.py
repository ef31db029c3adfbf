"""The papers' tables: their printed figures agree with each other, and ours come from the records of finished runs."""

import json
import statistics
from dataclasses import replace

import pytest
from datasets import Dataset

import run_glue
from papers import __main__ as papers
from papers import eelbert, elementwise, hashformers, scratch
from papers.counts import compression, parameter_figures, size_figures
from papers.finished import best_of, differences
from papers.plan import Plan
from papers.table import FilledRow, average, deviation, our_figure, render, retention, score, scores_of
from vocabless.public_names import without_paths
from vocabless.training.finetuning.rows.glue import AVERAGES
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.script import fingerprint

ROUNDING = 0.15  # of averages of figures that are rounded to one decimal
ALL_SIZES = size_figures(*hashformers.TABLE_2.rows[:1] * 2)
SCORES = {row.label: row.published(hashformers.TABLE_1.columns) for row in hashformers.TABLE_1.rows}


@pytest.mark.parametrize("table", [hashformers.TABLE_1, hashformers.TABLE_6], ids=lambda table: table.title)
def test_the_printed_averages_of_hashformers_are_those_of_the_printed_scores(table):
    for row in table.rows:
        printed = row.published(table.columns)
        mean = statistics.fmean(printed[column.title] for column in hashformers.TASKS)
        assert printed["Avg."] == pytest.approx(mean, abs=ROUNDING), row


def test_the_printed_retention_is_that_of_the_printed_scores():
    base, *rows = hashformers.TABLE_2.rows
    differing = []
    for row in rows:
        printed, scores = row.published(hashformers.TABLE_2.columns), SCORES[row.label]
        kept = {name: 100 * retention(scores[name], SCORES[base.label][name]) for name in scores if name in printed}
        differing += [name for name, value in kept.items() if printed[name] != pytest.approx(value, abs=ROUNDING)]
    assert len(differing) <= 3, differing  # the paper's own numbers do not all agree to the last digit
    assert compression(3, 0) is None and retention(0.3, 0.0) is None


def test_our_sizes_are_the_printed_ones_of_hashformers():
    """Appendix B. 0.8K are a row of Pool, Add and Proj, which all words share; CANINE is another one."""
    base, *rows = hashformers.TABLE_2.rows
    for row in (row for row in rows if row.label != "CANINE-C"):
        sizes, printed = size_figures(row, base), row.published(hashformers.TABLE_2.columns)
        for column in hashformers.SIZES:
            tolerances = {"(K)": printed[column.title] / 9_000 + 0.8, "(M)": 0.051}
            ours = our_figure(column, {}, {}, sizes, "mean")
            tolerance = tolerances.get(column.title[-3:], 0.1)
            assert ours == pytest.approx(printed[column.title], abs=tolerance), (row.label, column)


@pytest.mark.parametrize("table", eelbert.TABLES.values(), ids=lambda table: table.title)
def test_the_printed_sizes_and_averages_of_eelbert_are_ours(table):
    for row in table.rows:
        printed = row.published(table.columns)
        if printed["Parameters (K)"] is not None:  # 5.4 has two rows without figures
            assert parameter_figures(row)[0] == round(1000 * printed["Parameters (K)"]), row
            exported = size_figures(row, row)["exported_bytes"] / 1e6
            last_digit = 10 ** -len(row.printed.split()[1].partition(".")[2])  # 1.24 of UNO follows from no head
            follows = abs(exported - printed["Exported (MB)"]) < 0.51 * last_digit
            assert follows == (row.model != "eelbert-uno"), (row, exported)
        scores = {}
        for column in table.columns:
            if len(column.key) == 1 and column.kind == "score":
                task, _, name = column.key[0].partition(".")
                scores.setdefault(task, {})[name] = [printed[column.title]]
        for column in (eelbert.LARGE_SCORE, eelbert.SMALL_SCORE):
            if printed.get(column.title) is not None:  # figures are rounded to three decimals
                assert average(scores, column.key, "median") == pytest.approx(printed[column.title], abs=0.003), row


def test_our_sizes_are_the_printed_ones_of_elementwise():
    """The paper gives one to three digits: its 12M is 12.7M with 1 328 labels. ALBERT's C is not D, which is 128."""
    table = elementwise.TABLE_2
    coarse = {"Total (x)": 0.05, "Emb. (K)": 500, "Emb. (x)": 0.02}  # CANINE's 0.05 is not even its 1M / 25M
    for row in table.rows:
        sizes = size_figures(row, table.rows[row.original], table.num_labels)
        printed = row.published(table.columns) | ({"C": 128} if row.label == "ALBERT, original" else {})
        for column in table.columns:
            tolerance = coarse.get(column.title, 5e-5) if "CANINE" in row.label else 5e-5
            ours = our_figure(column, {}, {}, sizes, "mean")
            assert ours == pytest.approx(printed[column.title], rel=0.06, abs=tolerance), (row.label, column)


@pytest.mark.parametrize("table", papers.TABLES.values(), ids=lambda table: table.title)
def test_printed_scores_are_shown_with_all_their_decimals(table):
    shown = cells_of(render(table, [FilledRow(row, {}, dict.fromkeys(ALL_SIZES)) for row in table.rows], {}, {}))
    for row in table.rows:
        for column, printed in row.published(table.columns).items():
            kind = next(each.kind for each in table.columns if each.title == column)
            if printed is not None and kind in ("score", "retention"):
                assert float(shown[row.label][column][0]) == pytest.approx(printed * table.unit, abs=1e-9), (
                    row,
                    column,
                )


def test_without_arguments_the_tables_are_listed(capsys):
    papers.main([])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(papers.COMMANDS)
    assert "elementwise-2    Elementwise, Table 2: sizes" in lines
    with pytest.raises(SystemExit, match="2"):
        papers.main(["hashformers-4"])


def test_a_median_is_taken_for_each_task_and_then_averaged():
    """EELBERT, 4.2: a median over the averages of the seeds would be 0.5. A pair of MNLI scores counts once."""
    terms = [tuple(column.key[0].split(".")) for column in hashformers.TASKS]  # those of the average of run_glue
    assert [(task, (name,)) for task, name in terms] == list(AVERAGES["HashFormers"].items())
    scores = {"a": {"m": [0.1, 0.8, 0.9]}, "b": {"m": [0.7, 0.2, 0.9]}, "c": {"m": [0.25]}}
    assert average(scores, ("a.m", "b.m"), "median") == pytest.approx(0.75)
    assert average(scores, ("a.m b.m", "c.m"), "median") == pytest.approx(0.5)
    assert average(scores, ("a.m", "d.m"), "median") is None


def test_a_median_has_the_range_of_the_seeds_and_the_interval_of_its_own_seed():
    scores = {"sst2": {"accuracy": [0.9, 0.7, 0.8]}, "rte": {"accuracy": [0.5]}}
    intervals = {"sst2": {"accuracy": [[0.85, 0.95], [0.65, 0.75], [0.745, 0.85]]}}
    columns = (score("SST-2", "sst2.accuracy"), score("RTE", "rte.accuracy"), score("Size", "size", "size"))
    row = replace(eelbert.TABLE_2.rows[0], printed="- - -")
    filled = FilledRow(row, scores, {"size": None}, intervals)
    *_, seeds, interval = render(replace(eelbert.TABLE_2, columns=columns), [filled], {}, {}).splitlines()
    assert [cell.strip() for cell in seeds.split("|")][1:-1] == ["", "seeds", "70.0 to 90.0", "", ""]
    assert [cell.strip() for cell in interval.split("|")][1:-1] == ["", "95 %", "74.5 to 85.0", "", ""]
    assert "seeds" not in render(replace(hashformers.TABLE_1, columns=columns), [filled], {}, {})  # it has means


def test_our_figures_stand_in_the_unit_of_the_printed_ones():
    scores = {"sst2": {"accuracy": [0.8, 0.9, 0.7]}, "rte": {"accuracy": [0.6, 0.5, 0.7]}}
    half = {"sst2": {"accuracy": [0.4]}}
    sizes = {"parameters": 2_500_000, "exported_bytes": 2_040_000, "pcr_all": 0.125}
    both = ("sst2.accuracy", "rte.accuracy")
    cells = {
        score("SST", "sst2.accuracy"): 80.0, score("MRPC", "mrpc.accuracy"): None,
        score("SST", "sst2.accuracy", "retention"): 200.0, score("RTE", "rte.accuracy", "retention"): None,
        score("SD", "sst2.accuracy", "deviation"): 10.0, score("samples/s", "", "paper"): None,
        score("Total (M)", "parameters", "size"): 2.5, score("Parameters (K)", "parameters", "size"): 2500.0,
        score("Exported (MB)", "exported_bytes", "size"): 2.04, score("PCR all", "pcr_all", "size"): 12.5,
    }  # fmt: skip
    assert {column: our_figure(column, scores, half, sizes, "mean") for column in cells} == pytest.approx(cells)
    assert deviation(scores, both) == pytest.approx(0)  # that of the averages of the seeds
    assert deviation(half, both[:1]) is None


def record(arguments=(), **scores):
    """What `results.json` holds, of task → accuracy of the first seed; that of the second is 0."""
    seeds = {task: {"42": {"accuracy": value}, "43": {"accuracy": 0}} for task, value in scores.items()}
    runs = {task: {seed: {"measures": each} for seed, each in own.items()} for task, own in seeds.items()}
    return {"runs": runs, "scores": seeds, "arguments": dict(arguments)}


def test_each_task_takes_its_best_learning_rate():
    best = best_of([record(sst2=0.8, rte=0.6), record(sst2=0.7, rte=0.9)], eelbert.TABLE_1)
    assert [scores_of(best)[task]["accuracy"] for task in ("sst2", "rte")] == [[0.8, 0], [0.9, 0]]


def recorded(words, **changed):
    """The record of a run by a command of the plan, to which the user gave other arguments."""
    if words[0] == "run_pretraining.py":
        return {"arguments": without_paths(parse_command_line(words[1:]).fingerprint()) | changed}
    arguments, training, data_arguments = run_glue.parse_command_line(words[1:])
    seeds = {str(seed): {"measures": {"accuracy": 0.5}} for seed in range(arguments.seeds)}
    runs = dict.fromkeys(data_arguments.task_name or ["own"], seeds)
    return {"arguments": without_paths(fingerprint(arguments, training, data_arguments)) | changed, "runs": runs}


@pytest.mark.parametrize(("table", "row", "command", "changed", "listed"), [
    (hashformers.TABLE_1, "MD Proj", 0, {"train_batch_size": 4, "gradient_accumulation_steps": 4, "world_size": 8}, []),
    (hashformers.TABLE_1, "LSH Proj", 0, {"bf16": True, "max_seq_length": 128, "max_steps": 500, "dropout": 0.0},
     ["bf16 is True, not False", "max_steps is 500, not 500000", "dropout is 0, not 0.1",
      "max_seq_length is 128, not 512"]),
    (hashformers.TABLE_1, "LSH Proj", 0, {"overrides": {"ngrams": "train"}},
     ["overrides is ngrams train, not ngrams ngrams-word.json"]),
    (hashformers.TABLE_1, "BERT-MLM", 1, {"max_steps": 5, "num_train_epochs": 1.0, "max_train_samples": 100},
     ["num_train_epochs is 1, not 5", "max_steps is 5, not -1", "max_train_samples is 100, not None"]),
    (hashformers.TABLE_1, "MD Proj", 1, {"overrides": {"size": "tiny"}}, ["overrides is size tiny, not none"]),
    (scratch.TABLES[0], "BERT-S+R", 0,
     {"overrides": {"encoder_options": {"initializer_range": 0.1}, "size": "tiny"}}, []),
    (hashformers.TABLE_1, "MD Proj", 0, {"corpus": ["wikimedia/wikipedia:20231101.en"]},
     ["corpus is wikimedia/wikipedia:20231101.en, not wikimedia/wikipedia:20231101.en, "
      "bookcorpus/bookcorpus@refs/convert/parquet"]),
    (eelbert.TABLE_1, "EELBERT-base", 0,
     {"corpus": ["bookcorpus/bookcorpus@refs/convert/parquet"], "subword": "me/bert-base-uncased"},
     ["corpus is bookcorpus/bookcorpus@refs/convert/parquet, not Skylion007/openwebtext@refs/convert/parquet",
      "subword is me/bert-base-uncased, not google-bert/bert-base-uncased"]),
    (eelbert.TABLE_4, "hash", 1, {"model_name_or_path": "me/bert-base-mlm-hash-start"},
     ["model_name_or_path is me/bert-base-mlm-hash-start, not bert-base-mlm-hash-start"]),
    (eelbert.TABLE_4, "hash", 1, {"adam_epsilon": 1e-6, "max_seq_length": 64},
     ["adam_epsilon is 1e-06, not 1e-08", "max_seq_length is 64, not 128"]),
    (elementwise.TABLE_3, "CANINE, original", 0, {"max_seq_length": 128, "augment": 2},
     ["max_seq_length is 128, not 512", "augment is 2, not 0"]),
])  # fmt: skip
def test_every_recorded_argument_that_differs_from_the_command_is_listed(
    table, row, command, changed, listed, tmp_path
):
    plan, (row,) = Plan(table, tmp_path), [each for each in table.rows if each.label == row]
    words = [*plan.pretraining(row), *plan.fine_tuning(row)][command]
    assert sorted(differences(words, recorded(words, **changed), tmp_path)) == sorted(listed)


def test_local_data_of_the_plan_are_those_of_the_run_wherever_the_table_is_made(tmp_path, monkeypatch):
    (tmp_path / "there/corpus/part").mkdir(parents=True)
    (tmp_path / "there/my/glue").mkdir(parents=True)
    corpora, row = ("corpus/*.parquet", "corpus/part", "me/texts:en@v1"), hashformers.TABLE_1.rows[0]
    plan = Plan(hashformers.TABLE_1, tmp_path / "out", (*corpora, str(tmp_path / "a.txt")), data_dir="my/glue/")
    commands = [*plan.pretraining(row), *plan.fine_tuning(row)]
    monkeypatch.chdir(tmp_path / "there")
    records = [recorded(words) for words in commands]
    assert records[0]["arguments"]["corpus"] == ["*.parquet", "part", "me/texts:en@v1", "a.txt"]
    assert [differences(*each, plan.root) for each in zip(commands, records, strict=True)] == [[], []]
    records[0]["arguments"]["corpus"][0] = "*.txt"
    records[1]["arguments"]["data_dir"] = None
    found = [differences(*each, plan.root) for each in zip(commands, records, strict=True)]
    assert found[0][0].startswith("corpus is *.txt, part, me/texts:en@v1") and found[1] == [
        "data_dir is None, not glue"
    ]


def test_the_precision_of_a_plan_is_that_of_its_flags(tmp_path, monkeypatch):
    row, runs = hashformers.TABLE_1.rows[-1], []
    for bf16 in (False, True):
        plan = Plan(hashformers.TABLE_1, tmp_path, bf16=bf16)
        runs += [(words, recorded(words)) for words in (*plan.pretraining(row), *plan.fine_tuning(row))]
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")  # as in a shell that starts launchers
    assert [differences(*run, tmp_path) for run in runs] == [[]] * 4
    swapped = [(words, record) for (words, _), (_, record) in zip(runs, runs[2:] + runs[:2], strict=True)]
    notes = [differences(*run, tmp_path) for run in swapped]
    assert notes == [["bf16 is True, not False"]] * 2 + [["bf16 is False, not True"]] * 2


def test_fewer_tasks_and_fewer_seeds_are_listed(tmp_path):
    (words,) = Plan(hashformers.TABLE_1, tmp_path).fine_tuning(hashformers.TABLE_1.rows[0])
    run = recorded(words)
    runs = {task: seeds for task, seeds in run["runs"].items() if task not in ("cola", "stsb")}
    assert differences(words, run | {"runs": runs | {"wnli": {}}}, tmp_path) == ["no results of cola, stsb"]
    runs["rte"] = dict([*runs["rte"].items()][:2])
    assert differences(words, run | {"runs": runs}, tmp_path) == ["no results of cola, stsb", "seeds is 2, 3, not 3"]


def cells_of(shown):
    """Row → title of a column → the paper's cell and ours."""
    header, _, *lines = [[cell.strip() for cell in line.split("|")] for line in shown.splitlines() if "|" in line]
    pairs = zip(lines[::2], lines[1::2], strict=False)  # the last line, of the constants, has no pair
    return {paper[1]: dict(zip(header, zip(paper, ours, strict=True), strict=True)) for paper, ours in pairs}


def test_a_table_is_filled_from_records_alone_against_the_papers_baseline(tmp_path, capsys):
    plan, (baseline, _, proformer) = Plan(hashformers.TABLE_2, tmp_path), hashformers.TABLE_2.rows[:3]
    (words,) = plan.fine_tuning(proformer)
    file, of_baseline = (plan.fine_tuned(row)[0] / "results.json" for row in (proformer, baseline))
    (tmp_path / "rte").mkdir()
    rows = {"sentence1": ["red fox", "blue fox"] * 8, "sentence2": ["snow"] * 16, "label": [0, 1] * 8}
    for split in ("train", "validation"):
        Dataset.from_dict(rows).to_parquet(tmp_path / "rte" / f"{split}.parquet")
    small = ["--set", "size=uno", "--num_train_epochs", "1", "--max_seq_length", "16", "--data_dir", str(tmp_path)]
    run_glue.main([*words[1:], *small, "--task_name", "rte", "--use_cpu", "true"])
    content = json.loads(file.read_text())
    mean = statistics.fmean(run["measures"]["accuracy"] for run in content["runs"]["rte"].values())
    of_baseline.parent.mkdir()
    of_baseline.write_text(json.dumps(content | {"runs": {"rte": {"42": {"measures": {"accuracy": 0.8}}}}}))
    capsys.readouterr()
    papers.main(["hashformers-2", "--rows", "ProFormer", "MD Pool", "--output_dir", str(tmp_path)])
    shown = capsys.readouterr().out
    own = cells_of(shown)["ProFormer"]
    assert (own["RTE"], own["SST"], own["PCR all"]) == (("89.2", f"{125 * mean:.1f}"), ("89.2", "–"), ("87.9", "87.9"))
    assert own["Emb. (K)"] == ("322.6", "322.6") and cells_of(shown)["MD Pool"]["RTE"] == ("98.8", "–")
    listed = [line.removeprefix("- ") for line in shown.splitlines() if line.startswith("- ")]
    assert listed[0] == (
        "The baseline, BERT-MLM, has no score above 0 for MNLI, QNLI, QQP, SST, MRPC, CoLA, STS, Avg.: no PRR there."
    )
    assert "MD Pool: 2 of 2 commands are not finished." in listed and "BERT-MLM: 1 of 2 commands" in "".join(listed)
    assert "ProFormer: run_glue.py: no results of mnli, qnli, qqp, sst2, mrpc, cola, stsb." in "".join(listed)
    names = {line.partition("ProFormer: run_glue.py: ")[2].split(" ")[0] for line in listed} - {"", "no", "seeds"}
    assert names == {"max_seq_length", "num_train_epochs", "overrides", "data_dir"}
    file.write_text("{")
    with pytest.raises(SystemExit, match=r"results.json' holds no results of a run"):
        papers.main(["hashformers-1", "--output_dir", str(tmp_path)])
