"""What an empty search page shows: how many documents are inside, the first titles, and two queries to try."""

from collections.abc import Iterator, Sequence
from typing import Any

from vocabless.conversion.search_export.documents import Document
from vocabless.conversion.search_export.passages import Passages

MOST_TITLES = 12
MOST_TITLE = 60  # characters of a title
EXAMPLES = 2
EXAMPLE_WORDS = range(2, 7)  # of a heading or a sentence that is an example


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
