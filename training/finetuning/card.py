"""Facts for the model card of a fine-tuned checkpoint, read from the results of its run."""
# mypy: allow-untyped-calls

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from transformers.utils.hub import cached_file

from vocabless.saving.model_card import CARD, LICENCE, run_facts
from vocabless.training.finetuning.glue import GLUE, GlueTask
from vocabless.training.finetuning.task_files import GLUE_REPOSITORY

# Metrics that have another name on the Hub.
METRIC_IDS = {"pearson": "pearsonr", "spearman": "spearmanr"}
METRIC_IDS |= {
    f"{prefix}_{name}": name for prefix in ("micro", "macro", "entity") for name in ("precision", "recall", "f1")
}


def card_facts(results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts that `write_card` takes, from the `results.json` of a run of `run_glue.py`."""
    arguments = results["arguments"]
    is_own_data = arguments["train_file"] or arguments["dataset_name"]
    glue_task = None if is_own_data else GLUE[results["task"]]
    dataset = f"GLUE {glue_task.title}" if glue_task else results["task"]
    initial_model = str(arguments["model_name_or_path"])
    return {
        **run_facts(results),
        "kind": "fine-tuned",
        "start": Path(initial_model).name if os.path.isdir(initial_model) else initial_model,
        "from_scratch": results["from_scratch"],
        **({"license": LICENCE} if results["from_scratch"] else _inherited_facts(initial_model)),
        "language": "en" if glue_task else None,
        "datasets": [GLUE_REPOSITORY] if glue_task else [name for name in [arguments["dataset_name"]] if name],
        "dataset": dataset,
        "is_pair": bool(glue_task and len(glue_task.texts) > 1) or arguments["text_pair_column"] is not None,
        "epochs": f"{results['epochs']:g}",
        "keeps_best": arguments["load_best_model_at_end"],
        "batch_size": arguments["per_device_train_batch_size"],
        "measures": _metrics_table(results),
        "eval_results": [
            _eval_result(metric, results["measures"][metric], dataset, glue_task, arguments)
            for metric in results["floors"]
        ],
    }


def _metrics_table(results: Mapping[str, Any]) -> str:
    """Returns the metrics beside the constant baselines, and the footnotes, in Markdown."""
    rows = [
        f"| {metric.replace('_', ' ')} | {100 * results['measures'][metric]:.1f} | {100 * constant:.1f} |"
        for metric, constant in results["floors"].items()
    ]
    notes = [f"- {note}." for note in results["footnotes"]]
    legend = "In percent. Constant: the best score of a prediction that is the same for every example."
    header = ["| measure | this model | constant |", "|---|--:|--:|"]
    return "\n".join([legend, "", *header, *rows, *([""] if notes else []), *notes])


def _eval_result(
    metric: str, value: float, dataset: str, glue_task: GlueTask | None, arguments: Mapping[str, Any]
) -> EvalResult:
    """Returns a metric in the Hub's form. The value is unchanged: a share, not percent."""
    name = metric.removesuffix("_mm")
    source: dict[str, Any] = {"dataset_type": arguments["dataset_name"] or dataset}
    if glue_task:
        split = tuple(glue_task.splits)[2 if metric.endswith("_mm") else 1]
        source = {"dataset_type": GLUE_REPOSITORY, "dataset_config": glue_task.name, "dataset_split": split}
    elif arguments["dataset_config_name"]:
        source["dataset_config"] = arguments["dataset_config_name"]
    return EvalResult(
        task_type="token-classification" if metric.startswith("entity") else "text-classification",
        dataset_name=dataset,
        metric_type=METRIC_IDS.get(name, name),
        metric_name=name.replace("_", " "),
        metric_value=value,
        **source,
    )


def _inherited_facts(initial_model: str) -> dict[str, Any]:
    """Returns what the card takes over from the initial checkpoint: its licence, and its id if it is on the Hub."""
    try:
        data = ModelCard.load(Path(str(cached_file(initial_model, CARD)))).data
    except (OSError, ValueError):  # no card, or one that cannot be read
        data = ModelCardData()
    return {"license": data.get("license"), **({} if os.path.isdir(initial_model) else {"base_model": initial_model})}
