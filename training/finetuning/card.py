"""What the model card of a fine-tuned checkpoint says, read from the results of its run."""
# mypy: allow-untyped-calls

from collections.abc import Mapping
from typing import Any

from huggingface_hub import EvalResult

from vocabless.overrides import describe_overrides
from vocabless.saving.card_facts import CardFacts, run_facts
from vocabless.saving.provenance import provenance
from vocabless.saving.public_names import public_name
from vocabless.training.finetuning.glue import GLUE, GlueTask
from vocabless.training.finetuning.task_distillation import describe_rows, describe_teacher
from vocabless.training.finetuning.task_files import GLUE_REPOSITORY

MIN_ROWS = 100  # of a held-out part, for a score in the metadata
# Our name of a measure → the Hub's name, where they differ.
METRIC_IDS = {"pearson": "pearsonr", "spearman": "spearmanr"}
METRIC_IDS |= {
    f"{average}_{name}": name for average in ("micro", "macro", "entity") for name in ("precision", "recall", "f1")
}


def card_facts(results: Mapping[str, Any]) -> CardFacts:
    """Returns what the card says, from the `results.json` of a run of `run_glue.py`."""
    arguments = results["arguments"]
    glue_task = None if _is_own_data(arguments) else GLUE[results["task"]]
    dataset = f"GLUE {glue_task.title}" if glue_task else results["task"]
    start = str(arguments["model_name_or_path"])
    origin = results.get("start") or provenance(start, results["from_scratch"])
    teacher = results.get("teacher")
    hub_id = GLUE_REPOSITORY if glue_task else arguments["dataset_name"]
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
        teacher=describe_teacher(teacher) if teacher else None,
        teacher_rows=describe_rows(teacher) if teacher else None,
        measures=_table(results),
        footnotes=[*results["footnotes"], *filter(None, [results.get("constant_baseline_note")])],
        eval_results=[
            _eval_result(measure, results["measures"][measure], dataset, glue_task, arguments)
            for measure in results["constant_baselines"]
            if results["is_cross_validated"] or results["rows"][measure] >= MIN_ROWS
        ],
    )


def _is_own_data(arguments: Mapping[str, Any]) -> bool:
    return any(arguments.get(source) for source in ("train_file", "dataset_name"))


def _table(results: Mapping[str, Any]) -> str:
    """Returns a Markdown table of the measures with their intervals, beside the constant baselines.

    A run with a first head or a teacher has one more column, and a run that was also evaluated on misspelt texts has
    two.
    """
    noisy = results.get("noisy")
    columns = {"constant baseline": results["constant_baselines"]}
    if "head" in results:
        columns["head alone"] = results["head"]["measures"]
    if "teacher" in results:
        columns["teacher"] = results["teacher"]["measures"]
    if noisy:
        misspelt = noisy["measures"]
        lost = {name: results["measures"][name] - misspelt[name] for name in results["constant_baselines"]}
        columns |= {"misspelt": misspelt, "lost": lost}
    lines = [
        "Scores are multiplied by 100. The interval holds the score on other texts of the same kind, 95 % sure. The "
        "constant baseline is the best score of a model that gives the same answer to every example.",
        "",
        f"| measure | this model | 95 % interval | texts | {' | '.join(columns)} |",
        f"|---|{'--:|' * (3 + len(columns))}",
    ]
    if "head" in results:
        lines[0] += " Head alone: a linear model of the encoder's vectors, before fine-tuning."
    if noisy:
        lines[0] += f" Misspelt: {100 * noisy['probability']:g} % of the words of the same texts are misspelt."
    for measure in results["constant_baselines"]:
        low, high = results["intervals"][measure]
        cells = [measure.replace("_", " "), f"{100 * results['measures'][measure]:.1f}"]
        cells += [f"{100 * low:.1f}–{100 * high:.1f}", f"{results['rows'][measure]:,}"]
        cells += [f"{100 * column[measure]:.1f}" for column in columns.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _eval_result(
    measure: str, value: float, dataset: str, glue_task: GlueTask | None, arguments: Mapping[str, Any]
) -> EvalResult:
    """Returns a measure as the card's metadata holds it, in the unit of `results.json`."""
    metric = measure.removesuffix("_mm")
    source: dict[str, Any] = {"dataset_type": arguments["dataset_name"] or dataset}
    if glue_task:
        _, *validation_splits = glue_task.splits  # the first split is train
        split = validation_splits[1 if measure.endswith("_mm") else 0]
        source = {"dataset_type": GLUE_REPOSITORY, "dataset_config": glue_task.name, "dataset_split": split}
    elif arguments["dataset_config_name"]:
        source["dataset_config"] = arguments["dataset_config_name"]
    return EvalResult(
        task_type="token-classification" if measure.startswith("entity") else "text-classification",
        dataset_name=dataset,
        metric_type=METRIC_IDS.get(metric, metric),
        metric_name=metric.replace("_", " "),
        metric_value=value,
        **source,
    )
