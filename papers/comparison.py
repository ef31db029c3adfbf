"""One table over finished runs of `run_glue.py`, with HashFormers' measures of efficiency (4.4).

    python -m papers compare runs/glue/bert-tiny runs/glue/hashformer-lsh-proj-tiny --output_dir runs/comparison

PRR is equation 4, PCR 5 and 6, PoEP 7 and the speed-up 8. The numbers of embedding parameters follow Appendix B.
"""
# mypy: allow-untyped-calls

import json
import re
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from papers.table import CENTERS, markdown_table
from vocabless import VocablessModel
from vocabless.overrides import describe_overrides

MEASURES = {"qqp": "f1", "stsb": "spearman"}  # of HashFormers, 4.3; of other tasks the first one
NUM_SPECIAL = 5  # rows for special tokens, the first of the tables that have them
TABLES_OF_SPECIAL_TOKENS = ("token_kinds.weight", "special.weight", "elements.weight")
POSITIONS = "focus.weight"
SENTENCES, MIN_WORDS, BATCH_SIZE, ROUNDS = 64, 8, 32, 5
CONDITIONS = (
    f"ms/sample: the forward pass of the encoder over {SENTENCES} sentences of Python's reference, in batches of "
    f"{BATCH_SIZE} as long as their longest sentence; median of {ROUNDS} rounds after one warm-up, all in turns. "
    "Embeddings of units are remembered where the model remembers them."
)
LEGEND = (
    "Scores, PRR, PCR and PoEP in percent. Average: over the tasks that all runs have. PRR: the average divided by the "
    "baseline's. PCR: how many of the baseline's parameters are saved, of all and of those of the embeddings. PoEP: "
    "share of the embeddings in all parameters. Constant: the best score of a prediction that is the same for every "
    "example."
)


def retention(score: float, baseline: float) -> float | None:
    """Returns PRR (equation 4), score / baseline; None if the baseline's score is not positive."""
    return score / baseline if baseline > 0 else None


def compression(parameters: int, baseline: int) -> float | None:
    """Returns PCR (equations 5 and 6), 1 − parameters / baseline; None if the baseline has none."""
    return 1 - parameters / baseline if baseline else None


def embedding_share(embeddings: int, parameters: int) -> float:
    """Returns PoEP (equation 7)."""
    return embeddings / parameters


def speed_up(milliseconds: float, baseline: float) -> float:
    """Returns the speed-up (equation 8)."""
    return baseline / milliseconds


