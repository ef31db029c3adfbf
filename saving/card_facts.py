"""What a model card can say about the training of a checkpoint: the contract between a run and the templates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from huggingface_hub import EvalResult

OWN_LICENSE = "apache-2.0"  # license of weights that this project trains from random initialisation


def _fits(value: Any, annotation: Any) -> bool:
    """Returns whether a value has the type of an annotation of `CardFacts`; a whole number is a float, too."""
    kind, parts = get_origin(annotation), get_args(annotation)
    if kind is Literal:
        return value in parts
    if kind is UnionType:
        return any(_fits(value, part) for part in parts)
    if kind is Sequence:
        return isinstance(value, list | tuple) and all(_fits(item, parts[0]) for item in value)
    if kind is Mapping:
        return isinstance(value, dict) and all(_fits(item, parts[1]) for item in value.values())
    is_number = annotation is float and isinstance(value, int)
    return (is_number or isinstance(value, annotation)) and (annotation is bool or not isinstance(value, bool))


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """Facts about the training of a checkpoint. The templates in model_cards/ read them by these names.

    A fact that is not known keeps its default, and the card leaves it out.

    Raises:
        TypeError: a fact has another type than its annotation.

    Attributes:
        kind: the kind of training; it selects the sentences of the card.
        license: license of the weights, by the Hub's name.
        language: language of the training texts, an ISO 639 code.
        datasets: Hub ids of the data sets.
        learning_rate: peak learning rate.
        length: maximum tokens of a sequence.
        seed: seed of the run.
        versions: package → version.
        measures: Markdown table of the results.
        footnotes: remarks on the results, without a full stop.
        teacher: name or description of the model whose outputs were learned; None without one.
        dataset: fine-tuned: name of the task.
        overrides: the variant and what the run changed of it; "" if it changed nothing.
        start: the variant, Hub id or folder name of the starting model; pre-trained: None with fresh weights.
        from_scratch: fine-tuned: whether the starting weights were random.
        base_model: Hub id of the starting checkpoint.
        is_pair: fine-tuned: whether an example is a pair of texts.
        example: fine-tuned: a text of the user's own data, or the two texts of a pair; empty takes that of the head.
        threshold: fine-tuned: probability above which one of several labels is predicted.
        epochs: fine-tuned: epochs that were run.
        keeps_best: fine-tuned: whether the best checkpoint of the run was kept, not the last.
        batch_size: fine-tuned: examples per step on each device.
        teacher_rows: fine-tuned: what the teacher labelled, with the numbers of rows.
        eval_results: fine-tuned: results for the card's metadata.
        corpus: pre-trained: names of the corpora.
        objective: pre-trained: what the model learned to predict.
        steps: pre-trained: optimizer steps.
        tokens: pre-trained: tokens that the model read.
        teacher_license: pre-trained: license of the teacher, by the Hub's name.
        is_sentence_model: pre-trained: whether the folder is a sentence-transformers model with the teacher's vectors.
    """

    kind: Literal["pre-trained", "fine-tuned", "random", "unknown"]
    license: str | None = None
    language: str | None = None
    datasets: Sequence[str] = ()
    learning_rate: float | None = None
    length: int | None = None
    seed: int | None = None
    versions: Mapping[str, str] | None = None
    measures: str | None = None
    footnotes: Sequence[str] = ()
    teacher: str | None = None
    overrides: str = ""

    dataset: str | None = None
    start: str | None = None
    from_scratch: bool = False
    base_model: str | None = None
    is_pair: bool = False
    example: Sequence[str] = ()
    threshold: float | None = None
    epochs: float | None = None
    keeps_best: bool = False
    batch_size: int | None = None
    teacher_rows: str | None = None
    eval_results: Sequence[EvalResult] = ()

    corpus: str | None = None
    objective: str | None = None
    steps: int | None = None
    tokens: int | None = None
    teacher_license: str | None = None
    is_sentence_model: bool = False

    def __post_init__(self) -> None:
        for name, annotation in get_type_hints(CardFacts).items():
            if not _fits(getattr(self, name), annotation):
                raise TypeError(f"{name} is {getattr(self, name)!r}")


RANDOM_WEIGHTS = CardFacts(kind="random", license=OWN_LICENSE)  # a checkpoint that was never trained
UNKNOWN_TRAINING = CardFacts(kind="unknown")  # a checkpoint without a record of its training


def run_facts(results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts that the `results.json` of every run holds, as arguments of `CardFacts`."""
    arguments = results["arguments"]
    return {
        "learning_rate": arguments["learning_rate"],
        "length": arguments["max_seq_length"],
        "seed": results.get("seed", arguments.get("seed")),
        "versions": results["versions"],
    }
