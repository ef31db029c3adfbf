"""scikit-learn's interface: a classifier and a regressor of texts.

    from vocabless import VocablessClassifier

    classifier = VocablessClassifier().fit(texts, labels)
    classifier.predict(["one more text"])
    classifier.save_pretrained("my-classifier")

The folder loads as any classifier of transformers. The first head is that of `vocabless finetune --num_train_epochs 0`.
"""

import os
import random
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import InputTags, Tags, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from vocabless.modeling.sentences import strangeness_of
from vocabless.training.finetuning.scikit.estimator_inputs import (
    check_number,
    check_targets,
    check_texts,
    check_weights,
    read_labels,
    weights_of_classes,
)

LEAST_RATE = 1e-12  # of learning, and of texts that are turned away; with 0 nothing is learned
SINGLE, SEVERAL, NUMBER = "single_label_classification", "multi_label_classification", "regression"


def _code() -> Any:
    """Returns the module that fits and reads. It imports the libraries of training, so it is imported when needed.

    One of these, rich, draws from Python's generator of random numbers, which gets its state back.
    """
    state = random.getstate()
    try:
        return import_module("vocabless.training.finetuning.scikit.estimator_fit")
    finally:
        random.setstate(state)


class _FineTuned(BaseEstimator):  # type: ignore[misc]
    """What the classifier and the regressor share."""

    def __init__(
        self,
        model_name_or_path: str | None = None,
        epochs: float | None = 0,
        learning_rate: float | None = None,
        batch_size: int = 16,
        max_seq_length: int | None = None,
        random_state: Any = 0,
        verbose: bool = True,
    ) -> None:
        self.model_name_or_path = model_name_or_path
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_seq_length = max_seq_length
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        """Says to scikit-learn that the input is a list of texts."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags = InputTags(one_d_array=True, two_d_array=False, string=True)
        return tags

    @classmethod
    def from_pretrained(cls, source: str | os.PathLike[str]) -> Any:
        """Returns the fitted estimator of a folder or a Hub id that `save_pretrained` or `vocabless finetune` has made.

        The arguments of `fit` have their defaults. No code of the checkpoint runs.

        Raises:
            ValueError: the checkpoint is no classifier of texts of ours, or one for the other estimator.
        """
        estimator = cls()
        found, classes = _code().load(str(source), estimator._problem_types)
        estimator._take(found)
        if classes is not None:
            estimator.classes_ = np.asarray(classes)
        if found.results.get("reject"):
            estimator.set_params(reject=found.results["reject"]["share"], reject_label=found.results["reject"]["label"])
        return estimator

    def save_pretrained(self, folder: str | os.PathLike[str], example: str | None = None) -> None:
        """Writes model, code, tokenizer, record and model card into a folder, which is created.

        The card shows scores, labels, licence and language of the base model, and of your texts `example` alone.
        """
        check_is_fitted(self)
        _code().save(Path(folder), self.model_, self.tokenizer_, self.results_, example)

    def _take(self, found: Any) -> None:
        self.model_, self.tokenizer_, self.problem_, self.cross_validated_, self.results_ = found

    def push_to_hub(
        self, repo_id: str, example: str | None = None, private: bool | None = None, token: str | None = None
    ) -> str:
        """Uploads what `save_pretrained` writes to a repository of the Hub, which is created; returns its address.

        Args:
            repo_id: `owner/name`, or `name` for your own account. A repository that holds files gets a new version.
            example: see `save_pretrained`.
            private: whether a new repository is private; None is the account's default.
            token: None is that of `hf auth login` or of the environment variable HF_TOKEN.

        Raises:
            ValueError: the id is not valid, the token is missing, or the upload failed.
        """
        check_is_fitted(self)
        return str(_code().push(repo_id, self, example, private, token))

    def _check_numbers(self) -> None:
        check_number("batch_size", self.batch_size, 1)
        check_number("max_seq_length", self.max_seq_length, 3, may_be_none=True)
        check_number("epochs", self.epochs, 0, may_be_none=True, is_whole=False)
        check_number("learning_rate", self.learning_rate, LEAST_RATE, may_be_none=True, is_whole=False)

    def _fit(self, problem_type: str, names: list[str], texts: list[str], labels: list[Any], weights: Any) -> None:
        """Fits the model to texts and parsed labels; `weights` are those of the rows, or None."""
        checked = None if weights is None else check_weights(weights, texts)
        examples = _code().Examples(texts, labels=labels, weights=checked)
        self._take(_code().fit_texts(problem_type, names, examples, self.get_params()))

    def _logits(self, texts: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        logits: NDArray[np.float64] = _code().read_texts(self.model_, self.tokenizer_, check_texts(texts))
        return logits


class VocablessClassifier(ClassifierMixin, _FineTuned):  # type: ignore[misc]
    """Classifies texts with a trained encoder; a text has one label, or several.

    Args:
        model_name_or_path: folder or Hub id of an encoder of ours; None is one of this package: the English one for
            English texts, otherwise that whose head has the smaller held-out loss.
        epochs: of fine-tuning after the head, which is kept if it is better; 0 fits the head alone, in seconds. None is
            the number of `vocabless finetune`, which goes by the texts, and trains only while that gains something.
        learning_rate: peak; None goes by the width of the encoder.
        batch_size: texts in a training step.
        max_seq_length: tokens of a text that are read. None is as many as the encoder has places for, at most 512, and
            fewer in training if the texts are short.
        class_weight: "balanced", or a dictionary label → weight, as in scikit-learn; of several labels, a list of such
            dictionaries.
        random_state: seed, generator of numpy or None, as in scikit-learn. No global generator is changed.
        verbose: whether an encoder that was chosen is named, and what takes seconds says what it does and shows a bar.
        reject: largest share of texts with a label that may get none, so that texts of no label get none, such as 0.05.
            None gives each text a label.
        reject_label: what `predict` gives a text that gets no label. A saved model calls it "none of these" by default.

    Attributes:
        classes_: the labels, sorted; of several labels, the names of the columns or their numbers.
        model_, tokenizer_: of transformers.
        cross_validated_: scores of models like this one, which read sentences if it does, on rows that they have not
            learned: of fewer than 10 000 texts all, in five folds; if more than 200 were fine-tuned on, one fold.
            Copies of a text are in one fold.
        results_: what the model card is made of; `encoder_choice` says why an encoder was chosen, if none was named.
    """

    _problem_types = (SINGLE, SEVERAL)

    def __init__(
        self,
        model_name_or_path: str | None = None,
        epochs: float | None = 0,
        learning_rate: float | None = None,
        batch_size: int = 16,
        max_seq_length: int | None = None,
        class_weight: Any = None,
        random_state: Any = 0,
        verbose: bool = True,
        reject: float | None = None,
        reject_label: Any = None,
    ) -> None:
        super().__init__(model_name_or_path, epochs, learning_rate, batch_size, max_seq_length, random_state, verbose)
        self.class_weight = class_weight
        self.reject = reject
        self.reject_label = reject_label

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, texts: Sequence[str], labels: Any, sample_weight: Any = None) -> "VocablessClassifier":
        """Fits the head, then all weights unless `epochs` is 0, as `vocabless finetune` does.

        Args:
            texts: a list, a column of pandas or Polars, or an array of Arrow.
            labels: a label for each text; or for several labels a matrix of 0 and 1 with a column for each label, such
                as `MultiLabelBinarizer` makes.
            sample_weight: how much each text counts, (n,); None: all the same.

        Raises:
            ValueError: the numbers of texts and labels differ, the labels are no classes or there is one alone, a text
                is empty, all texts are the same, an argument is out of range, or the model is no trained
                encoder of ours.
        """
        self._check_numbers()
        check_number("reject", self.reject, LEAST_RATE, may_be_none=True, is_whole=False, most=0.5)
        texts = check_texts(texts)
        classes, column = read_labels(texts, labels)
        names = [str(label) for label in classes]
        is_several = column.ndim == 2
        if is_several:
            parsed: list[Any] = [[names[index] for index in np.flatnonzero(row)] for row in column]
        else:
            parsed = [names[index] for index in np.searchsorted(classes, column)]
        weights = sample_weight
        if self.class_weight is not None:
            of_class = weights_of_classes(self.class_weight, classes, column)
            weights = of_class if weights is None else of_class * check_weights(weights, texts)
        self._fit(SEVERAL if is_several else SINGLE, names, texts, parsed, weights)
        self.classes_ = classes
        self.results_ |= {"classes": classes.tolist(), "class_weight": self.class_weight and str(self.class_weight)}
        if self.reject is not None:
            self.results_["reject"] |= {"label": np.asarray(self.reject_label).tolist()}
        return self

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Returns the most likely label of each text, (n,); of several labels (n, labels), 0 or 1.

        1 means a probability of at least `problem_.threshold`, which held-out texts have chosen; of few texts, 0.5.
        With `reject`, a text that is too unfamiliar gets `reject_label`, and none of several labels.
        """
        logits = self._logits(texts)
        probabilities = self._probabilities(logits)
        if self.problem_.name == SEVERAL:
            return np.asarray(probabilities >= self.problem_.threshold, np.int64)
        labels: NDArray[Any] = self.classes_[probabilities.argmax(1)]
        if self.offset_ is None:
            return labels
        others = np.asarray([self.reject_label])
        if others.dtype.kind != labels.dtype.kind:
            labels, others = labels.astype(object), others.astype(object)
        return np.where(logits.argmax(1) == len(self.classes_), others, labels)

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns the probability of each label, (n, labels), in the order of `classes_`."""
        return self._probabilities(self._logits(texts))

    def score(self, texts: Any, labels: Any, sample_weight: Any = None) -> float:
        """Returns the accuracy, in which each text that is turned away is a mistake."""
        if self.offset_ is None or self.problem_.name == SEVERAL:
            return float(super().score(texts, labels, sample_weight))
        said, labels = self.predict(texts), column_or_1d(labels, warn=True)
        check_consistent_length(said, labels, sample_weight)
        return float(np.average(said == labels, weights=sample_weight))

    def score_samples(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns how familiar each text is, (n,): higher is more; those below `offset_` get no label.

        Raises:
            ValueError: the classifier was fitted without `reject`.
        """
        logits = self._logits(texts)
        if self.offset_ is None:
            raise ValueError("the classifier gives each text a label; fit it with reject=0.05, or another share.")
        if self.problem_.name == SEVERAL:
            return np.asarray(self.offset_ - logits[:, -1] + logit(self.problem_.threshold))
        return np.asarray(self.offset_ - strangeness_of(logits))

    @property
    def offset_(self) -> float | None:
        """The familiarity below which a text gets no label; None without `reject`."""
        check_is_fitted(self)
        score: float | None = self.model_.config.classifier_reject_score
        return score

    def _probabilities(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the probabilities of the labels, without that of a last one for texts that are turned away."""
        logits = logits[:, : len(self.classes_)]
        return np.asarray(expit(logits) if self.problem_.name == SEVERAL else softmax(logits, axis=-1))


class VocablessRegressor(RegressorMixin, _FineTuned):  # type: ignore[misc]
    """Gives each text a number. See `VocablessClassifier` for the arguments and attributes, but classes."""

    _problem_types = (NUMBER,)

    def fit(self, texts: Sequence[str], targets: Any, sample_weight: Any = None) -> "VocablessRegressor":
        """Fits the head, then all weights unless `epochs` is 0. Raises ValueError, see `VocablessClassifier.fit`."""
        self._check_numbers()
        texts = check_texts(texts)
        self._fit(NUMBER, [], texts, check_targets(texts, targets), sample_weight)
        return self

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns the number of each text, (n,)."""
        return np.asarray(self._logits(texts)[:, 0])
