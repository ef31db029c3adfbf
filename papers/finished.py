"""Fills a table from the `results.json` files of finished runs, and lists how these runs differ from the plan."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import run_glue
from papers.counts import size_figures
from papers.plan import Plan
from papers.table import OWN, PRETRAINING, FilledRow, PaperRow, PaperTable, average, render, retention, scores_of
from vocabless.public_names import DATASET_ID
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.script import fingerprint

RESULTS = "results.json"
# Recorded arguments that do not change what is trained, since `total_batch_size` is fixed.
OF_THE_MACHINE = ("per_device_train_batch_size", "per_device_eval_batch_size", "train_batch_size", "eval_batch_size",
                  "gradient_accumulation_steps", "world_size", "use_cpu")  # fmt: skip
PRECISIONS = ("bf16", "fp16")
Record = Mapping[str, Any]  # content of a results.json


def fill(plan: Plan, rows: Sequence[PaperRow]) -> str:
    """Returns some rows of a table: the paper's figures next to ours, and below them what differs from the paper.

    PRR and PCR are against the paper's baseline, the first row of the table, whether it is one of `rows` or not.

    Raises:
        ValueError: a `results.json` is damaged.
    """
    table, baseline = plan.table, plan.table.rows[0]
    has_sizes = any(column.kind == "size" for column in table.columns)
    best = {row: best_of(_records(plan, plan.fine_tuned(row)), table) for row in (baseline, *rows)}
    scores = {row: scores_of(record) if record else {} for row, record in best.items()}
    for row in scores:
        for record in _records(plan, [plan.pretrained(row)]):
            scores[row] = {**scores[row], PRETRAINING: held_out_scores(record)}
    sizes = {row: size_figures(row, table.rows[row.original], table.num_labels) for row in rows if has_sizes}
    intervals = {row: scores_of(record, "intervals") if record else {} for row, record in best.items()}
    filled = [FilledRow(row, scores[row], sizes.get(row, {}), intervals[row]) for row in rows]
    constants: dict[str, dict[str, list[float]]] = {}
    for record in filter(None, best.values()):
        for task, values in record["constant_baselines"].items():
            constants[task] = {name: [value] for name, value in values.items()}
    if constants:
        constants = {OWN: next(iter(constants.values()))} | constants
    text = render(table, filled, scores[baseline], constants)
    kept = [column for column in table.columns if column.kind == "retention"]
    empty = [each.title for each in kept if retention(1, average(scores[baseline], each.key, table.summary)) is None]
    notes = _notes(plan, [*dict.fromkeys([baseline, *rows])] if kept else rows)
    if empty:
        notes.insert(0, f"- The baseline, {baseline.label}, has no score above 0 for {', '.join(empty)}: no PRR there.")
    return "\n".join([f"{table.title}: {table.about}", "", text, "", *notes])


def is_finished(plan: Plan, row: PaperRow) -> bool:
    """Returns whether all fine-tuning of a row is finished for all tasks, here or in kept records."""
    tasks = [scores_of(record) for record in _records(plan, plan.fine_tuned(row))]
    return len(tasks) == len(plan.fine_tuned(row)) and all({*plan.table.tasks} <= {*each} for each in tasks)


def held_out_scores(record: Record) -> Mapping[str, Sequence[float]]:
    """Returns what a pre-training run measured on held-out text at its end, by name."""
    after = record["after"]
    return {name: [after[f"eval_{name}"]] for name in record["metric_names"] if f"eval_{name}" in after}


def _records(plan: Plan, folders: Sequence[Path]) -> list[Record]:
    """Returns the results of those runs that are finished."""
    return [*filter(None, (record_of(plan, folder) for folder in folders))]


def record_of(plan: Plan, folder: Path) -> Record | None:
    """Returns the results of a run, or else the kept record of it; None if it is not finished. See `read_results`."""
    results = read_results(folder)
    if results is None and plan.records is not None:
        results = read_results(plan.records / folder.relative_to(plan.root))
    return results


def read_results(folder: Path) -> Record | None:
    """Returns the results of a finished run; None if there are none.

    Raises:
        ValueError: the file is damaged, or has no arguments.
    """
    file = folder / RESULTS
    if not file.is_file():
        return None
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        content["arguments"].items()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{str(file)!r} holds no results of a run; run its command again.") from error
    return content


def best_of(records: Sequence[Record], table: PaperTable) -> Record | None:
    """Returns a record in which each task has the results of the command that is best in it; None without records.

    The task's first column decides, summarised over the seeds. Source: Devlin et al., 4.1.
    """
    runs: dict[str, Any] = {}
    for task in dict.fromkeys(task for record in records for task in record["runs"]):
        term = next((term for term in table.terms if term.partition(".")[0] == task), None)
        known = [record for record in records if task in record["runs"]]
        if term is not None:
            known.sort(key=lambda record: average(scores_of(record), (term,), table.summary) or 0, reverse=True)
        runs[task] = known[0]["runs"][task]
    return {**records[0], "runs": runs} if records else None


def differences(words: Sequence[str], record: Record, root: Path) -> list[str]:
    """Returns how the recorded arguments of a run differ from those of its planned command, and the tasks it lacks.

    Args:
        words: a command of the plan, a script with its flags.
        record: the results of the run, with files and folders of the machine without their place.
        root: the folder of the plan: what the plan writes there is compared by its name alone, as are other paths.
    """
    script, *flags = words
    recorded, notes = dict(record["arguments"]), []
    if script == "run_pretraining.py":
        planned = parse_command_line(flags).fingerprint()
    else:
        arguments, training, data_arguments = run_glue.parse_command_line(flags)
        planned = fingerprint(arguments, training, data_arguments) | {"seeds": arguments.seeds}
        # Later commands may add seeds and tasks, so they are no recorded arguments.
        runs = {task: record["runs"].get(task) for task in data_arguments.task_name or record["runs"]}
        recorded["seeds"] = ", ".join(sorted({str(len(seeds)) for seeds in runs.values() if seeds}))
        missing = [task for task, seeds in runs.items() if not seeds]
        notes = [f"no results of {', '.join(missing)}"] if missing else []
    planned |= {name: f"--{name}" in flags for name in PRECISIONS}  # whatever a launcher of this process has
    known = {
        name: (_plain(recorded[name], root), _plain(value, root)) for name, value in planned.items() if name in recorded
    }
    return notes + [
        f"{name} is {ours}, not {theirs}"
        for name, (ours, theirs) in known.items()
        if name not in OF_THE_MACHINE and ours != theirs
    ]


def _plain(value: Any, root: Path) -> str:
    """Returns a value as it is compared and printed: files and folders without their place, as a run records them."""
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(each, root) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each, root)}" for name, each in sorted(value.items())) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return Path(value).name if isinstance(value, str) and _is_local(value, root) else str(value)


def _is_local(value: str, root: Path) -> bool:
    """Returns whether a value is a path below the root, or one that can be no data set or model of the Hub."""
    is_hub_id = DATASET_ID.fullmatch(value) and not os.path.exists(value)
    return root in Path(value).parents or ("/" in value and not is_hub_id)


def _notes(plan: Plan, rows: Sequence[PaperRow]) -> list[str]:
    """Returns what is not finished and what differs from the plan, each once, after the labels of its rows."""
    labels: dict[str, dict[str, None]] = {}
    for row in rows if plan.table.terms else ():
        commands = [*plan.pretraining(row), *plan.fine_tuning(row)]
        records = [(words, record_of(plan, Path(words[-1]))) for words in commands]
        missing = sum(record is None for _, record in records)
        notes = [f"{missing} of {len(commands)} commands are not finished"] if missing else []
        for words, record in records:
            if record is not None:
                notes += [f"{words[0]}: {each}" for each in differences(words, record, plan.root)]
        for note in notes:
            labels.setdefault(note, {})[row.label] = None
    return [f"- {'all rows' if len(named) == len(rows) else ', '.join(named)}: {n}." for n, named in labels.items()]
