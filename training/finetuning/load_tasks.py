"""The tasks that a command of `run_glue.py` names: of GLUE, or one of the user's own."""

from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.distillation import check_task_distillation
from vocabless.training.finetuning.glue import find_glue_tasks, load_glue_task
from vocabless.training.finetuning.own_data import load_own_task
from vocabless.training.finetuning.tasks import Task

SOURCES = ("task_name", "train_file", "dataset_name")


def load_tasks(arguments: GlueArguments, training: GlueTrainingArguments) -> list[Task]:
    """Returns the tasks that the arguments name, with at most the numbers of samples that they allow.

    Raises:
        ValueError: not exactly one source of data is given, its data does not fit, or it does not fit the other flags.
    """
    flags = [f"--{name}" for name in SOURCES if getattr(arguments, name) is not None]
    if len(flags) != 1:
        mistake = f"{' and '.join(flags)} cannot be combined" if flags else "no data is given"
        raise ValueError(f"{mistake}; give one of {', '.join(f'--{name}' for name in SOURCES)}.")
    with training.main_process_first(desc="reading the data"):
        if arguments.task_name is not None:
            tasks = [load_glue_task(row, arguments.data_dir) for row in find_glue_tasks(arguments.task_name)]
        else:
            tasks = [load_own_task(arguments)]
        for task in tasks:
            task.limit(arguments.max_train_samples)
            _check_flags(task, arguments.example, training.metric_for_best_model)
        check_task_distillation(arguments, training, tasks)
    return tasks


def _check_flags(task: Task, example: list[str] | None, metric: str | None) -> None:
    """Raises an error if `--example` is not one of the task's, or `--metric_for_best_model` is not reported for it."""
    needed = 1 if task.train.pairs is None else 2
    if example is not None and len(example) != needed:
        raise ValueError(
            f"--example has {len(example)} texts, but {task.title} has {needed} in each row; give "
            f"{'two texts' if needed > 1 else 'one text, in quotes'}."
        )
    reported = ["loss", *task.constant_baselines()]
    if metric is not None and metric.removeprefix("eval_") not in reported:
        raise ValueError(
            f"--metric_for_best_model {metric} is not reported for {task.title}; give one of {', '.join(reported)}."
        )
