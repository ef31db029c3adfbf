"""Texts → sentences and lines."""

import regex

from vocabless.modeling.sentences import MARKS

_WITH_SPACE = ".!?…"  # marks of numbers and abbreviations, too, which end a sentence only before white space
# Besides the marks that classifiers know: of Indic scripts, Armenian, Ethiopic, Burmese, Khmer, Tibetan and Mongolian.
_WITHOUT_SPACE = "".join(set(MARKS) - set(_WITH_SPACE)) + "॥։።፧။។៕༎།᠃‼⁇⁈⁉‽﹗﹖"
_SPACE = r"[ \t-\r\x1c-\x1f]"  # ASCII white space alone
_END = regex.compile(
    rf"(?:[{_WITH_SPACE}][\"'”’)\]]*(?={_SPACE})|(?:[{_WITHOUT_SPACE}]|．(?!\p{{Nd}}))[{MARKS}{_WITHOUT_SPACE}]*"
    rf"(?:[\"'”’»)\]]+(?={_SPACE})|[”’»」』）]*)|\n){_SPACE}*"
)


def sentences(text: str) -> list[str]:
    r"""Returns the sentences and lines of a text. Joined, they give the text back.

    A sentence ends behind its mark and closing quotes or brackets. A full stop before white space always ends one, also
    after an abbreviation; marks of scripts other than Latin need no white space.

    Example:
        >>> sentences('He said "no." Then\nhe left. ')
        ['He said "no." ', 'Then\n', 'he left. ']
        >>> sentences("यह एक है।वह दो है। 好。")
        ['यह एक है।', 'वह दो है। ', '好。']
    """
    ends = [match.end() for match in _END.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]
