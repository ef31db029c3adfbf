"""The papers' laboratory: prints a table of a paper beside ours, and what the papers alone need.

    python -m papers hashformers-2 --dry_run    # the commands of a table
    python -m papers hashformers-2 --size tiny --max_steps 300 --task_name sst2 rte mrpc --data_dir glue
    python -m papers eelbert-3 --launcher "accelerate launch --num_processes 8" --pretraining --bf16 true
    python -m papers elementwise-4 --size tiny --max_steps 0 --patents us-*.parquet --codes cpc.txt
    python -m papers hashformers-3 --size tiny    # speeds
    python -m papers ratios    # the published sizes and ratios of speeds of all papers at once
    python -m papers compare runs/glue/bert-tiny runs/glue/eelbert-word-tiny
    python -m papers patents us-*.parquet --output_dir patents
    python -m papers hash-init google/bert_uncased_L-2_H-128_A-2 hashed/

A table pre-trains, fine-tunes and measures what it needs. Without --max_steps, scores are trained as in the paper, by
its recipes, vocabularies and seeds. With it, pre-training has so many steps, and both scripts have their own defaults.
In tables of scores, flags behind --pretraining go to run_pretraining.py, and others that `TABLE --help` does not list
to run_glue.py: --max_train_samples, --seeds, --num_train_epochs and so on. Runs lie in --output_dir: the same command
again reads finished ones and continues the others, and tables share them.
"""

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.measure import FLAGS, add_flags
from papers import comparison, counts, eelbert, elementwise, hash_init, hashformers, patents, runs, speeds
from papers.table import Tables

PROGRAM = "python -m papers"
PRETRAINING = "--pretraining"
SCORES: Tables = {**hashformers.TABLES, **eelbert.TABLES, **elementwise.TABLES}


class Command(NamedTuple):
    """What a word of the command line does: a line of help, its flags, and a function that returns what is printed."""

    help: str
    add_arguments: Callable[[ArgumentParser], object]
    run: Callable[[Namespace], str]


def ratios(arguments: Namespace) -> str:
    """Prints the ratios of speeds and returns the table of sizes."""
    speeds.ratios(arguments)
    return counts.sizes(SCORES.values())


COMMANDS: dict[str, Command] = {
    **{
        name: Command(
            f"{table.title}: {table.about}", runs.add_arguments, lambda a: runs.make_table(SCORES[a.table], a)
        )
        for name, table in SCORES.items()
    },
    "hashformers-3": Command("HashFormers, Table 3: speeds", speeds.add_arguments, speeds.hashformers_3),
    "eelbert-5": Command("EELBERT, Table 5: latency and sizes", speeds.add_arguments, speeds.eelbert_5),
    "eelbert-figure-1": Command("EELBERT, Figure 1: shares of the word table", lambda _: None, eelbert.figure_1),
    "elementwise-1": Command("Elementwise, Table 1: labels", elementwise.add_arguments, elementwise.table_1),
    "ratios": Command("published sizes and speeds of all papers", lambda p: add_flags(p, *FLAGS), ratios),
    "compare": Command("finished runs in one table, with PRR, PCR and PoEP", comparison.add_arguments, comparison.run),
    "patents": Command("make labelled data of patents", patents.add_arguments, patents.run),
    "hash-init": Command("start word embeddings as n-gram hashes", hash_init.add_arguments, hash_init.run),
}


def main(argv: list[str] | None = None) -> None:
    """Prints one table; a user's mistake ends it with one sentence."""
    parser = ArgumentParser(prog=PROGRAM, description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="table", metavar="TABLE", required=True)
    for name, command in COMMANDS.items():
        command.add_arguments(
            commands.add_parser(name, help=command.help, description=command.help, allow_abbrev=False)
        )
    words = list(sys.argv[1:] if argv is None else argv)
    end = words.index(PRETRAINING) if PRETRAINING in words else len(words)
    arguments, others = parser.parse_known_args(words[:end])
    if (others or words[end:]) and arguments.table not in SCORES:
        parser.error(f"unknown flag {' '.join(others + words[end:])}; see {PROGRAM} {arguments.table} --help.")
    arguments.others, arguments.pretraining = others, words[end + 1 :]
    try:
        print(f"\n{COMMANDS[arguments.table].run(arguments)}")
    except (ValueError, OSError) as error:
        sys.exit(f"{PROGRAM}: {' '.join(str(error).split())}")


if __name__ == "__main__":
    main()