@dataclass(frozen=True)
class ComparedRun:
    """One row of the table.

    Attributes:
        name: of the model.
        scores: task → the score in the table, the mean or median over the seeds.
        measures: task → name of its measure.
        constants: task → the constant baseline.
        parameters: of the fine-tuned model of the first task.
        embedding_parameters: those that make embeddings of ordinary tokens.
        milliseconds: of inference, per sample.
    """

    name: str
    scores: Mapping[str, float]
    measures: Mapping[str, str]
    constants: Mapping[str, float]
    parameters: int
    embedding_parameters: int
    milliseconds: float

    def figures(self, base: "ComparedRun", tasks: Sequence[str]) -> dict[str, Any]:
        """Returns the figures of the row; shares are 0–1.

        Args:
            base: the run that the ratios compare with.
            tasks: those that the average is over.
        """
        average, base_average = (statistics.fmean(run.scores[task] for task in tasks) for run in (self, base))
        return {
            "name": self.name,
            "scores": dict(self.scores),
            "average": average,
            "prr": retention(average, base_average),
            "prr_by_task": {
                task: retention(score, base.scores[task]) for task, score in self.scores.items() if task in base.scores
            },
            "parameters": self.parameters,
            "embedding_parameters": self.embedding_parameters,
            "pcr_all": compression(self.parameters, base.parameters),
            "pcr_embeddings": compression(self.embedding_parameters, base.embedding_parameters),
            "poep": embedding_share(self.embedding_parameters, self.parameters),
            "milliseconds_per_sample": self.milliseconds,
            "speed_up": speed_up(self.milliseconds, base.milliseconds),
        }


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers compare`."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="output folders of finished runs of run_glue.py")
    parser.add_argument("--baseline_run", metavar="RUN", help="run to compare with; None is the first")
    parser.add_argument("--summary", choices=list(CENTERS), default="mean", help="over the seeds (default: mean)")
    parser.add_argument("--output_dir", help="folder for comparison.md and comparison.json; None writes nothing")


def run(arguments: Namespace) -> str:
    """Returns the table over the runs, and writes it."""
    content = compare_runs(arguments.runs, arguments.baseline_run, arguments.summary)
    text = as_markdown(content)
    if arguments.output_dir is not None:
        folder = Path(arguments.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "comparison.md").write_text(text, encoding="utf-8")
        (folder / "comparison.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return text


def compare_runs(folders: Sequence[str], baseline: str | None, summary: str) -> dict[str, Any]:
    """Returns what `compared` returns for finished runs; the time of inference is measured now.

    Args:
        folders: their output folders.
        baseline: one of them, or a further one, which becomes the first row; None is the first.
        summary: `mean` or `median`, over the seeds.

    Raises:
        ValueError: a folder holds no finished run, a folder is named twice, or no task is in all of them.
    """
    every = [folder for folder in (baseline,) if folder is not None and folder not in folders] + list(folders)
    if len({Path(folder).resolve() for folder in every}) < len(every):
        raise ValueError(f"a folder is named twice: {', '.join(every)}; name each once.")
    contents = [read_run(Path(folder)) for folder in every]
    models = [_any_model(Path(folder), content) for folder, content in zip(every, contents, strict=True)]
    logging.set_verbosity_error()  # an encoder without its head is no mistake
    logging.disable_progress_bar()
    encoders = [AutoModel.from_pretrained(model).eval() for model in models]
    times = milliseconds_per_sample(models, encoders)
    rows = zip(_names(every, contents), contents, encoders, times, strict=True)
    runs = [_row(name, content, encoder, milliseconds, summary) for name, content, encoder, milliseconds in rows]
    return compared(runs, runs[0 if baseline is None else every.index(baseline)])


def compared(runs: Sequence[ComparedRun], base: ComparedRun) -> dict[str, Any]:
    """Returns all figures of the table, as they stand in comparison.json.

    Raises:
        ValueError: no task is in all of the runs.
    """
    every = list(dict.fromkeys(task for run in runs for task in run.scores))
    common = [task for task in every if all(task in run.scores for run in runs)]
    if not common:
        raise ValueError(f"{', '.join(run.name for run in runs)} have no task in common; compare runs of the same.")
    return {
        "baseline": base.name,
        "measures": {task: run.measures[task] for run in runs for task in run.scores},
        "constant_baselines": {task: run.constants[task] for run in runs for task in run.scores},
        "averaged": common,
        "rows": [run.figures(base, common) for run in runs],
        "timing": CONDITIONS,
    }


def as_markdown(content: Mapping[str, Any]) -> str:
    """Returns the table of what `compared` returns, with its legend."""
    measures, constants = content["measures"], content["constant_baselines"]
    titles = [f"{task} {measure.replace('_', ' ')}" for task, measure in measures.items()]
    rows = [["model", *titles, "average", "PRR", "parameters", "PCR", "embeddings", "PCR emb.", "PoEP", "ms/sample",
             "speed-up"]]  # fmt: skip
    for f in content["rows"]:
        rows.append([
            f["name"], *(_percent(f["scores"].get(task)) for task in measures), _percent(f["average"]),
            _percent(f["prr"]), f"{f['parameters']:,}", _percent(f["pcr_all"]), f"{f['embedding_parameters']:,}",
            _percent(f["pcr_embeddings"]), _percent(f["poep"]), f"{f['milliseconds_per_sample']:.2f}",
            f"{f['speed_up']:.2f}",
        ])  # fmt: skip
    average = statistics.fmean(constants[task] for task in content["averaged"])
    rows.append(["constant", *map(_percent, constants.values()), _percent(average), *[""] * 8])
    table = markdown_table(rows, left=1)
    return "\n".join([f"Baseline: {content['baseline']}", "", *table, "", LEGEND, "", CONDITIONS, ""])


def embedding_parameters(model: PreTrainedModel) -> int:
    """Returns the parameters that make the embeddings of ordinary tokens, as HashFormers counts them (Appendix B).

    Positions do not count. Special tokens do not count either, except in a table that all tokens share: the word table
    of a stock model (equation 9), and the buckets of Emb, whose printed size has them in it.
    """
    if isinstance(model, VocablessModel):
        count = 0
        for name, parameter in model.front_end.named_parameters():
            if name != POSITIONS:
                special = NUM_SPECIAL * parameter.shape[-1] if name in TABLES_OF_SPECIAL_TOKENS else 0
                count += parameter.numel() - special
        return count
    tables = [weight for name, weight in model.named_parameters() if "HashBucket" in name]  # CANINE, equation 10
    if tables:
        return sum(table.numel() for table in tables)
    words = model.get_input_embeddings()
    assert isinstance(words, nn.Embedding)
    return words.weight.numel()


def milliseconds_per_sample(folders: Sequence[Path], encoders: Sequence[PreTrainedModel]) -> list[float]:
    """Returns the time of the forward pass of each encoder, in milliseconds per sentence.

    Args:
        folders: of the checkpoints, for their tokenizers.
        encoders: their models.
    """
    text = " ".join(" ".join(topics.values()).split())  # Python's language reference comes with Python
    sentences = [each for each in re.split(r"(?<=[.!?]) ", text) if len(each.split()) >= MIN_WORDS][:SENTENCES]

    def forward(folder: Path, encoder: PreTrainedModel) -> Callable[[], None]:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        batches = [
            tokenizer(sentences[start : start + BATCH_SIZE], padding=True, truncation=True, return_tensors="pt")
            for start in range(0, len(sentences), BATCH_SIZE)
        ]

        def run() -> None:
            with torch.inference_mode():
                for batch in batches:
                    encoder(**batch)

        return run

    seconds = seconds_in_turns([forward(*pair) for pair in zip(folders, encoders, strict=True)], ROUNDS)
    return [1000 * measured / len(sentences) for measured in seconds]


def seconds_in_turns(
    runs: Sequence[Callable[[], Any]], rounds: int, before: Sequence[Callable[[], Any]] | None = None
) -> list[float]:
    """Returns the median seconds of each function over the rounds, after one round as a warm-up.

    Args:
        runs: what is measured.
        rounds: number of measured rounds.
        before: run before each of them, and not measured.
    """
    seconds: list[list[float]] = [[] for _ in runs]
    for number in range(rounds + 1):
        for place, run in enumerate(runs):
            if before is not None:
                before[place]()
            start = time.perf_counter()
            run()
            if number > 0:
                seconds[place].append(time.perf_counter() - start)
    return [statistics.median(measured) for measured in seconds]


def read_run(folder: Path) -> dict[str, Any]:
    """Returns `results.json` of a finished command.

    Raises:
        ValueError: there is none.
    """
    try:
        content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        if content["scores"] and content["runs"]:
            return content
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{str(folder)!r} holds no finished run of run_glue.py; give the output folder of one.")


def _row(
    name: str, content: Mapping[str, Any], encoder: PreTrainedModel, milliseconds: float, summary: str
) -> ComparedRun:
    all_constants = content["constant_baselines"]
    measures = {task: MEASURES.get(task, next(iter(constants))) for task, constants in all_constants.items()}
    first_run: dict[str, Any] = next(iter(next(iter(content["runs"].values())).values()))
    return ComparedRun(
        name=name,
        scores={
            task: CENTERS[summary]([metrics[measures[task]] for metrics in seeds.values()])
            for task, seeds in content["scores"].items()
        },
        measures=measures,
        constants={task: constants[measures[task]] for task, constants in all_constants.items()},
        parameters=first_run["parameters"],
        embedding_parameters=embedding_parameters(encoder),
        milliseconds=milliseconds,
    )


def _any_model(folder: Path, content: Mapping[str, Any]) -> Path:
    """Returns the folder of the first seed of the first task that is there: all have the same encoder."""
    places: list[Path] = [folder / task / f"seed-{seed}" for task, seeds in content["scores"].items() for seed in seeds]
    for place in places:
        if (place / "config.json").is_file():
            return place
    raise ValueError(f"{str(folder)!r} holds results but no model; give the folder that run_glue.py wrote.")


def _names(folders: Sequence[str], contents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a name for each run: its model with its overrides, or its folder where these are not unique."""
    models = [str(content["arguments"]["model_name_or_path"]) for content in contents]
    overrides = [content["arguments"].get("overrides") for content in contents]
    names = [describe_overrides(*each) or each[0] for each in zip(models, overrides, strict=True)]
    return [
        f"{name} ({Path(folder).name})" if names.count(name) > 1 else name
        for name, folder in zip(names, folders, strict=True)
    ]


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
