"""scikit-learn's interface: a classifier of texts, and texts as vectors for any other estimator.

    from vocabless import VocablessClassifier

    classifier = VocablessClassifier("checkpoints/hashgram-tiny-sentence").fit(texts, labels)
    classifier.predict(["one more text"])
    classifier.save_pretrained("my-classifier")

The folder loads as any classifier of transformers. The first head is that of `run_glue.py --head_only`.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from transformers import AutoModel, AutoTokenizer, DataCollatorWithPadding, set_seed

from vocabless.modeling.head_layers import PooledHead, mean_state
from vocabless.saving.checkpoint import save_checkpoint
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.fine_tuning import FineTuning
from vocabless.training.finetuning.first_head import compute
from vocabless.training.finetuning.load_model import choose_learning_rate, choose_sequence_length, load_model
from vocabless.training.finetuning.metrics import FOLDS
from vocabless.training.finetuning.problems import SingleLabel
from vocabless.training.finetuning.stages import can_probe, probe
from vocabless.training.finetuning.task_files import EncodedExamples, Examples
from vocabless.training.finetuning.tasks import Task
from vocabless.training.run import train

DEFAULT_MODEL = "checkpoints/hashgram-tiny-sentence"  # of a clone


class VocablessClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifies texts with a trained encoder.

    Args:
        model_name_or_path: folder or Hub id of an encoder of ours.
        epochs: of fine-tuning after the head; 0 fits the head alone, in seconds.
        learning_rate: peak; None goes by the width of the encoder.
        batch_size: texts in a training step.
        max_seq_length: tokens; None measures the texts.
        random_state: seed.

    Attributes:
        classes_: the labels, sorted.
        model_, tokenizer_: of transformers.
        cross_validated_: metrics of the head alone, in five folds.
    """

    def __init__(
        self,
        model_name_or_path: str = DEFAULT_MODEL,
        epochs: float = 0,
        learning_rate: float | None = None,
        batch_size: int = 16,
        max_seq_length: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.model_name_or_path = model_name_or_path
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_seq_length = max_seq_length
        self.random_state = random_state

    def fit(self, texts: Sequence[str], labels: Sequence[Any]) -> "VocablessClassifier":
        """Fits the head, then all weights if `epochs` asks for it.

        Raises:
            ValueError: the numbers of texts and labels differ, there is one label alone, or the model is no trained
                encoder of ours.
        """
        texts = _check_texts(texts)
        if len(texts) != len(labels):
            raise ValueError(f"{len(texts)} texts have {len(labels)} labels; give each text one label.")
        self.classes_, indices = np.unique(np.asarray(labels), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"all texts have the label {labels[0]!r}; give texts of at least two labels.")
        problem = SingleLabel([str(label) for label in self.classes_])
        examples = Examples(texts, labels=[problem.labels[index] for index in indices])
        task = Task("texts", "texts", problem, examples, {"": examples}, scored_folds=FOLDS)
        arguments = GlueArguments(model_name_or_path=self.model_name_or_path, max_seq_length=self.max_seq_length)
        set_seed(self.random_state)
        loaded = load_model(arguments, task, Path())
        if not can_probe(loaded, task):
            raise ValueError(f"{self.model_name_or_path!r} is no encoder of ours without a head; give another one.")
        arguments.max_seq_length, _ = choose_sequence_length(arguments, task, loaded)
        first = probe(task, loaded, arguments.max_seq_length)
        self.cross_validated_ = first.scores
        self.model_, self.tokenizer_ = loaded.model, loaded.tokenizer
        self.tokenizer_.model_max_length = arguments.max_seq_length
        first.head().write_into(cast(PooledHead, self.model_.classifier))
        if self.epochs:
            training = GlueTrainingArguments(
                num_train_epochs=self.epochs,
                learning_rate=self.learning_rate,
                per_device_train_batch_size=self.batch_size,
                seed=self.random_state,
                disable_tqdm=True,
            )
            choose_learning_rate(arguments, training)
            with tempfile.TemporaryDirectory() as folder:
                training = training.quiet(Path(folder))
                self.model_ = train(FineTuning(arguments, training, task, first.head())).model
        self.model_.eval()
        return self

    def predict(self, texts: Sequence[str]) -> NDArray[Any]:
        """Returns the most likely label of each text, (n,)."""
        probabilities = self.predict_proba(texts)
        labels: NDArray[Any] = self.classes_[probabilities.argmax(1)]
        return labels

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns the probability of each label, (n, labels), in the order of `classes_`."""
        check_is_fitted(self)
        problem = SingleLabel([str(label) for label in self.classes_])
        encoded = EncodedExamples(
            Examples(_check_texts(texts)), problem, self.tokenizer_, int(self.tokenizer_.model_max_length)
        )
        collator = DataCollatorWithPadding(self.tokenizer_)
        return compute(self.model_, encoded, collator, lambda outputs, _: outputs.logits.softmax(-1))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes model, code and tokenizer into a folder, which is created."""
        check_is_fitted(self)
        Path(folder).mkdir(parents=True, exist_ok=True)
        save_checkpoint(self.model_, self.tokenizer_, folder)


class VocablessVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns texts into the mean of an encoder's states, for pipelines of scikit-learn.

    Args:
        model_name_or_path: folder or Hub id of an encoder of ours.
        max_seq_length: tokens; None is the model's limit.
    """

    def __init__(self, model_name_or_path: str = DEFAULT_MODEL, max_seq_length: int | None = None) -> None:
        self.model_name_or_path = model_name_or_path
        self.max_seq_length = max_seq_length

    def fit(self, texts: Sequence[str], labels: Any = None) -> "VocablessVectorizer":
        """Loads the encoder; it learns nothing from the texts."""
        _check_texts(texts)
        self.model_ = AutoModel.from_pretrained(self.model_name_or_path).eval()
        self.tokenizer_ = AutoTokenizer.from_pretrained(self.model_name_or_path)
        return self

    def transform(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Returns (n, hidden size)."""
        check_is_fitted(self)
        length = self.max_seq_length or int(self.tokenizer_.model_max_length)
        encoded = EncodedExamples(Examples(_check_texts(texts)), SingleLabel(), self.tokenizer_, length)

        def mean(outputs: Any, inputs: dict[str, Any]) -> Any:
            return mean_state(outputs.last_hidden_state, inputs.get("attention_mask"))

        return compute(self.model_, encoded, DataCollatorWithPadding(self.tokenizer_), mean)


def _check_texts(texts: Sequence[str]) -> list[str]:
    """Returns the texts as a list; raises an error for what is no list of texts."""
    rows = [texts] if isinstance(texts, str) else list(texts)
    wrong = [row for row in rows if not isinstance(row, str)]
    if isinstance(texts, str) or wrong or not rows:
        found = "one string" if isinstance(texts, str) else f"{wrong[0]!r}" if wrong else "nothing"
        raise ValueError(f"texts are a list of strings, but here is {found}; give a list with a string for each text.")
    return rows
