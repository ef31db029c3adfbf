"""Fills a table from the `results.json` files of finished runs, and lists how these runs differ from the plan."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import vocabless
from papers.counts import size_figures
from papers.plan import Plan
from papers.table import OWN, FilledRow, PaperRow, PaperTable, average, render, scores_of

RESULTS = "results.json"
RECIPES = Path(vocabless.__file__).parent / "training" / "recipes"
# Recorded arguments that change a result and that no recipe and no plan names: their values then.
DEFAULTS = {"max_train_samples": None, "teacher": None, "bf16": False, "fp16": False}
Record = Mapping[str, Any]  # content of a results.json


def fill(plan: Plan, rows: Sequence[PaperRow]) -> str:
    """Returns some rows of a table: the paper's figures beside ours, and below them what differs from the paper.

    PRR, PCR and PoEP are against the first row of the table, whether it is one of `rows` or not.

    Raises:
        ValueError: a `results.json` is damaged.
    """
    table, baseline = plan.table, plan.table.rows[0]
    has_sizes = any(column.kind == "size" for column in table.columns)
    best = {row: _best(table, plan.fine_tuned(row)) for row in (baseline, *rows)}
    scores = {row: scores_of(record) if record else {} for row, record in best.items()}
    filled = [FilledRow(row, scores[row], size_figures(row, baseline) if has_sizes else {}) for row in rows]
    constants: dict[str, dict[str, list[float]]] = {}
    for record in filter(None, best.values()):
        for task, values in record["constant_baselines"].items():
            constants[task] = {name: [value] for name, value in values.items()}
    if constants:
        constants = {OWN: next(iter(constants.values()))} | constants
    text = render(table, filled, scores[baseline], constants)
    return "\n".join([f"{table.title}: {table.about}", "", text, "", *_notes(plan, rows)])


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


def best_of(records: Sequence[Record], table: PaperTable) -> Record:
    """Returns the record in which each task has the results of the command that is best in it.

    The task's first column decides, summarised over the seeds. Source: Devlin et al., 4.1.
    """
    runs: dict[str, Any] = {}
    for task in dict.fromkeys(task for record in records for task in record["runs"]):
        term = next((term for term in table.terms if term.partition(".")[0] == task), None)
        known = [record for record in records if task in record["runs"]]
        if term is not None:
            known.sort(key=lambda record: average(scores_of(record), (term,), table.summary) or 0, reverse=True)
        runs[task] = known[0]["runs"][task]
    return {**records[0], "runs": runs}


def differences(words: Sequence[str], record: Record) -> list[str]:
    """Returns how the recorded arguments of a run differ from the recipe and the flags of its planned command.

    Args:
        words: a command of the plan, a script with its flags.
        record: the results of the run.
    """
    planned, recorded = _planned(words), dict(record["arguments"])
    if "scores" in record:  # of run_glue.py: later commands may add seeds, so they are no recorded arguments
        recorded["seeds"] = ", ".join(sorted({str(len(seeds)) for seeds in record["scores"].values()}))
    return [
        f"{name} is {_plain(recorded[name])}, not {_plain(value)}"
        for name, value in planned.items()
        if name in recorded and _plain(recorded[name]) != _plain(value)
    ]


def _planned(words: Sequence[str]) -> dict[str, Any]:
    """Returns the arguments of a planned command, by the names under which a run records them."""
    script, *flags = words
    given: dict[str, list[str]] = {}
    for word in flags:
        if word.startswith("--"):
            given[word[2:]] = []
        else:
            given[next(reversed(given))].append(word)
    (recipe,) = given["recipe"]
    planned: dict[str, Any] = yaml.safe_load((RECIPES / f"{recipe}.yaml").read_text(encoding="utf-8"))
    is_pretraining = script == "run_pretraining.py"
    planned = DEFAULTS | ({} if is_pretraining else {"seeds": 1, "world_size": 1}) | planned
    planned |= {name: values[0] if len(values) == 1 else values or True for name, values in given.items()}
    planned["overrides"] = dict(item.split("=", 1) for item in planned.get("set", ()))
    if is_pretraining:
        if "model_name_or_path" in planned:
            del planned["variant"]
        if "-lsh-" not in planned.get("variant", ""):  # only these have n-gram features
            planned["overrides"].pop("ngrams", None)
        del planned["per_device_train_batch_size"]  # the machine decides; total_batch_size is fixed
    # A run does not record the first two, and the plan fixes the tasks of each table, whose runs others share.
    return {name: value for name, value in planned.items() if name not in ("output_dir", "recipe", "task_name")}


def _plain(value: Any) -> str:
    """Returns a value as it is compared and printed: numbers alike in YAML and JSON, files without their place."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items()) or "none"
    try:
        return str(value) if isinstance(value, bool) or value is None else f"{float(value):g}"
    except ValueError:
        parsed = yaml.safe_load(value) if str(value).startswith("{") else None  # the Trainer records text
        return _plain(parsed) if isinstance(parsed, dict) else str(value).rpartition("/")[2]


def _best(table: PaperTable, folders: Iterable[Path]) -> Record | None:
    records = [record for record in map(read_results, folders) if record is not None]
    return best_of(records, table) if records else None


def _notes(plan: Plan, rows: Sequence[PaperRow]) -> list[str]:
    """Returns what is not finished and what differs from the plan, each once, behind the labels of its rows."""
    labels: dict[str, dict[str, None]] = {}
    for row in rows:
        commands = [*plan.pretraining(row), *plan.fine_tuning(row)]
        records = [(words, read_results(Path(words[-1]))) for words in commands]
        missing = sum(record is None for _, record in records)
        notes = [f"{missing} of {len(commands)} commands are not finished"] if missing else []
        for words, record in records:
            if record is not None:
                notes += [f"{words[0]}: {each}" for each in differences(words, record)]
        for note in notes:
            labels.setdefault(note, {})[row.label] = None
    return [f"- {'all rows' if len(named) == len(rows) else ', '.join(named)}: {n}." for n, named in labels.items()]
