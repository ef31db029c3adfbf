"""Which encoder of this package reads the texts of a task, where the user names no model.

English texts get the English encoder. For others, a head on each of the two encoders is fitted to some of the rows,
which takes seconds; the encoder whose head has the smaller held-out loss is taken.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from transformers import DataCollatorWithPadding

from vocabless.loading import ENCODERS, default_encoder
from vocabless.texts.english import are_english
from vocabless.training.finetuning.fine_tuning import load_model
from vocabless.training.finetuning.head.first_head import fit_head
from vocabless.training.finetuning.prepared import Log
from vocabless.training.finetuning.rows.held_out import training_folds
from vocabless.training.finetuning.tasks.arguments import GlueArguments
from vocabless.training.finetuning.tasks.data import TaskData, encode, sample_rows

MIN_ROWS, MAX_ROWS = 20, 1000  # that the two heads are fitted to; fewer tell too little
MAX_LENGTH = 64  # tokens of a text


@dataclass(frozen=True)
class EncoderChoice:
    """The encoder that was chosen, and why."""

    language: str  # key of `ENCODERS`
    losses: dict[str, float] | None = None  # held-out loss of a head on each encoder, if that decided

    @property
    def source(self) -> str:
        """The folder of the encoder."""
        return default_encoder(self.language)

    def describe(self) -> str:
        """Returns a sentence for the user."""
        if self.losses is None:
            return f"Encoder: {ENCODERS[self.language]}, by the language of the texts."
        losses = ", ".join(f"{name} {loss:.2f}" for name, loss in self.losses.items())
        return f"Encoder: {ENCODERS[self.language]}, by the held-out loss of a head on each encoder ({losses})."


def choose_encoder(data: TaskData, log: Log = lambda line: None) -> EncoderChoice:
    """Returns the encoder for the training rows of a task, and logs why.

    Texts that are too short to tell their language, and fewer than `MIN_ROWS`, get the English encoder.
    """
    english = are_english([*data.train.texts, *(data.train.pairs or [])])
    if english or len(data.train) < MIN_ROWS:
        choice = EncoderChoice("multilingual" if english is False else "english")
    else:
        choice = _by_loss(data)
    log(choice.describe())
    return choice


def _by_loss(data: TaskData) -> EncoderChoice:
    """Returns the encoder whose head has the smaller held-out loss."""
    data = replace(data, train=data.train.select(sample_rows(len(data.train), MAX_ROWS)), scored_folds=0)
    losses = {language: _held_out_loss(default_encoder(language), data) for language in ENCODERS}
    names = {ENCODERS[language]: loss for language, loss in losses.items()}
    return EncoderChoice(min(losses, key=lambda language: losses[language]), names)


def _held_out_loss(source: str, data: TaskData) -> float:
    """Returns the mean loss of training rows, each by a head on the frozen encoder that has not learned it."""
    loaded = load_model(GlueArguments(model_name_or_path=source), data, Path())
    rows = encode(data.train, data.problem, loaded.tokenizer, MAX_LENGTH)
    head = fit_head(loaded.model, rows, training_folds(data), DataCollatorWithPadding(loaded.tokenizer), data)
    logits, targets = (torch.from_numpy(of_all[head.scored]) for of_all in (head.held_out.texts, head.labelled.targets))
    return float(data.problem.losses(logits, targets).mean())
