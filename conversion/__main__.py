"""The verbs of `vocabless` that convert checkpoints into this family, within it and out of it."""
# ruff: noqa: T201 (a command prints its output)

import argparse
import importlib
import sys
from dataclasses import dataclass
from typing import Any

import vocabless.command_environment  # noqa: F401 (before torch)
from vocabless.exit_with_message import exit_with_message

OF_PAGE = "The page is in {target}."


@dataclass(frozen=True)
class Verb:
    """One row of the table. A new verb is a module of its name in this folder, and a row.

    The module is imported only for its own verb. `add_arguments(parser)` declares its arguments but SOURCE, TARGET,
    `--overwrite` and those of `--push`. `write(arguments, folder)` writes the files of TARGET into an empty folder and
    returns a report to print, or None; for a user's mistake it raises a ValueError with one sentence. The docstring is
    the description in `VERB --help`.
    """

    help: str  # what the verb does, one line of `--help`
    last_line: str = "The checkpoint is in {target}."  # what the command prints last; `{target}` is TARGET
    source: str = "folder or Hub id of a checkpoint of this family"  # help of SOURCE; "": the verb declares `source`
    pushed: str = ""  # what `--push` makes on the Hub; "": the verb has no `--push`


VERBS = {
    "hashformer": Verb(
        "convert the published HashFormers weights into a checkpoint of this family",
        source="Hub id, or a folder with config.json and pytorch_model.bin or model.safetensors",
    ),
    "encoder": Verb(
        "replace the word embeddings of any Hugging Face encoder with the front end of a variant",
        source="folder or Hub id of an encoder that takes inputs_embeds: BERT, RoBERTa, …",
    ),
    "onnx": Verb("export a checkpoint of this family to ONNX", "The ONNX model is in {target}."),
    "space": Verb("make a web page of a classifier, in one file that runs offline", OF_PAGE, pushed="Space"),
    "search": Verb("make a web page that searches documents by meaning, offline", OF_PAGE, "", "Space"),
    "javascript": Verb(
        "make a JavaScript package of a sentence encoder or a classifier, for pages and Node",
        "The package is in {target}.",
    ),
    "hub": Verb(
        "make the repository of a checkpoint of this family, in a folder or on the Hub",
        "The repository is {target}.",
        "folder or Hub id of a checkpoint of this family; or the name of a variant, for random weights",
        "repository",
    ),
}


def main(argv: list[str] | None = None) -> None:
    """Runs a verb, the first argument, on the others; a user's mistake ends it with one sentence."""
    argv = sys.argv[1:] if argv is None else argv
    name = next(iter(argv), "")
    with exit_with_message(f"vocabless {name}", argv, continues=False):
        if name not in VERBS:
            raise ValueError(f"unknown verb {name!r}; choose one of {', '.join(VERBS)}.")
        verb, module = VERBS[name], importlib.import_module(f"vocabless.conversion.{name}")
        arguments = _parser(name, verb, module).parse_args(argv[1:], argparse.Namespace(verb=name))
        from vocabless.loading import find_model
        from vocabless.saving.targets import write_target  # both take seconds: not for the help

        arguments.source = arguments.source and find_model(arguments.source)
        report = write_target(arguments, module.write, "space" if verb.pushed == "Space" else "model")
    print(*filter(None, (report, verb.last_line.format(target=arguments.target))), sep="\n")


def _parser(name: str, verb: Verb, module: Any) -> argparse.ArgumentParser:
    as_written = argparse.RawDescriptionHelpFormatter  # keeps the line breaks of a docstring
    parser = argparse.ArgumentParser(f"vocabless {name}", description=module.__doc__, formatter_class=as_written)
    if verb.source:
        parser.add_argument("source", metavar="SOURCE", help=verb.source)
    module.add_arguments(parser)
    _add_target(parser, verb.pushed)
    return parser


def _add_target(parser: argparse.ArgumentParser, pushed: str) -> None:
    """Declares TARGET and the flags that say how it is written; see `Verb.pushed`."""
    folder = "new or empty folder, unless --overwrite"
    repository = f"; with --push the {pushed}, name or owner/name" if pushed else ""
    parser.add_argument("target", metavar="TARGET", help=folder + repository)
    parser.add_argument(
        "--overwrite", action="store_true", help="replace files of the same names in TARGET; others stay"
    )
    if pushed:
        parser.add_argument("--push", action="store_true", help=f"make the {pushed} on the Hub; no folder is written")
        parser.add_argument("--exist_ok", action="store_true", help=f"commit a new version if the {pushed} holds files")
        parser.add_argument("--private", action="store_true", help=f"make a new {pushed} private")


if __name__ == "__main__":
    importlib.import_module("vocabless.__main__").main()
