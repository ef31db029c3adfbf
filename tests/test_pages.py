"""Whether the pages are true: links, files, commands, flags, tables."""

import importlib.util
import io
import json
import math
import re
import runpy
import shlex
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib.metadata import metadata
from pathlib import Path

import pytest
from safetensors import safe_open
from test_architecture import PACKAGES
from transformers import TrainingArguments

import vocabless
from papers.__main__ import COMMANDS
from vocabless.__main__ import SCRIPTS as TRAINING_VERBS
from vocabless.conversion.__main__ import VERBS
from vocabless.loading import ENCODERS

ROOT = Path(__file__).resolve().parent.parent
LINKED = ("browser", "conversion", "model_cards", "modeling", "saving", "texts", "tokenization", "training")
IN_GIT = (ROOT / ".git").exists()  # a source distribution has copies in place of links
TOP_FOLDERS = (*LINKED, "benchmarks", "docs", "papers", "tests", "vocabless")
# Of ruff, accelerate, pip and torchrun.
OTHER_FLAGS = {"--check", "--config_file", "--index-url", "--no-deps", "--nproc_per_node"}
PAGES = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "AGENTS.md",
    "SECURITY.md",
    *(f"docs/{page.name}" for page in ROOT.glob("docs/*.md")),
]
of_each_page = pytest.mark.parametrize("page", PAGES)
needs_weights = pytest.mark.skipif(
    not (ROOT / "checkpoints").is_dir(), reason="this archive has no trained weights; clone the repository"
)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def shell_commands(page: str) -> list[list[str]]:
    """Returns the words of each command in the `bash` blocks; comments are left out, continued lines are joined."""
    blocks = re.findall(r"^```bash\n(.*?)^```$", read(page), re.M | re.S)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    commands = (part for line in lines for part in line.partition(" #")[0].split(" && "))
    return [shlex.split(command) for command in commands if command.strip()]


