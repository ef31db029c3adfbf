"""Base class of what a run trains: the pre-training objectives, and fine-tuning on a task."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, set_seed

from vocabless.saving.checkpoint import save_checkpoint
from vocabless.training.script import ScriptTrainingArguments
from vocabless.training.trainer import ResumableTrainer

Results = dict[str, Any]  # content of results.json


class ExampleSets(NamedTuple):
    """The examples of a run, as data sets, and the functions of the Trainer that read them."""

    train: Any
    evaluated: Mapping[str, Any]  # by the suffix of the measures' names; that under "" is evaluated during training
    collator: Callable[[list[Any]], dict[str, Any]]
    compute_metrics: Callable[[Any], dict[str, float]]
    facts: Mapping[str, Any] = {}  # what results.json says about the examples


class Trained(NamedTuple):
    """A run after training."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    examples: ExampleSets
    trainer: ResumableTrainer  # its state has the log and the number of steps
    train_metrics: dict[str, float]
    measures: dict[str, float]  # of the evaluation after training, `eval_<measure><suffix>`, and those of `predict`


class TrainedModel(NamedTuple):
    """What a run saves."""

    module: nn.Module  # the model, or a module that holds it
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    weights: dict[str, Tensor] | None  # all weights of the module if it holds only a part of them
    log: list[dict[str, float]]
    results: Results  # what results.json says besides the log, the arguments and the versions


class TrainingTask(ABC):
    """Says what a run trains. `vocabless.training.run.run` calls the methods, in the order in which they stand here."""

    arguments: Any  # of the script
    training: ScriptTrainingArguments
    checks_standalone: ClassVar[bool] = True  # by loading the checkpoint without this package before the run ends
    left_overs: ClassVar[tuple[str, ...]] = ()  # patterns of folders that a finished run does not need

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(str(self.training.output_dir))

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Returns every argument that makes a run this run and no other, by name."""

    def data_identity(self) -> dict[str, str]:
        """Returns what identifies the data of a run, by name."""
        return {}

    def train(self) -> TrainedModel:
        """Trains, from the last checkpoint in the folder of the run if there is one; writes nothing else there."""
        training = self.training
        with training.main_process_first(desc="preparing the data"):
            data = self.read_data()
            set_seed(training.seed)
            model, tokenizer = self.load_model(data)
            examples = self.build_examples(data, tokenizer)
        trainer = self.make_trainer(
            model=self.module_to_train(model, examples),
            args=training,
            train_dataset=examples.train,
            eval_dataset=examples.evaluated.get(""),
            data_collator=examples.collator,
            compute_metrics=examples.compute_metrics,
            preprocess_logits_for_metrics=self.reduce_outputs,
        )
        train_metrics = trainer.resume()
        measures = {
            f"{name}{suffix}": value
            for suffix, data_set in examples.evaluated.items()
            for name, value in trainer.evaluate(data_set).items()
        }
        trained = Trained(model, tokenizer, examples, trainer, train_metrics, measures)
        results = {"train": train_metrics, **self.results(trained)}
        module, log = cast(nn.Module, trainer.model), trainer.state.log_history
        return TrainedModel(module, model, tokenizer, trainer.full_state_dict(), log, results)

    def read_data(self) -> Any:
        """Returns the data of a run, for the next two methods."""
        return None

    def load_model(self, data: Any) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Returns the model with its head, and the tokenizer.

        What is trained on the data, such as a subword tokenizer, is kept in the folder of the run.
        """
        raise NotImplementedError

    def build_examples(self, data: Any, tokenizer: PreTrainedTokenizerBase) -> ExampleSets:
        """Returns the examples to train on and those to evaluate."""
        raise NotImplementedError

    def module_to_train(self, model: PreTrainedModel, examples: ExampleSets) -> nn.Module:
        """Returns the module that the Trainer trains: the model, or a module that holds it."""
        return model

    def make_trainer(self, **options: Any) -> ResumableTrainer:
        """Returns the Trainer; `options` are its model, arguments, data sets and functions."""
        return ResumableTrainer(**options)

    def reduce_outputs(self, outputs: Any, labels: Tensor) -> Any:
        """Returns what `compute_metrics` needs of a model's outputs on a batch, so that no more is kept."""
        return outputs

    def save(
        self,
        module: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        folder: str | os.PathLike[str],
        weights: dict[str, Tensor] | None,
    ) -> None:
        """Writes the checkpoint: the module of `module_to_train`, with all its `weights`, and the tokenizer."""
        assert isinstance(module, PreTrainedModel)
        save_checkpoint(module, tokenizer, folder, weights)

    def results(self, trained: Trained) -> Results:
        """Returns what results.json says besides the log, the arguments and the versions."""
        raise NotImplementedError

    def complete(self, results: Results) -> Results:
        """Returns the results of a finished run with what this command measures and an earlier one did not."""
        return results

    @abstractmethod
    def summary(self, results: Results) -> str:
        """Returns the text that a script prints at the end of a run."""
