"""What the card of a fine-tuned checkpoint says, read from the results of its run."""
# mypy: allow-untyped-calls

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from transformers.utils.hub import cached_file

from vocabless.saving.model_card import CARD, LICENCE, run_facts
from vocabless.training.finetuning.glue import GLUE
from vocabless.training.finetuning.task_files import GLUE_REPOSITORY

# The Hub's names of measures, where they are others.
METRIC_IDS = {"pearson": "pearsonr", "spearman": "spearmanr"}
METRIC_IDS |= {
    f"{kind}_{name}": name for kind in ("micro", "macro", "entity") for name in ("precision", "recall", "f1")
}


def card_facts(results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts that `write_card` takes, from the `results.json` of a run of `run_glue.py`."""
    arguments = results["arguments"]
    is_own = arguments["train_file"] or arguments["dataset_name"]
    row = None if is_own else GLUE[results["task"]]
    name = f"GLUE {row.title}" if row else results["task"]
    start, measures = str(arguments["model_name_or_path"]), results["measures"]
    table = [
        f"| {measure.replace('_', ' ')} | {100 * measures[measure]:.1f} | {100 * floor:.1f} |"
        for measure, floor in results["floors"].items()
    ]
    notes = [f"- {note}." for note in results["footnotes"]]
    return {
        **run_facts(results),
        "kind": "fine-tuned",
        "start": Path(start).name if os.path.isdir(start) else start,
        "from_scratch": results["from_scratch"],
        **({"license": LICENCE} if results["from_scratch"] else _of_start(start)),
        "language": "en" if row else None,
        "datasets": [GLUE_REPOSITORY] if row else [arguments["dataset_name"]] if arguments["dataset_name"] else [],
        "dataset": name,
        "is_pair": bool(row and len(row.texts) > 1) or arguments["text_pair_column"] is not None,
        "epochs": f"{results['epochs']:g}",
        "keeps_best": arguments["load_best_model_at_end"],
        "batch_size": arguments["per_device_train_batch_size"],
        "measures": "\n".join(
            ["In percent; the floor is the best that one and the same answer to everything scores.", "",
             "| measure | this model | floor |", "|---|--:|--:|", *table, *([""] if notes else []), *notes]
        ),
        "eval_results": [_result(measure, measures[measure], name, row, arguments) for measure in results["floors"]],
    }  # fmt: skip


def _result(measure: str, value: float, name: str, row: Any, arguments: Mapping[str, Any]) -> EvalResult:
    """Returns a measure as the Hub writes it down; the value is that of the results, in the same unit."""
    plain = measure.removesuffix("_mm")
    where: dict[str, Any] = {"dataset_type": arguments["dataset_name"] or name}
    if row:
        split = tuple(row.splits)[2 if measure.endswith("_mm") else 1]
        where = {"dataset_type": GLUE_REPOSITORY, "dataset_config": row.name, "dataset_split": split}
    elif arguments["dataset_config_name"]:
        where["dataset_config"] = arguments["dataset_config_name"]
    is_tagging = measure.startswith("entity")
    return EvalResult(
        task_type="token-classification" if is_tagging else "text-classification",
        dataset_name=name,
        metric_type=METRIC_IDS.get(plain, plain),
        metric_name=plain.replace("_", " "),
        metric_value=value,
        **where,
    )


def _of_start(start: str) -> dict[str, Any]:
    """Returns what a checkpoint hands down to what is trained from it: licence, and its id if it is on the Hub."""
    try:
        data = ModelCard.load(Path(str(cached_file(start, CARD)))).data
    except (OSError, ValueError):  # it has no card that can be read
        data = ModelCardData()
    return {"license": data.get("license"), **({} if os.path.isdir(start) else {"base_model": start})}
