"""Texts → sentences and lines."""

import regex

ENDS_SENTENCE = "[.!?…][\"'”’)\\]]*$"  # pattern for a run of characters before white space
_MARKS_WITHOUT_SPACE = "。！？｡"

# The end of a sentence: a mark, closing quotes or brackets, and the white space after them; or a line break. Only ASCII
# white space counts.
_END = regex.compile(
    rf"(?:{ENDS_SENTENCE[:-1]}(?=[ \t-\r\x1c-\x1f])|[{_MARKS_WITHOUT_SPACE}]+[”’」』）]*|\n)[ \t-\r\x1c-\x1f]*"
)


def sentences(text: str) -> list[str]:
    r"""Returns the sentences and lines of a text. Joined, they give the text back.

    A full stop before white space always ends a sentence, also after an abbreviation. Packing only needs places to
    break a text.

    Example:
        >>> sentences('He said "no." Then\nhe left. ')
        ['He said "no." ', 'Then\n', 'he left. ']
    """
    ends = [match.end() for match in _END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]


def ends_without_space(text: str) -> bool:
    """Returns whether a sentence may end without white space after it, as in Chinese and Japanese."""
    return any(mark in text for mark in _MARKS_WITHOUT_SPACE)
