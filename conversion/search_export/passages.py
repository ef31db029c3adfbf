"""Documents → passages: a few sentences each, which overlap at sentence borders; and what an empty page shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vocabless.conversion.search_export.documents import Document
from vocabless.texts.documents import MOST_HEADING, Section
from vocabless.texts.sentences import sentences
from vocabless.tokenization.splitters import ScriptSplitter

PASSAGE_UNITS = 80  # of a passage, at most; a word, an ideograph or a punctuation mark is a unit
OVERLAP_UNITS = 20  # of the sentences at the end of a passage that also begin the next one, at most
UNIT_CHARACTERS = 12  # a longer word counts as several units, so that no passage is endless
MOST_TITLES = 12
MOST_TITLE = 60  # characters of a title
EXAMPLES = 2
EXAMPLE_WORDS = range(2, 7)  # of a heading or a sentence that is an example
_SPLITTER = ScriptSplitter()


@dataclass(frozen=True)
class Passages:
    """The passages of a document."""

    headings: list[str]  # of each section, "" for none
    sentences: list[str]  # of all sections; a sentence too long for a passage is cut
    ranges: list[tuple[int, int, int]]  # of each passage the first sentence, the one after its last, and the section

    def texts(self) -> list[str]:
        """Returns the text of each passage, with its heading above it."""
        bodies = ["".join(self.sentences[start:end]).strip() for start, end, _ in self.ranges]
        headings = [self.headings[section] for _, _, section in self.ranges]
        return [f"{heading}\n{body}" if heading else body for heading, body in zip(headings, bodies, strict=True)]


def passages_of(sections: Sequence[Section], limit: int = PASSAGE_UNITS, overlap: int = OVERLAP_UNITS) -> Passages:
    """Returns the passages of a document, each within a section and below its heading.

    The sentences of a passage have at most `limit` units, and it shares at most `overlap` with the next one. A heading
    without text below it, and one that is too long, is text.
    """
    passages = Passages([], [], [])
    for number, (heading, text) in enumerate(sections):
        is_heading = bool(text) and len(heading) <= MOST_HEADING
        parts, ranges = _of_text(text if is_heading else f"{heading}\n{text}".strip(), limit, overlap)
        first = len(passages.sentences)
        passages.headings.append(heading if is_heading else "")
        passages.sentences.extend(parts)
        passages.ranges.extend((first + start, first + end, number) for start, end in ranges)
    return passages


def _of_text(text: str, limit: int, overlap: int) -> tuple[list[str], list[tuple[int, int]]]:
    """Returns the sentences of a text, and of each passage the first one and the one after its last."""
    parts = [part for sentence in sentences(text) for part in _cut(sentence, limit)]
    costs = [_units(part) for part in parts]
    ranges, start = [], 0
    while start < len(parts):
        end, total = start + 1, costs[start]
        while end < len(parts) and total + costs[end] <= limit:
            total, end = total + costs[end], end + 1
        if total:
            ranges.append((start, end))
        if end == len(parts):
            break
        start, shared = end, 0
        first = ranges[-1][0] if ranges else end
        while start - 1 > first and shared + costs[start - 1] <= overlap:
            start, shared = start - 1, shared + costs[start - 1]
        if shared + costs[end] > limit:  # the next sentence alone fills a passage
            start = end
    return parts, ranges


def _units(text: str) -> int:
    """Returns the units of a text; long units count for their length."""
    return sum(1 + (len(unit) - 1) // UNIT_CHARACTERS for unit in _SPLITTER.units(text))


def _cut(sentence: str, limit: int) -> list[str]:
    """Returns a sentence, or its halves, or their halves, so that each fits a passage; white space is cut first."""
    # A long sentence does not fit, and its units are not counted again for each half.
    if len(sentence) <= 1 or (len(sentence) <= limit * UNIT_CHARACTERS and _units(sentence) <= limit):
        return [sentence]
    middle = len(sentence) // 2
    middle = sentence.rfind(" ", middle // 2, middle) + 1 or middle
    return _cut(sentence[:middle], limit) + _cut(sentence[middle:], limit)


def contents_of(documents: Sequence[Document], passages: Sequence[Passages]) -> dict[str, Any]:
    """Returns the number of documents that have passages, their first titles, each once, and examples of queries."""
    filled = [(document, cut) for document, cut in zip(documents, passages, strict=True) if cut.ranges]
    titles = dict.fromkeys(document.title for document, _ in filled)
    short = [title if len(title) <= MOST_TITLE else f"{title[:MOST_TITLE]}…" for title in titles][:MOST_TITLES]
    return {"documents": len(filled), "titles": short, "examples": _examples([cut for _, cut in filled])}


def _examples(passages: Sequence[Passages]) -> list[str]:
    """Returns texts to search for, from places far apart: short headings, or the first words of sentences."""
    found: list[str] = []
    for number in range(EXAMPLES):
        order = passages[number * len(passages) // EXAMPLES :] or passages
        found += next(([text] for text in _candidates(order) if text not in found), [])
    return found


def _candidates(passages: Sequence[Passages]) -> Iterator[str]:
    """Yields the headings with as many words as an example has, and then the first words of sentences."""
    for cut in passages:
        for heading in cut.headings:
            words = heading.split("\n")[-1].split()
            if len(words) in EXAMPLE_WORDS:
                yield " ".join(words)
    for cut in passages:
        for sentence in cut.sentences:
            if len(words := sentence.split()) >= EXAMPLE_WORDS.start:
                yield " ".join(words[: EXAMPLE_WORDS.stop - 1])
