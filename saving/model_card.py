"""The README.md of a checkpoint folder: what the Hub shows, filled from the variant's row and the run's own results.

The templates are in model_cards/: one for each published family, all of them within `checkpoint.md`.
"""
# mypy: allow-untyped-calls

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCardData
from jinja2 import Environment, FileSystemLoader
from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_NAME

from vocabless.variants import VARIANTS

CARD = "README.md"
PLACEHOLDER = "FOLDER_OR_REPOSITORY"  # in a card's example, until a repository has a name
TEMPLATES = Path(__file__).parent.parent / "model_cards"
FRAME = "checkpoint.md"
TEMPLATE_OF_FAMILY = "{}.md"
LICENCE = "apache-2.0"  # of what this project trains from nothing
RANDOM = {"kind": "random", "license": LICENCE}  # facts of a checkpoint with random weights
UNKNOWN = {"kind": "unknown"}  # facts of a checkpoint that came without a record


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


def write_card(folder: Path, model: PreTrainedModel, block_size: int, facts: Mapping[str, Any] = UNKNOWN) -> None:
    """Writes README.md. What is not known is left out.

    Args:
        folder: the checkpoint.
        model: of the family.
        block_size: K.
        facts: what the templates say of the training: `RANDOM`, `UNKNOWN`, or the `card_facts` of a run.
    """
    variant = str(getattr(model.config, "variant", None) or "")
    title = " on ".join(
        part for part in (facts.get("start") or variant or folder.resolve().name, facts.get("dataset")) if part
    )
    template = TEMPLATE_OF_FAMILY.format(VARIANTS[variant].family) if variant in VARIANTS else FRAME
    texts = _environment().get_template(template).render(
        {
            "card_data": _metadata(model, facts, title).to_yaml(),
            "title": title,
            "variant": variant,
            "source": VARIANTS[variant].source if variant in VARIANTS else "",
            "block_size": block_size,
            "encoder": model.config.encoder_config.model_type,
            "parameters": f"{model.num_parameters():,}",
            "embedding_parameters": f"{sum(p.numel() for p in model.get_input_embeddings().parameters()):,}",
            "megabytes": f"{(folder / SAFE_WEIGHTS_NAME).stat().st_size / 1e6:.1f}",
            "usage": _usage(model, facts),
            **facts,
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


def _metadata(model: PreTrainedModel, facts: Mapping[str, Any], title: str) -> ModelCardData:
    widget, results = HEADS[type(model).__name__].widget, facts.get("eval_results", [])
    return metadata(
        model,
        **{name: facts.get(name) for name in ("license", "language", "datasets", "base_model")},
        metrics=sorted({result.metric_type for result in results}),
        widget=[dict(widget)] if widget and not facts.get("is_pair") else None,
        model_name=title if results else None,
        eval_results=results,
    )


def _usage(model: PreTrainedModel, facts: Mapping[str, Any]) -> str:
    head = HEADS[type(model).__name__]
    example = PAIR if facts.get("is_pair") else head.example
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


def run_facts(results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the results of any run say, by the names that the templates use."""
    arguments = results["arguments"]
    return {
        "learning_rate": arguments["learning_rate"],
        "length": arguments["max_seq_length"],
        "seed": results.get("seed", arguments.get("seed")),
        "versions": results["versions"],
    }
