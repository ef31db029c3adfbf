"""Texts → sentences and lines, which corpora are packed of."""

import regex

ENDS_SENTENCE = "[.!?…][\"'”’)\\]]*$"  # of a run of characters before white space
_MARKS_WITHOUT_SPACE = "。！？｡"

# A mark that ends a sentence with what closes after it, up to the white space; or a line break. White space is ASCII's.
_END = regex.compile(
    rf"(?:{ENDS_SENTENCE[:-1]}(?=[ \t-\r\x1c-\x1f])|[{_MARKS_WITHOUT_SPACE}]+[”’」』）]*|\n)[ \t-\r\x1c-\x1f]*"
)


def sentences(text: str) -> list[str]:
    r"""Returns the sentences and lines of a text, whose concatenation is the text.

    A full stop ends a sentence wherever white space follows, after an abbreviation too: packing needs places to break,
    not grammar.

    Example:
        >>> sentences('He said "no." Then\nhe left. ')
        ['He said "no." ', 'Then\n', 'he left. ']
    """
    ends = [match.end() for match in _END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]


def ends_without_space(text: str) -> bool:
    """Whether a mark in the text ends a sentence whatever follows it, as in Chinese and Japanese."""
    return any(mark in text for mark in _MARKS_WITHOUT_SPACE)