def table_rows(text: str) -> list[list[str]]:
    """Returns the cells of each row of the Markdown tables in `text`, headers included."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not set(line) <= set("|-: ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@cache
def flags_of(*command: str) -> set[str]:
    """Returns the flags of a script, of a module with a verb, or of a benchmark."""
    name, *verb = command
    module = importlib.import_module(f"{name}.__main__" if verb else name.removesuffix(".py"))
    is_script = name.endswith(".py") or {*verb} & {*TRAINING_VERBS}
    with pytest.MonkeyPatch.context() as patch, suppress(SystemExit), redirect_stdout(io.StringIO()) as printed:
        patch.setattr(sys, "argv", [name, *verb, "--help"])
        module.main()
    trainers = {f"--{field}" for field in TrainingArguments.__dataclass_fields__} if is_script else set()
    return trainers.union(re.findall(r"--[A-Za-z][\w-]*", printed.getvalue()))


def commands_with_flags() -> list[tuple[str, ...]]:
    verbs = {"vocabless": [*TRAINING_VERBS, *VERBS], "vocabless.conversion": VERBS, "papers": COMMANDS}
    benchmarks = [file for file in (ROOT / "benchmarks").glob("*.py") if "def main" in file.read_text(encoding="utf-8")]
    return [
        *(("run_pretraining.py",), ("run_glue.py",)),
        *((module, verb) for module, names in verbs.items() for verb in names),
        *((f"benchmarks.{file.stem}",) for file in benchmarks),
    ]


@of_each_page
def test_the_commands_of_a_page_have_programs_modules_and_flags_that_exist(page: str) -> None:
    """The package is on no index yet: README says what takes the place of `pip install vocabless` until it is."""
    extras = set(metadata("vocabless").get_all("Provides-Extra") or [])
    for words in shell_commands(page):
        scripts = [word for word in words if re.fullmatch(r"run_\w+\.py|docs/accelerate/\S+", word)]
        assert [script for script in scripts if not (ROOT / script).is_file()] == []
        modules = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "-m"]
        assert [module for module in modules if importlib.util.find_spec(module) is None] == []
        if "install" in words and words[0].rpartition("/")[2] == "pip" and "torch" not in words:
            (ours,) = [word for word in words if word.startswith((".[", "vocabless["))]
            assert set(ours.partition("[")[2][:-1].split(",")) <= extras
        for each in commands_with_flags():
            places = [i for i in range(len(words)) if words[i : i + len(each)] == [*each]]
            flags = {word.partition("=")[0] for i in places for word in words[i:] if word.startswith("--")}
            assert not flags or flags <= flags_of(*each)


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_a_flag_that_a_page_names_is_one_of_some_command(page: str) -> None:
    known = OTHER_FLAGS.union(*(flags_of(*each) for each in commands_with_flags()))
    code = re.findall(r"`[^`]+`", read(page))
    assert {flag for each in code for flag in re.findall(r"(?<!\S)--\w[\w-]*", each[1:-1])} <= known


@of_each_page
def test_the_links_and_files_of_a_page_exist(page: str) -> None:
    for target, anchor in re.findall(r"\]\(([^):#]*)(#[^)]*)?\)", read(page)):
        file = (ROOT / page).parent / target if target else ROOT / page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)
            assert anchor[1:] in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    named = re.findall(rf"`((?:{'|'.join(TOP_FOLDERS)}|\.ci)/[\w/.-]*)(?:: [^`]*)?`", read(page))
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", ["AGENTS.md", "CONTRIBUTING.md"])
def test_every_module_and_function_that_a_page_for_developers_names_exists(page: str) -> None:
    text = read(page)
    files = re.findall(r"`((?:vocabless|training|saving|texts|tokenization|modeling|conversion)/[\w/]+)\.py`", text)
    modules = {file.removeprefix("vocabless/").replace("/", ".") for file in files}
    modules |= {*re.findall(r"\bvocabless((?:\.\w+)+)", text)}
    assert len(modules) > 3
    for name in modules:
        importlib.import_module(f"vocabless.{name.removeprefix('.')}")
    files_of = {file.stem: file for glob in ("training/**/*.py", "saving/*.py", "run_*.py") for file in ROOT.glob(glob)}
    for name, functions in re.findall(r"`(\w+)((?:\.\w+)+)`", text.partition("## The way")[2].partition("\n## ")[0]):
        if name in files_of and functions != ".py":
            *_, last = functions.split(".")
            assert re.search(rf"\b(def|class) {last}\b", files_of[name].read_text(encoding="utf-8")), (name, functions)


def test_contributings_map_has_every_folder_and_the_rooms_in_the_order_that_the_tests_hold() -> None:
    assert [name for name in TOP_FOLDERS if f"`{name}/`" not in read("CONTRIBUTING.md")] == []
    rows = table_rows(read("CONTRIBUTING.md").partition("## Where")[0])
    named = [re.findall(r"`([\w/.]+)`", cells[0]) for cells in rows]
    packages = [{name.removesuffix("/") for name in row if not name.endswith(".py")} for row in named if row]
    assert packages == [{package for package in level if package} for level in PACKAGES]


def test_the_pages_list_and_count_the_variants(capsys) -> None:
    runpy.run_path(str(ROOT / "tests" / "variants_table.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed == read("docs/variants.md")
    assert len(table_rows(printed)) == 1 + len(vocabless.list_variants())
    assert f"There are {len(vocabless.list_variants())} variants" in read("README.md")


@needs_weights
def test_the_readme_has_the_sizes_of_the_shipped_checkpoints_and_measured_figures() -> None:
    measured, rows = read("docs/measurements.md"), table_rows(read("README.md").partition("## Models")[2])
    in_int8 = {row[0]: row[1] for row in table_rows(measured.partition("### Int8 weights")[2].partition("\n###")[0])}
    known = {*re.findall(r"[\d.]+", measured), "–"}
    for name, *figures in rows[1:]:
        figures = [part for figure in figures[:-1] for part in figure.split(" / ")]  # the last one is the languages
        if not name.startswith("`Vocabless"):
            assert [each for each in figures if each not in known] == [], name
            continue
        encoder = (re.findall(r'"(?:checkpoints/)?([\w-]+)"', name) or [ENCODERS["english"]])[0]
        folder = ROOT / "checkpoints" / encoder
        with safe_open(folder / "model.safetensors", "pt") as weights:
            parameters = sum(math.prod(weights.get_slice(each).get_shape()) for each in weights.keys())
        assert figures[0] == f"{4 * parameters / 1e6:.1f}"
        assert figures[1] == f"{float(in_int8[f'`{encoder}`']):.1f}" and {*figures[2:]} <= known
    size = (ROOT / "checkpoints" / ENCODERS["english"] / "model.safetensors").stat().st_size
    assert f"16 bits and {size / 1e6:.1f} MB" in read("README.md")
    graph = ROOT / "checkpoints" / "hashgram-nano-sst2" / "onnx" / "model_int8.onnx"
    assert f"classifiers from {graph.stat().st_size / 1e6:.1f} MB" in read("README.md")


def record_row(folder: Path) -> list[str]:
    """Returns the cells of a shipped checkpoint in docs/choosing.md, from its record and its graph, if it has one."""
    record = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    sizes = [f"{file.stat().st_size / 1e6:.2f} MB" for file in folder.glob("onnx/*.onnx")]
    cells = [f"`{folder.name}`", f"{record['parameters']:,}", *(sizes or ["–"])]
    if "measures" in record:
        scores = [record["measures"], record["noisy"]["measures"], record["teacher"]["measures"]]
        return [*cells, *(f"{100 * score['accuracy']:.1f}" for score in scores)]
    after = record["after"]
    shares = [f"{after[name]:.3f}".lstrip("0") for name in ("eval_cosine", "eval_recall_at_10")]
    return [*cells, *shares, *(f"{100 * after[name]:.1f}" for name in ("eval_spearman", "eval_teacher_spearman"))]


@needs_weights
def test_the_page_of_choices_has_the_figures_of_the_shipped_records_and_no_others() -> None:
    page = read("docs/choosing.md")
    folders = {f"`{file.parent.name}`": file.parent for file in ROOT.glob("checkpoints/*/results.json")}
    rows = [row for row in table_rows(page) if row[0] in folders]
    assert sorted(rows) == sorted(record_row(folder) for folder in folders.values())
    text = "\n".join(line for line in page.splitlines() if not line.startswith("| `"))
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)  # names and links are no figures
    assert re.findall(r"(?<![\w@-])[.\d]*\d", text) == []


@pytest.mark.parametrize("folder", ["modeling", "papers", "tokenization", "training"])
def test_names_that_the_papers_page_gives_a_file_are_in_it(folder: str) -> None:
    pairs = re.findall(rf"`({folder}/[\w/]+\.py): (\w+)", read("docs/papers.md"))
    assert pairs
    for path, name in pairs:
        assert re.search(rf"^((class|def) )?{name}\b", read(path), re.M), (path, name)


@pytest.mark.skipif(not IN_GIT, reason="no checkout")
def test_git_ignores_what_the_commands_of_the_readme_write() -> None:
    text = read("README.md")
    targets = re.findall(r"^vocabless (?:space|search) \S+ (\S+)", text, re.M)
    targets += [f"{folder}/" for folder in re.findall(r'save_pretrained\("([\w-]+)"\)', text)]
    assert len(targets) == 3
    for target in [*targets, "runs/"]:
        ignored = subprocess.run(["git", "check-ignore", "-q", target], cwd=ROOT, check=False)
        assert ignored.returncode == 0, target


def test_the_page_of_an_index_has_addresses_of_files_that_exist() -> None:
    with_addresses = pytest.importorskip("hatch_build").with_addresses
    page, base = with_addresses(read("README.md"), "https://host/owner/name", "v1"), "https://host/owner/name/"
    targets = re.findall(r"\]\(([^)#]+)", page) + re.findall(r'(?:src|srcset)="([^"]+)"', page)
    assert [target for target in targets if not target.startswith("https://")] == []
    ours = [target.removeprefix(base).split("/", 2) for target in targets if target.startswith(base)]
    assert {kind for kind, *_ in ours} == {"blob", "raw"} and {tag for _, tag, _ in ours} == {"v1"}
    assert [file for *_, file in ours if not (ROOT / file).exists()] == []
