"""Texts → sentences and lines, which corpora are packed of."""

import regex

# A mark that ends a sentence with what closes after it, up to the white space; or a line break.
_END = regex.compile(r"(?:[.!?…]+[\"'”’)\]]*(?=\s)|[。！？｡]+[”’」』）]*|\n)\s*")


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
