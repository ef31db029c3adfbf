"""scikit-learn's interface: a classifier of texts, and texts as vectors for any other estimator.

    from vocabless import VocablessClassifier

    classifier = VocablessClassifier().fit(texts, labels)
    classifier.predict(["one more text"])
    classifier.save_pretrained("my-classifier")

The folder loads as any classifier of transformers. The first head is that of `run_glue.py --num_train_epochs 0`.
"""

import os
import random
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import InputTags, Tags, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from transformers import DataCollatorWithPadding

from vocabless.loading import default_encoder
from vocabless.modeling.head_layers import mean_state
from vocabless.saving.checkpoint import save_checkpoint
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments, choose_learning_rate
from vocabless.training.finetuning.data import Examples, TaskData, encode
from vocabless.training.finetuning.encoder_choice import choose_encoder
from vocabless.training.finetuning.fine_tuning import load_model
from vocabless.training.finetuning.first_head import has_linear_head
from vocabless.training.finetuning.fit import fit
from vocabless.training.finetuning.frozen_features import compute, logits_of
from vocabless.training.finetuning.problems import SingleLabel
from vocabless.training.finetuning.sources import choose_validation
from vocabless.training.load import load_encoder

MOST_SEEDS = 1 << 31
_FITTING = threading.Lock()  # the Trainer has state that threads share


class _ReadsTexts(BaseEstimator):  # type: ignore[misc]
    """Says to scikit-learn that the input is a list of texts."""

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags = InputTags(one_d_array=True, two_d_array=False, string=True)
        return tags


