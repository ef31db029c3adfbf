"""The commands of a table, with the recipes, vocabularies and seeds of its paper, as a shell script.

A line of the script is a row of the table: pre-training, if the row has it, and then fine-tuning. So the lines can run
on different machines; what they write is brought into one folder afterwards.
"""

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers import patents
from papers.table import PaperRow, PaperTable
from vocabless.stock_shapes import find_shape
from vocabless.training.script import read_recipe
from vocabless.variants import SUBWORD_TOKENIZERS

GLUE = "nyu-mll/glue"
QUIET = ["--disable_tqdm", "true", "--report_to", "none"]


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of a plan, for `Plan.of`, and `--rows` and `--dry_run`."""
    parser.add_argument("--rows", nargs="+", help="labels of some rows; None is all")
    parser.add_argument("--dry_run", action="store_true", help="print the commands as a shell script")
    parser.add_argument("--output_dir", default="runs/papers", help="folder of all runs (default: runs/papers)")
    parser.add_argument("--corpus", nargs="+", help="texts to pre-train on; None are the paper's, of its recipe")
    parser.add_argument("--data_dir", help="folder with a folder of files for each task of GLUE; None is the Hub's")
    parser.add_argument("--bf16", action="store_true", help="pre-train and fine-tune in bfloat16, not in float32")
    parser.add_argument(
        "--launcher",
        default="python",
        help="what starts run_pretraining.py, for instance 'accelerate launch --num_processes 8' (default: python)",
    )


def chosen_rows(plans: Sequence["Plan"], labels: Sequence[str] | None) -> list[tuple["Plan", list[PaperRow]]]:
    """Returns the rows of plans that have some labels, all without labels; plans without one are left out.

    Raises:
        ValueError: a label is that of no row.
    """
    known = [row.label for plan in plans for row in plan.table.rows]
    if unknown := [label for label in labels or () if label not in known]:
        title = plans[0].table.title if len(plans) == 1 else "the plan"
        raise ValueError(f"{title} has no row {', '.join(unknown)}; its rows are {', '.join(known)}.")
    chosen = [(plan, [row for row in plan.table.rows if not labels or row.label in labels]) for plan in plans]
    return [(plan, rows) for plan, rows in chosen if rows]


@dataclass(frozen=True)
class Plan:
    """The commands of a table: words after `python`. All write below `root`."""

    table: PaperTable
    root: Path
    corpora: tuple[str, ...] = ()  # to pre-train on; none are those of the paper's recipe
    data_dir: str | None = None  # files of GLUE; None is the Hub's
    bf16: bool = False
    launcher: str = "python"  # of pre-training
    subword: str | None = None  # the tokenizer of all rows that read subwords; None is each row's own
    records: Path | None = None  # folder of small records of finished runs, laid out as `root`

    @classmethod
    def of(cls, table: PaperTable, arguments: Namespace, **more: Any) -> "Plan":
        """Returns the plan of a table by the flags of the command line, see `add_arguments`."""
        flags = {name: getattr(arguments, name) for name in ("data_dir", "bf16", "launcher")}
        return cls(table, Path(arguments.output_dir), tuple(arguments.corpus or ()), **flags, **more)

    def script(self, rows: Sequence[PaperRow]) -> str:
        """Returns the shell script of some rows, one line each."""
        table = self.table
        head = ["#!/bin/sh", f"# {table.title}: {table.about}. A line is a row; the lines can run on several machines."]
        if not table.terms:
            return f"{head[0]}\n# {table.title}: {table.about}. Nothing is run: all figures are counted."
        head.append(f"# Data: {'; '.join(self.data)}.")
        if table.is_patents:
            head.append(f"# Before them: python -m papers patents FILES --codes FILE --output_dir {self.patents}")
        return "\n".join([*head, *map(self.line, rows)])

    @property
    def data(self) -> list[str]:
        """What is pre-trained and fine-tuned on, and the flag that changes it."""
        recipe = self.table.recipe if any(row.objective for row in self.table.rows) else ""
        corpora = self.corpora or (read_recipe(recipe)["corpus"] if recipe else ())
        glue = f"GLUE from {self.data_dir or GLUE} (--data_dir)"
        return [
            *([f"pre-training on {', '.join(corpora)} (--corpus)"] if corpora else []),
            f"patents in {self.patents}" if self.table.is_patents else glue,
        ]

    def line(self, row: PaperRow) -> str:
        """Returns the shell command of a row."""
        commands = [shlex.join([*shlex.split(self.launcher), *words]) for words in self.pretraining(row)]
        commands += [shlex.join(["python", *words]) for words in self.fine_tuning(row)]
        return " && ".join([*self.preparation(row), *commands])

    def preparation(self, row: PaperRow) -> list[str]:
        """Returns the shell command that makes what rows share, unless it is there: a hashed model, or n-grams."""
        if row.is_hashed:
            verb, target, file = "hash-init", self.hashed(row), self.hashed(row) / "config.json"
        elif row.has_ngrams:
            verb, target, file = "ngrams", self.ngrams(row), self.ngrams(row)
        else:
            return []
        words = ["python", "-m", "papers", verb, row.model, str(target), *self.vocabulary(row, "--subword")]
        words += self._corpus() if verb == "ngrams" else []
        return [f"test -f {shlex.quote(str(file))} || {shlex.join(words)}"]

    @property
    def patents(self) -> Path:
        """The folder of the patents."""
        return self.root / "patents"

    def hashed(self, row: PaperRow) -> Path:
        """Returns the folder of the model whose word table is n-gram hashes."""
        return self.root / "hashed" / row.model

    def ngrams(self, row: PaperRow) -> Path:
        """Returns the file of the n-grams that rows with the same units share."""
        return self.root / f"ngrams-{'subword' if row.reads_subwords else 'word'}.json"

    def pretraining(self, row: PaperRow) -> list[list[str]]:
        """Returns the commands that pre-train a row, each from the last one's model; none if it is not pre-trained."""
        if row.objective is None:
            return []
        if row.is_hashed:
            model = ["--model_name_or_path", str(self.hashed(row))]
        else:
            model = ["--variant", row.model, *self.vocabulary(row, "--subword")]
            changes = [*row.overrides, *([f"ngrams={self.ngrams(row)}"] if row.has_ngrams else [])]
            model += ["--set", *changes] if changes else []
        first = self.root / "first-stage" / self._name(row)
        stages = [(self.table.first_recipe, first), (row.recipe or self.table.recipe, self.pretrained(row))]
        commands = []
        for recipe, folder in (stage for stage in stages if stage[0]):
            words = ["run_pretraining.py", "--recipe", recipe, *model, "--objective", row.objective]
            commands.append([*words, *self._corpus(), *self._precision(), *QUIET, "--output_dir", str(folder)])
            model = ["--model_name_or_path", str(folder)]
        return commands

    def pretrained(self, row: PaperRow) -> Path:
        """Returns the folder of the pre-trained model."""
        return self.root / "pre-trained" / self._name(row)

    def fine_tuning(self, row: PaperRow) -> list[list[str]]:
        """Returns the commands that fine-tune a row: several if each task takes the best of several learning rates."""
        table = self.table
        model = str(self.pretrained(row)) if row.objective else row.weights or row.model
        words = ["run_glue.py", "--recipe", table.task_recipe, "--model_name_or_path", model]
        if model == row.model:
            words += self.vocabulary(row, "--tokenizer_name")
            words += ["--set", *row.overrides] if row.overrides else []
        words += ["--max_seq_length", str(row.length)] if row.length else []
        words += self._data() + self._precision() + QUIET
        folders = zip(table.learning_rates or [""], self.fine_tuned(row), strict=True)
        return [
            [*words, *(["--learning_rate", rate] if rate else []), "--output_dir", str(folder)]
            for rate, folder in folders
        ]

    def fine_tuned(self, row: PaperRow) -> list[Path]:
        """Returns the folders of the fine-tuned models, one for each learning rate."""
        kind = "fine-tuned-on-patents" if self.table.is_patents else "fine-tuned"
        rates = self.table.learning_rates or [""]
        return [self.root / kind / "-".join(filter(None, [self._name(row), rate])) for rate in rates]

    def vocabulary(self, row: PaperRow, flag: str) -> list[str]:
        """Returns the flag of the subword tokenizer, the published one; nothing for a model without one."""
        kind = str(find_shape(row.model).subwords)
        return [flag, self.subword or row.vocabulary or SUBWORD_TOKENIZERS[kind]] if row.reads_subwords else []

    def _data(self) -> list[str]:
        """Returns the flags of the data."""
        if not self.table.is_patents:
            return ["--task_name", *self.table.tasks, *(["--data_dir", self.data_dir] if self.data_dir else [])]
        splits = {"train": patents.TRAIN, "validation": patents.TEST_A, "test": patents.TEST_B}
        files = [word for flag, name in splits.items() for word in (f"--{flag}_file", str(self.patents / name))]
        return [*files, "--do_predict"]

    def _corpus(self) -> list[str]:
        return ["--corpus", *self.corpora] if self.corpora else []

    def _precision(self) -> list[str]:
        return ["--bf16", "true"] if self.bf16 else []

    def _name(self, row: PaperRow) -> str:
        """Returns the name of a row's folders: rows of two tables with the same model and training share them."""
        parts = [row.model, *row.overrides, row.objective, "hash-start" if row.is_hashed else ""]
        return "-".join(filter(None, parts))
