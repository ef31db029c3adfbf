"""Documents → title, sections and link: files of txt, md and html, and the rows of tables."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vocabless.texts.documents import HTML, MARKDOWN, Section, clean, read_file
from vocabless.texts.text_format import UTF8, TextFormat

TEXTS = (".txt", *MARKDOWN, *HTML)  # one document for each file
TABLES = (".csv", ".tsv", ".jsonl", ".parquet")  # one document for each row
LISTS = (".json",)  # the same; in a folder such files are settings
# The first of these names that a table has, in upper or lower case, is the column.
COLUMNS = {
    "text": ("text", "content", "body", "passage", "document", "answer", "description", "abstract", "sentence"),
    "title": ("title", "name", "heading", "headline", "question", "subject"),
    "link": ("link", "url", "href", "uri"),
}
# Folders of packages, of what a build has written and of drafts; so are those that hold one of `MADE_BY_PROGRAMS`.
NO_DOCUMENTS = frozenset(
    "node_modules bower_components jspm_packages site-packages dist-packages venv virtualenv __pycache__ "
    "_build _site build dist _drafts".split()
)
MADE_BY_PROGRAMS = ("pyvenv.cfg", "CACHEDIR.TAG")
NOT_QUOTED = bytes({*range(128)} - {ord(" ")})  # in an address of a table, which may have been quoted
MOST_FORMATS = 10  # that are left out and counted


@dataclass(frozen=True)
class Document:
    """A document: its title, its sections, the address of its source, if it has one, and the path of its file."""

    title: str
    sections: list[Section]
    link: str | None = None
    file: str = ""


def read_documents(
    sources: Sequence[str], base_url: str | None = None, text_format: TextFormat = UTF8, text_column: str | None = None
) -> tuple[list[Document], list[str]]:
    """Returns the documents of files and folders, and a sentence on each file of a folder that is left out.

    Args:
        sources: files, and folders whose files of known formats are read, also in folders within them.
        base_url: address in front of the path of a file in its folder; None: its documents get no link.
        text_format: of the files that are text.
        text_column: of tables; None is one of `COLUMNS`.

    Raises:
        ValueError: a source does not exist or has no file of a known format; a source that is a file is damaged, in
            another encoding, or has no column of texts; or there is no document.
    """
    documents: list[Document] = []
    notes: list[str] = []
    left_out: list[str] = []
    for source in sources:
        files, more = _files(source)
        notes += more
        for file, name in files:
            try:
                if file.suffix.lower() in TEXTS:
                    found = _page(file, name, base_url, text_format.encoding)
                else:
                    found = _rows(file, text_format, text_column)
                of_file = [replace(document, file=name) for document in found]
                left_out += [] if of_file else [f"the file {str(file)!r} holds no text."]
                documents += of_file
            except ValueError as error:
                if file == Path(source):
                    raise
                left_out.append(str(error))
    if not documents:
        reason = (left_out or notes)[0].rstrip(".")
        raise ValueError(f"{' '.join(sources)!r} holds no text to search ({reason}); give files with text in them.")
    return documents, notes + left_out


def _files(source: str) -> tuple[list[tuple[Path, str]], list[str]]:
    """Returns the files of a source with their names, paths within the folder, and what is left out of them.

    Hidden files are left out without a word.
    """
    path = Path(source)
    known = (*TEXTS, *TABLES) if path.is_dir() else (*TEXTS, *TABLES, *LISTS)
    files, notes = _within(path) if path.is_dir() else ([path], [])
    others = Counter(file.suffix.lower() or "without an ending" for file in files if file.suffix.lower() not in known)
    kept = [(file, file.relative_to(path).as_posix() if path.is_dir() else path.name) for file in files]
    kept = [(file, name) for file, name in kept if file.suffix.lower() in known]
    if not kept or not path.exists():
        problem = "holds no document" if path.exists() else "does not exist"
        raise ValueError(f"{source!r} {problem}; give files or folders of {', '.join(known)}.")
    if others:
        counts = [f"{count} {suffix}" for suffix, count in others.most_common(MOST_FORMATS)]
        counts += [f"{len(others) - MOST_FORMATS} other formats"] if len(others) > MOST_FORMATS else []
        notes.append(f"{', '.join(counts)}, which are not read; convert texts to {', '.join(TEXTS[:2])} or .html.")
    return kept, notes


def _within(folder: Path) -> tuple[list[Path], list[str]]:
    """Returns the files of a folder, sorted, and a sentence for each folder in it that holds no documents."""
    files: list[Path] = []
    notes: list[str] = []
    for place, folders, names in os.walk(folder):
        visible = sorted(name for name in folders if not name.startswith("."))
        marked = [name for name in visible if any(Path(place, name, mark).is_file() for mark in MADE_BY_PROGRAMS)]
        made = [name for name in visible if name in {*NO_DOCUMENTS, *marked}]
        folders[:] = [name for name in visible if name not in made]
        files += [file for name in names if not name.startswith(".") and (file := Path(place, name)).is_file()]
        for name in made:
            count = sum(each.suffix.lower() in (*TEXTS, *TABLES) for each in Path(place, name).rglob("*"))
            what = f"{str(Path(place, name))!r} with {count} document{'s' * (count != 1)}"
            notes += [
                f"the folder {what}, of packages, a build or drafts; name it beside the other to read it."
            ] * bool(count)
    return sorted(files), notes


def _page(file: Path, name: str, base_url: str | None, encoding: str) -> Iterator[Document]:
    """Yields the document of a file of txt, md or html if it has text."""
    try:
        page = read_file(str(file), encoding)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"the file {str(file)!r} cannot be read: {error}; give a whole text in {encoding}, or its own --encoding."
        ) from error
    if page.exclusion:
        raise ValueError(f"the file {str(file)!r} says {page.exclusion!r}; take that out of it to have it in the page.")
    if page.sections:
        # Bytes, because the name of a file need not be UTF-8.
        link = None if base_url is None else base_url.rstrip("/") + "/" + quote(os.fsencode(name))
        yield Document(page.title or str(Path(name).with_suffix("")), page.sections, link)


def _rows(file: Path, text_format: TextFormat, text_column: str | None) -> Iterator[Document]:
    """Yields the rows of a table as documents. A title is a heading, too, so that it is found."""
    from vocabless.texts.tables import STRING_TYPES, column_type, load_files  # imports `datasets`

    rows: Any = load_files([str(file)], f"the table {str(file)!r}", text_format)
    of_name = {str(column).lower(): column for column in rows.column_names}
    text, title, link = (next((of_name[name] for name in names if name in of_name), None) for names in COLUMNS.values())
    text = text if text_column is None else text_column
    if text not in rows.column_names or column_type(rows.features[text]) not in (*STRING_TYPES, "null"):
        wanted = "none of texts" if text_column is None else f"no texts in {text!r}"
        raise ValueError(
            f"the table {str(file)!r} has the columns {', '.join(rows.column_names)} and {wanted}; give the column of "
            f"its texts with --text_column, or name one {', '.join(COLUMNS['text'])}."
        )
    title = None if title == text else title
    for row in rows.select_columns(list(dict.fromkeys(filter(None, (text, title, link))))):
        body, heading = clean(row[text] or ""), clean(" ".join(str(row.get(title) or "").split()))
        if body:
            section = Section("" if body.startswith(heading) else heading, body)
            address = quote(str(row.get(link) or "").strip(), NOT_QUOTED)
            yield Document(heading or file.stem, [section], address or None)
