"""Converts checkpoints: into this family, within it, and out of it.

    python -m vocabless.conversion hashformer klein9692/hashformer-md5-proj converted/
    python -m vocabless.conversion encoder google-bert/bert-base-uncased words/ --variant hashformer-lsh-proj-base
    python -m vocabless.conversion hash-init google/bert_uncased_L-2_H-128_A-2 hashed/
    python -m vocabless.conversion onnx runs/mine onnx/
    python -m vocabless.conversion hub runs/mine me/mine --push

`python -m vocabless.conversion VERB --help` explains a verb and its options. SOURCE is a folder or a Hub id, TARGET a
new or an empty folder; the verb hub knows more.
"""
# ruff: noqa: T201 (what a command says is its output)

import argparse
import importlib
import sys
from dataclasses import dataclass
from typing import Any

PROGRAM = "python -m vocabless.conversion"


@dataclass(frozen=True)
class Verb:
    """One row of the table: a module with two functions, which is imported only when its verb is asked for.

    `add_arguments(parser)` declares all that the verb takes, SOURCE and TARGET as well, as `source` and `target`.
    `run(arguments)` does the work and returns what there is to report, or None; a user's mistake is a ValueError of one
    sentence.

    Attributes:
        module: its name in this package.
        help: what it does, a line of `--help`.
        done: the last line that a conversion prints; `{target}` is TARGET.
    """

    module: str
    help: str
    done: str = "The checkpoint is in {target}."


VERBS = {
    "hashformer": Verb("hashformer", "the published HashFormers weights → a checkpoint of this family"),
    "encoder": Verb("encoder", "any Hugging Face encoder → the same encoder without a vocabulary"),
    "hash-init": Verb("hash_init", "a stock model → the same with a word table that begins as n-gram hashes"),
    "onnx": Verb("onnx", "a checkpoint of this family → ONNX", "The ONNX model is in {target}."),
    "hub": Verb(
        "hub", "a checkpoint of this family → its repository, in a folder or on the Hub", "The repository is {target}."
    ),
}


def main(argv: list[str] | None = None) -> None:
    """Runs the command on its arguments; a user's mistake ends it with one sentence."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        parser, module = _parser(argv)
        arguments = parser.parse_args(argv)
        report = module.run(arguments)
    except (ValueError, OSError) as error:
        sys.exit(f"{PROGRAM}: {' '.join(str(error).split())}")
    if report:
        print(report)
    print(VERBS[arguments.verb].done.format(target=arguments.target))


def _parser(argv: list[str]) -> tuple[argparse.ArgumentParser, Any]:
    """Returns the parser, in which only the verb asked for has its options, and that verb's module."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    asked = next((argument for argument in argv if not argument.startswith("-")), None)
    if asked is not None and asked not in VERBS:
        raise ValueError(f"unknown verb {asked!r}; choose one of {', '.join(VERBS)}.")
    module = None
    for name, verb in VERBS.items():
        module_of_verb = _load(name) if name == asked else None
        described = module_of_verb.__doc__ if module_of_verb else None
        one = verbs.add_parser(
            name, help=verb.help, description=described, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if module_of_verb:
            module_of_verb.add_arguments(one)
            module = module_of_verb
    return parser, module


def _load(name: str) -> Any:
    """Returns the module of a verb.

    Raises:
        ValueError: it, or a package that it needs, is not installed.
    """
    module = f"vocabless.conversion.{VERBS[name].module}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name == module:
            raise ValueError(
                f"the verb {name!r} is not part of this installation; install a newer vocabless."
            ) from None
        raise ValueError(
            f"the verb {name!r} needs the package {error.name!r}, which is not installed; pip install {error.name}."
        ) from error


if __name__ == "__main__":
    main()
