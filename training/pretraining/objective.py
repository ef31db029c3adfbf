"""Base class of the pre-training objectives: what a model learns from text, and what is said about it."""

from typing import Any, ClassVar

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.public_names import without_path
from vocabless.saving.record import held_out_metrics, provenance
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.documents import Documents, documents_identity, load_documents
from vocabless.training.pretraining.load_model import load_model
from vocabless.training.script import check_limits, fingerprint
from vocabless.training.task import Results, Trained, TrainingTask


class Objective(TrainingTask):
    """Says what a model learns.

    A subclass is a dataclass. Its fields are flags of `run_pretraining.py`, so the command line constructs it, and then
    sets the arguments of the run.
    """

    arguments: PretrainingArguments
    name: ClassVar[str]  # value of `--objective`
    card_text: ClassVar[str]  # what the model learns, as the model card says it
    measures: ClassVar[tuple[str, ...]]  # their names, in the order in which they are printed
    needs_targets: ClassVar[bool] = False  # whether each token needs the id of a target vocabulary
    model_class: ClassVar[type[PreTrainedModel]]  # for a variant of the family
    stock_model_class: ClassVar[Any]  # an Auto class, for a stock shape

    def __post_init__(self) -> None:
        check_limits(self)

    @property
    def requested_by_flags(self) -> bool:
        """Whether its flags say that it is wanted, without `--objective`."""
        return False

    def config_options(self, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Returns the arguments that the objective needs in a variant's configuration."""
        return {}

    def stock_config_options(self) -> dict[str, Any]:
        """Returns the arguments that the objective needs in a stock shape's configuration."""
        return {}

    def identity(self) -> dict[str, Any]:
        """See `TrainingTask.identity`. Flags of other objectives do not count."""
        settings = fingerprint(self.arguments, self.training, self)
        if settings["model_name_or_path"] is not None:
            settings["model_name_or_path"] = without_path(settings["model_name_or_path"])
        return settings | {"objective": self.name}

    def data_identity(self) -> dict[str, str]:
        """Returns what identifies each corpus."""
        return {} if self.arguments.dry_run else documents_identity(self.arguments)

    def read_data(self) -> Documents:
        """Returns the text."""
        return load_documents(self.arguments)

    def load_model(self, data: Documents) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """See `TrainingTask.load_model`."""
        return load_model(self.arguments, self, data.train, self.folder)

    def results(self, trained: Trained) -> Results:
        """Returns the measures before and after training, and facts on the start and the examples."""
        state = trained.trainer.state
        results = {
            "objective": self.name,
            "objective_text": self.card_text,
            "metric_names": list(self.measures),
            "before": next((line for line in state.log_history if "eval_loss" in line), {}),
            "after": trained.measures,
            "steps": state.global_step,
            "tokens_seen": state.num_input_tokens_seen,
            "examples": trained.examples.facts,
        }
        if self.arguments.model_name_or_path is not None:
            results["start"] = provenance(self.arguments.model_name_or_path, from_scratch=False)
        return results

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
