"""What an installation contains, and whether the pages are true: links, files, commands, flags, tables."""

import importlib.util
import io
import json
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml
from safetensors import safe_open
from test_architecture import PACKAGES
from transformers import TrainingArguments

import vocabless
from papers.__main__ import COMMANDS
from vocabless.__main__ import SCRIPTS as TRAINING_VERBS
from vocabless.conversion.__main__ import VERBS
from vocabless.joined_code import FOLDERS, PROGRAM, joined
from vocabless.loading import ENCODERS

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ("run_glue.py", "run_pretraining.py")  # linked, too
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


def archive_files(target: str) -> list[tuple[str, Path]]:
    """Returns (path in the archive, file) of all that hatchling puts into a `wheel` or an `sdist`."""
    builder = pytest.importorskip(f"hatchling.builders.{target}")
    build = {"wheel": "WheelBuilder", "sdist": "SdistBuilder"}[target]
    files = getattr(builder, build)(str(ROOT)).recurse_included_files()
    return [(Path(file.distribution_path).as_posix(), Path(file.path)) for file in files]


@pytest.mark.skipif(not IN_GIT, reason="no checkout")
def test_links_are_relative_and_lead_to_the_folder_of_their_name() -> None:
    links = [path for path in (ROOT / "vocabless").iterdir() if path.is_symlink()]
    assert sorted(link.name for link in links) == sorted((*LINKED, *SCRIPTS, *ENCODERS.values()))
    places = {name: f"../checkpoints/{name}" for name in ENCODERS.values()}
    assert all(os.readlink(link) == places.get(link.name, f"../{link.name}") and link.exists() for link in links)


WITHOUT_LINKS = """
import pathlib, vocabless, run_glue
from vocabless import VocablessClassifier, default_encoder
from vocabless.joined_code import FOLDERS, PROGRAM, joined
texts = ["I was charged twice.", "The app crashes when I log in.", "Where is my refund?"]
texts += ["The screen stays black.", "Cancel my subscription.", "It will not start after the update."]
classifier = VocablessClassifier().fit(texts, ["money", "fault"] * 3)
classifier.save_pretrained("saved")
for name in (*FOLDERS, PROGRAM):
    pathlib.Path(f"joined-{name}").write_text(joined(name), encoding="utf-8")
print(vocabless.__file__, *classifier.predict(texts[:1]))
"""


@pytest.mark.skipif(not IN_GIT, reason="no checkout")
@pytest.mark.slow
def test_a_clone_without_links_works_and_builds_no_wheel(tmp_path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "-c", "core.symlinks=false", str(ROOT), str(clone)], check=True)
    assert not [path for path in clone.rglob("*") if path.is_symlink()] and (clone / "vocabless" / "modeling").is_file()
    environment = os.environ | {"PYTHONPATH": str(clone), "HF_HUB_OFFLINE": "1"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=clone, capture_output=True, text=True, env=environment, check=False)

    done = run(sys.executable, "-c", WITHOUT_LINKS)
    assert done.stdout.split() == [str(clone / "vocabless" / "__init__.py"), "money"], done.stderr
    assert (clone / "saved" / "model.safetensors").is_file()
    for name in (*FOLDERS, PROGRAM):
        assert (clone / f"joined-{name}").read_text(encoding="utf-8") == joined(name)
    pytest.importorskip("hatchling")
    refused = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel")
    assert refused.returncode != 0 and "this clone has no symbolic links" in refused.stderr + refused.stdout
    assert not list(clone.glob("dist/*.whl"))


