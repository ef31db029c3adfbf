"""The Trainer's arguments, as `run_pretraining.py` uses them."""
# mypy: allow-untyped-calls

from dataclasses import dataclass

from vocabless.training.pretraining.arguments import PretrainingTrainingFlags
from vocabless.training.script_arguments import ScriptTrainingArguments


@dataclass
class PretrainingTrainingArguments(PretrainingTrainingFlags, ScriptTrainingArguments):  # type: ignore[misc]
    """The Trainer's arguments with the defaults of `PretrainingTrainingFlags`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.remove_unused_columns = False  # the examples hold what the collator needs
        self.include_num_input_tokens_seen = "non_padding"  # on the command line it can be true or false only
