"""The embedded corpus `pydocs`: the docstrings of the Python packages that this package depends on.

It is real English, on every machine, without a network: topics of the language reference, and docstrings of the
standard library and of our dependencies. They are read from the source files, which are not imported.
"""

import ast
import hashlib
import inspect
import signal
import sysconfig
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from pydoc_data.topics import topics

PACKAGES = (
    *("python", "accelerate", "datasets", "evaluate", "huggingface_hub"),
    *("numpy", "pandas", "pyarrow", "torch", "transformers"),
)
MIN_WORDS = 8  # in a paragraph
MIN_LETTERS = 0.75  # share of letters and spaces in a paragraph
_NOT_SOURCE = ("test", "tests", "testing", "_vendor", "site-packages", "idlelib", "lib2to3", "pydoc_data", "_inductor")


def read_pydocs(workers: int = 2, packages: Sequence[str] = PACKAGES) -> list[tuple[str, str]]:
    """Returns (package, document) for every docstring with prose in it; the same list on every call.

    A document holds the prose paragraphs of one docstring, joined by newlines. No paragraph occurs twice. The topics of
    the language reference are always read, the source files of the packages by so many `workers`, which are processes.
    """
    files = [(package, file) for package in packages for file in _source_files(package)]
    seen: set[bytes] = set()
    documents = []
    # Ctrl-C is for this process, which ends the others.
    with ProcessPoolExecutor(workers, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        batches = pool.map(_docstrings, [file for _, file in files], chunksize=64)
        texts = [("python", text) for text in topics.values()]
        texts += [(package, text) for (package, _), batch in zip(files, batches, strict=True) for text in batch]
    for package, text in texts:
        paragraphs = []
        for paragraph in prose_paragraphs(text):
            digest = hashlib.blake2b(paragraph.encode("utf-8", "replace"), digest_size=12).digest()
            if digest not in seen:
                seen.add(digest)
                paragraphs.append(paragraph)
        if paragraphs:
            documents.append((package, "\n".join(paragraphs)))
    return documents


def prose_paragraphs(text: str) -> Iterator[str]:
    r"""Yields the paragraphs that read like English: long enough, mostly letters, with a mark at the end.

    >>> list(prose_paragraphs("Usage: x\n\nThis sentence has quite enough words\nto be kept here.\n\n>>> 1 + 1"))
    ['This sentence has quite enough words to be kept here.']
    """
    for block in text.split("\n\n"):
        paragraph = " ".join(block.split())
        letters = sum(character.isalpha() or character == " " for character in paragraph)
        if "---" in paragraph or "===" in paragraph:  # a heading with its underline
            continue
        ends = paragraph.endswith((".", "!", "?", ":")) and not paragraph.startswith((">>>", ".. ", "@", "#"))
        if ends and letters >= MIN_LETTERS * len(paragraph) and paragraph.count(" ") + 1 >= MIN_WORDS:
            yield paragraph


def _source_files(package: str) -> list[Path]:
    if package == "python":
        root = Path(sysconfig.get_path("stdlib"))
    else:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            return []
        root = Path(spec.origin).parent
    files = (file.relative_to(root) for file in root.rglob("*.py"))
    return [root / file for file in sorted(files) if not set(file.parts[:-1]) & set(_NOT_SOURCE)]


def _docstrings(file: Path) -> list[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # a template or a file for another Python
        return []
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = (ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, owners))
    return [inspect.cleandoc(docstring) for docstring in docstrings if docstring]
