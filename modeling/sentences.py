"""The sentences of a text, which a classifier may read beside the whole text, and what both say together.

A polite first sentence changes the mean of all states, and so it can drown the sentence that decides. The rules of
joining them are keys of `RULES`; new classifiers have `ODDS`.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

ODDS = "odds"
MARKS = ".!?…。！？｡؟।۔"  # a unit that begins with one of them ends a sentence
COMMAS = ",，،"  # by `ODDS`, one of them among the first units of a text does, too: "Dear Sir or Madam,"
SALUTATION = 6  # of these units
SHORTEST = 3  # units of a sentence, its mark among them
MOST_AT_ONCE = 64  # sentences
LEAST_SAID = 1e-3  # of a sentence, see `probabilities_by_divergence`, so that the sums of no text are all 0
LARGEST = 600.0  # logit whose exponential, and that of the negative one, is finite and not 0

FIRST_BYTE = 5  # the element of byte 0; smaller ones are special tokens
MARK_ELEMENTS, COMMA_ELEMENTS = (
    [[byte + FIRST_BYTE for byte in mark.encode()] for mark in each] for each in (MARKS, COMMAS)
)
FIRST_ELEMENTS = {first for first, *_ in MARK_ELEMENTS + COMMA_ELEMENTS}

BlockArray = NDArray[np.int64]
Logits = NDArray[Any]  # of any floating point


def read_with_sentences(
    blocks: BlockArray, logits: Logits, read: Callable[[BlockArray], Logits], rule: bool | str, rejects: bool = False
) -> Logits:
    """Returns the logits of texts, (B, L), joined with those of the sentences of texts that have several.

    Args:
        blocks: the texts, (B, S, K).
        logits: those of the whole texts, (B, L). They are returned themselves if no text has several sentences.
        read: returns the logits of sentences, (n, T, K) → (n, L).
        rule: key of `RULES`.
        rejects: whether the last label is "none of these", see `Rejection`.
    """
    found = [(texts, read(sentences)) for texts, sentences in sentences_of(blocks, rule)]
    if not found:
        return logits
    texts, of_sentences = map(np.concatenate, zip(*found, strict=True))
    if not rejects:
        return join_sentences(logits, of_sentences, texts, rule)
    joined = join_sentences(logits[:, :-1], of_sentences[:, :-1], texts, rule)
    least = smallest_of_texts(strangeness_of(logits), strangeness_of(of_sentences), texts)
    return np.column_stack([joined, joined.max(axis=1) + least]).astype(logits.dtype)


def strangeness_of(logits: Logits) -> Logits:
    """Returns by how much the last logit is above all others, (n,), for logits (n, L + 1) of a `Rejection`."""
    strangeness: Logits = logits[:, -1] - logits[:, :-1].max(axis=1)
    return strangeness


def smallest_of_texts(numbers: Logits, of_sentences: Logits, texts: NDArray[np.int64]) -> Logits:
    """Returns the smallest number of each text and its sentences, (B,): a text is as strange as its best known part."""
    smallest = numbers.copy()
    np.minimum.at(smallest, texts, of_sentences)
    return smallest


def join_sentences(logits: Logits, of_sentences: Logits, texts: NDArray[np.int64], rule: bool | str) -> Logits:
    """Returns logits (B, L) of one label that also say what the sentences of some texts do.

    The probabilities are a mean of those of the whole text and of those of its sentences together, see `RULES`. Each
    has half the weight; by `ODDS`, the whole text has half the probability that it is no everyday line, see `odds`. The
    logits of a text without sentences stay as they are. Source for passages of a text that are scored apart: Dai and
    Callan, *Deeper Text Understanding for IR with Contextual Neural Language Modeling*, SIGIR 2019; the rules are ours.

    Args:
        logits: of the whole texts, (B, L).
        of_sentences: the logits of their n sentences, (n, L).
        texts: the text of each sentence, (n,).
        rule: key of `RULES`.
    """
    sums = np.zeros(logits.shape)
    np.add.at(sums, texts, RULES[rule](of_sentences))
    totals = sums.sum(axis=1, keepdims=True)
    share = 1 / (1 + np.exp(-clipped(logits.mean(axis=1, keepdims=True)))) / 2 if rule == ODDS else 1 / 2
    joined = np.log(share * softmax(logits) + (1 - share) * sums / np.where(totals > 0, totals, 1))
    return np.where(totals > 0, joined, logits).astype(logits.dtype)


def odds(logits: Logits) -> NDArray[np.float64]:
    """Returns the exponentials of logits (n, L), whose mean is the log-odds of a text of the task.

    A softmax does not depend on this mean, so the first head makes it say how a text differs from the everyday lines of
    mails, such as greetings. A sentence counts by these odds times exp(energy), which is large where
    the head knows what it reads: the energy is the log-sum-exp of the logits without their mean.
    """
    powers: NDArray[np.float64] = np.exp(clipped(logits))
    return powers


def clipped(logits: Logits) -> NDArray[np.float64]:
    """Returns logits whose exponentials are finite, and not 0."""
    return np.clip(logits.astype(np.float64), -LARGEST, LARGEST)


def probabilities_by_divergence(logits: Logits) -> NDArray[np.float64]:
    """Returns probabilities (n, L) times the square of what they say, their Kullback-Leibler divergence from 1/L each.

    It is the rule of older classifiers.
    """
    probabilities = softmax(logits)
    logarithms = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    said = np.log(logits.shape[1]) + (probabilities * logarithms).sum(axis=1, keepdims=True)
    weighted: NDArray[np.float64] = np.maximum(said, LEAST_SAID) ** 2 * probabilities
    return weighted


def softmax(logits: Logits) -> NDArray[np.float64]:
    """Returns the probabilities of logits (…, L)."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    result: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return result


