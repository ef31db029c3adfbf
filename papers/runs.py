"""Pre-trains, fine-tunes and compares what a table needs, by commands that are resumed or read again."""

import shlex
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transformers import AutoConfig

import run_glue
import run_pretraining
from papers import hash_init, patents
from papers.comparison import FinishedRun, compare_runs, speed_up
from papers.counts import VOCABULARY_SIZES, parameter_figures
from papers.table import CENTERS, PaperRow, PaperTable, render
from vocabless.stock_shapes import find_shape
from vocabless.variants import SIZES, SUBWORD_TOKENIZERS

QUIET = ["--disable_tqdm", "true", "--report_to", "none"]
TRAINED_SUBWORD = "subword.json"  # what run_pretraining.py --subword train writes


class Command(NamedTuple):
    """A command of the plan of a table."""

    words: list[str]  # `run_glue.py`, `run_pretraining.py` or a verb of `papers`, and its flags
    folder: Path  # what it writes
    launcher: str = ""  # words before the script, for several processes
    made: Path | None = None  # a file of a finished command that cannot be repeated; None: the script reads its run

    def __str__(self) -> str:
        is_script = self.words[0].endswith(".py")
        return f"{self.launcher or 'python'} {'' if is_script else '-m papers '}{shlex.join(self.words)}"

    def run(self) -> None:
        """Runs it, unless it has made its file.

        Raises:
            ValueError: a user's mistake, or the launched processes failed.
        """
        verbs = {"hash-init": hash_init, "patents": patents}
        script, *flags = self.words
        if self.made is not None and self.made.is_file():
            return
        if self.launcher:
            path = str(Path(run_pretraining.__file__).with_name(script))
            if subprocess.run([*shlex.split(self.launcher), path, *flags], check=False).returncode:
                raise ValueError(f"{self} failed; its message is above.")
        elif script in verbs:
            parser = ArgumentParser()
            verbs[script].add_arguments(parser)
            print(verbs[script].run(parser.parse_args(flags)), flush=True)
        else:
            (run_glue if script == "run_glue.py" else run_pretraining).main(flags)


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of the tables of scores."""
    parser.add_argument("--size", choices=SIZES, help="largest size of the models; None is the paper's")
    parser.add_argument("--max_steps", type=int, help="steps of pre-training; None trains by the paper's recipes")
    parser.add_argument("--corpus", nargs="+", help="text for pre-training, as run_pretraining.py takes it")
    parser.add_argument("--subword", help="subword tokenizer: a file, folder or Hub id, or train; None is the paper's, "
                        "and train with --max_steps")  # fmt: skip
    parser.add_argument("--task_name", nargs="+", help="GLUE tasks, or all; None is those of the table")
    parser.add_argument("--data_dir", help="folder of the GLUE tasks, as run_glue.py takes it")
    parser.add_argument("--learning_rates", nargs="+", help="each task takes the best of these; None is the paper's")
    parser.add_argument("--patents", metavar="FILE", nargs="+", help="files of patents, for the tables of Elementwise")
    patents.add_choices(parser)
    parser.add_argument("--rows", nargs="+", help="labels of some rows; None is all")
    parser.add_argument("--launcher", default="", help="starts pre-training in several processes, such as 'accelerate "
                        "launch --num_processes 8'")  # fmt: skip
    parser.add_argument("--dry_run", action="store_true", help="print the commands and run none")
    parser.add_argument("--output_dir", default="runs/papers", help="folder of all runs (default: runs/papers)")


def make_table(table: PaperTable, arguments: Namespace) -> str:
    """Returns the table: the paper's figures beside ours, and what differs; with `dry_run`, its commands.

    Of the arguments, `others` are flags for `run_glue.py`, and `pretraining` those for `run_pretraining.py`.

    Raises:
        ValueError: an unknown row, no patents, or see `Command.run`.
    """
    unknown = set(arguments.rows or []).difference(row.label for row in table.rows)
    if unknown:
        raise ValueError(f"{table.title} has no row {', '.join(unknown)}; its rows are "
                         f"{', '.join(row.label for row in table.rows)}.")  # fmt: skip
    rows = [row for row in table.rows if not arguments.rows or row.label in arguments.rows]
    plan = Plan(table, arguments)
    tuned = [plan.fine_tuning(row) for row in rows]
    commands = [*plan.data, *(each for row, runs in zip(rows, tuned, strict=True) for each in plan.start(row) + runs)]
    commands = list({str(command): command for command in commands}.values())
    if arguments.dry_run:
        return "\n".join(map(str, commands))
    for command in commands:
        command.run()
    finished = [best_of([FinishedRun.read(run.folder) for run in runs], table.summary) for runs in tuned]
    figures = table_figures(rows, finished, table.summary)
    contents = [each.content for each in finished]
    text = render(table, list(zip(rows, contents, figures, strict=True)))
    return "\n".join([f"{table.title}: {table.about}", "", text, "", *_differences(plan, rows, contents)])


class Plan:
    """The commands of a table."""

    def __init__(self, table: PaperTable, arguments: Namespace) -> None:
        """Reads the arguments; see `make_table`.

        Raises:
            ValueError: patents are needed and not given.
        """
        if table.is_patents and not arguments.patents:
            raise ValueError(f"{table.title} is fine-tuned on patents; give --patents FILE.")
        self.table, self.arguments = table, arguments
        self.is_paper = arguments.max_steps is None
        self.root = Path(arguments.output_dir)

    @property
    def data(self) -> list[Command]:
        """Makes the data of the patents."""
        arguments, folder = self.arguments, self.root / "patents"
        if not self.table.is_patents:
            return []
        codes = ["--codes", arguments.codes] if arguments.codes else []
        choices = ["--cpc_level", arguments.cpc_level, "--train_years", arguments.train_years]
        choices += ["--test_years", arguments.test_years, "--output_dir", str(folder)]
        made = folder / patents.LABEL_NAMES  # the last that is written
        return [Command(["patents", *arguments.patents, *codes, *choices], folder, made=made)]

    def start(self, row: PaperRow) -> list[Command]:
        """Pre-trains a row; none if it is not pre-trained here."""
        arguments, folder = self.arguments, self.root / "pre-trained" / self.slug(row)
        if row.objective is None:
            return []
        before: list[Command] = []
        if row.start == "hash":
            before = self.hashed(row)
            model = ["--model_name_or_path", str(before[-1].folder)]
        else:
            model = ["--variant", row.model, *self.size(row)]
            model += self.vocabulary(row, "--subword") if row.objective == "mlm" or row.reads_subwords else []
        recipe = row.recipe or self.table.recipe
        length = ["--recipe", recipe] if self.is_paper else ["--max_steps", str(arguments.max_steps)]
        corpus = ["--corpus", *arguments.corpus] if arguments.corpus else []
        words = ["run_pretraining.py", *length, *model, "--objective", row.objective, *corpus, *QUIET]
        words += ["--output_dir", str(folder), *arguments.pretraining]
        return [*before, Command(words, folder, arguments.launcher)]

    def hashed(self, row: PaperRow) -> list[Command]:
        """Makes a fresh stock model whose word table is n-gram hashes, with the vocabulary of the first row."""
        first, folder = self.table.rows[0], self.root / "hashed" / self.slug(row)
        flag, subword, *_ = self.vocabulary(row, "--subword")
        before = self.start(first) if subword == "train" else []
        subword = str(before[-1].folder / TRAINED_SUBWORD) if before else subword
        size = ["--size", self.arguments.size] if self.size(row) else []
        words = ["hash-init", row.model, str(folder), flag, subword, *size]
        return [*before, Command(words, folder, made=folder / "config.json")]

    def fine_tuning(self, row: PaperRow) -> list[Command]:
        """Fine-tunes a row; several commands if each task takes the best of several learning rates."""
        table, arguments = self.table, self.arguments
        start = self.start(row)
        model = start[-1].folder if start else row.weights if row.weights and self.is_paper else row.model
        words = ["run_glue.py"]
        if self.is_paper:
            words += ["--recipe", table.task_recipe, "--seeds", str(table.seeds)]
        words += ["--model_name_or_path", str(model)]
        if model == row.model:
            words += self.size(row) + (self.vocabulary(row, "--tokenizer_name") if row.reads_subwords else [])
        words += ["--max_seq_length", str(row.length)] if row.length else []
        words += self.task_flags() + QUIET
        rates = arguments.learning_rates or (table.learning_rates if self.is_paper else None) or [""]
        commands = []
        for rate in rates:
            name = "-".join(filter(None, [self.slug(row), rate]))
            folder = self.root / ("fine-tuned-on-patents" if table.is_patents else "fine-tuned") / name
            flags = ["--learning_rate", rate] if rate else []
            commands.append(Command([*words, *flags, "--output_dir", str(folder), *arguments.others], folder))
        return commands

    def task_flags(self) -> list[str]:
        """Returns the flags of the data."""
        arguments, folder = self.arguments, self.root / "patents"
        if not self.table.is_patents:
            place = ["--data_dir", arguments.data_dir] if arguments.data_dir else []
            return ["--task_name", *(arguments.task_name or self.table.tasks), *place]
        kind = [] if self.is_paper else ["--problem_type", "multi_label_classification"]
        splits = {"train": patents.TRAIN, "validation": patents.TEST_A, "test": patents.TEST_B}
        files = [word for name, part in splits.items() for word in (f"--{name}_file", str(folder / f"{part}.jsonl"))]
        return [*kind, *files, "--label_names", str(folder / patents.LABEL_NAMES), "--do_predict"]

    def vocabulary(self, row: PaperRow, flag: str) -> list[str]:
        """Returns the flags of the subword tokenizer."""
        kind = str(find_shape(row.model).subwords)
        published = row.vocabulary or SUBWORD_TOKENIZERS[kind]
        subword = self.arguments.subword or (published if self.is_paper else "train")
        size = self.is_paper and subword == "train"
        return [flag, subword, *(["--subword_vocab_size", str(VOCABULARY_SIZES[kind])] if size else [])]

    def size(self, row: PaperRow) -> list[str]:
        """Returns the flags that make a model smaller."""
        names, size = list(SIZES), self.arguments.size
        is_larger = size is not None and names.index(find_shape(row.model).size) > names.index(size)
        return ["--set", f"size={size}"] if is_larger else []

    def slug(self, row: PaperRow) -> str:
        """Returns a name for the folders of a row: rows of two tables with the same model and training share them."""
        size = self.arguments.size if self.size(row) else ""
        start = row.start and f"{row.start}-start"
        return "-".join(filter(None, [row.model, size, row.objective, start]))


def best_of(runs: Sequence[FinishedRun], summary: str) -> FinishedRun:
    """Returns the runs of one command, in which each task has the results of the command that is best in it.

    The first measure of a task, summarised over the seeds, decides. Source: Devlin et al., 4.1.
    """
    content: dict[str, Any] = dict(runs[0].content)
    for key in ("scores", "runs"):
        content[key] = dict(content[key])
    for task in content["constant_baselines"]:
        centers = [CENTERS[summary](run.scores[task]) for run in runs]
        best = runs[centers.index(max(centers))]
        for key in ("scores", "runs"):
            content[key][task] = best.content[key][task]
    return FinishedRun(content, runs[0].model, runs[0].name)


def table_figures(rows: Sequence[PaperRow], finished: Sequence[FinishedRun], summary: str) -> list[dict[str, Any]]:
    """Returns the figures of `compare_runs` and those that only some papers print, for each row."""
    figures: list[dict[str, Any]] = compare_runs(finished, [row.label for row in rows], summary)["rows"]
    times = {own["name"]: own["milliseconds_per_sample"] for own in figures}
    for row, each, own in zip(rows, finished, figures, strict=True):
        own["exported_bytes"] = sum(file.stat().st_size for file in each.model.glob("*.safetensors"))
        if row.has_mlm_head:
            own |= parameter_figures(AutoConfig.from_pretrained(each.model), has_mlm_head=True)
        if row.original:
            original = times.get(row.original)
            own["speed_up"] = None if original is None else speed_up(times[row.label], original)
    return figures


def _differences(plan: Plan, rows: Sequence[PaperRow], contents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns what differs from the paper, as a list."""
    table, arguments, notes = plan.table, plan.arguments, list(plan.table.notes)
    if any(plan.size(row) for row in rows):
        notes.append(f"the models are {arguments.size} at most")
    if not plan.is_paper:
        if any(row.objective for row in rows):
            corpus = ", ".join(Path(source).name for source in arguments.corpus or ["the embedded corpus"])
            notes.append(f"pre-training has {arguments.max_steps} steps of the script's default batch on {corpus}, in "
                         f"place of the recipe {table.recipe}")  # fmt: skip
        notes.append(f"fine-tuning has the script's defaults, not the recipe {table.task_recipe}")
        notes += [f"{row.label}: random weights, not {row.weights}" for row in rows if row.weights]
    trained = [row.label for row in rows if row.reads_subwords and "train" in plan.vocabulary(row, "")]
    if trained:
        notes.append(f"the subword vocabularies are trained on the texts at hand: {', '.join(trained)}")
    seeds = {str(len(runs)) for content in contents for runs in content["scores"].values()}
    notes.append(f"seeds: {', '.join(sorted(seeds))}")
    notes += _footnotes(rows, contents)
    return ["Beside the paper:", "", *(f"- {note}." for note in notes)]


def _footnotes(rows: Sequence[PaperRow], contents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the footnotes of the runs, each once, behind the labels of its rows unless all rows have it."""
    labels: dict[str, list[str]] = {}
    for row, content in zip(rows, contents, strict=True):
        for note in content.get("footnotes", []):
            labels.setdefault(note, []).append(row.label)
    return [note if len(named) == len(rows) else f"{', '.join(named)}: {note}" for note, named in labels.items()]
