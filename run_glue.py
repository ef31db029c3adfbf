"""Fine-tunes any encoder on GLUE or on your own data, over several seeds, and prints a table.

    vocabless finetune tickets.csv --test_file more.csv
    vocabless finetune --model_name_or_path hashgram-tiny-sentence --task_name all --seeds 3
    vocabless finetune --model_name_or_path eelbert-word-tiny --task_name sst2 rte --data_dir glue --learning_rate 3e-4
    vocabless finetune --model_name_or_path bert-tiny --tokenizer_name train --task_name sst2 --recipe proformer
    vocabless finetune --model_name_or_path ewe-bert-tiny --task_name sst2 --teacher you/bert-sst2 --augment 4

The output folder holds table.md, results.json, and a checkpoint in <task>/seed-<seed> for each run. Repeat the command
to continue: finished runs are read, and an interrupted run resumes from its last checkpoint. A later command may add
tasks and seeds.

If they are not given, the learning rate goes by the width of the encoder, and a small data set gets more than 5 epochs.
"""

import shlex
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path

import vocabless.command_environment  # noqa: F401 (before torch)
from vocabless.exit_with_message import exit_launched_process, exit_with_message
from vocabless.public_names import without_paths
from vocabless.saving.run_folder import locked_run_folder
from vocabless.saving.uploads import check_run_upload
from vocabless.training.finetuning.encoder_choice import choose_encoder
from vocabless.training.finetuning.fine_tuning import FineTuning, all_versions, load_tasks, run_folder
from vocabless.training.finetuning.prepared import Log
from vocabless.training.finetuning.report import Report
from vocabless.training.finetuning.rows.sources import data_name, describe_own_data
from vocabless.training.finetuning.tasks.arguments import DataArguments, GlueArguments, GlueTrainingArguments
from vocabless.training.load import split_revision
from vocabless.training.prediction import predict
from vocabless.training.run import Results, prepare_process
from vocabless.training.run import run as train_and_save
from vocabless.training.script import ScriptParser, fingerprint

PROGRAM = "vocabless finetune"
# A flag of the command line → the recipe's flag that it takes the place of.
OWN_DATA = dict.fromkeys(("train_file", "dataset_name"), "task_name")


def main(argv: list[str] | None = None) -> None:
    """Runs the command on its arguments; a user's mistake ends it with a message of one sentence."""
    with exit_with_message(PROGRAM, argv):
        run(*parse_command_line(argv))


def parse_command_line(argv: list[str] | None = None) -> tuple[GlueArguments, GlueTrainingArguments, DataArguments]:
    """Returns the arguments of a command, with its output folder. Raises ValueError, see `ScriptParser.parse`."""
    parser = ScriptParser((DataArguments, GlueArguments, GlueTrainingArguments), __doc__, PROGRAM, "train_file")
    data_arguments, arguments, training = parser.parse(argv, OWN_DATA)
    if training.output_dir is None:
        is_glue = data_arguments.train_file is None and data_arguments.dataset_name is None
        model, _ = split_revision(arguments.model_name_or_path)
        name = f"glue/{Path(model).name}" if is_glue else data_name(data_arguments)
        training.output_dir = f"runs/{name}"
    return arguments, training, data_arguments


def run(arguments: GlueArguments, training: GlueTrainingArguments, data_arguments: DataArguments) -> None:
    """Fine-tunes on every task with every seed, then writes and prints the table.

    Raises:
        ValueError: a mistake of the user, or training that cannot go on.
    """
    if arguments.is_model_given and data_arguments.is_test_alone:
        _predict_alone(arguments.model_name_or_path, data_arguments)
        return
    is_main, folder = training.process_index == 0, Path(str(training.output_dir))
    log: Log = partial(print, flush=True) if is_main else lambda _: None

    # 1. What can be refused without data; then the data: of GLUE, of files, or of the Hub.
    prepare_process(training)
    training.do_predict |= data_arguments.test_file is not None
    tasks = load_tasks(arguments, training, data_arguments)
    if lines := describe_own_data(tasks[0], data_arguments.problem_type):
        log(lines)
    choice = None if arguments.is_model_given or data_arguments.task_name else choose_encoder(tasks[0], log)
    if choice is not None:
        arguments.model_name_or_path = choice.source

    # 2. A run for each task and seed, in a folder of its own.
    runs = [(task, seed) for task in tasks for seed in range(training.seed, training.seed + arguments.seeds)]
    repositories: list[str | None] = [None] * len(runs)
    if is_main and training.push_to_hub:
        names = [f"{task.name}-seed-{seed}" for task, seed in runs]
        repositories = [*check_run_upload(training, folder.name, names)]
    results: dict[str, dict[str, Results]] = {task.name: {} for task in tasks}
    identifying = fingerprint(arguments, training, data_arguments)
    encoder_choice = None if choice is None else asdict(choice)
    tunings = {task.name: FineTuning(task, arguments, training, data_arguments, log, encoder_choice) for task in tasks}
    with locked_run_folder(folder, identifying) if is_main else nullcontext():
        for (task, seed), repository in zip(runs, repositories, strict=True):
            outcome = train_and_save(tunings[task.name].with_seed(seed), repository)
            results[task.name][str(seed)] = outcome.results
            if is_main:
                print(outcome.text, flush=True)

        # 3. The table of all runs; of one run on own data, its line says all.
        if is_main:
            report, folders = Report.of(tasks, results, arguments), [run_folder(*each, training) for each in runs]
            report.write(folder, {"arguments": without_paths(identifying), "versions": all_versions()})
            if not tasks[0].is_own or len(runs) > 1:
                print(f"\n{report.as_markdown()}")
            _tell_files(folder, folders)


def _predict_alone(model: str, data_arguments: DataArguments) -> None:
    """Predicts and scores the rows of a test file by a saved model, as `vocabless predict` does."""
    command = [model, str(data_arguments.test_file)]
    for name in ("text_column", "label_column", "encoding", "delimiter"):
        given = getattr(data_arguments, name)
        command += [f"--{name}", *([given] if isinstance(given, str) else given)] if given else []
    predict.main(command)


def _tell_files(folder: Path, models: list[Path]) -> None:
    """Prints where the models of a command are, and what can be done with the only one."""
    for model in models:
        predictions = " and ".join(sorted(file.name for file in model.glob("predictions*.jsonl")))
        print(f"Model: {model}" + (f", with {predictions} of the test rows" if predictions else ""))
    if len(models) == 1:
        name = shlex.quote(str(folder))
        print(f"Next: vocabless predict {name} ROWS, or vocabless space {name} page/")


if __name__ == "__main__":
    main()
    exit_launched_process()
