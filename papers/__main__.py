"""The papers' laboratory: prints a table of a paper beside ours, and what the papers alone need.

    python -m papers hashformers-2 --dry_run > plan.sh    # the commands of a table, one line for each row
    python -m papers hashformers-2                        # the table, from the runs that are finished
    python -m papers hashformers-3                        # times, measured now: see also eelbert-5, eelbert-figure-1
    python -m papers scratch --corpus "texts/*.parquet"   # rows at tiny size, trained here with an equal budget
    python -m papers patents us-*.jsonl --codes cpc.txt --output_dir runs/papers/patents
    python -m papers hash-init bert-tiny hashed/ --subword google-bert/bert-base-uncased
    python -m papers ngrams hashformer-lsh-proj-base ngrams.json

Without an argument it lists the tables. The commands train as in the paper, by its recipes, vocabularies and seeds, and
write below --output_dir, as do those of other tables: rows with the same model and training are shared. A table has the
paper's figures beside ours, and lists what is not finished and how the runs differ from the commands.
"""

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from papers import eelbert, elementwise, finished, hash_init, hashformers, ngrams, patents, scratch, speed
from papers.plan import Plan, add_arguments, chosen_rows
from papers.table import Tables

PROGRAM = "python -m papers"
TABLES: Tables = {**hashformers.TABLES, **eelbert.TABLES, **elementwise.TABLES}


class Command(NamedTuple):
    """What a word of the command line does: a line of help, its flags, and a function that returns what is printed."""

    help: str
    add_arguments: Callable[[ArgumentParser], object]
    run: Callable[[Namespace], str]


def make_table(arguments: Namespace) -> str:
    """Returns a table, or its commands.

    Raises:
        ValueError: an unknown row, or see `finished.fill`.
    """
    plan = Plan.of(TABLES[arguments.table], arguments)
    ((_, rows),) = chosen_rows([plan], arguments.rows)
    return plan.script(rows) if arguments.dry_run else finished.fill(plan, rows)


COMMANDS: dict[str, Command] = {
    **{name: Command(f"{table.title}: {table.about}", add_arguments, make_table) for name, table in TABLES.items()},
    **{name: Command(*command) for name, command in speed.COMMANDS.items()},
    "scratch": Command("train the papers' rows at tiny size, from scratch", scratch.add_arguments, scratch.run),
    "patents": Command("make labelled data of patents", patents.add_arguments, patents.run),
    "hash-init": Command("start word embeddings as n-gram hashes", hash_init.add_arguments, hash_init.run),
    "ngrams": Command("count the n-grams and unique tokens of a text", ngrams.add_arguments, ngrams.run),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Prints a table, what a verb did, or the list of both; a user's mistake ends it with one sentence."""
    parser = ArgumentParser(prog=PROGRAM, description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="table", metavar="TABLE")
    for name, command in COMMANDS.items():
        command.add_arguments(
            commands.add_parser(name, help=command.help, description=command.help, allow_abbrev=False)
        )
    arguments = parser.parse_args(argv)
    if arguments.table is None:
        print("\n".join(f"{name:17}{command.help}" for name, command in COMMANDS.items()))
        return
    try:
        print(COMMANDS[arguments.table].run(arguments))
    except (ValueError, OSError) as error:
        sys.exit(f"{PROGRAM}: {' '.join(str(error).split())}")


if __name__ == "__main__":
    main()