def test_the_wheel_holds_every_file_of_the_package_once_and_the_archive_what_tests_need_too() -> None:
    wheel, archive = dict(archive_files("wheel")), dict(archive_files("sdist"))
    assert len(wheel) == len(archive_files("wheel"))
    sources = {file.relative_to(ROOT).as_posix() for file in ROOT.glob("vocabless/*.py")}
    for name in LINKED:  # `rglob` itself follows no link
        sources |= {f"vocabless/{file.relative_to(ROOT).as_posix()}" for file in (ROOT / name).rglob("*.py")}
    assert {name for name in wheel if name.endswith(".py")} == sources
    assert "vocabless/py.typed" in wheel
    for folder in ("model_cards", "training/recipes", "browser"):
        kept = {f"vocabless/{folder}/{file.name}" for file in (ROOT / folder).iterdir() if file.is_file()}
        assert kept and {name for name in wheel if name.startswith(f"vocabless/{folder}/")} == kept
    for encoder in ENCODERS.values():
        files = [file for file in (ROOT / "vocabless" / encoder).rglob("*") if file.is_file()]
        kept = {file.relative_to(ROOT).as_posix() for file in files}
        kept = {name for name in kept if "/onnx/" not in name and not name.endswith((".py", ".pyc"))}
        assert {name for name in wheel if encoder in name} == kept > {f"vocabless/{encoder}/model.safetensors"}
    assert not [name for name in wheel if not name.startswith("vocabless/")]
    assert all(archive[name].samefile(file) for name, file in wheel.items())
    others = {"constraints.txt", "constraints-oldest.txt", ".ci/run", ".ci/release", "CITATION.cff", "hatch_build.py"}
    others |= {f".github/workflows/{name}.yml" for name in ("ci", "release")}
    assert {*PAGES, *others} <= {*archive, "README.md"}  # hatchling itself adds the README
    tests = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("*.py")}
    assert tests | {file.name for file in ROOT.glob("*.py")} <= set(archive)
    assert not [name for name in archive if "__pycache__" in name or name.startswith("runs/")]


def test_a_clone_trains_and_tests_by_one_line_each() -> None:
    commands = re.findall(r"```bash\n(.*?)\n```", read("README.md").partition("## In a clone")[2], re.S)[:2]
    assert len(commands) == 2
    for command in commands:
        assert command.startswith("python3 -m venv ") and "\n" not in command
        for part in command.split(" && "):
            words = shlex.split(part)
            assert words[0] in ("python3", ".venv/bin/pip", ".venv/bin/python"), part
            assert all((ROOT / word).exists() for word in words if word.endswith((".py", ".txt"))), part


def test_ci_runs_the_commands_of_the_pages_and_beside_them_the_slow_tests() -> None:
    *_, test = re.findall(r"^python3 -m venv .*$", read("README.md"), re.M)
    contributing = re.findall(r"^```bash\n(.*?)^```$", read("CONTRIBUTING.md"), re.M | re.S)[0]
    lines = [test, *(line.partition("  #")[0] for line in contributing.splitlines())]
    pages = [command.strip() for line in lines for command in line.split(" && ")]
    commands = [line for line in read(".ci/run").splitlines() if line.startswith(("python3 ", ".venv"))]
    assert sorted(commands) == sorted(dict.fromkeys(pages))
    jobs = read(".github/workflows/ci.yml").rstrip()
    assert jobs.endswith("- run: .ci/run") and f"- run: {test.split('/')[-1]} -m slow\n" in jobs
    assert re.search(r"^set -e", read(".ci/run"), re.M)  # it stops at a command that fails


