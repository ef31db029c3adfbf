"""Base class of the pre-training objectives: what a model learns from text, and what is said about it."""

import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, cast

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.overrides import describe_overrides
from vocabless.saving.card_facts import OWN_LICENSE, CardFacts, run_facts
from vocabless.saving.model_card import provenance
from vocabless.saving.public_names import public_name
from vocabless.saving.tables import markdown_table
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.documents import Documents, documents_identity, load_documents
from vocabless.training.pretraining.load_model import load_model
from vocabless.training.script_arguments import run_identity
from vocabless.training.task import Results, Trained, TrainingTask
from vocabless.training.texts.corpora import EMBEDDED, HUB_ID

NOT_IDENTIFYING = ("preprocessing_num_workers", "ddp_timeout")  # they say how fast the corpus is prepared


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
        settings = run_identity(self.arguments, self.training, NOT_IDENTIFYING) | asdict(cast(Any, self))
        if settings["model_name_or_path"] is not None:
            settings["model_name_or_path"] = public_name(settings["model_name_or_path"])
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
        lines = [f"{measure:20} {before:8.4f} {after:8.4f}" for measure, before, after in self._compare(results)]
        return "\n".join(["", f"{'held out':20} {'before':>8} {'after':>8}", *lines, ""])

    def card_facts(self, results: Results) -> CardFacts:
        """See `TrainingTask.card_facts`."""
        arguments = results["arguments"]
        corpora = arguments["corpus"] or [EMBEDDED]
        teacher = results.get("examples", {})  # of `distill`
        return CardFacts(
            kind="pre-trained",
            **run_facts(results),
            license=_license(results),
            start=arguments.get("model_name_or_path"),
            overrides=describe_overrides(str(arguments.get("variant")), arguments.get("overrides")),
            base_model=results.get("start", {}).get("base_model"),
            language="en" if corpora == [EMBEDDED] else None,
            datasets=[HUB_ID.fullmatch(corpus)["path"] for corpus in corpora if _is_on_hub(corpus)],
            objective=self.card_text,
            corpus=", ".join(corpus if _is_on_hub(corpus) else Path(corpus).name for corpus in corpora),
            steps=int(results.get("steps", arguments["max_steps"])),  # some older runs lack their steps
            tokens=int(results["tokens_seen"]),
            measures=self._table(results),
            teacher=teacher.get("teacher"),
            teacher_license=teacher.get("teacher_license"),
            is_sentence_model=bool(teacher),
        )

    def _table(self, results: Results) -> str:
        """Returns a Markdown table of the measures before and after training."""
        rows = [[name.replace("_", " "), *(f"{value:.4f}" for value in both)] for name, *both in self._compare(results)]
        table = markdown_table(["measure on held-out text", "before", "after"], rows)
        file = results["arguments"].get("sts_file")
        if file is None:
            return table
        return (
            f"{table}\n\nSpearman: rank correlation of the cosines of vectors with people's scores, of the pairs of "
            f"texts in `{file}`. Teacher spearman: the same with the teacher's vectors."
        )

    def _compare(self, results: Results) -> list[tuple[str, float, float]]:
        """Returns (measure, before, after) for each measure of the last evaluation; NaN where the first lacks it."""
        before, after = results["before"], results["after"]
        keys = {measure: f"eval_{measure}" for measure in self.measures}
        return [(measure, before.get(key, math.nan), after[key]) for measure, key in keys.items() if key in after]


def _license(results: Mapping[str, Any]) -> str | None:
    """Returns the license of the weights: that of the teacher and of the checkpoint begun from, if they agree."""
    sources = [(results.get("examples"), "teacher_license"), (results.get("start"), "license")]
    licenses = {facts.get(key) for facts, key in sources if facts} or {OWN_LICENSE}
    return licenses.pop() if len(licenses) == 1 else None


def _is_on_hub(corpus: str) -> bool:
    return HUB_ID.fullmatch(corpus) is not None and not os.path.exists(corpus)
