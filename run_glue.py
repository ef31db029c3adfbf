"""Fine-tunes any encoder on GLUE or on your own texts and labels, over several seeds, and prints the papers' tables.

    python run_glue.py --model_name_or_path runs/hashformer-lsh-proj-tiny --task_name all --seeds 3
    python run_glue.py --model_name_or_path eelbert-word-tiny --task_name sst2 rte --data_dir glue --learning_rate 1e-3
    python run_glue.py --model_name_or_path bert-tiny --tokenizer_name train --task_name sst2 --recipe proformer
    python run_glue.py --model_name_or_path ewe-bert-tiny --train_file train.csv --validation_file dev.csv --test_file \
        test.csv --do_predict

The same command again continues: finished runs are read, an interrupted one goes on from its last checkpoint; tasks and
seeds may be added. The folder holds table.md, results.json and a checkpoint in <task>/seed-<seed> for each run.
"""

import logging
import sys
from pathlib import Path
from typing import Any

import datasets
from accelerate import PartialState
from datasets import Dataset
from transformers import HfArgumentParser
from transformers.utils import logging as transformers_logging

from vocabless.saving.run_folder import RESULTS, write_json
from vocabless.saving.uploads import check_run_upload, upload_run
from vocabless.training.finetuning.glue import Report, find_glue_tasks, read_baseline
from vocabless.training.finetuning.glue_tasks import load_glue_task
from vocabless.training.finetuning.own_tasks import load_own_task
from vocabless.training.finetuning.runs import (
    GlueArguments,
    GlueTrainingArguments,
    all_versions,
    claim_again,
    fine_tune,
    identity,
    run_folder,
)
from vocabless.training.finetuning.starting_models import Start
from vocabless.training.finetuning.task_files import read_files, read_hub
from vocabless.training.finetuning.tasks import Columns, Task
from vocabless.training.recipes import parse_with_recipe

TABLE = "table.md"


def main(argv: list[str] | None = None) -> None:
    """Runs the script on command-line arguments; a user's mistake ends it with one sentence."""
    parser = HfArgumentParser((GlueArguments, GlueTrainingArguments), description=__doc__)
    try:
        arguments, training = parse_with_recipe(parser, argv)
        if training.output_dir is None:
            training.output_dir = f"runs/glue/{Path(arguments.model_name_or_path).name}"
        run(arguments, training)
    except ValueError as error:
        sys.exit(f"run_glue.py: {error}")


def run(arguments: GlueArguments, training: GlueTrainingArguments) -> None:
    """Runs every task with every seed, and reports.

    Raises:
        ValueError: a user's mistake, or training that cannot go on.
    """
    datasets.disable_progress_bars() if training.disable_tqdm else datasets.enable_progress_bars()
    transformers_logging.disable_progress_bar() if training.disable_tqdm else transformers_logging.enable_progress_bar()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if arguments.seeds < 1:
        raise ValueError(f"--seeds {arguments.seeds} runs nothing; give at least 1.")
    baseline = None if arguments.baseline_run is None else read_baseline(arguments.baseline_run)
    start = Start(
        arguments.model_name_or_path,
        arguments.tokenizer_name,
        arguments.subword_vocab_size,
        arguments.trust_remote_code,
        arguments.model_revision,
    )
    start.check()
    with training.main_process_first(desc="reading the data"):
        tasks = load_tasks(arguments)
    for task in tasks:
        task.limit(arguments.max_train_samples, arguments.max_eval_samples, arguments.max_predict_samples)
    folder, is_first = Path(str(training.output_dir)), training.process_index == 0
    seeds = range(training.seed, training.seed + arguments.seeds)
    runs = [run_folder(folder, task, seed) for task in tasks for seed in seeds]
    repositories: dict[Path, str] = {}
    if is_first:
        if training.push_to_hub:
            names = ["-".join(run.parts[-2:]) for run in runs]
            repositories = dict(zip(runs, check_run_upload(training, folder.name, names), strict=True))
        claim_again(folder, identity(arguments, training))

    done: dict[str, dict[str, dict[str, Any]]] = {}
    floors = {task.name: task.floors() for task in tasks}
    for task in tasks:
        for seed in seeds:
            results = fine_tune(task, seed, start, arguments, training)
            done.setdefault(task.name, {})[str(seed)] = results
            if is_first:
                print(_line(task, seed, results, floors[task.name]), flush=True)
            if (run := run_folder(folder, task, seed)) in repositories:
                print(f"Uploaded to {upload_run(run, repositories[run], training)}.", flush=True)
    if is_first:
        report = _report(arguments, tasks, done, floors, baseline)
        print(f"\n{report.as_markdown()}")
        (folder / TABLE).write_text(report.as_markdown(), encoding="utf-8")
        given = {"arguments": identity(arguments, training), "versions": all_versions()}
        runs = {"runs": {task: {seed: _brief(run) for seed, run in seeds.items()} for task, seeds in done.items()}}
        write_json(folder / RESULTS, report.as_json() | runs | given)
    state = PartialState()
    state.wait_for_everyone()
    state.destroy_process_group()