class VocablessClassifier(ClassifierMixin, _ReadsTexts):  # type: ignore[misc]
    """Classifies texts with a trained encoder.

    Args:
        model_name_or_path: folder or Hub id of an encoder of ours; None is one of this package: the English one for
            English texts, otherwise that whose head has the smaller held-out loss.
        epochs: of fine-tuning after the head, which is kept if it is better; 0 fits the head alone, in seconds. None is
            the number of `run_glue.py`, which goes by the texts.
        learning_rate: peak; None goes by the width of the encoder.
        batch_size: texts in a training step.
        max_seq_length: tokens; None measures the texts.
        random_state: seed, generator of numpy or None, as in scikit-learn. No global generator is changed.

    Attributes:
        classes_: the labels, sorted.
        model_, tokenizer_: of transformers.
        encoder_choice_: `language`, and the held-out `losses` that decided; None if the model was named.
        cross_validated_: metrics of models like this one on rows that they have not learned: of fewer than 10 000 texts
            all, in five folds; if more than 200 were fine-tuned on, one fold. Copies of a text are in one fold.
    """

    def __init__(
        self,
        model_name_or_path: str | None = None,
        epochs: float | None = 0,
        learning_rate: float | None = None,
        batch_size: int = 16,
        max_seq_length: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.model_name_or_path = model_name_or_path
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_seq_length = max_seq_length
        self.random_state = random_state

    def fit(self, texts: Sequence[str], labels: Sequence[Any]) -> "VocablessClassifier":
        """Fits the head, then all weights unless `epochs` is 0, as `run_glue.py` does.

        Raises:
            ValueError: the numbers of texts and labels differ, the labels are no classes or there is one alone, or the
                model is no trained encoder of ours.
        """
        texts = _check_texts(texts)
        classes, indices = np.unique(_check_labels(texts, labels), return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"all texts have the label {classes.tolist()[0]!r}; give texts of at least two labels.")
        problem = SingleLabel([str(label) for label in classes])
        data = TaskData("texts", "texts", problem, Examples(texts, labels=[problem.labels[i] for i in indices]), {})
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(MOST_SEEDS)
        with _FITTING, _own_generators(), tempfile.TemporaryDirectory() as folder:
            choice = choose_encoder(data) if self.model_name_or_path is None else None
            source = str(self.model_name_or_path) if choice is None else choice.source
            arguments = GlueArguments(model_name_or_path=source, max_seq_length=self.max_seq_length)
            training = GlueTrainingArguments(
                output_dir=folder,
                num_train_epochs=self.epochs,
                learning_rate=self.learning_rate,
                per_device_train_batch_size=self.batch_size,
                seed=int(seed),
                disable_tqdm=True,
                report_to="none",
            )
            loaded = load_model(arguments, data, Path(folder))
            if not (loaded.lacks_head and has_linear_head(loaded.model, problem)):
                raise ValueError(f"{source!r} is no encoder of ours without a head; give another one.")
            choose_learning_rate(arguments, training)
            choose_validation(data, arguments, True)
            fitted = fit(data, loaded, arguments, training)
        self.classes_, self.cross_validated_, self.encoder_choice_ = classes, fitted.metrics, choice
        self.model_, self.tokenizer_ = fitted.model.eval(), loaded.tokenizer
        return self

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Returns the most likely label of each text, (n,)."""
        probabilities = self.predict_proba(texts)
        labels: NDArray[Any] = self.classes_[probabilities.argmax(1)]
        return labels

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns the probability of each label, (n, labels), in the order of `classes_`."""
        check_is_fitted(self)
        examples, length = Examples(_check_texts(texts)), int(self.tokenizer_.model_max_length)
        rows = encode(examples, SingleLabel(), self.tokenizer_, length)
        logits = torch.from_numpy(logits_of(self.model_, rows, DataCollatorWithPadding(self.tokenizer_)))
        return np.asarray(logits.softmax(-1))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes model, code and tokenizer into a folder, which is created."""
        check_is_fitted(self)
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_checkpoint(self.model_, self.tokenizer_, folder)


class VocablessVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _ReadsTexts):  # type: ignore[misc]
    """Turns texts into the mean of an encoder's states, for pipelines of scikit-learn.

    Args:
        model_name_or_path: folder or Hub id of an encoder of ours; None is `vocabless.default_encoder()`.
        max_seq_length: tokens; None is the model's limit.
    """

    def __init__(self, model_name_or_path: str | None = None, max_seq_length: int | None = None) -> None:
        self.model_name_or_path = model_name_or_path
        self.max_seq_length = max_seq_length

    def fit(self, texts: Sequence[str], labels: Any = None) -> "VocablessVectorizer":
        """Loads the encoder; it learns nothing from the texts.

        Raises:
            ValueError: the model cannot be loaded, or has no place for `max_seq_length` tokens.
        """
        _check_texts(texts)
        source = default_encoder() if self.model_name_or_path is None else self.model_name_or_path
        loaded, length = load_encoder(source), self.max_seq_length
        if length is not None:
            loaded.check_length(length, source)
        self.model_, self.tokenizer_ = loaded.model, loaded.tokenizer
        self.length_ = int(loaded.tokenizer.model_max_length) if length is None else length
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.config.hidden_size)

    def transform(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns (n, hidden size)."""
        check_is_fitted(self)
        rows = encode(Examples(_check_texts(texts)), SingleLabel(), self.tokenizer_, self.length_)

        def mean(outputs: Any, inputs: dict[str, Any]) -> Any:
            return mean_state(outputs.last_hidden_state, inputs.get("attention_mask"))

        return compute(self.model_, rows, DataCollatorWithPadding(self.tokenizer_), mean)


def _check_texts(texts: Sequence[str]) -> list[str]:
    """Returns the texts as a list; raises an error for what is no list of texts."""
    is_column = not isinstance(texts, str | Mapping) and getattr(texts, "ndim", 1) == 1
    rows = list(texts) if is_column else []
    wrong = [repr(row) for row in rows if not isinstance(row, str)]
    if wrong or not rows:
        kind = wrong[0] if wrong else "nothing" if is_column else f"one {type(texts).__name__}"
        raise ValueError(f"texts are a list of strings, but here is {kind}; give a list with a string for each text.")
    return rows


def _check_labels(texts: list[str], labels: Any) -> NDArray[Any]:
    """Returns the labels, (n,); raises an error for what is no class of each text."""
    rows = list(labels)
    if len(texts) != len(rows):
        raise ValueError(f"{len(texts)} texts have {len(rows)} labels; give each text one label.")
    if any(isinstance(label, list | tuple | set | dict) for label in rows):
        raise ValueError("a label is a list; give each text one label (run_glue.py learns several for each text).")
    column: NDArray[Any] = column_or_1d(np.asarray(labels))
    if pd.isna(np.array(rows, object)).any():  # among strings, numpy makes the text "nan" of it
        raise ValueError("a label is missing (None, NaN or NA); give each text one label.")
    check_classification_targets(column)
    return column


@contextmanager
def _own_generators() -> Iterator[None]:
    """Gives the global generators of random numbers their states back: the Trainer seeds them."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng():
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
