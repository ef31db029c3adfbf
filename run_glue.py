"""Fine-tunes any encoder on GLUE or on your own data, over several seeds, and prints a table.

    python run_glue.py --model_name_or_path checkpoints/hashgram-tiny-sentence --task_name all --seeds 3
    python run_glue.py --model_name_or_path eelbert-word-tiny --task_name sst2 rte --data_dir glue --learning_rate 3e-4
    python run_glue.py --model_name_or_path bert-tiny --tokenizer_name train --task_name sst2 --recipe proformer
    python run_glue.py --model_name_or_path ewe-bert-tiny --task_name sst2 --teacher you/bert-sst2 --augment 4
    python run_glue.py --model_name_or_path ewe-bert-tiny --train_file train.csv --test_file test.csv --do_predict
    python run_glue.py --model_name_or_path checkpoints/hashgram-tiny-sentence --task_name sst2 --noise 0.1

The output folder holds table.md, results.json, and a checkpoint in <task>/seed-<seed> for each run. Repeat the command
to continue: finished runs are read, and an interrupted run resumes from its last checkpoint. A later command may add
tasks, seeds, and --noise: the scores on misspelt texts.

If they are not given, the learning rate goes by the width of the encoder, and a small data set gets more than 5 epochs.
"""

from script_start import start_script

if __name__ == "__main__":
    start_script()

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import datasets
from transformers.utils import logging as transformers_logging

from vocabless.overrides import describe_overrides
from vocabless.saving.permissions import check_readable
from vocabless.saving.run_folder import RESULTS, locked_run_folder, write_json
from vocabless.saving.uploads import check_run_upload
from vocabless.training.exit_with_message import exit_with_message
from vocabless.training.finetuning.arguments import (
    GlueArguments,
    identifying_arguments,
    reported_arguments,
)
from vocabless.training.finetuning.default_hyper_parameters import default_learning_rate, default_patience
from vocabless.training.finetuning.glue import find_glue_tasks
from vocabless.training.finetuning.glue_tasks import load_glue_task
from vocabless.training.finetuning.load_model import check_model, hidden_size_of
from vocabless.training.finetuning.noise import NOISE_SEED, check_noise
from vocabless.training.finetuning.own_tasks import describe_own_task, load_own_task
from vocabless.training.finetuning.report import NoisyScores, Report, Scores
from vocabless.training.finetuning.runs import FineTuning, all_versions, check_best_metric, run_folder
from vocabless.training.finetuning.task_distillation import check_task_distillation, describe_rows, describe_teacher
from vocabless.training.finetuning.tasks import Task
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.launched_process import exit_launched_process
from vocabless.training.run import run as train
from vocabless.training.script_parser import ScriptParser
from vocabless.training.task import Results

TABLE = "table.md"
# A flag of the command line → the recipe's flag that it takes the place of.
OWN_DATA = dict.fromkeys(("train_file", "dataset_name"), "task_name")
RunResults = dict[str, dict[str, Results]]  # task → seed → results


def main(argv: list[str] | None = None) -> None:
    """Runs the script with command-line arguments; a user's mistake ends it with a message of one sentence."""
    parser = ScriptParser((GlueArguments, GlueTrainingArguments), __doc__)
    with exit_with_message("run_glue.py"):
        arguments, training = parser.parse(argv, OWN_DATA)
        if training.output_dir is None:
            training.output_dir = f"runs/glue/{Path(arguments.model_name_or_path).name}"
        run(arguments, training)


def run(arguments: GlueArguments, training: GlueTrainingArguments) -> None:
    """Fine-tunes on every task with every seed, then writes and prints the table.

    Raises:
        ValueError: a mistake of the user, or training that cannot go on.
    """
    _set_logging(training)
    if arguments.seeds < 1:
        raise ValueError(f"--seeds {arguments.seeds} runs nothing; give at least 1.")
    check_noise(arguments.noise)
    for source in filter(None, (arguments.model_name_or_path, arguments.teacher)):
        check_readable(source)
    check_model(arguments)
    arguments.eval_steps_of("")  # refuses what is not JSON before any work
    _choose_learning_rate(arguments, training)
    with training.main_process_first(desc="reading the data"):
        tasks = load_tasks(arguments)
        check_task_distillation(arguments, training, tasks)
        check_best_metric(training, tasks)
    if training.process_index == 0 and arguments.task_name is None:
        print(describe_own_task(tasks[0], arguments), flush=True)
    seeds = range(training.seed, training.seed + arguments.seeds)
    repositories = _check_uploads([(task, seed) for task in tasks for seed in seeds], training)
    is_main, identity = training.process_index == 0, identifying_arguments(arguments, training)
    with locked_run_folder(str(training.output_dir), identity) if is_main else nullcontext():
        results = {task.name: _run_seeds(task, seeds, repositories, arguments, training) for task in tasks}
        if is_main:
            report = _make_report(tasks, results, arguments)
            print(f"\n{report.as_markdown()}")
            folders = [run_folder(task, seed, training) for task in tasks for seed in seeds]
            print("Models with their cards:", *folders, sep="\n  ")
            _write_report(report, results, arguments, training)


def _choose_learning_rate(arguments: GlueArguments, training: GlueTrainingArguments) -> None:
    """Sets the learning rate if it is not given, and prints it."""
    if training.learning_rate is not None:
        return
    with training.main_process_first(desc="reading the model's configuration"):
        width = hidden_size_of(arguments)
    training.learning_rate = default_learning_rate(width)
    if training.process_index == 0:
        print(f"Learning rate: {training.learning_rate:g}, chosen for an encoder {width} wide.", flush=True)


