"""Writes the help of each verb where `vocabless VERB --help` reads it: `python -m tests.help_pages`."""

import os
from contextlib import redirect_stdout, suppress
from io import StringIO

import run_glue
import run_pretraining
from vocabless.conversion import __main__ as conversion
from vocabless.first_look import HELP
from vocabless.training.prediction import predict

PARSERS = {
    "finetune": lambda: run_glue.main(["--help"]),
    "predict": lambda: predict.main(["--help"]),
    "pretrain": lambda: run_pretraining.main(["--help"]),
    **{verb: lambda verb=verb: conversion.main([verb, "--help"]) for verb in conversion.VERBS},
}


def help_of(verb: str) -> str:
    """What the parser of the verb prints."""
    os.environ["COLUMNS"] = "102"  # argparse leaves two free
    printed = StringIO()
    with redirect_stdout(printed), suppress(SystemExit):
        PARSERS[verb]()
    return printed.getvalue()


if __name__ == "__main__":
    HELP.mkdir(exist_ok=True)
    for verb in PARSERS:
        (HELP / f"{verb}.txt").write_text(help_of(verb), encoding="utf-8", newline="\n")
