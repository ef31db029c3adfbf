"""HTML → title and text, as a reader sees them: no scripts, no styles, no navigation.

Python's own parser needs a time that grows with the square of some damaged pages; this one reads each character once.
"""

import html
import re

RAW = frozenset(("script", "style", "template", "noscript", "svg", "textarea", "iframe"))  # skipped to their end tag
HIDDEN = frozenset(("nav",))  # skipped with all that they hold
BLOCKS = frozenset(
    "address article aside blockquote body br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 head header hr li main ol option p pre section summary table tbody td th thead title tr ul".split()
)
# A tag, a comment, or a declaration. Attributes with < or > in their values are rare, and end a tag early.
_TAG = re.compile(r"<(?:(/?)([a-zA-Z][\w:-]{0,50})[^<>]{0,100000}>|(!--)|[!?][^<>]{0,100000}>)")


def html_text(text: str) -> tuple[str, str]:
    r"""Returns the title and the text of a page. A block begins a new line; white space between words is one space.

    The title is that of the page, or else its first heading.

    >>> html_text("<title>Hi</title><p>One  <b>two</b></p><script>evil()</script><p>three")
    ('Hi', 'One two\nthree')
    """
    parts: list[str] = []
    titles: dict[str, str] = {}  # "title" and "h1" → the text of the first one
    opened, hidden, position = "", 0, 0  # "title" or "h1" while it is open; how many open elements are not shown

    def add(piece: str) -> None:
        if opened:
            titles[opened] += html.unescape(piece)
        if opened != "title" and not hidden:
            parts.append(" ".join(html.unescape(f"|{piece}|").split())[1:-1] if piece.strip() else piece and " ")

    while match := _TAG.search(text, position):
        add(text[position : match.start()])
        position, is_end, tag = match.end(), bool(match[1]), (match[2] or "").lower()
        if match[3]:  # a comment that is not closed hides the rest, as in a browser
            end = text.find("-->", position)
            position = len(text) if end < 0 else end + 3
        elif tag in RAW and not is_end:
            closing = re.compile(f"</{tag}", re.I).search(text, position)
            position = closing.start() if closing else len(text)
        elif tag in HIDDEN:
            hidden = max(0, hidden + (-1 if is_end else 1))
        if tag in BLOCKS:
            parts.append("\n")
        if tag in ("title", "h1"):
            opened = tag if not is_end and tag not in titles else ""
            titles.setdefault(tag, "")
    add(text[position:])
    lines = [" ".join(line.split()) for line in "".join(parts).split("\n")]
    return " ".join((titles.get("title") or titles.get("h1", "")).split()), "\n".join(filter(None, lines))
