"""The rules of the packages: imports point one way, travelling files are flat, and there is one set of classes."""

import ast
import builtins
import dis
import os
import re
import subprocess
import sys
from pathlib import Path
from types import CodeType

import pytest
import transformers

import vocabless
from vocabless.joined_code import FOLDERS, MODELING, PROGRAM, joined
from vocabless.modeling.configuration_vocabless import AUTO_MAP

ROOT = Path(__file__).resolve().parent.parent
TRAVELLING = sorted([*ROOT.glob("modeling/*.py"), *ROOT.glob("tokenization/*.py")])
NETWORK = {"asyncio", "ctypes", "ftplib", "http", "smtplib", "socket", "ssl", "subprocess", "urllib", "xmlrpc"}
THIRD_PARTY = {
    "modeling": {"numpy", "safetensors", "torch", "transformers"},
    "tokenization": {"numpy", "regex", "tokenizers", "torch", "transformers"},
}
MOST_LINES = 400  # of a file
# The packages, from the ground up. A package imports itself and those on lower levels, never one on its own.
PACKAGES = (
    ("modeling", "tokenization"),
    ("conversion/onnx_program",),
    ("vocabless",),
    ("saving", "texts"),
    ("training",),
    ("training/pretraining", "training/finetuning/tasks"),
    ("training/finetuning/rows",),
    ("training/finetuning/head", "training/finetuning/trainers"),
    ("training/finetuning",),
    ("training/prediction",),
    ("training/finetuning/scikit",),
    ("conversion/onnx_export",),
    ("conversion/space_export",),
    ("conversion/search_export",),
    ("conversion",),
    ("", "benchmarks"),
    ("papers",),
)
LEVEL = {package: level for level, packages in enumerate(PACKAGES) for package in packages}
TOP_LEVEL = {"vocabless", "benchmarks", "papers", "run_glue", "run_pretraining"}
# The scripts and their command lines, public names, texts, and how tables are printed.
SEEN_BY_PAPERS = {"papers", "", "training", "training/pretraining", "vocabless", "texts", "benchmarks"}
SOURCES = sorted(file for package in LEVEL for file in (ROOT / package).glob("*.py") if not file.is_symlink())


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def package_of_file(file: Path) -> str:
    folder = file.parent.relative_to(ROOT).as_posix()
    return "" if folder == "." else folder


def package_of_module(module: str) -> str:
    """The package of a module of this repository, by its name in an import statement."""
    path = ROOT / module.replace(".", "/")
    place = path.parent if path.with_suffix(".py").is_file() else path
    package = place.resolve().relative_to(ROOT).as_posix()  # vocabless/training is a link to training
    return "" if package == "." else package


def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(tree: ast.Module) -> list[tuple[int, str]]:
    """(level, module) of each import statement that is run; `from . import x` has an empty module."""
    unread = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    ignored = {id(each) for node in unread for each in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or ""))
    return found


@pytest.mark.parametrize("file", TRAVELLING, ids=lambda file: file.stem)
def test_a_travelling_file_imports_few_libraries_and_its_neighbours_at_its_top_by_their_own_names(file: Path) -> None:
    tree, neighbours = tree_of(file), {path.stem for path in file.parent.glob("*.py")}
    for level, module in imports(tree):
        if level:
            assert level == 1 and module in neighbours, f"{file.name}: from {'.' * level}{module}"
        else:
            name = module.split(".")[0]
            legal = (sys.stdlib_module_names - NETWORK) | THIRD_PARTY[file.parent.name]
            assert name in legal or module == "huggingface_hub.errors", f"{file.name}: {module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            assert node in tree.body and not any(alias.asname for alias in node.names), ast.unparse(node)


