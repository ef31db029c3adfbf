"""A teacher of sentence vectors, and the texts that it embeds: sentences, clauses and passages of documents.

The vectors are computed once and kept in the cache of `datasets`. sentence-transformers loads and runs the teacher. It
applies the teacher's own pooling and layers, and takes the mean of the states of an encoder that has none.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import regex
import torch
from datasets import Dataset, concatenate_datasets
from huggingface_hub import ModelCard
from huggingface_hub.errors import HfHubHTTPError
from numpy.typing import NDArray

from vocabless.hub_connection import offline_without_hub
from vocabless.public_names import without_path
from vocabless.saving.checkpoint_files import check_source, first_line
from vocabless.saving.stock_models import SMALLEST_VOCABULARY
from vocabless.texts.sentences import sentences
from vocabless.training.output_cache import add_outputs, fingerprint
from vocabless.training.pretraining.translations import ParallelTexts

TEXTS_PER_CALL = 4096  # sorted by length, then cut into batches
BATCH_SIZE = 64
LENGTH_STEP = 8  # padded lengths are multiples of it: a CPU prepares its kernels for each length anew
MIN_WORDS = 3  # of a text
PASSAGE_SENTENCES = 4
# A match begins where white space begins: from each of its characters on, the search would take quadratic time.
_CLAUSE_END = regex.compile(r"(?<=[,;:()–—])\s+|(?<!\s)\s+(?=\()")
# What becomes of each sentence of a document, in turn. A clause costs a teacher little and is as long as a query.
_TURNS = ("sentence", "clauses", "sentence", "clauses", "sentence", "clauses", "sentence", "passage")


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
            raise ValueError('a teacher needs sentence-transformers; run pip install "vocabless[distill]".') from error
        check_source(source)
        dtype = torch.bfloat16 if use_bf16 else torch.float32
        options: Any = {"model_kwargs": {"dtype": dtype}, "trust_remote_code": trust_remote_code}
        try:
            with offline_without_hub(source):
                self._model = SentenceTransformer(source, **options).eval()
        except (OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"the teacher {source!r} cannot be loaded ({first_line(error)}); give a folder or a Hub id with a "
                "model and its tokenizer."
            ) from error
        if len(self._model.tokenizer) < SMALLEST_VOCABULARY:
            raise ValueError(f"the teacher {source!r} has no tokenizer; give a folder or a Hub id that holds one.")
        self.name = without_path(source)  # the Hub id, or the name of the folder
        self.license = _license(source)
        self._model.max_seq_length = length = min(max_length, self._model.max_seq_length or max_length)
        self._length_step = gcd(LENGTH_STEP, length)  # a tokenizer pads to no multiple that does not divide the length
        settings = self._model.prompts, self._model.default_prompt_name, self._model.truncate_dim
        self.fingerprint = fingerprint(self._model, self._model.tokenizer, self._model.max_seq_length, settings)
        self.vector_size = int(self._model.encode(["one text"]).shape[1])

    def embed(self, batch: dict[str, list[str]]) -> np.ndarray[Any, np.dtype[np.float16]]:
        """Returns the vectors of the texts of a batch, (n, vector_size) float16."""
        vectors: np.ndarray[Any, Any] = self._model.encode(
            batch["text"],
            batch_size=BATCH_SIZE,
            show_progress_bar=False,
            processing_kwargs={"text": {"pad_to_multiple_of": self._length_step}},
        )
        with np.errstate(over="ignore"):
            return vectors.astype(np.float16)


def add_vectors(texts: Dataset, teacher: SentenceTeacher) -> Dataset:
    """Returns texts, the column `text`, with the teacher's vectors: one more column `vector`, float16, memory-mapped.

    Raises:
        ValueError: the teacher gives a text NaN or a number that float16 does not hold.
    """
    return add_outputs(texts, "vector", teacher.embed, TEXTS_PER_CALL, teacher.fingerprint, "Teacher's vectors")


def vectors_of(texts: Sequence[str], teacher: SentenceTeacher) -> NDArray[np.float16]:
    """Returns the teacher's vectors of texts, (n, vector size), see `add_vectors`."""
    vectors = add_vectors(Dataset.from_dict({"text": list(texts)}), teacher)
    return np.asarray(vectors.with_format("numpy")["vector"][:])


