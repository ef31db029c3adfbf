"""What a model card says about each head: how to load it, an example call and its task on the Hub."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Head:
    """One row of the table.

    Attributes:
        auto_class: the class of transformers that loads the head.
        pipeline_tag: the Hub's name of the task. Pre-training has no such name; its hidden states are features.
        widget: the input that the Hub's page offers to try, field → text.
        batched_example: arguments of the tokenizer in the card's example, as code. "" builds them from `widget`.
        answers: the kind of problem of the configuration → code that prints the answer to the example; "" is any other.
    """

    auto_class: str
    pipeline_tag: str
    widget: Mapping[str, str] = field(default_factory=dict)
    batched_example: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def example(self) -> str:
        """Arguments of the tokenizer in the card's example, as code.

        >>> HEADS["VocablessForQuestionAnswering"].example
        '"Where did Ada live?", "Her name was Ada, and she lived in London."'
        """
        return self.batched_example or ", ".join(f'"{text}"' for text in self.widget.values())


CORRUPTIONS = ("intact", "shuffled", "replaced")  # labels of the pre-training head, in the order of its logits
NEUTRAL_EXAMPLE = "Write a text of your own here."  # for data of which nothing is shown
# Arguments of the tokenizer for a task over pairs of texts.
PAIR_EXAMPLE = '"He left early.", "He went home before the others."'
ANSWERS_OF_TEXT = {
    "": "print(model.config.id2label[outputs.logits.argmax(-1).item()])",
    "regression": "print(outputs.logits.item())",
    "multi_label_classification": "probabilities = outputs.logits[0].sigmoid().tolist()\n"
    "print([model.config.id2label[label] for label, p in enumerate(probabilities) if p > {threshold}])",
}
ANSWERS_OF_TOKENS = {
    "": "labels = outputs.logits[0].argmax(-1).tolist()[1:-1]  # without [CLS] and [SEP]\n"
    "print([model.config.id2label[label] for label in labels])"
}


# Class of the model → its row.
HEADS = {
    "VocablessModel": Head("AutoModel", "feature-extraction", {"text": "No word is unknown, not even a wrod."}),
    "VocablessForPreTraining": Head(
        "AutoModelForPreTraining", "feature-extraction", {"text": "The fox dog the chased."}
    ),
    "VocablessForMaskedLM": Head("AutoModelForMaskedLM", "fill-mask", {"text": "The fox [MASK] over the dog."}),
    "VocablessForSequenceClassification": Head(
        "AutoModelForSequenceClassification",
        "text-classification",
        {"text": "A film as bright as a summer morning."},
        answers=ANSWERS_OF_TEXT,
    ),
    "VocablessForTokenClassification": Head(
        "AutoModelForTokenClassification",
        "token-classification",
        {"text": "Ada Lovelace lived in London."},
        answers=ANSWERS_OF_TOKENS,
    ),
    "VocablessForQuestionAnswering": Head(
        "AutoModelForQuestionAnswering",
        "question-answering",
        {"text": "Where did Ada live?", "context": "Her name was Ada, and she lived in London."},
    ),
    "VocablessForMultipleChoice": Head(
        "AutoModelForMultipleChoice",
        "multiple-choice",
        batched_example='["It rains.", "It rains."], ["Take a coat.", "Take a cow."]',
    ),
}
