"""What an installation contains, what a clone, a wheel and a release do, and what CI runs."""

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml
from test_pages import IN_GIT, LINKED, PAGES, ROOT, needs_weights, read

import vocabless
from vocabless.joined_code import FOLDERS, PROGRAM, joined
from vocabless.loading import ENCODERS

SCRIPTS = ("run_glue.py", "run_pretraining.py")  # linked, too


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

    start = read("README.md").partition("## Models")[0]
    programs = re.findall(r"^```python\n(.*?)^```$", start, re.M | re.S)
    commands = re.findall(r"^vocabless ((?:space|finetune|predict|search) .*)$", start, re.M)
    assert len(programs) == 3 and len(commands) == 4
    python, work = str(tmp_path / "env" / "bin" / "python"), tmp_path / "work"
    (work / "docs").mkdir(parents=True)
    (work / "docs" / "banks.txt").write_text("A bank holds our money. The river bank is muddy.")
    rows = "".join(f"The {word} of day {day},{word}\n" for word in ("screen", "bill") for day in range(12))
    for name in ("tickets.csv", "more.csv"):
        (work / name).write_text(f"text,label\n{rows}")
    inside = f"import vocabless; assert vocabless.__file__.startswith({str(libraries)!r})\n"
    printed = run(python, "-c", inside + "".join(programs), folder=work).splitlines()
    assert printed == re.findall(r"^print\(.*\)  # (.*)$", "".join(programs), re.M)
    for command in commands:
        words = shlex.split(command, comments=True)
        run(python, "-m", "vocabless", *words, folder=work)
        assert words[0] in ("finetune", "predict") or (work / words[-1] / "index.html").is_file()
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


def test_an_old_version_of_transformers_is_refused_with_the_version_that_is_needed() -> None:
    code = "import importlib.metadata as m; m.version = lambda name: '4.57.1'; import vocabless"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    (needed,) = re.findall(r'"(transformers>=.*)"', (ROOT / "pyproject.toml").read_text())
    last = f'4.57.1 is installed; run pip install -U "{needed}".'
    assert done.stderr.splitlines()[-1].endswith(last) and "Error: vocabless needs transformers 5" in done.stderr
