"""What a model card says about each head: how to load it, an example call and its task on the Hub."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from transformers import PreTrainedModel


@dataclass(frozen=True)
class Head:
    """One row of the table."""

    auto_class: str  # the class of transformers that loads the head
    pipeline_tag: str  # the Hub's name of the task; pre-training has none, but its hidden states are features
    text: str  # the input that the Hub's page offers to try, and the card's example
    # The kind of problem of the configuration → code that prints the answer to the example; "" is any other.
    answers: Mapping[str, str] = field(default_factory=dict)


MASK = "[MASK]"
SENTENCE_WIDGET = {  # of a model of sentence vectors
    "source_sentence": "The train leaves at noon.",
    "sentences": ["At twelve o'clock the train departs.", "She trains for the race.", "It rained all night."],
}
NEUTRAL_EXAMPLE = "Write a text of your own here."  # for data of which nothing is shown
PAIR_EXAMPLE = ("He left early.", "He went home before the others.")  # for a task over pairs of texts
ANSWERS_OF_TEXT = {
    "": "print(model.config.id2label[outputs.logits.argmax(-1).item()])",
    "regression": "print(outputs.logits.item())",
    "multi_label_classification": "probabilities = outputs.logits[0].sigmoid().tolist()\n"
    "print([model.config.id2label[label] for label, p in enumerate(probabilities) if p >= {threshold}])",
}
ANSWERS_OF_TOKENS = {
    "": "labels = outputs.logits[0].argmax(-1).tolist()[1:-1]  # without [CLS] and [SEP]\n"
    "print([model.config.id2label[label] for label in labels])"
}


# Class of the model → its row.
HEADS = {
    "VocablessModel": Head("AutoModel", "feature-extraction", "No word is unknown, not even a wrod."),
    "VocablessForPreTraining": Head("AutoModelForPreTraining", "feature-extraction", "The fox dog the chased."),
    "VocablessForMaskedLM": Head("AutoModelForMaskedLM", "fill-mask", f"The fox {MASK} over the dog."),
    "VocablessForSequenceClassification": Head(
        "AutoModelForSequenceClassification",
        "text-classification",
        "A film as bright as a summer morning.",
        answers=ANSWERS_OF_TEXT,
    ),
    "VocablessForTokenClassification": Head(
        "AutoModelForTokenClassification",
        "token-classification",
        "Ada Lovelace lived in London.",
        answers=ANSWERS_OF_TOKENS,
    ),
}


def head_of(model: PreTrainedModel) -> Head | None:
    """Returns the row of a model of this family, or of a stock model with the same head; None if there is none."""
    architecture, word, head = type(model).__name__.partition("For")
    return HEADS.get(f"Vocabless{word}{head}" if word else f"Vocabless{architecture[-len('Model') :]}")


def labels_of(model: PreTrainedModel) -> list[str] | None:
    """Returns the labels of a classifier of texts or words, in the order of its logits; None for another head."""
    head, config = head_of(model), cast(Any, model.config)
    return [config.id2label[i] for i in range(config.num_labels)] if head and head.answers else None
