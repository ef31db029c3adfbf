"""The code of a checkpoint: the files of `modeling/` and `tokenization/`, joined into three or four files.

transformers downloads each file of a checkpoint's code on its own and prints four lines about it, so a checkpoint has
few: those that `config.json` and `tokenizer_config.json` name. They are written when a model, a configuration or a
tokenizer of this package is saved. In a process without this package, transformers itself copies the joined files.
The program of an ONNX graph is joined in the same way.
"""

import ast
import os
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import CONFIG_NAME

from vocabless.disk_errors import check_space
from vocabless.modeling import modeling_vocabless
from vocabless.modeling.configuration_vocabless import AUTO_MAP, CUSTOM_PIPELINES, VocablessConfig, pipelines_of
from vocabless.modeling.pretrained_model import WEIGHTS_ID, VocablessPreTrainedModel
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.whole_folders import atomic_folder, tie_weights

CONFIGURATION, MODELING, PIPELINES, TOKENIZATION = (
    f"{kind}_vocabless.py" for kind in ("configuration", "modeling", "pipelines", "tokenization")
)
FOLDERS = {CONFIGURATION: "modeling", MODELING: "modeling", PIPELINES: "modeling", TOKENIZATION: "tokenization"}
PROGRAM, PROGRAM_FOLDER = "onnx_model.py", "conversion/onnx_program"  # of no checkpoint
HEADER = "# Generated from files of {folder}/ in the package vocabless. Do not edit.\n"
LINE_LENGTH = 120
# `import` makes a module an attribute of its package, but transformers does not when it loads the code of a checkpoint.
# dill finds a class by this attribute. Else it pickles the class with all that it reads, which fails, or differs in
# each process: then `datasets.map` finds no result in its cache.
_PLACE_IN_PACKAGE = """# dill, by which `datasets` names the results in its cache, looks for classes here.
if __package__:
    setattr(importlib.import_module(__package__), __name__.rpartition(".")[2], sys.modules[__name__])"""
_FOR_CHECKERS = re.compile(r"^# (?:mypy|ruff): .*\n|  # (?:noqa: \w+|type: ignore\[[\w, -]+\])", re.M)
_Import = ast.Import | ast.ImportFrom


@cache
def joined(name: str, with_pipelines: bool = False) -> str:
    """Returns the text of one file of a checkpoint, or of the program of a graph.

    Each file that is imported comes after the files that it imports itself, under a comment with its name. Imports of
    another file of a checkpoint stay imports. With `with_pipelines`, the models import the pipelines, because
    transformers copies only what they import.
    """
    entry = _find(f"{FOLDERS.get(name, PROGRAM_FOLDER)}/{name}")
    modules: dict[Path, ast.Module] = {}
    _add(entry, modules)
    imports = [node for tree in modules.values() for node in tree.body if isinstance(node, _Import)]
    if name in FOLDERS:
        imports += [ast.Import([ast.alias(each)]) for each in ("importlib", "sys")]
    if with_pipelines and name == MODELING:
        classes = sorted({str(row["impl"]).partition(".")[2] for row in CUSTOM_PIPELINES.values()})
        imports.append(ast.ImportFrom(Path(PIPELINES).stem, [ast.alias(each) for each in classes], level=1))
    lines = [
        HEADER.format(folder=entry.parent.name),
        f'"""{ast.get_docstring(modules[entry])}\n"""\n',
        *_import_lines(imports),
    ]
    for file, tree in modules.items():
        lines += ["", "", f"# ---- {file.name} ".ljust(LINE_LENGTH, "-")]
        if file != entry:
            lines += [f"# {line}".rstrip() for line in str(ast.get_docstring(tree)).splitlines()]
        lines += ["", _statements(file, tree)]
    if name in FOLDERS:
        lines += ["", "", _PLACE_IN_PACKAGE]
    return "\n".join(lines) + "\n"


def write_code(folder: Path, names: Sequence[str]) -> None:
    """Writes files of code, keys of `FOLDERS`, into a folder. A link in it is replaced, not what it leads to."""
    for name in names:
        file = folder / name
        file.unlink(missing_ok=True)
        file.write_text(joined(name, with_pipelines=PIPELINES in names), encoding="utf-8", newline="\n")


