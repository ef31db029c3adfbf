"""What a model card can say about the training of a checkpoint: the contract between a run and the templates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from huggingface_hub import EvalResult

OWN_LICENSE = "apache-2.0"  # license of weights that this project trains from random initialisation


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """Facts about the training of a checkpoint. The templates in model_cards/ read them by these names.

    A fact that is not known keeps its default, and the card leaves it out.
    """

    kind: Literal["pre-trained", "fine-tuned", "random", "unknown"]  # of training; it selects sentences of the card
    license: str | None = None  # of the weights, by the Hub's name
    language: str | Sequence[str] | None = None  # of the training texts, ISO 639 codes
    datasets: Sequence[str] = ()  # Hub ids
    learning_rate: float | None = None  # the peak
    length: int | None = None  # maximum tokens of a sequence
    seed: int | None = None
    versions: Mapping[str, str] | None = None  # package → version
    measures: str | None = None  # Markdown table of the results
    teacher: str | None = None  # name or description of the model whose outputs were learned
    overrides: str = ""  # the variant and what the run changed of it; "" if it changed nothing
    start: str | None = None  # variant, Hub id or folder name of the starting model; pre-trained: None is fresh weights
    base_model: str | None = None  # Hub id of the starting checkpoint

    # fine-tuned
    dataset: str | None = None  # name of the task
    from_scratch: bool = False  # whether the starting weights were random
    is_pair: bool = False  # whether an example is a pair of texts
    is_own_data: bool = False  # whether the texts are the user's own, not those of a benchmark
    example: Sequence[str] = ()  # a text that the user gave, or both of a pair; empty takes that of the head
    threshold: float | None = None  # probability above which one of several labels is predicted
    epochs: float | None = None  # that were run
    keeps_best: bool = False  # whether the best checkpoint of the run was kept, not the last
    batch_size: int | None = None  # examples per step on each device
    teacher_rows: str | None = None  # what the teacher labelled, with the numbers of rows
    eval_results: Sequence[EvalResult] = ()  # for the card's metadata

    # pre-trained
    corpus: str | None = None  # names of the corpora
    objective: str | None = None  # what the model learned to predict
    steps: int | None = None  # of the optimizer
    tokens: int | None = None  # that the model read
    teacher_license: str | None = None  # by the Hub's name
    is_sentence_model: bool = False  # whether the folder is a sentence-transformers model with the teacher's vectors


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
