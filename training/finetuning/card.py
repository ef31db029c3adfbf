"""What the model card of a fine-tuned checkpoint says, read from the results of its run."""

from collections.abc import Mapping
from typing import Any

from huggingface_hub import EvalResult

from vocabless.overrides import describe_overrides
from vocabless.saving.card_facts import CardFacts, run_facts
from vocabless.saving.model_card import provenance
from vocabless.saving.public_names import public_name
from vocabless.saving.tables import markdown_table
from vocabless.training.finetuning.glue import GLUE, GLUE_REPOSITORY, MISMATCHED, GlueTask
from vocabless.training.finetuning.teacher import describe_rows
from vocabless.training.texts.corpora import HUB_ID

MIN_ROWS = 100  # of a held-out part, for a score in the metadata
# Our name of a metric → the Hub's name, where they differ.
METRIC_IDS = {"pearson": "pearsonr", "spearman": "spearmanr"}
METRIC_IDS |= {f"{average}_{name}": name for average in ("micro", "macro") for name in ("precision", "recall", "f1")}


def card_facts(results: Mapping[str, Any]) -> CardFacts:
    """Returns what the card says, from the `results.json` of a run of `run_glue.py`."""
    arguments = results["arguments"]
    is_own_data = arguments.get("train_file") or arguments.get("dataset_name")
    glue_task = None if is_own_data else GLUE[results["task"]]
    dataset = f"GLUE {glue_task.title}" if glue_task else results["task"]
    start = str(arguments["model_name_or_path"])
    origin = results.get("start") or provenance(start, results["from_scratch"])
    teacher = results.get("teacher")
    hub_id = GLUE_REPOSITORY if glue_task else _hub_id(arguments)["path"]
    return CardFacts(
        kind="fine-tuned",
        **run_facts(results),
        start=public_name(start),
        overrides=describe_overrides(start, arguments.get("overrides")),
        from_scratch=results["from_scratch"],
        **origin,
        dataset=dataset,
        datasets=[hub_id] if hub_id else [],
        language="en" if glue_task else None,
        is_pair=results["is_pair"],
        is_own_data=glue_task is None,
        example=results["example"],
        threshold=arguments.get("threshold"),
        epochs=float(results["epochs"]),
        keeps_best=arguments["load_best_model_at_end"],
        batch_size=arguments["per_device_train_batch_size"],
        teacher=f"{teacher['name']} ({teacher['description']})" if teacher else None,
        teacher_rows=describe_rows(teacher) if teacher else None,
        measures=_table(results),
        eval_results=[
            _eval_result(name, results["measures"][name], dataset, glue_task, arguments)
            for name in results["constant_baselines"]
            if results["is_cross_validated"] or results["rows"][name] >= MIN_ROWS
        ],
    )


def _hub_id(arguments: Mapping[str, Any]) -> dict[str, str | None]:
    """Returns the parts of `--dataset_name`, see `HUB_ID`; None for what it does not name."""
    name = arguments["dataset_name"]
    match = HUB_ID.fullmatch(name or "")
    return match.groupdict() if match else {"path": name, "name": None}


def _table(results: Mapping[str, Any]) -> str:
    """Returns a Markdown table of the scores with their intervals, beside the constant baselines.

    A run with a first head or a teacher has one more column.
    """
    scores, constants = results["measures"], results["constant_baselines"]
    legend = (
        "Scores are multiplied by 100. The interval holds the score on other texts of the same kind, 95 % sure. The "
        "constant baseline is the best score of a model that gives the same answer to every example."
    )
    columns = {"constant baseline": constants}
    if "head" in results:
        columns["head alone"] = results["head"]["measures"]
        legend += " Head alone: a linear model of the encoder's vectors, before fine-tuning."
    if "teacher" in results:
        columns["teacher"] = results["teacher"]["measures"]
    rows = []
    for name in constants:
        low, high = results["intervals"][name]
        cells = [name.replace("_", " "), f"{100 * scores[name]:.1f}", f"{100 * low:.1f}–{100 * high:.1f}"]
        rows.append([*cells, f"{results['rows'][name]:,}", *(f"{100 * each[name]:.1f}" for each in columns.values())])
    header = ["measure", "this model", "95 % interval", "texts", *columns]
    return f"{legend}\n\n{markdown_table(header, rows)}"


def _eval_result(
    name: str, value: float, dataset: str, glue_task: GlueTask | None, arguments: Mapping[str, Any]
) -> EvalResult:
    """Returns a score as the card's metadata holds it, in the unit of `results.json`."""
    metric = name.removesuffix(MISMATCHED)
    hub_id = _hub_id(arguments)
    source: dict[str, Any] = {"dataset_type": hub_id["path"] or dataset, "dataset_config": hub_id["name"]}
    if glue_task:
        _, *validation_splits = glue_task.splits  # the first split is train
        split = validation_splits[1 if name.endswith(MISMATCHED) else 0]
        source = {"dataset_type": GLUE_REPOSITORY, "dataset_config": glue_task.name, "dataset_split": split}
    return EvalResult(
        task_type="text-classification",
        dataset_name=dataset,
        metric_type=METRIC_IDS.get(metric, metric),
        metric_name=metric.replace("_", " "),
        metric_value=value,
        **source,
    )