def bindings(file: Path) -> dict[str, str]:
    """Name that the statements of a file bind → the import, or the name of the file. Imports of neighbours are none."""
    found = {}
    for node in tree_of(file).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
            relative = isinstance(node, ast.ImportFrom) and node.level
            found |= {each.asname or each.name: module + each.name for each in node.names if not relative}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = file.name
        else:
            stored = [each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
            found |= {each.id: file.name for each in stored}
    return found


@pytest.mark.parametrize("folder", ["modeling", "tokenization"])
def test_files_that_are_joined_use_a_name_for_one_thing(folder: str) -> None:
    meanings: dict[str, set[str]] = {}
    for file in (file for file in TRAVELLING if file.parent.name == folder):
        for name, meaning in bindings(file).items():
            meanings.setdefault(name, set()).add(meaning)
    apart = {"Span": {"pipelines_vocabless.py"}}  # stays a file of its own
    assert {name: each for name, each in meanings.items() if len(each - apart.get(name, set())) > 1} == {}


def test_every_travelling_file_is_in_one_joined_file() -> None:
    marks = [mark for name in FOLDERS for mark in re.findall(r"^# ---- (\S+)", joined(name), re.M)]
    assert sorted(marks) == sorted(file.name for file in TRAVELLING if file.name != "__init__.py")


def global_names(code: CodeType, stored: bool) -> set[str]:
    """The global names that compiled code binds or reads, with those of the bodies of its classes."""
    operations = ("STORE_NAME", "STORE_GLOBAL") if stored else ("LOAD_NAME", "LOAD_GLOBAL")
    found = {each.argval for each in dis.get_instructions(code) if each.opname in operations}
    return found.union(*(global_names(each, stored) for each in code.co_consts if isinstance(each, CodeType)))


@pytest.mark.parametrize("name", [*FOLDERS, PROGRAM])
def test_a_joined_file_holds_every_name_that_it_reads(name: str) -> None:
    text = joined(name)
    code = compile(text, name, "exec")
    known = global_names(code, stored=True) | {*dir(builtins), "__name__", "__annotations__"}
    assert global_names(code, stored=False) <= known
    imported = [f"{'.' * level}{module}" for level, module in imports(ast.parse(text))]
    assert [each for each in imported if each[0] == "."] == ([".configuration_vocabless"] if name == MODELING else [])
    # What transformers takes for an import, in docstrings too.
    pattern = r"^\s*(?:import\s+(\S+?)(?:\s+as\s+\S+)?\s*$|from\s+(\S+)\s+import)"
    assert {first or second for first, second in re.findall(pattern, text, re.M)} == {*imported}
    assert "Do not edit" in text.splitlines()[0] and "noqa" not in text and "type: ignore" not in text


@pytest.mark.parametrize("file", SOURCES, ids=name_of)
def test_imports_point_one_way_and_a_file_is_short_enough_to_be_read(file: Path) -> None:
    """A file imports its own package and the packages below; so no two packages import each other.

    The papers use public names, scripts and the text of a corpus: the product can be read and changed without them.
    A conversion needs nothing of training.
    """
    own, links = package_of_file(file), {path.name for path in (ROOT / "vocabless").iterdir() if path.is_symlink()}
    for name, module in ((module.split(".")[0], module) for level, module in imports(tree_of(file)) if not level):
        assert name not in links, f"{name_of(file)} imports {module} by another name than that of the package"
        if name in TOP_LEVEL:
            package = package_of_module(module)
            assert package == own or LEVEL[package] < LEVEL[own], (
                f"{name_of(file)} imports {module}: {own} is not above it"
            )
            assert own != "papers" or package in SEEN_BY_PAPERS, f"{name_of(file)} imports {module}"
            is_training = package.startswith("training")
            assert not (own.startswith("conversion") and is_training), f"{name_of(file)} imports {module}"
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.slow
def test_a_page_is_made_without_the_libraries_of_training() -> None:
    """`datasets` reads the tables of `search`, so it is imported only for them."""
    verbs = ", ".join(f"vocabless.conversion.{verb}" for verb in ("hub", "space", "search", "javascript"))
    unwanted = "datasets evaluate transformers.trainer vocabless.training.finetuning vocabless.training.run"
    code = f"import sys, {verbs}; print({{*{unwanted.split()}}} & {{*sys.modules}})"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "set()"


def test_the_estimators_are_imported_without_the_libraries_of_training() -> None:
    """They took as long as all that is ours; the first fit imports them."""
    unwanted = "datasets evaluate lxml markdown_it transformers.trainer vocabless.training.finetuning.fit"
    code = "import sys; from vocabless import VocablessClassifier, VocablessRegressor; "
    code += f"print({{*{unwanted.split()}}} & {{*sys.modules}})"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "set()"


@pytest.mark.parametrize(("command", "given", "rounds"), [
    ("run_glue", {}, "1000"), ("run_pretraining", {}, "1000"), ("vocabless.conversion.onnx", {}, "1000"),
    ("run_glue", {"GOMP_SPINCOUNT": "7"}, "7"), ("run_glue", {"OMP_WAIT_POLICY": "ACTIVE"}, "None"),
])  # fmt: skip
def test_threads_of_a_commands_torch_sleep_after_a_short_wait_unless_the_user_says_otherwise(
    command, given, rounds
) -> None:
    """OpenMP reads the variable when torch is loaded."""
    first = "import vocabless.conversion.__main__; " if command.startswith("vocabless") else ""
    assert spin_count_before_torch(f"{first}import {command}", given) == rounds


def test_the_environment_of_a_program_that_imports_the_package_is_not_changed() -> None:
    assert spin_count_before_torch("from vocabless import VocablessModel", {}) == "None"


def spin_count_before_torch(statements: str, given: dict[str, str]) -> str:
    """What the variable of OpenMP has when the statements import torch, in a process with these variables."""
    code = f"""
import os, sys
class Finder:
    def find_spec(self, name, *rest):
        if name == "torch":
            print(os.environ.get("GOMP_SPINCOUNT"), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Finder())
{statements}
"""
    own = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    options = {"env": environment | given, "capture_output": True, "text": True, "check": True}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, **options).stdout.strip()


def test_every_folder_of_the_tree_is_a_room() -> None:
    folders = {package.partition("/")[0] for package in LEVEL} - {""}
    assert {package_of_file(file) for folder in folders for file in (ROOT / folder).rglob("*.py")} <= set(LEVEL)


def test_travelling_classes_name_their_auto_class() -> None:
    """transformers saves the code of a class that names it, also where no Auto class loaded it."""
    named = {}
    for name in FOLDERS:
        for node in ast.parse(joined(name)).body:
            for each in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "_auto_class":
                    named[ast.literal_eval(each.value)] = f"{name.removesuffix('.py')}.{node.name}"
    assert named == {**AUTO_MAP, "AutoTokenizer": "tokenization_vocabless.VocablessTokenizer"}


def test_public_names_are_there_sorted_and_registered() -> None:
    assert [name for name in sorted(vocabless.__all__) if hasattr(vocabless, name)] == vocabless.__all__
    for auto_class, path in vocabless.VocablessConfig().auto_map.items():
        registered = getattr(transformers, auto_class)
        if auto_class != "AutoConfig":
            assert registered._model_mapping[vocabless.VocablessConfig] is getattr(vocabless, path.split(".")[1])


def test_there_is_one_set_of_classes() -> None:
    files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
    names = [name for name, file in files.items() if file.endswith("modeling_vocabless.py")]
    ours = [name for name in names if "transformers_modules" not in name]
    assert ours == ["vocabless.modeling.modeling_vocabless"] == [vocabless.VocablessModel.__module__]
    assert "modeling" not in sys.modules and "tokenization" not in sys.modules