def save_with_code() -> None:
    """Makes the classes of this package write the joined code wherever transformers saves them, and models whole."""

    # `save_pretrained` calls both before it uploads what is new in the folder.
    def to_json_file(self: VocablessConfig, json_file_path: str | os.PathLike[str], use_diff: bool = True) -> None:
        file = Path(json_file_path)
        if file.name == CONFIG_NAME:
            self.custom_pipelines = pipelines_of(self.architectures or [])
            (file.parent / PIPELINES).unlink(missing_ok=True)
            write_code(file.parent, [CONFIGURATION, MODELING, *([PIPELINES] if self.custom_pipelines else [])])
        PreTrainedConfig.to_json_file(self, file, use_diff)

    def save_tokenizer(self: VocablessTokenizer, save_directory: str, *args: Any, **kwargs: Any) -> tuple[str, ...]:
        write_code(Path(save_directory), [TOKENIZATION])
        return PreTrainedTokenizerBase._save_pretrained(self, save_directory, *args, **kwargs)

    def save_model(self: VocablessPreTrainedModel, save_directory: str, *args: Any, **kwargs: Any) -> None:
        if args or not kwargs.get("is_main_process", True) or kwargs.get("distributed_checkpoint"):
            PreTrainedModel.save_pretrained(self, save_directory, *args, **kwargs)
            return
        if kwargs.get("push_to_hub"):
            kwargs.setdefault("repo_id", Path(save_directory).name)
        weights = kwargs.get("state_dict") or self.state_dict()
        check_space(Path(save_directory), sum(weight.nbytes for weight in weights.values()), "the weights")
        # Each process of a launcher may come here at once.
        with atomic_folder(Path(save_directory), removes_left_over=False) as temporary:
            PreTrainedModel.save_pretrained(self, temporary, **kwargs)
            if identity := tie_weights(temporary):
                setattr(self.config, WEIGHTS_ID, identity)

    VocablessConfig.to_json_file = to_json_file  # type: ignore[method-assign, assignment]
    VocablessPreTrainedModel.save_pretrained = save_model  # type: ignore[method-assign, assignment]
    VocablessTokenizer._save_pretrained = save_tokenizer  # type: ignore[method-assign, assignment]
    tokenizer_map = {"AutoTokenizer": [f"{Path(TOKENIZATION).stem}.VocablessTokenizer", None]}
    VocablessTokenizer._auto_map = tokenizer_map  # type: ignore[attr-defined]
    models = [getattr(modeling_vocabless, path.partition(".")[2]) for path in AUTO_MAP.values()]
    for saved in (VocablessConfig, VocablessTokenizer, *models):
        saved._auto_class = None  # with a name there, transformers copies the files that are not joined


def _find(name: str, *beside: Path) -> Path:
    """Returns a file in a given folder or of the package, which has two folders in a clone without links."""
    folders = *beside, *map(Path, sys.modules["vocabless"].__path__)
    return next(folder / name for folder in folders if (folder / name).is_file())


def _add(file: Path, modules: dict[Path, ast.Module]) -> None:
    """Adds a file to the files to join, after those that it imports."""
    if file in modules:
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level and f"{node.module}.py" not in FOLDERS:
            _add(_find(f"{str(node.module).replace('.', '/')}.py", file.parent), modules)
    modules[file] = tree


def _import_lines(imports: Iterable[_Import]) -> list[str]:
    """Returns the imports of other files than the joined ones: one statement for each module, relative ones last."""
    modules = {ast.unparse(node) for node in imports if isinstance(node, ast.Import)}
    names: dict[str, set[str]] = {}
    for node in imports:
        if isinstance(node, ast.ImportFrom) and (not node.level or f"{node.module}.py" in FOLDERS):
            names.setdefault("." * node.level + str(node.module), set()).update(map(ast.unparse, node.names))
    lines = sorted(modules)
    for module in sorted(names, key=lambda module: (module.startswith("."), module)):
        own = sorted(names[module])
        line = f"from {module} import {', '.join(own)}"
        if len(line) > LINE_LENGTH:
            line = "\n    ".join([f"from {module} import (", *(f"{name}," for name in own)]) + "\n)"
        lines.append(line)
    return lines


def _statements(file: Path, tree: ast.Module) -> str:
    """Returns the lines of a file without its docstring, its imports and the comments for ruff and mypy."""
    lines = file.read_text(encoding="utf-8").splitlines()
    for node in reversed(tree.body):
        if isinstance(node, _Import) or node is tree.body[0]:
            del lines[node.lineno - 1 : node.end_lineno]
    return _FOR_CHECKERS.sub("", "\n".join(lines)).strip("\n")
