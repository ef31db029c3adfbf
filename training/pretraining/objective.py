"""Base class of the pre-training objectives: what a model learns from text, and what is said about it."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from datasets import Dataset, IterableDataset, concatenate_datasets
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, set_seed

from vocabless import VocablessTokenizer
from vocabless.public_names import without_path
from vocabless.saving.record import held_out_metrics, provenance
from vocabless.saving.stock_models import longest_sequence
from vocabless.stock_shapes import StockShape
from vocabless.training.load import Corpus, Head, check_overrides, is_ours, load, load_checkpoint_config
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.run_text import Documents, documents_fingerprint, load_documents
from vocabless.training.run import Results, Run, Trained
from vocabless.training.script import ScriptTrainingArguments, check_limits, fingerprint
from vocabless.training.trainer import ResumableTrainer
from vocabless.variants import SUBWORD_TOKENIZERS, VARIANTS

STOCK_OBJECTIVE = "mlm"
STREAMED_DOCUMENTS = 200_000  # a subword tokenizer is trained on so many documents of a stream


class Examples(NamedTuple):
    """The examples of a run, in the form that its Trainer takes."""

    train: Any
    evaluated: Any
    facts: Mapping[str, Any] = {}  # what results.json says about the examples


class Objective(Run):
    """Says what a model learns.

    A subclass is a dataclass. Its fields are flags of `vocabless pretrain`, so the command line constructs it, and then
    sets the arguments of the run.
    """

    arguments: PretrainingArguments
    name: ClassVar[str]  # value of `--objective`
    card_text: ClassVar[str]  # what the model learns, as the model card says it
    measures: ClassVar[tuple[str, ...]]  # their names, in the order in which they are printed
    needs_targets: ClassVar[bool] = False  # whether each token needs the id of a target vocabulary, if there is one
    model_class: ClassVar[type[PreTrainedModel]]  # for a variant of the family
    stock_model_class: ClassVar[Any]  # an Auto class, for a stock shape

    def __post_init__(self) -> None:
        check_limits(self)

    def set_arguments(self, arguments: PretrainingArguments, training: ScriptTrainingArguments) -> None:
        """Sets the other arguments of the run, on which those of the objective may depend."""
        self.arguments, self.training = arguments, training

    def config_options(self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Returns what the objective needs in the configuration of a model, of this family or stock, by name."""
        return {}

    def fingerprint(self) -> dict[str, Any]:
        """See `Run.fingerprint`. Flags of other objectives do not count."""
        settings = fingerprint(self.arguments, self.training, self)
        if settings["model_name_or_path"] is not None:
            settings["model_name_or_path"] = without_path(settings["model_name_or_path"])
        return settings | {"objective": self.name}

    def data_fingerprint(self) -> dict[str, str]:
        """Returns what identifies each corpus."""
        return {} if self.arguments.dry_run else documents_fingerprint(self.arguments)

    def train(self) -> Trained:
        """See `Run.train`: documents, model, examples, training, evaluation."""
        training = self.training
        with training.main_process_first(desc="preparing the data"):
            data = load_documents(self.arguments)
            set_seed(training.seed)
            model, tokenizer = load_model(self.arguments, self, data.train, self.folder)
            examples = self.build_examples(data, tokenizer)
        trainer = self.build_trainer(model, tokenizer, examples)
        module: Any = trainer.model  # FSDP puts a wrapper in its place
        train_metrics = trainer.resume()
        state = trainer.state
        results = {
            "train": train_metrics,
            "objective": self.name,
            "objective_text": self.card_text,
            "metric_names": list(self.measures),
            "before": next((line for line in state.log_history if "eval_loss" in line), {}),
            "after": trainer.evaluate(),
            "steps": state.global_step,
            "tokens_seen": state.num_input_tokens_seen,
            "examples": examples.facts,
        }
        if self.arguments.model_name_or_path is not None:
            results["start"] = provenance(self.arguments.model_name_or_path, from_scratch=False)
        return Trained(module, model, tokenizer, trainer.full_state_dict(), state.log_history, results)

    @abstractmethod
    def build_examples(self, data: Documents, tokenizer: PreTrainedTokenizerBase) -> Examples:
        """Returns the examples to train on and those to evaluate."""

    @abstractmethod
    def build_trainer(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: Examples
    ) -> ResumableTrainer:
        """Returns the Trainer of the model."""

    def announcement(self) -> str:
        """Returns a sentence that is printed first: what is trained, on what, how long, and where it is written."""
        arguments, training, source = self.arguments, self.training, self.arguments.model_name_or_path
        model = f"{arguments.variant} from random weights" if source is None else f"{source} further"
        length = f"{training.max_steps:,} steps" if training.max_steps > 0 else f"{training.num_train_epochs:g} epochs"
        corpora = ", ".join(arguments.sources)
        return f"Trains {model}, objective {self.name}, text {corpora}, {length}, into {self.folder}."

    def summary(self, results: Results) -> str:
        """Returns the held-out measures before and after training, as a table."""
        lines = [f"{measure:20} {before:8.4f} {after:8.4f}" for measure, before, after in held_out_metrics(results)]
        return "\n".join(["", f"{'held out':20} {'before':>8} {'after':>8}", *lines, ""])


