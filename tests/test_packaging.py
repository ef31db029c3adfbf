"""What is installed, and what the README says: links, files in the wheel, commands and tables."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import vocabless

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINKED = ("conversion", "model_cards", "modeling", "saving", "tokenization", "training")
IN_GIT = (ROOT / ".git").exists()  # a source distribution has copies in place of links


def commands(text: str) -> list[str]:
    """The lines of the first two `bash` blocks: the quick start."""
    return [block.strip() for block in re.findall(r"```bash\n(.*?)```", text, re.S)[:2]]


def built_files(target: str) -> list[tuple[str, Path]]:
    """(path in the archive, file) of all that hatchling puts into a wheel or a source distribution."""
    builder = pytest.importorskip(f"hatchling.builders.{target}")
    build = {"wheel": "WheelBuilder", "sdist": "SdistBuilder"}[target]
    found = getattr(builder, build)(str(ROOT)).recurse_included_files()
    return [(Path(file.distribution_path).as_posix(), Path(file.path)) for file in found]


@pytest.mark.skipif(not IN_GIT, reason="no checkout")
def test_links_are_relative_and_lead_to_the_folder_of_their_name() -> None:
    links = [path for path in (ROOT / "vocabless").iterdir() if path.is_symlink()]
    assert sorted(link.name for link in links) == sorted(LINKED)
    for link in links:
        assert os.readlink(link) == f"../{link.name}"
        assert link.is_dir()


def test_the_wheel_holds_every_file_of_the_package_once() -> None:
    names = [name for name, _ in built_files("wheel")]
    assert len(names) == len(set(names))
    sources = {file.relative_to(ROOT).as_posix() for file in ROOT.glob("vocabless/*.py")}
    for name in LINKED:  # `rglob` itself follows no link
        sources |= {f"vocabless/{file.relative_to(ROOT).as_posix()}" for file in (ROOT / name).rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources
    assert "vocabless/py.typed" in names
    assert any(name.startswith("vocabless/model_cards/") for name in names)
    assert not [name for name in names if not name.startswith("vocabless/")]


def test_the_source_distribution_holds_what_the_wheel_and_the_tests_need() -> None:
    files = dict(built_files("sdist"))
    wheel = dict(built_files("wheel"))
    assert set(wheel) <= set(files)
    assert all(files[name].samefile(wheel[name]) for name in wheel)
    assert {"CHANGELOG.md", "constraints.txt", ".ci/run", "docs/papers.md"} <= set(files)
    tests = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("*.py")}
    assert tests | {file.name for file in ROOT.glob("run_*.py")} <= set(files)
    assert not [name for name in files if "__pycache__" in name or name.startswith("runs/")]


def test_public_names_exist_and_are_sorted() -> None:
    assert [name for name in vocabless.__all__ if not hasattr(vocabless, name)] == []
    assert list(vocabless.__all__) == sorted(vocabless.__all__)


def test_the_quick_start_is_two_commands_of_one_line_each() -> None:
    assert [command.count("\n") for command in commands(README)] == [0, 0]
    for command in commands(README):
        for part in command.split(" && "):
            words = shlex.split(part)
            assert words[0] in ("python3", ".venv/bin/pip", ".venv/bin/python"), part
            assert all((ROOT / word).exists() for word in words if word.endswith((".py", ".txt"))), part


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_ci_runs_the_readmes_test_command_itself(tmp_path) -> None:
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "run"
    script.write_bytes((ROOT / ".ci" / "run").read_bytes())
    # In place of `bash -c "$command"`: only what would be run is wanted.
    script.write_text(script.read_text().replace('bash -c "$command"', ":"))
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == commands(README)[1]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_readmes_table_of_variants_is_that_of_the_models() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "vocabless.variants_table"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"\n\n{printed.stdout}\n" in README
    assert printed.stdout.count("\n") == 2 + len(vocabless.list_variants())


@pytest.mark.parametrize("page", ["README.md", "docs/papers.md"])
def test_files_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^):#]+)\)", text)
    named = re.findall(r"`((?:modeling|tokenization|saving|training|conversion|vocabless|tests)/[\w/]+\.py)", text)
    assert linked or named
    assert [name for name in {*linked, *named} if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("file", ["modeling", "tokenization", "training"])
def test_names_that_the_papers_page_gives_a_file_are_in_it(file: str) -> None:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    pairs = re.findall(rf"`({file}/[\w/]+\.py): (\w+)", text)
    assert pairs
    for path, name in pairs:
        assert re.search(rf"^((class|def) )?{name}\b", (ROOT / path).read_text(encoding="utf-8"), re.M), (path, name)