def with_translations(
    texts: Sequence[str], parallel: ParallelTexts | None, teacher: SentenceTeacher
) -> tuple[Dataset, Dataset, NDArray[np.int64]]:
    """Returns texts, parallel texts and their translations, one behind the other; the teacher's vectors; targets.

    The teacher reads the texts and the translations. A target is the row of a text in the vectors.
    """
    table = Dataset.from_dict({"text": list(texts)})
    vectors, targets = add_vectors(table, teacher), np.arange(len(table))
    if parallel is None:
        return table, vectors, targets
    translations = Dataset.from_dict({"text": parallel.translations})
    first = len(table)  # row of a translation in the vectors
    targets = np.concatenate([targets, first + parallel.english_of, first + np.arange(len(translations))])
    vectors = concatenate_datasets([vectors, add_vectors(translations, teacher)])
    return concatenate_datasets([table, parallel.texts, translations]), vectors, targets


def corpus_texts(documents: Dataset, max_texts: int, seed: int) -> list[str]:
    """Returns texts of documents in a random order of documents, without repetitions; at most `max_texts`, 0 takes all.

    Raises:
        ValueError: no text has three words.
    """
    texts = (text for document in documents.shuffle(seed=seed) for text in split_document(document["text"] or ""))
    distinct = dict.fromkeys(islice((text for text in texts if len(text.split()) >= MIN_WORDS), max_texts or None))
    if not distinct:
        raise ValueError(
            f"the corpus has {len(documents)} documents but no sentence of {MIN_WORDS} words; give files with text."
        )
    return list(distinct)


def split_document(document: str) -> Iterator[str]:
    """Yields sentences, clauses of sentences, and passages of four sentences, in turn.

    >>> list(split_document("It rained. We stayed, and she read."))
    ['It rained.', 'We stayed,', 'and she read.']
    """
    parts = [sentence.strip() for sentence in sentences(document)]
    for index, sentence in enumerate(parts):
        turn = _TURNS[index % len(_TURNS)]
        if turn == "clauses":
            yield from _CLAUSE_END.split(sentence)
        else:
            yield " ".join(parts[index : index + PASSAGE_SENTENCES]) if turn == "passage" else sentence


def draw_texts(corpora: Sequence[Dataset], shares: Sequence[float] | None, max_texts: int, seed: int) -> list[str]:
    """Returns the texts of several corpora, see `corpus_texts`.

    The shares, one number each, say how `max_texts` is divided among the corpora. None takes all corpora as one.

    Raises:
        ValueError: a share of less than one text, or a corpus without texts.
    """
    if shares is None:
        return corpus_texts(concatenate_datasets(list(corpora)), max_texts, seed)
    numbers = [round(max_texts * share / sum(shares)) for share in shares]
    if not all(numbers):
        raise ValueError(
            f"--mix {' '.join(map(str, shares))} divides --max_texts {max_texts} into {', '.join(map(str, numbers))} "
            "texts; raise --max_texts or the smallest share until each corpus gives a text."
        )
    texts = (corpus_texts(corpus, number, seed) for corpus, number in zip(corpora, numbers, strict=True))
    return list(dict.fromkeys(chain.from_iterable(texts)))


def _license(source: str) -> str | None:
    """Returns the license that a model's card names, by the Hub's name."""
    file = Path(source) / "README.md"
    try:
        license = ModelCard.load(file if file.parent.is_dir() else source).data.license
    except (OSError, ValueError, HfHubHTTPError):
        return None
    return license if isinstance(license, str) else None
