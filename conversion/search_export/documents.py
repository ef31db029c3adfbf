"""Documents → title, text and link: txt, md, html, csv and jsonl files, in UTF-8."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from vocabless.conversion.search_export.html_text import html_text

TEXTS = (".txt", ".md", ".html")  # one document for each file
TABLES = (".csv", ".jsonl")  # one document for each row
# The first of these names that a table has, in upper or lower case, is the column.
COLUMNS = {
    "text": ("text", "content", "body", "passage", "document", "answer", "description", "abstract", "sentence"),
    "title": ("title", "name", "heading", "headline", "question", "subject"),
    "link": ("link", "url", "href", "uri"),
}
BINARY_BYTES = 1 << 16  # a file with a byte 0 among its first bytes is no text
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
_OWN_LINE = re.compile(r"\s|[#>|`*+-]|\d+[.)]|$")  # what a line of Markdown begins with that goes on no paragraph
_HEADING = re.compile(r"^#{1,6}[ \t]+", re.M)
_MARKDOWN_LINK = re.compile(r"!?\[([^][\n]{0,300})\]\([^()\s]{0,1000}\)")
_UNSAFE = regex.compile(
    r"[\p{Cs}\p{Cc}\ufeff--\n\t]", regex.V1
)  # lone surrogates, control characters, byte order marks


@dataclass(frozen=True)
class Document:
    """A document: its title, its text, and the address of its source, if it has one."""

    title: str
    text: str
    link: str | None = None


def read_documents(sources: Sequence[str], base_url: str | None = None) -> tuple[list[Document], list[str]]:
    """Returns the documents of files and folders, and the names of files that hold no text.

    Args:
        sources: files, and folders whose files of known formats are read, also in folders within them.
        base_url: address in front of the path of a file in its folder; None: its documents get no link.

    Raises:
        ValueError: a source does not exist or has no file of a known format; a file is damaged, not UTF-8, or has no
            column of texts; or there is no document.
    """
    documents, empty = [], []
    for source in sources:
        for file, name in _files(source):
            of_file = list(_read(file, name, base_url))
            documents += of_file
            empty += [] if of_file else [name]
    if not documents:
        raise ValueError(f"{' '.join(sources)!r} holds no text to search; give files with text in them.")
    return documents, empty


def _files(source: str) -> list[tuple[Path, str]]:
    """Returns the files of a source with their names: paths within the folder. Hidden files are left out."""
    path, known = Path(source), (*TEXTS, *TABLES)
    remedy = f"give files or folders of {', '.join(known)}."
    if not path.exists():
        raise ValueError(f"the documents {source!r} do not exist; {remedy}")
    if not path.is_dir():
        if path.suffix.lower() not in known:
            raise ValueError(f"the document {source!r} has no known format; {remedy}")
        return [(path, path.name)]
    names = [(file, file.relative_to(path).as_posix()) for file in sorted(path.rglob("*")) if file.is_file()]
    files = [(file, name) for file, name in names if file.suffix.lower() in known and not f"/{name}".count("/.")]
    if not files:
        raise ValueError(f"the folder {source!r} holds no document; {remedy}")
    return files


def _read(file: Path, name: str, base_url: str | None) -> Iterator[Document]:
    """Yields the documents of a file that have text."""
    if file.suffix.lower() in TABLES:
        yield from _rows(file)
        return
    if b"\0" in file.read_bytes()[:BINARY_BYTES]:
        return
    text = _decoded(file)
    title, text = READERS[file.suffix.lower()](text.replace("\r\n", "\n").replace("\r", "\n"))
    text = clean(text)
    if text:
        link = None if base_url is None else base_url.rstrip("/") + "/" + name
        yield Document(clean(" ".join(title.split())) or str(Path(name).with_suffix("")), text, link)


def _decoded(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeError as error:
        raise ValueError(f"the file {str(file)!r} is not UTF-8 ({error}); convert it.") from error


def _plain(text: str) -> tuple[str, str]:
    return "", text


def _markdown(text: str) -> tuple[str, str]:
    """Returns the first heading and the text without front matter, marks of headings and addresses of links."""
    text = _FRONT_MATTER.sub("", text)
    heading = _HEADING.search(text)
    title = text[heading.end() :].partition("\n")[0] if heading else ""
    text = _HEADING.sub("", _unwrapped(_MARKDOWN_LINK.sub(r"\1", text)))
    return _MARKDOWN_LINK.sub(r"\1", title), text


def _unwrapped(text: str) -> str:
    """Returns a text of Markdown with each paragraph in one line; code keeps its lines."""
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        goes_on = lines and lines[-1] and not lines[-1].startswith(("#", "|", "```"))
        if goes_on and not is_code and not _OWN_LINE.match(line):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        is_code ^= line.startswith("```")
    return "\n".join(lines)


READERS = {".txt": _plain, ".md": _markdown, ".html": html_text}


def _rows(file: Path) -> Iterator[Document]:
    """Yields the rows of a table as documents. A title is the first line of the text, so that it is found, too."""
    from vocabless.training.texts.tables import STRING_TYPES, column_type, load_files  # imports `datasets`

    if not _decoded(file).strip():
        return
    rows: Any = load_files([str(file)], f"the table {str(file)!r}")
    of_name = {str(column).lower(): column for column in rows.column_names}
    text, title, link = (next((of_name[name] for name in names if name in of_name), None) for names in COLUMNS.values())
    if text is None or column_type(rows.features[text]) not in (*STRING_TYPES, "null"):
        raise ValueError(
            f"the table {str(file)!r} has the columns {', '.join(rows.column_names)} and none of texts; name one "
            f"{', '.join(COLUMNS['text'])}."
        )
    for row in rows.select_columns(list(dict.fromkeys(filter(None, (text, title, link))))):
        body, heading = clean(row[text] or ""), clean(" ".join(str(row.get(title) or "").split()))
        if body:
            body = body if not heading or body.startswith(heading) else f"{heading}\n{body}"
            address = row.get(link)
            yield Document(heading or file.stem, body, str(address) if address else None)


def clean(text: str) -> str:
    r"""Returns a text without what a page cannot hold or would strip: lone surrogates, control characters.

    >>> clean(" a\x00b\x85 ")
    'a b'
    """
    return str(_UNSAFE.sub(" ", text)).strip()
