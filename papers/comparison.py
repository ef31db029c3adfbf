"""One table over finished runs of `run_glue.py`, with HashFormers' measures of efficiency (4.4).

    python -m papers compare runs/glue/bert-tiny runs/glue/hashformer-lsh-proj-tiny --output_dir runs/comparison

PRR is equation 4, PCR 5 and 6, PoEP 7 and the speed-up 8. Parameters are those of the binary task (Appendix B).
"""

import json
import re
import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging

from benchmarks.measure import aligned_table
from benchmarks.peers import Side, milliseconds_per_text
from papers.counts import parameter_figures
from papers.table import CENTERS, format_figure
from vocabless.overrides import describe_overrides

MEASURES = {"qqp": "f1", "stsb": "spearman"}  # of HashFormers, 4.3; of other tasks the first one
SENTENCES, MIN_WORDS, BATCH_SIZE, ROUNDS = 64, 8, 32, 5
CONDITIONS = (
    f"ms/sample: the forward pass of the encoder over {SENTENCES} sentences of Python's reference, in batches of "
    f"{BATCH_SIZE} as long as their longest sentence; median of {ROUNDS} rounds after one warm-up, all in turns. "
    "Embeddings of units are remembered where the model remembers them."
)
LEGEND = (
    "Scores, PRR, PCR and PoEP in percent. Average: over the tasks that all runs have. PRR: the average divided by the "
    "baseline's. PCR: how many of the baseline's parameters are saved, of all and of those of the embeddings. PoEP: "
    "share of the embeddings in all parameters, which are those of a binary task. Constant: the best score of a "
    "prediction that is the same for every example."
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
class FinishedRun:
    """A finished command of `run_glue.py`."""

    content: Mapping[str, Any]  # its `results.json`
    model: Path  # folder of its first model; all have the same encoder
    name: str  # of the model with its overrides

    @classmethod
    def read(cls, folder: Path) -> "FinishedRun":
        """Reads the output folder of a command.

        Raises:
            ValueError: it holds no finished run, or no model.
        """
        try:
            content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
            places = [folder / task / f"seed-{seed}" for task, seeds in content["scores"].items() for seed in seeds]
            arguments = content["arguments"] if content["runs"] else None
        except (OSError, ValueError, KeyError, TypeError):
            arguments = None
        if arguments is None:
            raise ValueError(f"{str(folder)!r} holds no finished run of run_glue.py; give the output folder of one.")
        model = next((place for place in places if (place / "config.json").is_file()), None)
        if model is None:
            raise ValueError(f"{str(folder)!r} holds results but no model; give the folder that run_glue.py wrote.")
        name = str(arguments["model_name_or_path"])
        return cls(content, model, describe_overrides(name, arguments.get("overrides")) or name)

    @property
    def measures(self) -> dict[str, str]:
        """Task → name of the measure that is compared."""
        constants = self.content["constant_baselines"]
        return {task: MEASURES.get(task, next(iter(figures))) for task, figures in constants.items()}

    @property
    def scores(self) -> dict[str, list[float]]:
        """Task → the score of each seed."""
        measures, of_task = self.measures, self.content["scores"]
        return {task: [metrics[measures[task]] for metrics in seeds.values()] for task, seeds in of_task.items()}


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers compare`."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="output folders of finished runs of run_glue.py")
    parser.add_argument("--baseline_run", metavar="RUN", help="run to compare with; None is the first")
    parser.add_argument("--summary", choices=list(CENTERS), default="mean", help="over the seeds (default: mean)")
    parser.add_argument("--output_dir", help="folder for comparison.md and comparison.json; None writes nothing")


def run(arguments: Namespace) -> str:
    """Returns the table of the runs, and writes it if a folder is given.

    Raises:
        ValueError: a folder holds no finished run, a folder is named twice, or no task is in all of them.
    """
    base = arguments.baseline_run or arguments.runs[0]
    folders = arguments.runs if base in arguments.runs else [base, *arguments.runs]
    if len({Path(folder).resolve() for folder in folders}) < len(folders):
        raise ValueError(f"a folder is named twice: {', '.join(folders)}; name each once.")
    finished = [FinishedRun.read(Path(folder)) for folder in folders]
    names = [each.name for each in finished]
    names = [
        f"{name} ({Path(folder).name})" if names.count(name) > 1 else name
        for name, folder in zip(names, folders, strict=True)
    ]
    content = compare_runs(finished, names, arguments.summary, folders.index(base))
    text = as_markdown(content)
    if arguments.output_dir is not None:
        folder = Path(arguments.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "comparison.md").write_text(text, encoding="utf-8")
        (folder / "comparison.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return text


def compare_runs(runs: Sequence[FinishedRun], names: Sequence[str], summary: str, base: int = 0) -> dict[str, Any]:
    """Returns all figures of the table, as they stand in comparison.json; shares are 0–1. Times are measured now.

    `base` is the place of the run that the ratios compare with.

    Raises:
        ValueError: no task is in all of the runs.
    """
    every = list(dict.fromkeys(task for run in runs for task in run.scores))
    common = [task for task in every if all(task in run.scores for run in runs)]
    if not common:
        raise ValueError(f"{', '.join(names)} have no task in common; compare runs of the same.")
    centers = [{task: CENTERS[summary](values) for task, values in run.scores.items()} for run in runs]
    averages = [statistics.fmean(each[task] for task in common) for each in centers]
    counts = [parameter_figures(AutoConfig.from_pretrained(run.model)) for run in runs]
    times = inference_times(runs)
    rows = []
    for run, name, own, average, count, time in zip(runs, names, centers, averages, counts, times, strict=True):
        # The deviation is that of a sample, over the seeds that all tasks have.
        by_seed = [statistics.fmean(values) for values in zip(*(run.scores[task] for task in common), strict=False)]
        row = {
            "name": name,
            "scores": own,
            "average": average,
            "average_deviation": statistics.stdev(by_seed) if len(by_seed) > 1 else None,
            "prr": retention(average, averages[base]),
            "prr_by_task": {task: retention(own[task], centers[base][task]) for task in own if task in centers[base]},
            "parameters": count["parameters"],
            "embedding_parameters": count["embedding_parameters"],
            "pcr_all": compression(count["parameters"], counts[base]["parameters"]),
            "pcr_embeddings": compression(count["embedding_parameters"], counts[base]["embedding_parameters"]),
            "poep": embedding_share(count["embedding_parameters"], count["parameters"]),
            "milliseconds_per_sample": time,
            "samples_per_second": 1000 / time,
            "speed_up": speed_up(time, times[base]),
        }
        rows.append(row)
    measures = {task: run.measures[task] for run in runs for task in run.scores}
    constants = {task: run.content["constant_baselines"][task][measures[task]] for run in runs for task in run.scores}
    return {
        "baseline": names[base],
        "measures": measures,
        "constant_baselines": constants,
        "averaged": common,
        "rows": rows,
        "timing": CONDITIONS,
    }


def inference_times(finished: Sequence[FinishedRun]) -> list[float]:
    """Returns the time of the forward pass of each encoder, in milliseconds per sentence."""
    text = " ".join(" ".join(topics.values()).split())  # Python's language reference comes with Python
    sentences = [each for each in re.split(r"(?<=[.!?]) ", text) if len(each.split()) >= MIN_WORDS][:SENTENCES]
    logging.set_verbosity_error()  # an encoder without its head is no mistake
    logging.disable_progress_bar()
    models = [each.model for each in finished]
    sides = [Side(AutoTokenizer.from_pretrained(each), AutoModel.from_pretrained(each).eval()) for each in models]
    return milliseconds_per_text(sides, sentences, BATCH_SIZE, ROUNDS, with_tokenizer=False, is_anew=False)


def as_markdown(content: Mapping[str, Any]) -> str:
    """Returns the table of what `compare_runs` returns, with its legend."""
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
    table = aligned_table(rows, 1)
    return "\n".join([f"Baseline: {content['baseline']}", "", table, "", LEGEND, "", CONDITIONS, ""])


def _percent(share: float | None) -> str:
    return format_figure(None if share is None else 100 * share)