def load_tasks(arguments: GlueArguments) -> list[Task]:
    """Returns the tasks that the arguments name, with at most the numbers of samples that they allow.

    Raises:
        ValueError: not exactly one source of data is given, or its data does not fit.
    """
    sources = {
        "--task_name": arguments.task_name,
        "--train_file": arguments.train_file,
        "--dataset_name": arguments.dataset_name,
    }
    flags = [flag for flag, value in sources.items() if value is not None]
    if len(flags) != 1:
        problem = f"{' and '.join(flags)} cannot be combined" if flags else "no data is given"
        raise ValueError(f"{problem}; give one of {', '.join(sources)}.")
    if arguments.task_name is not None:
        tasks = [load_glue_task(row, arguments.data_dir) for row in find_glue_tasks(arguments.task_name)]
    else:
        tasks = [load_own_task(arguments)]
    for task in tasks:
        task.limit(arguments.max_train_samples, arguments.max_eval_samples, arguments.max_predict_samples)
    return tasks


def _set_logging(training: GlueTrainingArguments) -> None:
    if training.disable_tqdm:
        datasets.disable_progress_bars()
        transformers_logging.disable_progress_bar()
    else:
        datasets.enable_progress_bars()
        transformers_logging.enable_progress_bar()
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _check_uploads(runs: list[tuple[Task, int]], training: GlueTrainingArguments) -> dict[Path, str]:
    """Checks that the runs can be uploaded.

    Returns:
        Run folder → repository that it is uploaded to; empty without `--push_to_hub` and on other processes.
    """
    if training.process_index != 0 or not training.push_to_hub:
        return {}
    output = Path(str(training.output_dir))
    ids = check_run_upload(training, output.name, [f"{task.name}-seed-{seed}" for task, seed in runs])
    return dict(zip([run_folder(task, seed, training) for task, seed in runs], ids, strict=True))


def _run_seeds(
    task: Task,
    seeds: Iterable[int],
    repositories: Mapping[Path, str],
    arguments: GlueArguments,
    training: GlueTrainingArguments,
) -> dict[str, Results]:
    """Fine-tunes on a task with every seed; prints the metrics and uploads each run."""
    results = {}
    for seed in seeds:
        folder = run_folder(task, seed, training)
        of_run = training.for_run(
            folder, seed, len(task.train), task.problem.best_metric, arguments.eval_steps_of(task.name)
        )
        patience = arguments.early_stopping_patience
        if patience is None:
            patience = default_patience(of_run.num_train_epochs)
        settings = replace(arguments, early_stopping_patience=patience)
        outcome = train(FineTuning(task), settings, of_run, repositories.get(folder))
        results[str(seed)] = outcome.results
        if training.process_index == 0:
            print(outcome.text, flush=True)
            if "constant_baseline_note" in outcome.results:
                print(f"Warning: {outcome.results['constant_baseline_note']}.", file=sys.stderr, flush=True)
    return results


def _make_report(tasks: list[Task], results: RunResults, arguments: GlueArguments) -> Report:
    constants = {task.name: task.constant_baselines() for task in tasks}

    def scores(measures: Callable[[Results], Mapping[str, float]]) -> Scores:
        return {
            task: {seed: {name: measures(run)[name] for name in constants[task]} for seed, run in runs.items()}
            for task, runs in results.items()
        }

    noisy = None
    if arguments.noise:
        noisy = NoisyScores(arguments.noise, NOISE_SEED, scores(lambda run: run["noisy"]["measures"]))
    all_runs = [run for runs in results.values() for run in runs.values()]
    seeds = ", ".join(results[tasks[0].name])
    teachers = {task: next(iter(runs.values())).get("teacher") for task, runs in results.items()}
    titles = {task.name: task.title for task in tasks}
    name = arguments.model_name_or_path
    start = (describe_overrides(name, arguments.overrides) or name) + (
        " from random weights" if all_runs[0]["from_scratch"] else ""
    )
    return Report(
        scores=scores(lambda run: run["measures"]),
        titles=titles,
        constant_baselines=constants,
        heading=f"{start}, {all_runs[0]['parameters']:,} parameters; seeds: {seeds}",
        footnotes=[note for task in tasks for note in task.footnotes]
        + [note for run in all_runs for note in run["footnotes"]]
        + [run["constant_baseline_note"] for run in all_runs if "constant_baseline_note" in run]
        + [
            f"{titles[task]}: learned from {describe_teacher(facts)}, which labelled {describe_rows(facts)}"
            for task, facts in teachers.items()
            if facts
        ],
        noisy=noisy,
        teacher={
            task: {name: facts["measures"][name] for name in constants[task]}
            for task, facts in teachers.items()
            if facts
        },
    )


def _write_report(
    report: Report, results: RunResults, arguments: GlueArguments, training: GlueTrainingArguments
) -> None:
    """Writes table.md and results.json of the command. Logs and versions of each run stay in the run's own folder."""
    folder = Path(str(training.output_dir))
    (folder / TABLE).write_text(report.as_markdown(), encoding="utf-8")
    runs = {
        task: {seed: _without(run, "log", "arguments", "versions") for seed, run in runs.items()}
        for task, runs in results.items()
    }
    command = {"arguments": reported_arguments(arguments, training), "versions": all_versions()}
    write_json(folder / RESULTS, report.as_json() | {"runs": runs} | command)


def _without(results: Results, *names: str) -> Results:
    return {name: value for name, value in results.items() if name not in names}


if __name__ == "__main__":
    main()
    exit_launched_process()
