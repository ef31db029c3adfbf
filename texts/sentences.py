"""Texts → sentences and lines."""

import regex

# The end of a sentence: a mark, closing quotes or brackets, and the white space after them; or a line break. Only ASCII
# white space counts. Some marks of Chinese and Japanese need none.
_END = regex.compile(r"""(?:[.!?…]["'”’)\]]*(?=[ \t-\r\x1c-\x1f])|[。！？｡]+[”’」』）]*|\n)[ \t-\r\x1c-\x1f]*""")


def sentences(text: str) -> list[str]:
    r"""Returns the sentences and lines of a text. Joined, they give the text back.

    A full stop before white space always ends a sentence, also after an abbreviation.

    Example:
        >>> sentences('He said "no." Then\nhe left. ')
        ['He said "no." ', 'Then\n', 'he left. ']
    """
    ends = [match.end() for match in _END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]
