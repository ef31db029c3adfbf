"""Plain text, Markdown and HTML → what a reader sees of it: a title, and sections under headings.

Markdown becomes HTML, see `markdown_pages`, and lxml parses HTML, so both are read in one way. Style sheets are not
applied: only an attribute can hide an element.
"""

from collections.abc import Iterator
from typing import NamedTuple

import regex
from lxml import etree

from vocabless.texts.encodings import decoded
from vocabless.texts.front_matter import exclusion_of, split_front_matter, title_of
from vocabless.texts.markdown_pages import to_html
from vocabless.texts.text_format import suffix_of

MARKDOWN, HTML = (".md", ".markdown"), (".html", ".htm")
MOST_BINARY = 1 << 16  # a file with a NUL among its first characters is not text
MOST_HEADING = 200  # characters of a heading; a longer one is text
_HIDDEN = frozenset(
    "annotation annotation-xml audio canvas datalist footer iframe nav noembed noframes noscript object rp rt script "
    "style svg template textarea title video".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu ol optgroup option p plaintext pre "
    "search section summary table tbody tfoot thead tr ul xmp".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_KEPT = str.maketrans("\n\t ", "\ufdd0\ufdd1\ufdd2")  # white space that stays as it is; no text has these characters
_WRITTEN = str.maketrans("\ufdd0\ufdd1\ufdd2", "\n\t ")
_CELL = "\ufdd3"  # begins a cell of a table
_CONTROLS = regex.compile(r"[\p{Cs}\p{Cc}--\n\t]", regex.V1)  # lone surrogates and control characters
# Soft hyphens and characters of no width. Between letters of Thai and the like, a space of no width ends a word.
_NOTHING = regex.compile(r"[\u00ad\u2060-\u2064\ufeff]|(?<!\p{Line_Break=Complex_Context})\u200b")


class Section(NamedTuple):
    """A part of a document. If a part has no text, its heading is a line above the heading of its first subpart."""

    heading: str
    text: str


class Page(NamedTuple):
    """A document as a reader sees it. The title is that of the page, or its first heading, or ""."""

    title: str
    sections: list[Section]
    exclusion: str = ""  # by which the page says that it is a draft, or that no search shows it

    @property
    def text(self) -> str:
        """All lines, headings, too."""
        return "\n".join(part for section in self.sections for part in section if part)


def read_file(file: str, encoding: str) -> Page:
    """Returns what a reader sees of a file. It has the encoding that it declares, see `decoded`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has another encoding or is no text, or its elements are nested too deep.
    """
    suffix = suffix_of(file)
    with open(file, "rb") as stream:
        text = decoded(stream.read(), encoding, suffix in HTML)
    if "\0" in text[:MOST_BINARY]:
        raise ValueError(f"it has a NUL at position {text.index(chr(0))}, so it is no text or has another encoding")
    return read_page(text, suffix)


def read_page(text: str, suffix: str) -> Page:
    r"""Returns the title and the sections of a document; a suffix other than `MARKDOWN` and `HTML` is plain text.

    The title in the data before the text is a heading, too.

    Raises:
        ValueError: the elements are nested too deep.

    >>> read_page("# Pumps\nOpen the *valve*.<!-- May? -->", ".md").sections
    [Section(heading='Pumps', text='Open the valve.')]
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if suffix not in MARKDOWN + HTML:
        return Page("", [Section("", clean(text))] if clean(text) else [])
    data, text = split_front_matter(text)
    page = _read_html(to_html(text) if suffix in MARKDOWN else text, clean(title_of(data)))
    return page._replace(exclusion=exclusion_of(data) or page.exclusion)


def clean(text: str) -> str:
    r"""Returns a text without what nobody sees: control characters, lone surrogates, soft hyphens.

    >>> clean(" a\x00b\x85un\xadbe ")
    'a b unbe'
    """
    return str(_NOTHING.sub("", _CONTROLS.sub(" ", text))).strip()


def _read_html(text: str, title: str) -> Page:
    """Returns what a reader sees of HTML below a title, which is "" if the page has its own."""
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    if root is None:  # no element and no text
        return Page(title, [Section(title, "")] if title else [])
    if any(error.level == etree.ErrorLevels.FATAL for error in parser.error_log):
        raise ValueError("its elements are nested too deep")
    titles = [title, *(" ".join(clean(each.text or "").split()) for each in root.xpath("//title[not(ancestor::svg)]"))]
    parts: list[tuple[int, str, list[str]]] = [(0, title, [])]  # level, heading and lines
    for level, line in _lines(root):
        above, heading, lines = parts[-1]
        if not level or len(line) > MOST_HEADING:
            lines.append(line)
        elif line == heading and not above:
            parts[-1] = (level, line, lines)  # the title again
        elif heading and not lines and level > above:
            parts[-1] = (level, f"{heading}\n{line}", [])
        else:
            parts.append((level, line, []))
    sections = [Section(heading, "\n".join(lines)) for _, heading, lines in parts if heading or lines]
    titles += [section.heading.split("\n")[0] for section in sections]
    hidden = any(exclusion_of({each.get("name", ""): each.get("content", "")}) for each in root.iter("meta"))
    return Page(next(filter(None, titles), ""), sections, "robots: noindex" if hidden else "")


def _lines(root: etree._Element) -> Iterator[tuple[int, str]]:
    """Yields lines and preformatted texts, unless they are empty, with the level of a heading, 0 for others."""
    pieces: list[str] = []
    preformatted = level = 0
    hidden = None

    def line() -> list[tuple[int, str]]:
        cells = "".join(pieces).split(_CELL)
        text = clean("\t".join(" ".join(cell.split()) for cell in cells).translate(_WRITTEN))
        pieces.clear()
        return [(level, text)] if text else []

    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        tag, is_start = element.tag, event == "start"
        if is_start and _is_hidden(element):
            hidden = element
            walker.skip_subtree()  # its end comes next
            continue
        if element is not hidden:
            if level and tag in _BLOCKS - _HEADINGS.keys():
                pieces.append(" ")  # a heading is one line
            elif tag in _BLOCKS:
                yield from line()
            level = is_start * _HEADINGS[tag] if tag in _HEADINGS else level
            preformatted += (tag in ("pre", "plaintext", "xmp")) * (1 if is_start else -1)
            pieces.append(_CELL if is_start and tag in ("td", "th") else "")
        text = element.tail if not is_start else element.get("alt") if tag == "img" else element.text
        pieces.append((text or "").translate(_KEPT) if preformatted else text or "")
    yield from line()


def _is_hidden(element: etree._Element) -> bool:
    """Returns whether a reader does not see an element: by its name, or by an attribute."""
    given = {name: "".join(value.lower().split()) for name, value in element.items()}
    style = dict(part.split(":", 1) for part in given.get("style", "").split(";") if ":" in part)
    is_mark = element.tag == "a" and given.get("href", "").startswith("#") and len(element) == 0
    return (
        element.tag in _HIDDEN
        or "hidden" in given
        or given.get("aria-hidden") == "true"
        or given.get("role") in ("navigation", "contentinfo")
        or (element.tag == "dialog" and "open" not in given)
        or (is_mark and not any(map(str.isalnum, element.text or "")))  # ¶ after a heading
        or style.get("display", "").startswith("none")
        or style.get("visibility", "").startswith(("hidden", "collapse"))
    )
