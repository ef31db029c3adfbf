"""Documents → the short texts that a teacher embeds: sentences, clauses and passages."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

import regex
from datasets import Dataset, concatenate_datasets

from vocabless.training.texts.sentences import sentences

MIN_WORDS = 3  # of a text
PASSAGE_SENTENCES = 4
# A match begins where white space begins: from each of its characters on, the search would take quadratic time.
_CLAUSE_END = regex.compile(r"(?<=[,;:()–—])\s+|(?<!\s)\s+(?=\()")
# What becomes of each sentence of a document, in turn. A clause costs a teacher little and is as long as a query.
_TURNS = ("sentence", "clauses", "sentence", "clauses", "sentence", "clauses", "sentence", "passage")


def corpus_texts(documents: Dataset, max_texts: int, seed: int) -> list[str]:
    """Returns texts of documents in a random order of documents, without repetitions; at most `max_texts`, 0 takes all.

    Raises:
        ValueError: no text has three words.
    """
    texts = (text for document in documents.shuffle(seed=seed) for text in split_document(document["text"] or ""))
    found = dict.fromkeys(islice((text for text in texts if len(text.split()) >= MIN_WORDS), max_texts or None))
    if not found:
        raise ValueError(
            f"the corpus has {len(documents)} documents but no sentence of {MIN_WORDS} words; give files with text."
        )
    return list(found)


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
