"""Base class of the pre-training objectives: what a model learns, from which examples, and what is saved."""
# mypy: allow-untyped-calls

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.saving.checkpoint import save_checkpoint
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

if TYPE_CHECKING:  # these files import the table of objectives
    from vocabless.training.pretraining.arguments import PretrainingArguments
    from vocabless.training.pretraining.documents import Documents
    from vocabless.training.pretraining.training_arguments import PretrainingTrainingArguments


class Examples(NamedTuple):
    """The examples of a run.

    Attributes:
        train: data set to train on.
        held_out: data set to evaluate.
        collator: makes a batch of examples.
        compute_metrics: measures of an evaluation, for `Trainer(compute_metrics=…)`.
        facts: what results.json says about the examples.
    """

    train: Any
    held_out: Any
    collator: Callable[[list[Any]], dict[str, Any]]
    compute_metrics: Callable[[Any], dict[str, float]]
    facts: Mapping[str, Any] = {}


class Objective(ABC):
    """Says what a model learns.

    A subclass is a dataclass. Its fields are flags of `run_pretraining.py`, so the command line constructs it.

    Attributes:
        name: value of `--objective`.
        help: one line of `--help`.
        card_text: what the model learns, as the model card says it.
        measures: names of the measures, in the order in which they are printed.
        needs_targets: whether each token needs the id of a target vocabulary.
        model_class: class for a variant of the family.
        stock_model_class: Auto class for a stock shape.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    card_text: ClassVar[str]
    measures: ClassVar[tuple[str, ...]]
    needs_targets: ClassVar[bool] = False
    model_class: ClassVar[type[PreTrainedModel]]
    stock_model_class: ClassVar[Any]

    @property
    def is_implied(self) -> bool:
        """Whether its flags say that it is wanted, without `--objective`."""
        return False

    @abstractmethod
    def build_examples(
        self,
        arguments: PretrainingArguments,
        training: PretrainingTrainingArguments,
        documents: Documents,
        tokenizer: PreTrainedTokenizerBase,
    ) -> Examples:
        """Returns the examples to train on and those to evaluate.

        Args:
            arguments: of the run.
            training: the Trainer's arguments.
            documents: the text.
            tokenizer: the model's tokenizer.

        Raises:
            ValueError: the arguments or the text do not fit the objective.
        """

    def data_identity(self) -> dict[str, str]:
        """Returns what identifies the data that the objective reads besides the text of the run, by name."""
        return {}

    def config_options(self, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Returns the arguments that the objective needs in a variant's configuration."""
        return {}

    def stock_config_options(self) -> dict[str, Any]:
        """Returns the arguments that the objective needs in a stock shape's configuration."""
        return {}

    def learner(self, model: PreTrainedModel, examples: Examples, start: str | None = None) -> nn.Module:
        """Returns the module that the Trainer trains: the model, or a module that holds it.

        Args:
            model: the model.
            examples: of the run.
            start: the checkpoint that the run begins from; None with fresh weights.
        """
        return model

    def reduce_outputs(self, outputs: Any, labels: Tensor) -> Any:
        """Returns what `compute_metrics` needs of a model's outputs on a batch, so that no more is kept."""
        return outputs

    def save(
        self,
        learner: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        folder: str | os.PathLike[str],
        weights: dict[str, Tensor],
    ) -> PreTrainedModel:
        """Writes the checkpoint; returns its model, read back.

        Args:
            learner: what `learner` returned.
            tokenizer: the model's tokenizer.
            folder: of the run.
            weights: all weights of the learner.
        """
        assert isinstance(learner, PreTrainedModel)
        save_checkpoint(learner, tokenizer, folder, weights)
        return type(learner).from_pretrained(folder)

    def demonstrate(
        self, model: PreTrainedModel, tokenizer: VocablessTokenizer, sentence: str, text: str, seed: int
    ) -> str:
        """Returns a text that shows what the model learned, for the end of a run; "" if there is nothing to show.

        Args:
            model: the trained model.
            tokenizer: its tokenizer.
            sentence: value of `--example`.
            text: a held-out text.
            seed: source of all randomness.
        """
        return ""
