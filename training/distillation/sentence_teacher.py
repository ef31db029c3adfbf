"""A teacher of sentence vectors, which are computed once and kept in the cache of `datasets`.

sentence-transformers loads and runs the teacher. It applies the teacher's own pooling and layers, and takes the mean of
the states of an encoder that has none.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, concatenate_datasets
from huggingface_hub import ModelCard
from huggingface_hub.errors import HfHubHTTPError
from numpy.typing import NDArray

from vocabless.public_names import without_path
from vocabless.saving.checkpoint_files import first_line
from vocabless.saving.stock_models import SMALLEST_VOCABULARY
from vocabless.training.distillation.output_cache import add_outputs, fingerprint
from vocabless.training.distillation.parallel_texts import ParallelTexts

TEXTS_PER_CALL = 4096  # sorted by length, then cut into batches
BATCH_SIZE = 64
LENGTH_STEP = 8  # padded lengths are multiples of it: a CPU prepares its kernels for each length anew


class SentenceTeacher:
    """A sentence-transformers model, or an encoder, whose sentence vectors another model learns.

    Args:
        source: a folder or a Hub id.
        max_length: tokens of a text; the teacher cuts the rest off. At most the teacher's own length.
        use_bf16: whether it computes in bfloat16.
        trust_remote_code: whether to run code that the source contains.

    Raises:
        ValueError: sentence-transformers is not installed, or the teacher cannot be loaded.
    """

    def __init__(self, source: str, max_length: int, use_bf16: bool = False, trust_remote_code: bool = False) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ValueError('a teacher needs sentence-transformers; run pip install -e ".[distill]".') from error
        dtype = torch.bfloat16 if use_bf16 else torch.float32
        try:
            self._model = SentenceTransformer(
                source, model_kwargs={"dtype": dtype}, trust_remote_code=trust_remote_code
            ).eval()
        except (OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"the teacher {source!r} cannot be loaded ({first_line(error)}); give a folder or a Hub id with a "
                "model and its tokenizer."
            ) from error
        if len(self._model.tokenizer) < SMALLEST_VOCABULARY:
            raise ValueError(f"the teacher {source!r} has no tokenizer; give a folder or a Hub id that holds one.")
        self.name = without_path(source)  # the Hub id, or the name of the folder
        self.license = _license(source)
        self._model.max_seq_length = min(max_length, self._model.max_seq_length or max_length)
        settings = self._model.prompts, self._model.default_prompt_name, self._model.truncate_dim
        self.fingerprint = fingerprint(self._model, self._model.tokenizer, self._model.max_seq_length, settings)
        self.vector_size = int(self._model.encode(["one text"]).shape[1])

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float16]]:
        """Returns the vectors of texts, (n, vector_size) float16."""
        vectors: np.ndarray[Any, Any] = self._model.encode(
            list(texts),
            batch_size=BATCH_SIZE,
            show_progress_bar=False,
            processing_kwargs={"text": {"pad_to_multiple_of": LENGTH_STEP}},
        )
        with np.errstate(over="ignore"):
            return vectors.astype(np.float16)


def add_vectors(texts: Dataset, teacher: SentenceTeacher) -> Dataset:
    """Returns the texts with the teacher's vectors: columns `text` and `vector`, float16, memory-mapped.

    Raises:
        ValueError: the teacher gives a text NaN or a number that float16 does not hold.
    """

    def embed(batch: dict[str, list[str]]) -> np.ndarray[Any, np.dtype[np.float16]]:
        return teacher.embed(batch["text"])

    table = texts.select_columns(["text"])
    return add_outputs(table, "vector", embed, TEXTS_PER_CALL, teacher.fingerprint, "Teacher's vectors")


def with_translations(
    texts: Sequence[str], parallel: ParallelTexts | None, teacher: SentenceTeacher
) -> tuple[Dataset, Dataset, NDArray[np.int64]]:
    """Returns texts, translations and their English sides, one behind the other; the teacher's vectors; targets.

    The teacher reads the texts and the English sides. A target is the row of a text in the vectors.
    """
    own = Dataset.from_dict({"text": list(texts)})
    vectors, targets = add_vectors(own, teacher), np.arange(len(own))
    if parallel is None:
        return own, vectors, targets
    sides = Dataset.from_dict({"text": parallel.sides})
    targets = np.concatenate([targets, len(own) + parallel.side_of, len(own) + np.arange(len(sides))])
    vectors = concatenate_datasets([vectors, add_vectors(sides, teacher)])
    return concatenate_datasets([own, parallel.texts, sides]), vectors, targets


def _license(source: str) -> str | None:
    """Returns the license that a model's card names, by the Hub's name."""
    file = Path(source) / "README.md"
    try:
        license = ModelCard.load(file if file.parent.is_dir() else source).data.license
    except (OSError, ValueError, HfHubHTTPError):
        return None
    return license if isinstance(license, str) else None
