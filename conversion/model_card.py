"""The README.md of a checkpoint folder: what the Hub shows, filled from the variant's row and the run's own results.

The templates are in model_cards/: one for each published family, all of them within `checkpoint.md`.
"""
# mypy: allow-untyped-calls

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from jinja2 import Environment, FileSystemLoader
from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_NAME
from transformers.utils.hub import cached_file

from vocabless.training.corpus import HUB_ID
from vocabless.training.glue import GLUE
from vocabless.training.pretraining import compared
from vocabless.training.task_files import GLUE_REPOSITORY
from vocabless.variants import VARIANTS

CARD = "README.md"
PLACEHOLDER = "FOLDER_OR_REPOSITORY"  # in a card's example, until a repository has a name
TEMPLATES = Path(__file__).parent.parent / "model_cards"
FRAME = "checkpoint.md"
FAMILIES = {
    "hashformer": "hashformer.md",
    "proformer": "proformer.md",
    "eelbert": "eelbert.md",
    "ewe": "elementwise.md",
}
OBJECTIVE_NAMES = {
    "shuffle-random": "telling shuffled and replaced words from intact ones (S+R)",
    "mlm": "masked-word prediction",
}
LICENCE = "apache-2.0"  # of what this project trains from nothing
# The Hub's names of measures, where they are others.
METRIC_IDS = {"pearson": "pearsonr", "spearman": "spearmanr"}
METRIC_IDS |= {
    f"{kind}_{name}": name for kind in ("micro", "macro", "entity") for name in ("precision", "recall", "f1")
}


@dataclass(frozen=True)
class Head:
    """What a card says of a head.

    Attributes:
        auto_class: that loads it.
        pipeline_tag: the Hub's name of its task; pre-training has none, its states are features.
        example: what the tokenizer is given in the card's example, as code.
        widget: what a reader may try on the Hub.
    """

    auto_class: str
    pipeline_tag: str
    example: str
    widget: Mapping[str, str]


def _head(auto_class: str, pipeline_tag: str, **widget: str) -> Head:
    return Head(auto_class, pipeline_tag, ", ".join(f'"{text}"' for text in widget.values()), widget)


HEADS = {
    "VocablessModel": _head("AutoModel", "feature-extraction", text="No word is unknown, not even a wrod."),
    "VocablessForPreTraining": _head("AutoModelForPreTraining", "feature-extraction", text="The fox dog the chased."),
    "VocablessForMaskedLM": _head("AutoModelForMaskedLM", "fill-mask", text="The fox [MASK] over the dog."),
    "VocablessForSequenceClassification": _head(
        "AutoModelForSequenceClassification", "text-classification", text="A film as bright as a summer morning."
    ),
    "VocablessForTokenClassification": _head(
        "AutoModelForTokenClassification", "token-classification", text="Ada Lovelace lived in London."
    ),
    "VocablessForQuestionAnswering": _head(
        "AutoModelForQuestionAnswering",
        "question-answering",
        text="Where did Ada live?",
        context="Her name was Ada, and she lived in London.",
    ),
    "VocablessForMultipleChoice": Head(
        "AutoModelForMultipleChoice",
        "multiple-choice",
        example='["It rains.", "It rains."], ["Take a coat.", "Take a cow."]',
        widget={},
    ),
}
PAIR = '"He left early.", "He went home before the others."'


def write_card(folder: Path, model: PreTrainedModel, block_size: int, results: Mapping[str, Any] | None = None) -> None:
    """Writes README.md. What is not known is left out.

    Args:
        folder: the checkpoint.
        model: of the family.
        block_size: K.
        results: of `run_pretraining.py`, or of a run of `run_glue.py`; {} if its weights are random, None if nothing is
            known of them.
    """
    variant = str(getattr(model.config, "variant", None) or "")
    told = _told(results)
    title = " on ".join(
        part for part in (told.get("start") or variant or folder.resolve().name, told.get("dataset")) if part
    )
    texts = _environment().get_template(FAMILIES.get(variant.partition("-")[0], FRAME)).render(
        {
            "card_data": _metadata(model, told, title).to_yaml(),
            "title": title,
            "variant": variant,
            "source": VARIANTS[variant].source if variant in VARIANTS else "",
            "block_size": block_size,
            "encoder": model.config.encoder_config.model_type,
            "parameters": f"{model.num_parameters():,}",
            "embedding_parameters": f"{sum(p.numel() for p in model.get_input_embeddings().parameters()):,}",
            "megabytes": f"{(folder / SAFE_WEIGHTS_NAME).stat().st_size / 1e6:.1f}",
            "usage": _usage(model, told),
            **told,
        }
    )  # fmt: skip
    (folder / CARD).write_text(texts, encoding="utf-8")


