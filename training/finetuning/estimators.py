"""scikit-learn's interface: a classifier and a regressor of texts, and texts as vectors for any other estimator.

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
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import InputTags, Tags, check_random_state, column_or_1d, compute_sample_weight
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm
from transformers import DataCollatorWithPadding

from vocabless.loading import default_encoder
from vocabless.modeling.head_layers import mean_state
from vocabless.public_names import without_paths
from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.model_card import write_card
from vocabless.saving.record import card_facts
from vocabless.saving.run_folder import RESULTS, write_json
from vocabless.saving.uploads import check_upload, upload
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments, choose_learning_rate
from vocabless.training.finetuning.data import Examples, TaskData, encode
from vocabless.training.finetuning.encoder_choice import choose_encoder
from vocabless.training.finetuning.estimator_inputs import (
    as_json,
    check_labels,
    check_texts,
    check_weights,
    columns_of,
    listed,
)
from vocabless.training.finetuning.fine_tuning import load_model, results_of
from vocabless.training.finetuning.first_head import has_linear_head
from vocabless.training.finetuning.fit import fit
from vocabless.training.finetuning.frozen_features import compute, logits_of
from vocabless.training.finetuning.labels import enumerated
from vocabless.training.finetuning.problems import MultiLabel, Problem, Regression, SingleLabel
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


class _FineTuned(_ReadsTexts):
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

    def save_pretrained(self, folder: str | os.PathLike[str], example: str | None = None) -> None:
        """Writes model, code, tokenizer, record and model card into a folder, which is created.

        The card shows scores, labels, licence and language of the base model, and of your texts `example` alone.
        """
        check_is_fitted(self)
        folder = Path(folder)
        results = self.results_ | {"example": [] if example is None else [example]}
        results["about"] = {"title": folder.resolve().name} | results.get("about", {})
        folder.mkdir(parents=True, exist_ok=True)
        save_checkpoint(self.model_, self.tokenizer_, folder)
        write_card(folder, self.model_, self.tokenizer_.block_size, card_facts(results))
        write_json(folder / RESULTS, results)

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
        repo_id = check_upload(repo_id, token)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / repo_id.rpartition("/")[2]
            self.save_pretrained(folder, example)
            return upload(folder, repo_id, "Add the model", token, private)

    def _fit(self, problem: Problem, texts: list[str], labels: list[Any], weights: Any, **record: Any) -> None:
        """Fits the head to texts and parsed labels, then all weights unless `epochs` is 0.

        `weights` are those of the rows, or None; `record` stands in the results.
        """
        data = TaskData("texts", "texts", problem, Examples(texts, labels=labels), {})
        if blank := data.train.empty_rows():
            raise ValueError(f"the texts {enumerated(blank)} are empty; fill them or drop them.")
        data.train.weights = None if weights is None else check_weights(weights, texts)
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(MOST_SEEDS)
        tells = self.verbose and self.epochs != 0  # the head alone takes seconds
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
                disable_tqdm=not tells,
                report_to="none",
            )
            loaded = load_model(arguments, data, Path(folder))
            if not (loaded.lacks_head and has_linear_head(loaded.model, problem)):
                raise ValueError(f"{source!r} is no encoder of ours without a head; give another one.")
            choose_learning_rate(arguments, training)
            choose_validation(data, arguments, True)
            fitted = fit(data, loaded, arguments, training, tqdm.write if tells else lambda line: None)
            results = results_of(fitted) | record | ({} if choice is None else {"encoder_choice": asdict(choice)})
        results |= {"parameters": fitted.model.num_parameters(), "has_sample_weight": weights is not None}
        self.results_ = results | {"arguments": without_paths(results["arguments"])}
        self.cross_validated_, self.problem_, self.encoder_choice_ = fitted.metrics, problem, choice
        self.model_, self.tokenizer_ = fitted.model.eval(), loaded.tokenizer
        self._has_warned = False

    def _logits(self, texts: Sequence[str]) -> Any:
        """Returns the logits (n, outputs) of texts; warns once if it cuts some."""
        check_is_fitted(self)
        texts, length = check_texts(texts), int(self.tokenizer_.model_max_length)
        rows = encode(Examples(texts), self.problem_, self.tokenizer_, length + 1)
        if long := [row for row, ids in enumerate(rows) if len(ids["input_ids"]) > length]:
            if not self._has_warned:
                self._has_warned = True
                words = f"{len(long)} of {len(texts)} texts have more than {length} tokens; only so many are read."
                warnings.warn(words, stacklevel=3)
            cut = encode(Examples([texts[row] for row in long]), self.problem_, self.tokenizer_, length)
            for row, ids in zip(long, cut, strict=True):
                rows[row] = ids
        return logits_of(self.model_, rows, DataCollatorWithPadding(self.tokenizer_))


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
        verbose: whether fine-tuning says what it does and shows a bar; the head alone is silent.

    Attributes:
        classes_: the labels, sorted; of several labels, the names of the columns or their numbers.
        model_, tokenizer_: of transformers.
        cross_validated_: metrics of models like this one on rows that they have not learned: of fewer than 10 000 texts
            all, in five folds; if more than 200 were fine-tuned on, one fold. Copies of a text are in one fold.
        encoder_choice_: `language`, and the held-out `losses` that decided; None if the model was named.
        results_: what the model card is made of.
    """

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
    ) -> None:
        super().__init__(model_name_or_path, epochs, learning_rate, batch_size, max_seq_length, random_state, verbose)
        self.class_weight = class_weight

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
                is empty, or the model is no trained encoder of ours.
        """
        texts = check_texts(texts)
        columns = columns_of(labels)
        if columns is None:
            column = check_labels(texts, labels)
            classes, indices = np.unique(column, return_inverse=True)
            if len(classes) < 2:
                raise ValueError(
                    f"all texts have the label {classes.tolist()[0]!r}; give texts of at least two labels."
                )
            problem: Problem = SingleLabel([str(label) for label in classes])
            parsed: list[Any] = [problem.labels[index] for index in indices]
        else:
            classes, column = columns
            if len(column) != len(texts):
                raise ValueError(f"{len(texts)} texts have {len(column)} rows of labels; give each text one row.")
            problem = MultiLabel([str(name) for name in classes])
            parsed = [[problem.labels[index] for index in np.flatnonzero(row)] for row in column]
        weights = sample_weight
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, column)
            weights = of_class if weights is None else of_class * check_weights(weights, texts)
        self._fit(problem, texts, parsed, weights, class_weight=as_json(self.class_weight))
        self.classes_ = classes
        return self

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Returns the most likely label of each text, (n,); of several labels (n, labels), 0 or 1.

        1 stands for a probability above 0.3, the limit of `vocabless finetune`: `problem_.threshold`.
        """
        probabilities = self.predict_proba(texts)
        if isinstance(self.problem_, MultiLabel):
            return (probabilities > self.problem_.threshold).astype(np.int64)
        labels: NDArray[Any] = self.classes_[probabilities.argmax(1)]
        return labels

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns the probability of each label, (n, labels), in the order of `classes_`."""
        logits = torch.from_numpy(self._logits(texts))
        is_several = isinstance(self.problem_, MultiLabel)
        return np.asarray(logits.sigmoid() if is_several else logits.softmax(-1))


class VocablessRegressor(RegressorMixin, _FineTuned):  # type: ignore[misc]
    """Gives each text a number. See `VocablessClassifier` for the arguments and attributes, but classes."""

    def fit(self, texts: Sequence[str], targets: Any, sample_weight: Any = None) -> "VocablessRegressor":
        """Fits the head, then all weights unless `epochs` is 0. Raises ValueError, see `VocablessClassifier.fit`."""
        texts = check_texts(texts)
        numbers = np.asarray(column_or_1d(np.asarray(listed(targets), np.float64)))
        if len(numbers) != len(texts) or not np.isfinite(numbers).all():
            raise ValueError(f"{len(texts)} texts have {np.isfinite(numbers).sum()} numbers; give each text one.")
        self._fit(Regression(), texts, numbers.tolist(), sample_weight)
        return self

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns the number of each text, (n,)."""
        return np.asarray(self._logits(texts)[:, 0])


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
        check_texts(texts)
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
        rows = encode(Examples(check_texts(texts)), SingleLabel(), self.tokenizer_, self.length_)

        def mean(outputs: Any, inputs: dict[str, Any]) -> Any:
            return mean_state(outputs.last_hidden_state, inputs.get("attention_mask"))

        return compute(self.model_, rows, DataCollatorWithPadding(self.tokenizer_), mean)


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
