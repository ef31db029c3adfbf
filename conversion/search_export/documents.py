"""Documents → title, sections and link: txt, md, html, csv and jsonl files, in UTF-8."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vocabless.training.texts.documents import HTML, MARKDOWN, Section, clean, read_page

TEXTS = (".txt", *MARKDOWN, *HTML)  # one document for each file
TABLES = (".csv", ".jsonl")  # one document for each row
# The first of these names that a table has, in upper or lower case, is the column.
COLUMNS = {
    "text": ("text", "content", "body", "passage", "document", "answer", "description", "abstract", "sentence"),
    "title": ("title", "name", "heading", "headline", "question", "subject"),
    "link": ("link", "url", "href", "uri"),
}
BINARY_CHARACTERS = 1 << 16  # a file with a NUL among its first characters is no text


@dataclass(frozen=True)
class Document:
    """A document: its title, its sections, the address of its source, if it has one, and the path of its file."""

    title: str
    sections: list[Section]
    link: str | None = None
    file: str = ""


def read_documents(sources: Sequence[str], base_url: str | None = None) -> tuple[list[Document], list[str]]:
    """Returns the documents of files and folders, and a sentence on each file of a folder that is left out.

    Args:
        sources: files, and folders whose files of known formats are read, also in folders within them.
        base_url: address in front of the path of a file in its folder; None: its documents get no link.

    Raises:
        ValueError: a source does not exist or has no file of a known format; a source that is a file is damaged, not
            UTF-8, or has no column of texts; or there is no document.
    """
    documents: list[Document] = []
    left_out: list[str] = []
    for source in sources:
        for file, name in _files(source):
            try:
                of_file = [replace(document, file=name) for document in _read(file, name, base_url)]
                left_out += [] if of_file else [f"the file {str(file)!r} holds no text."]
                documents += of_file
            except ValueError as error:
                if file == Path(source):
                    raise
                left_out.append(str(error))
    if not documents:
        reason = left_out[0].rstrip(".")
        raise ValueError(f"{' '.join(sources)!r} holds no text to search ({reason}); give files with text in them.")
    return documents, left_out


def _files(source: str) -> list[tuple[Path, str]]:
    """Returns the files of a source with their names: paths within the folder. Hidden files are left out."""
    path, known = Path(source), (*TEXTS, *TABLES)
    names = [(file, file.relative_to(path).as_posix()) for file in sorted(path.rglob("*")) if file.is_file()]
    files = [(file, name) for file, name in names if "/." not in f"/{name}"] if path.is_dir() else [(path, path.name)]
    files = [(file, name) for file, name in files if file.suffix.lower() in known]
    if not files or not path.exists():
        problem = "holds no document" if path.exists() else "does not exist"
        raise ValueError(f"{source!r} {problem}; give files or folders of {', '.join(known)}.")
    return files


def _read(file: Path, name: str, base_url: str | None) -> Iterator[Document]:
    """Yields the documents of a file that have text."""
    page, suffix = None, file.suffix.lower()
    try:
        text = file.read_bytes().decode("utf-8-sig")
        if suffix not in TABLES:
            page = read_page(text, suffix)
    except (OSError, ValueError) as error:
        raise ValueError(f"the file {str(file)!r} cannot be read: {error}; give a whole text in UTF-8.") from error
    if page is None:
        yield from _rows(file) if text.strip() else ()
    elif page.sections and "\0" not in text[:BINARY_CHARACTERS]:
        link = None if base_url is None else base_url.rstrip("/") + "/" + name
        yield Document(page.title or str(Path(name).with_suffix("")), page.sections, link)


def _rows(file: Path) -> Iterator[Document]:
    """Yields the rows of a table as documents. A title is a heading, too, so that it is found."""
    from vocabless.training.texts.tables import STRING_TYPES, column_type, load_files  # imports `datasets`

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
            section = Section("" if body.startswith(heading) else heading, body)
            address = row.get(link)
            yield Document(heading or file.stem, [section], str(address) if address else None)