def sentences_of(blocks: BlockArray, rule: bool | str = ODDS) -> Iterator[tuple[BlockArray, BlockArray]]:
    """Yields the sentences of the texts that have more than one, up to `MOST_AT_ONCE` of similar length.

    A sentence ends with a unit that begins with a mark and is not followed by another such unit, and by `ODDS` with a
    comma among the first units of a text. A sentence of fewer than `SHORTEST` units is part of the next one, or at the
    end of the text of the one before.

    Args:
        blocks: texts (B, S, K): [CLS], units and [SEP], with padding on either side. A row with more special tokens,
            such as a pair of texts, has no sentences.
        rule: key of `RULES`.

    Yields:
        The text of each sentence, (n,), and the sentences, (n, T, K), each as a text of its own, with padding behind.
    """
    found: list[tuple[int, list[int]]] = []  # a text, and the places of the tokens of one of its sentences
    for text, firsts in enumerate(blocks[..., 0].tolist()):
        ends = _ends(blocks[text], firsts, rule)
        if not ends or sum(0 < first < FIRST_BYTE for first in firsts) != 2:
            continue
        start, *units, end = (place for place, first in enumerate(firsts) if first)
        spans: list[list[int]] = [[]]
        for unit in units:
            spans[-1].append(unit)
            if unit in ends and len(spans[-1]) >= SHORTEST:
                spans.append([])
        if len(spans) > 1 and len(spans[-1]) < SHORTEST:
            last = spans.pop()
            spans[-1] += last
        if len(spans) > 1:
            found += [(text, [start, *span, end]) for span in spans]
    found.sort(key=lambda sentence: len(sentence[1]))
    for first in range(0, len(found), MOST_AT_ONCE):
        texts, places = zip(*found[first : first + MOST_AT_ONCE], strict=True)
        sentences = np.zeros((len(places), len(places[-1]), blocks.shape[-1]), np.int64)
        for sentence, text, of_sentence in zip(sentences, texts, places, strict=True):
            sentence[: len(of_sentence)] = blocks[text, of_sentence]
        yield np.asarray(texts, np.int64), sentences


def _ends(blocks: BlockArray, firsts: list[int], rule: bool | str) -> set[int]:
    """Returns the places of a text, (S, K), where a sentence may end; `firsts` are the first elements of its blocks."""
    early = next((place for place, first in enumerate(firsts) if first), 0) + SALUTATION if rule == ODDS else -1
    return {
        place
        for place, (first, behind) in enumerate(pairwise(firsts))
        if first in FIRST_ELEMENTS and behind >= FIRST_BYTE  # a mark or a comma, and a unit behind it
        if (_begins(blocks[place], MARK_ELEMENTS) and not _begins(blocks[place + 1], MARK_ELEMENTS))
        or (place <= early and _begins(blocks[place], COMMA_ELEMENTS))
    }


def _begins(block: BlockArray, marks: list[list[int]]) -> bool:
    """Returns whether the unit of a block, (K,), begins with one of the marks."""
    return any(block[: len(mark)].tolist() == mark for mark in marks)


# `classifier_reads_sentences` → what each sentence adds to the odds of the labels, by its logits, (n, L) → (n, L).
RULES = {True: probabilities_by_divergence, ODDS: odds}
