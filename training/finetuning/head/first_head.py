"""The first head: a linear model of what the head reads from the frozen encoder, with what held-out rows say of it.

Linear probing, then fine-tuning (Kumar et al., ICLR 2022): with random weights of the head, the first steps of
fine-tuning change states of the encoder that the labels could use as they are. The linear model takes seconds. A head
of one text also has a wide part, see `WideLayer`: both are one convex problem.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from vocabless.training.finetuning.head.everyday_lines import EVERYDAY_LINES
from vocabless.training.finetuning.head.frozen_features import Features, read_features
from vocabless.training.finetuning.head.head_choice import HeldOut, choose, held_out_heads
from vocabless.training.finetuning.head.head_writing import wide_rows, write_head
from vocabless.training.finetuning.head.linear_head import LabelledFeatures, LinearHead, Settings
from vocabless.training.finetuning.head.linear_problem import LinearProblem
from vocabless.training.finetuning.tasks.data import EncodedRows, Examples, Rows, TaskData, encode, sample_rows
from vocabless.training.finetuning.tasks.logits import TextLogits, Vectors, sentence_rows
from vocabless.training.finetuning.tasks.metrics import is_gain
from vocabless.training.finetuning.tasks.problems import SingleLabel

MAX_NUMBERS = 1 << 26  # of the vectors of all rows, 0.5 GiB; of more rows, a part is drawn
MAX_LINE_TOKENS = 32  # of an everyday line
MAX_CHOICE_ROWS = 2000  # of the training rows, on which the settings are chosen
# Accuracy that sentences may cost, and standard errors above it: training rows lack what they gain in mails.
SENTENCE_COST, DOUBT = 0.01, 2.0


@dataclass(frozen=True)
class HeadFit:
    """The heads that fit the training rows, and what they say of held-out ones."""

    labelled: LabelledFeatures  # of the training rows
    settings: Settings  # those that suit the rows, see `choose`
    # Logits of each row by a head that was fitted outside its fold, with those of the sentences that the model reads;
    # if validation rows are apart, only of the rows on which the settings were chosen.
    held_out: TextLogits
    scored: Rows  # on which the settings were chosen
    reads_sentences: bool  # whether the model shall read the sentences of texts, too
    seconds: float  # in which the encoder read the rows

    def without(self, fold: Rows | Sequence[int]) -> LinearHead:
        """Returns the head that is fitted to the training rows outside a fold."""
        rows = np.setdiff1d(np.arange(len(self.labelled.targets)), fold)
        return LinearProblem(self.labelled.select(rows)).fit(self.settings)


def fit_head(
    model: Any, rows: EncodedRows, folds: Sequence[Rows], collator: Any, data: TaskData, rejects: bool = False
) -> HeadFit:
    """Fits the head of a model that `takes_first_head` to what its encoder says of the training rows.

    Args:
        model: gets the head.
        rows: to train on.
        folds: of the rows.
        collator: pads batches of rows.
        data: with the rows.
        rejects: whether the logits of held-out rows have the typicality as a last output, see `Rejection`.
    """
    model.config.classifier_reads_sentences = False  # until it is saved
    drawn = sample_rows(len(rows), MAX_NUMBERS // model.classifier.dense.in_features)
    rows, folds = [rows[row] for row in drawn], [np.flatnonzero(np.isin(drawn, fold)) for fold in folds]
    problem, has_words = data.problem, data.train.pairs is None
    num_rows = wide_rows(problem.config["num_labels"]) if has_words else 0
    read = partial(read_features, model, collator, num_rows, rejects)
    started = time.monotonic()
    labelled = LabelledFeatures(problem, read(rows), np.asarray([row["label"] for row in rows]))
    seconds = time.monotonic() - started
    may_read = has_words and isinstance(problem, SingleLabel) and model.base_model.front_end.reads_letters
    if may_read:
        lines = encode(Examples(EVERYDAY_LINES), problem, collator.tokenizer, MAX_LINE_TOKENS)
        labelled = replace(labelled, everyday=read(lines).vectors)

    drawn = sample_rows(len(rows), MAX_CHOICE_ROWS)
    settings, held_out = choose(labelled, [np.intersect1d(fold, drawn) for fold in folds])
    scored: Rows = np.flatnonzero(np.isfinite(held_out.logits[:, 0]))

    def read_directions(features: Features) -> Vectors:
        return features.directions() if rejects else np.zeros((len(features.vectors), 1))

    directions = read_directions(labelled.features)

    def with_sentences(held_out: HeldOut, reads: bool) -> TextLogits:
        """Returns logits and typicality, with those of sentences if the model reads them, by the heads of folds."""
        outputs = np.column_stack([held_out.logits, np.zeros(len(rows))])
        sentences, places = [outputs[:0]], [np.empty(0, np.int64)]
        for fold, head in held_out.heads:
            typical = np.delete(directions, fold, axis=0).mean(0)
            outputs[fold, -1] = directions[fold] @ typical
            texts, found = sentence_rows(rows, fold if reads else [])
            if found:
                features = read(found)
                sentences.append(np.column_stack([head.logits(features), read_directions(features) @ typical]))
                places.append(texts)
        return TextLogits(outputs, np.concatenate(sentences), np.concatenate(places))

    logits = with_sentences(held_out, may_read)
    judged = logits.split()[0].select(scored)
    reads_sentences = may_read and not are_harmful(judged.sentence_errors(labelled.targets[scored]))
    is_part = data.is_cross_validated and len(scored) < len(rows)
    if is_part or not reads_sentences:
        held_out = held_out_heads(labelled, folds, settings) if is_part else held_out
        logits = with_sentences(held_out, reads_sentences)
    write_head(LinearProblem(labelled).fit(settings), model)
    logits = logits if rejects else logits.split()[0]
    return HeadFit(labelled, settings, logits, scored, reads_sentences, seconds)


def are_harmful(errors: Vectors) -> bool:
    """Returns whether sentences cost too much, by `TextLogits.sentence_errors` of rows."""
    return is_gain(errors - SENTENCE_COST, DOUBT)
