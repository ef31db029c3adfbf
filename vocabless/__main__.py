"""The command of the package, `vocabless` or `python -m vocabless`.

    vocabless finetune tickets.csv
    vocabless predict runs/tickets new.csv
    vocabless pretrain "texts/*.parquet"
    vocabless search docs/ found/
    vocabless space runs/tickets page/
    vocabless hub runs/tickets me/tickets --push

`vocabless VERB --help` explains a verb and its options.
"""
# ruff: noqa: T201 (a command prints its output)

import sys
from importlib import import_module

from vocabless import first_look
from vocabless.exit_with_message import exit_launched_process, exit_with_message

PROGRAM = "vocabless"
CONVERSION = "vocabless.conversion.__main__"
SCRIPTS = {  # verb → its module, and a line of `--help`
    "finetune": ("vocabless.run_glue", "train a classifier on your own rows or on GLUE, and score it"),
    "predict": ("vocabless.training.prediction.predict", "give the rows of a file their labels and probabilities"),
    "pretrain": ("vocabless.run_pretraining", "train an encoder on texts, or on the vectors of a teacher"),
}


def main(argv: list[str] | None = None) -> None:
    """Runs the verb that the first argument names; a user's mistake ends it with one sentence."""
    verb, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    conversion = import_module(CONVERSION)
    verbs = {name: line for name, (_, line) in SCRIPTS.items()} | {
        name: each.help for name, each in conversion.VERBS.items()
    }
    if verb in ("-h", "--help"):
        print(f"{__doc__}\nverbs:\n" + "\n".join(f"  {name:12}{line}" for name, line in verbs.items()))
    elif verb not in verbs:
        sys.exit(f"{PROGRAM}: unknown verb {verb!r}; choose one of {', '.join(verbs)}.")
    elif {"-h", "--help"} & {*rest}:
        print(first_look.read_help(verb), end="")
    else:
        with exit_with_message(f"{PROGRAM} {verb}", continues=verb in first_look.OF_TRAINER):
            first_look.check(verb, rest)
            if verb in SCRIPTS:
                import_module(SCRIPTS[verb][0]).main(rest)
                exit_launched_process()
            else:
                conversion.main([verb, *rest])


if __name__ == "__main__":
    main()
