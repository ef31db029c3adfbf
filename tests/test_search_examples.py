"""The code of docs/search.md runs."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from vocabless.conversion.__main__ import main
from vocabless.conversion.search_export import passage_index
from vocabless.training.texts import pydocs

ROOT = Path(__file__).resolve().parent.parent
PAGE, ENCODER = ROOT / "docs" / "search.md", "checkpoints/hashgram-tiny-sentence"
DATABASES = {"hnswlib": ["hnswlib"], "faiss": ["faiss"], "sqlite_vec": ["apsw", "sqlite_vec"]}
SENTENCES = [
    "Block until another thread sets the event.",
    "Return the sum of all numbers in the list.",
    "Return the sum of all the numbers in the list.",
    *(f"Split the string number {number} at white space." for number in range(60)),
]
pytestmark = pytest.mark.skipif(
    not (PAGE.is_file() and (ROOT / ENCODER).is_dir()), reason="this archive has no documentation or no trained weights"
)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working folder of the examples. Vectors of all dimensions are not turned, so both pages have one graph."""
    (tmp_path / "checkpoints").symlink_to(ROOT / "checkpoints")
    (tmp_path / "docs").mkdir()
    shutil.copy(PAGE, tmp_path / "docs")
    monkeypatch.setattr(passage_index, "USUAL_DIMENSIONS", 999)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def code(section: str, language: str) -> list[str]:
    """The blocks of code of a section."""
    text = f"\n{PAGE.read_text(encoding='utf-8')}".split(f"\n{section}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def test_the_example_finds_neighbours_duplicates_groups_and_makes_a_page(folder, monkeypatch, capsys) -> None:
    for package in ("sentence_transformers", "onnxscript"):
        pytest.importorskip(package)
    monkeypatch.setattr(pydocs, "read_pydocs", lambda: [("python", " ".join(SENTENCES))])
    section = "## An example: 20 000 sentences"
    (program,) = code(section, "python")
    names: dict[str, object] = {}
    exec(program.replace("20_000", str(len(SENTENCES))), names)
    printed = capsys.readouterr().out
    for expected in (rf"^0\.\d\d {SENTENCES[0]}$", r"^60 Split the string number \d+ at white space\.$"):
        assert re.search(expected, printed, re.M), printed
    assert {*SENTENCES[1:3]} <= {names["texts"][place] for pair in names["pairs"][:2000] for place in pair[1:]}
    run(*code(section, "bash"))
    assert f"{len(SENTENCES)} passages" in capsys.readouterr().out
    assert SENTENCES[0] in (folder / "sentences" / "index.html").read_text(encoding="utf-8")


def run(block: str) -> None:
    """Runs the conversions of a block."""
    for line in block.splitlines():
        if line.startswith("python -m vocabless.conversion "):
            main(shlex.split(line)[3:])


@pytest.mark.parametrize("name", [None, *DATABASES])
def test_vectors_are_found_without_the_page(name: str | None, folder, monkeypatch, capsys) -> None:
    for package in DATABASES.get(name, []):
        pytest.importorskip(package)
    pytest.importorskip("onnxruntime", reason="the extra [onnx] is not installed")
    monkeypatch.delitem(sys.modules, "onnx_model", raising=False)  # onnxruntime's own tools have a module of this name
    monkeypatch.syspath_prepend(str(folder / ENCODER / "onnx"))
    blocks = code("## Without the page", "python")
    assert len(blocks) == 1 + len(DATABASES)
    names: dict[str, object] = {}
    exec(blocks[0], names)
    assert capsys.readouterr().out == "A bank holds our money.\n"
    if name is not None:
        (block,) = (block for block in blocks[1:] if re.search(rf"^import .*\b{name}\b", block))
        exec(block, names)
        found = capsys.readouterr().out or str(names["places"])
        assert re.search(r"\b1\b", found)