@pytest.mark.slow
def test_the_first_lines_of_the_readme_run_where_a_wheel_from_the_archive_is_installed(tmp_path) -> None:
    """In an environment that sees the libraries of this one, but not this clone, and without a network."""
    pytest.importorskip("hatchling")
    pytest.importorskip("onnxscript", reason="the extra [onnx] is not installed")

    def run(*command: str, folder: Path = tmp_path) -> str:
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    build = (sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path))
    run(*build, "-t", "sdist", folder=ROOT)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        assert not [member.name for member in archive if not (member.isfile() or member.isdir())]
        archive.extractall(tmp_path, filter="data")
    run(*build, "-t", "wheel", folder=next(tmp_path.glob("vocabless-*/")))
    wheel = next(tmp_path.glob("*.whl"))
    weights = [
        file for file in zipfile.ZipFile(wheel).filelist if any(name in file.filename for name in ENCODERS.values())
    ]
    assert sum(file.compress_size for file in weights) < 10.05e6
    venv.create(tmp_path / "env")
    libraries = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    (libraries / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target", str(libraries), str(wheel))

    start = read("README.md").partition("## Quick start")[2].partition("\n## ")[0]
    programs = re.findall(r"^```python\n(.*?)^```$", start, re.M | re.S)
    commands = re.findall(r"^vocabless (.*)$", start, re.M)
    assert len(programs) == 3 and len(commands) == 3
    python, work = str(tmp_path / "env" / "bin" / "python"), tmp_path / "work"
    (work / "docs").mkdir(parents=True)
    (work / "docs" / "banks.txt").write_text("A bank holds our money. The river bank is muddy.")
    rows = "".join(f"The {word} of day {day},{word}\n" for word in ("screen", "bill") for day in range(12))
    for name in ("tickets.csv", "more.csv"):
        (work / name).write_text(f"text,label\n{rows}")
    inside = f"import vocabless; assert vocabless.__file__.startswith({str(libraries)!r})\n"
    assert run(python, "-c", inside + "".join(programs), folder=work).startswith("['money']\n")
    for command in commands:
        words = shlex.split(command, comments=True)
        run(python, "-m", "vocabless", *words, folder=work)
        assert words[0] == "finetune" or (work / words[-1] / "index.html").is_file()
    assert list(work.glob("runs/tickets/*/seed-*/predictions.jsonl"))


# Prints the modules that cannot be imported. Then each flow but `distill` runs.
WITHOUT_DISTILL = """
import sys
sys.modules["sentence_transformers"] = None  # as if it were not installed
import importlib, json
import run_glue, run_pretraining
from vocabless import VocablessClassifier
from vocabless.conversion.__main__ import main

folder, root, *names = sys.argv[1:]
failed = []
for name in names:
    try:
        importlib.import_module(name)
    except ImportError:
        failed.append(name)
quick = ["--use_cpu", "true", "--max_seq_length", "16", "--per_device_train_batch_size", "4"]
pretraining = [*quick, "--max_steps", "2", "--corpus", f"{folder}/rows.csv"]
for objective, variant, *flags in [
    ("shuffle-random", "hashformer-lsh-proj-tiny"), ("mlm", "eelbert-tiny", "--subword", "train"),
]:
    flags += ["--subword_vocab_size", "300"] if flags else []
    flags = [*pretraining, "--variant", variant, "--objective", objective, *flags]
    run_pretraining.main([*flags, "--output_dir", f"{folder}/{objective}"])
tuned = ["--train_file", f"{folder}/rows.csv", "--num_train_epochs", "1", "--output_dir", f"{folder}/tuned"]
run_glue.main([*quick, "--model_name_or_path", f"{folder}/shuffle-random", *tuned])
texts = [f"{start} {word}" for word in "abcdef" for start in ("a red", "the blue")]
VocablessClassifier().fit(texts, ["red", "blue"] * 6)
main(["onnx", f"{root}/checkpoints/hashgram-nano-sentence", f"{folder}/onnx"])
print(json.dumps(failed))
"""


@needs_weights
@pytest.mark.slow
def test_without_the_extra_distill_everything_but_distill_is_imported_and_runs(tmp_path) -> None:
    pytest.importorskip("onnxscript", reason="the extra [onnx] is not installed")
    (tmp_path / "rows.csv").write_text(
        "text,label\n" + "".join(f"the small cat {row},{row % 2}\n" for row in range(40))
    )
    paths = [Path("vocabless", file.relative_to(ROOT)) for name in LINKED for file in (ROOT / name).rglob("*.py")]
    paths += [file.relative_to(ROOT) for file in ROOT.glob("vocabless/*.py")]
    paths = [path.with_suffix("") for path in paths if path.name != "__main__.py"]
    modules = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    command = [sys.executable, "-c", WITHOUT_DISTILL, str(tmp_path), str(ROOT), *modules]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    needing = ["vocabless.training.pretraining.evaluation", "vocabless.training.pretraining.student"]
    assert len(modules) > 100 and sorted(json.loads(done.stdout.splitlines()[-1])) == needing


def test_the_oldest_constraints_are_the_lower_bounds_but_for_torch() -> None:
    declared = read("pyproject.toml").partition("\ndependencies")[2].partition("\ndev = ")[0]
    bounds = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', declared))
    pins = dict(line.split("==") for line in read("constraints-oldest.txt").splitlines() if not line.startswith("#"))
    assert pins == bounds | {"torch": pins["torch"]}
    assert f"torch=={pins['torch']}\n" in read("constraints.txt")


@cache
def flags_of(*command: str) -> set[str]:
    """Returns the flags of a script, of a module with a verb, or of a benchmark."""
    name, *verb = command
    module = importlib.import_module(f"{name}.__main__" if verb else name.removesuffix(".py"))
    is_script = name.endswith(".py") or {*verb} & {*TRAINING_VERBS}
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit), redirect_stdout(io.StringIO()) as printed:
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