def load_tasks(arguments: GlueArguments) -> list[Task]:
    """Returns the tasks that the arguments ask for, whole.

    Raises:
        ValueError: none or several sources are given, or one of them is not as it must be.
    """
    sources = {
        "--task_name": arguments.task_name,
        "--train_file": arguments.train_file,
        "--dataset_name": arguments.dataset_name,
    }
    given = [flag for flag, value in sources.items() if value is not None]
    if len(given) != 1:
        raise ValueError(f"{' and '.join(given) or 'nothing'} names the data; give one of {', '.join(sources)}.")
    if arguments.task_name is not None:
        return [load_glue_task(row, arguments.data_dir) for row in find_glue_tasks(arguments.task_name)]
    columns = Columns(
        texts=tuple(name for name in (arguments.text_column, arguments.text_pair_column) if name),
        labels=tuple(arguments.label_column or ()),
        separator=arguments.label_separator,
        cpc_positions=arguments.cpc_positions,
    )
    if arguments.text_pair_column is not None and arguments.text_column is None:
        raise ValueError("--text_pair_column names the second text; name the first one, too, by --text_column.")
    name, tables = _own_tables(arguments)
    share = arguments.validation_split_percentage / 100
    return [
        load_own_task(name, tables, columns, arguments.task_type, arguments.threshold, share, arguments.group_column)
    ]


def _own_tables(arguments: GlueArguments) -> tuple[str, dict[str, Dataset]]:
    """Returns a name for a user's own data, and its parts."""
    if arguments.train_file is not None:
        file = Path(arguments.train_file)
        given = {"train": file, "validation": arguments.validation_file, "test": arguments.test_file}
        tables = {split: read_files([str(where)]) for split, where in given.items() if where is not None}
        return (file.absolute().parent.name if file.stem == "train" else file.stem) or "data", tables
    found = read_hub(str(arguments.dataset_name), arguments.dataset_config_name, "check --dataset_name.")
    if "train" not in found:
        raise ValueError(f"{arguments.dataset_name} has no split train; it has {', '.join(found)}: give files instead.")
    parts = [str(arguments.dataset_name).rpartition("/")[2], arguments.dataset_config_name]
    wanted = ("train", "validation", "test")
    return "-".join(part for part in parts if part), {split: found[split] for split in wanted if split in found}


def _report(
    arguments: GlueArguments,
    tasks: list[Task],
    done: dict[str, dict[str, dict[str, Any]]],
    floors: dict[str, dict[str, float]],
    baseline: Any,
) -> Report:
    measured = {task.name: list(floors[task.name]) for task in tasks}
    scores = {
        name: {seed: {key: results["measures"][key] for key in measured[name]} for seed, results in seeds.items()}
        for name, seeds in done.items()
    }
    runs = [results for seeds in done.values() for results in seeds.values()]
    seeds = ", ".join(next(iter(done.values())))
    return Report(
        scores=scores,
        titles={task.name: task.title for task in tasks},
        floors=floors,
        summary=arguments.summary,
        baseline=baseline,
        heading=f"{arguments.model_name_or_path}, {runs[0]['parameters']:,} parameters; seeds: {seeds}",
        footnotes=[note for task in tasks for note in task.footnotes] + [n for r in runs for n in r["footnotes"]],
    )


def _brief(results: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in results.items() if name not in ("log", "arguments", "versions")}


def _line(task: Task, seed: int, results: dict[str, Any], floors: dict[str, float]) -> str:
    measures = ", ".join(
        f"{name.replace('_', ' ')} {100 * results['measures'][name]:.1f} (floor {100 * floor:.1f})"
        for name, floor in floors.items()
    )
    took = f"{results['epochs']:.1f} epochs, {results['train']['train_runtime']:.0f} s"
    return f"{task.title}, seed {seed}: {measures}; {took}"


if __name__ == "__main__":
    main()