def load_model(
    arguments: PretrainingArguments, objective: Objective, corpora: Sequence[Any] = (), folder: Path = Path()
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Returns the model to train, with the head of the objective, and its tokenizer, see `training.load.load`.

    The dropout is that of the training; the configuration keeps the encoder's. `--subword train` and
    `--set ngrams=train` count the corpora, of streams the first documents.

    Raises:
        ValueError: an unknown name, a checkpoint that cannot be begun from, a length beyond the model's, a subword
            tokenizer that is missing or not needed.
    """

    def documents() -> Dataset | IterableDataset:
        size = STREAMED_DOCUMENTS // len(corpora)
        return concatenate_datasets([part.take(size) for part in corpora] if arguments.streaming else list(corpora))

    classes = objective.model_class, objective.stock_model_class
    head = Head(objective.name, *classes, objective.config_options, objective.needs_targets)
    source, subword = arguments.model_name_or_path, arguments.subword
    corpus = Corpus(documents, folder, arguments.subword_vocab_size)
    if source is None:
        shape = arguments.shape
        if shape.subwords is None:
            raise ValueError(f"{shape.name} reads characters and is not pre-trained here; give another variant.")
        _check_length(arguments, shape.name, shape.max_length)
        if isinstance(shape, StockShape):
            subword = subword or SUBWORD_TOKENIZERS[shape.subwords]
        model, tokenizer, _ = load(shape, head, corpus, subword, arguments.ngrams)
    else:
        check_overrides(source, arguments.overrides)
        model, tokenizer, _ = load(source, head, corpus, subword)
        _check_stock_tokenizer(source, tokenizer)
        _check_length(arguments, source, longest_sequence(model, tokenizer))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = arguments.dropout
    return model, tokenizer


def objective_of_checkpoint(source: str) -> str | None:
    """Returns the objective of a checkpoint's variant, masked LM for a stock model, None if neither is known.

    Raises:
        ValueError: the configuration cannot be loaded.
    """
    config = load_checkpoint_config(source)
    if not is_ours(config):
        return STOCK_OBJECTIVE
    variant = VARIANTS.get(str(getattr(config, "variant", None)))
    return variant.objective if variant else None


def _check_length(arguments: PretrainingArguments, name: str, limit: int) -> None:
    if arguments.max_seq_length > limit:
        raise ValueError(
            f"--max_seq_length {arguments.max_seq_length} is more than the {limit} tokens of {name}; "
            f"give at most {limit}."
        )


def _check_stock_tokenizer(source: str, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raises ValueError if the tokenizer of a stock model cannot be packed."""
    needed = {"tokenizer.json": "is_fast"} | {name: name for name in ("cls_token", "sep_token", "mask_token")}
    missing = [name for name, attribute in needed.items() if not getattr(tokenizer, attribute)]
    if missing and not isinstance(tokenizer, VocablessTokenizer):
        raise ValueError(f"the tokenizer of {source!r} has no {', '.join(missing)}; give a model that has them.")