def test_contributings_map_has_every_folder_and_the_rooms_in_the_order_that_the_tests_hold() -> None:
    assert [name for name in TOP_FOLDERS if f"`{name}/`" not in read("CONTRIBUTING.md")] == []
    rows = table_rows(read("CONTRIBUTING.md").partition("## Where")[0])
    named = [re.findall(r"`([\w/.]+)`", cells[0]) for cells in rows]
    packages = [{name.removesuffix("/") for name in row if not name.endswith(".py")} for row in named if row]
    assert packages == [{package for package in level if package} for level in PACKAGES]


def test_the_pages_list_and_count_the_variants(capsys) -> None:
    runpy.run_path(str(ROOT / "vocabless" / "variants_table.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed == read("docs/variants.md")
    assert len(table_rows(printed)) == 1 + len(vocabless.list_variants())
    assert f"There are {len(vocabless.list_variants())} variants" in read("README.md")


@needs_weights
def test_the_readme_has_the_sizes_of_the_shipped_checkpoints_and_measured_figures() -> None:
    measured, rows = read("docs/measurements.md"), table_rows(read("README.md").partition("\n## ")[0])
    smallest = {row[0]: row[2] for row in table_rows(measured.partition("### 4-bit rows")[2].partition("\n###")[0])}
    known = {*re.findall(r"[\d.]+", measured), "–"}
    for name, *figures in rows[1:]:
        folder = ROOT / "checkpoints" / name.strip("`")
        if not name.startswith("`"):
            assert [each for each in figures if each not in known] == []
            continue
        with safe_open(folder / "model.safetensors", "pt") as weights:
            parameters = sum(math.prod(weights.get_slice(each).get_shape()) for each in weights.keys())
        assert figures[0] == f"{4 * parameters / 1e6:.1f}"
        assert figures[1] == f"{float(smallest[name]):.1f}" and {*figures[2:]} <= known
    size = (ROOT / "checkpoints" / ENCODERS["english"] / "model.safetensors").stat().st_size
    assert f"16 bits and {size / 1e6:.1f} MB" in read("README.md")
    graph = ROOT / "checkpoints" / "hashgram-nano-sst2" / "onnx" / "model_q4.onnx"
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


def test_a_release_is_checked_and_built_before_it_is_published_without_a_password() -> None:
    workflow = yaml.safe_load(read(".github/workflows/release.yml"))
    jobs, ci = workflow["jobs"], yaml.safe_load(read(".github/workflows/ci.yml"))
    assert jobs["publish"]["needs"] == "build" and jobs["build"]["needs"] == "checks"
    assert jobs["checks"]["uses"] == "./.github/workflows/ci.yml" and "workflow_call" in ci[True]  # YAML's `on`
    assert jobs["publish"]["permissions"] == {"id-token": "write"} and "secrets" not in read(
        ".github/workflows/release.yml"
    )
    (build,) = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert build.startswith(".ci/release ") and os.access(ROOT / ".ci" / "release", os.X_OK)
    script = read(".ci/release")
    assert re.search(r"^set -e", script, re.M) and "twine check --strict" in script
    assert "VOCABLESS_REPOSITORY=" in script


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load(read("CITATION.cff"))
    assert (
        citation["version"] == vocabless.__version__
        and citation["license"] == metadata("vocabless")["License-Expression"]
    )