def named_card(card: Path, repo_id: str) -> str:
    """Returns the text of a card with the name of its repository in its example."""
    return card.read_text(encoding="utf-8").replace(PLACEHOLDER, repo_id)


def metadata(model: PreTrainedModel, **given: Any) -> ModelCardData:
    """Returns what the Hub is told of any model.

    Args:
        model: its head tells the task if it is of the family.
        given: fields of `ModelCardData`; those without a value are left out.
    """
    head = HEADS.get(type(model).__name__)
    if head is not None:
        variant = getattr(model.config, "variant", None)
        given |= {"pipeline_tag": head.pipeline_tag, "tags": ["vocabless", *([variant] if variant else [])]}
    return ModelCardData(library_name="transformers", **{name: value for name, value in given.items() if value})


def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(TEMPLATES), trim_blocks=True, keep_trailing_newline=True)


def _metadata(model: PreTrainedModel, told: Mapping[str, Any], title: str) -> ModelCardData:
    widget, results = HEADS[type(model).__name__].widget, told.get("eval_results", [])
    return metadata(
        model,
        **{name: told.get(name) for name in ("license", "language", "datasets", "base_model")},
        metrics=sorted({result.metric_type for result in results}),
        widget=[dict(widget)] if widget and not told.get("is_pair") else None,
        model_name=title if results else None,
        eval_results=results,
    )


def _usage(model: PreTrainedModel, told: Mapping[str, Any]) -> str:
    head = HEADS[type(model).__name__]
    example = PAIR if told.get("is_pair") else head.example
    call = f'inputs = tokenizer({example}, padding=True, return_tensors="pt")'
    if head.pipeline_tag == "multiple-choice":
        call += "\ninputs = {name: value[None] for name, value in inputs.items()}"
    return "\n".join(
        [
            f"from transformers import {head.auto_class}, AutoTokenizer",
            "",
            f'tokenizer = AutoTokenizer.from_pretrained("{PLACEHOLDER}", trust_remote_code=True)',
            f'model = {head.auto_class}.from_pretrained("{PLACEHOLDER}", trust_remote_code=True)',
            call,
            "outputs = model(**inputs)",
        ]
    )


def _told(results: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns what the results of a run say, under the names that the templates have for it."""
    if results == {}:
        return {"kind": "random", "license": LICENCE}
    read = _fine_tuned if "floors" in (results or {}) else _pre_trained if "objective" in (results or {}) else None
    if results is None or read is None:
        return {"kind": "unknown"}
    arguments = results["arguments"]
    return {
        "learning_rate": arguments["learning_rate"],
        "length": arguments["max_seq_length"],
        "seed": results.get("seed", arguments.get("seed")),
        "versions": results["versions"],
        **read(results, arguments),
    }


def _pre_trained(results: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    corpora = arguments["corpus"] or ["pydocs"]
    rows = compared(results["before"], results["after"])
    table = [f"| {name.replace('_', ' ')} | {before:.4f} | {after:.4f} |" for name, before, after in rows]
    return {
        "kind": "pre-trained",
        "license": LICENCE,
        "language": "en" if corpora == ["pydocs"] else None,
        "datasets": [HUB_ID.fullmatch(corpus)["path"] for corpus in corpora if _is_on_hub(corpus)],
        "objective": OBJECTIVE_NAMES[results["objective"]],
        "corpus": ", ".join(corpus if _is_on_hub(corpus) else Path(corpus).name for corpus in corpora),
        "steps": f"{arguments['max_steps']:,}",
        "tokens": f"{results['tokens_seen']:,}",
        "measures": "\n".join(["| held out | before | after |", "|---|--:|--:|", *table]),
    }


def _fine_tuned(results: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
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


def _is_on_hub(corpus: str) -> bool:
    return HUB_ID.fullmatch(corpus) is not None and not os.path.exists(corpus)
