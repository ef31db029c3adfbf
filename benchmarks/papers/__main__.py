"""Prints a table of a paper beside ours: pre-trains, fine-tunes and measures what it needs.

    python -m benchmarks.papers hashformers-2 --size tiny --max_steps 300 --task_name sst2 rte mrpc --data_dir glue
    python -m benchmarks.papers eelbert-3 --size tiny --max_steps 300 --corpus "texts/*.parquet" --task_name sst2
    python -m benchmarks.papers elementwise-4 --size tiny --max_steps 0 --patents us.parquet --label_names cpc.txt
    python -m benchmarks.papers hashformers-3 --size tiny    # speeds
    python -m benchmarks.papers elementwise-1 --patents us.parquet    # counts
    python -m benchmarks.papers ratios    # the published sizes and speeds-up of all papers at once

Without --max_steps, a table of scores is trained as in the paper, by its recipes. With it, pre-training has so many
steps, and both scripts have their own defaults. In tables of scores, flags that are not listed here go to run_glue.py:
--max_train_samples, --seeds, --num_train_epochs, --patents, --train_file and so on. Runs lie in --output_dir: the same
command again reads finished ones and continues the others, and tables share them.
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter

from benchmarks.measure import parser_with_texts, prepare_threads
from benchmarks.papers import counts, eelbert, elementwise, hashformers, ratios, speeds
from benchmarks.papers.rows import Tables
from vocabless.training.exit_with_message import exit_with_message
from vocabless.training.finetuning.patents import CPC_LEVELS

PROGRAM = "python -m benchmarks.papers"
SCORES: Tables = {**hashformers.TABLES, **eelbert.TABLES, **elementwise.TABLES}
MEASURED = {**speeds.TABLES, **counts.TABLES}


def main(argv: list[str] | None = None) -> None:
    """Prints one table; a user's mistake ends it with one sentence."""
    argv = list(sys.argv[1:] if argv is None else argv)
    table = argv[0] if argv else ""
    with exit_with_message(PROGRAM):
        if table == ratios.NAME:
            ratios.main(argv[1:])
        elif table in MEASURED:
            print(f"\n{_measure(table, argv[1:])}")
        else:
            print(f"\n{_train(argv)}")


def _measure(table: str, argv: list[str]) -> str:
    parser = parser_with_texts(__doc__)
    parser.prog = f"{PROGRAM} {table}"
    parser.add_argument("--size", help="size of the models: tiny, mini, small or base; None is the paper's")
    parser.add_argument("--length", type=int, default=128, help="tokens of a pre-training sequence (hashformers-3)")
    parser.add_argument("--batch", type=int, default=8, help="sequences of a pre-training step (hashformers-3)")
    parser.add_argument("--patents", nargs="+", help="files of patents, as run_glue.py takes them (elementwise-1)")
    parser.add_argument("--label_names", help="file of all CPC codes, one in a line; None takes those that occur")
    parser.add_argument("--cpc_level", default="subclass", choices=CPC_LEVELS, help="level of the CPC codes")
    parser.add_argument("--train_years", help="years of the training patents, such as 2006-2014")
    parser.add_argument("--test_years", help="years of the evaluated patents, such as 2015")
    arguments = parser.parse_args(argv)
    prepare_threads(arguments.threads or 1)
    return MEASURED[table](arguments)


def _train(argv: list[str]) -> str:
    names = [*SCORES, *MEASURED, ratios.NAME]
    parser = ArgumentParser(prog=PROGRAM, description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("table", metavar="TABLE", choices=names, help=", ".join(names))
    parser.add_argument("--size", help="size of all models: uno, tiny, mini, small or base; None is the paper's")
    parser.add_argument("--max_steps", type=int, help="steps of pre-training; None trains by the paper's recipes")
    parser.add_argument("--corpus", nargs="+", help="text for pre-training, as run_pretraining.py takes it")
    parser.add_argument("--task_name", nargs="+", help="GLUE tasks of the table, or all")
    parser.add_argument("--data_dir", help="folder of the GLUE tasks, as run_glue.py takes it")
    parser.add_argument("--rows", nargs="+", help="labels of some rows; None is all")
    parser.add_argument("--output_dir", default="runs/papers", help="folder of all runs (default: runs/papers)")
    arguments, others = parser.parse_known_args(argv)
    from benchmarks.papers.runs import make_table  # imports both scripts

    return make_table(SCORES[arguments.table], arguments, others)


if __name__ == "__main__":
    main()
