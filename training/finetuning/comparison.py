"""A table over finished runs: models in rows, tasks in columns, and HashFormers' measures of efficiency (4.4).

PRR is equation 4, PCR 5 and 6, PoEP 7 and the speed-up 8. The numbers of embedding parameters follow Appendix B.
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from vocabless.modeling.blocks import NUM_SPECIAL
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.overrides import describe_overrides
from vocabless.saving.public_names import public_name
from vocabless.saving.run_folder import RESULTS
from vocabless.training.finetuning.glue import AVERAGES, GLUE
from vocabless.training.finetuning.inference_time import CONDITIONS, load_encoder, milliseconds_per_sample
from vocabless.training.finetuning.report import CENTERS, markdown_table, percent

MEASURES = {task: names[0] for task, names in AVERAGES["HashFormers"]} | {"wnli": "accuracy"}  # of Table 1
TABLES_OF_SPECIAL_TOKENS = ("token_kinds.weight", "special.weight", "elements.weight")  # their first rows
POSITIONS = "focus.weight"
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
        constant_baselines: task → the constant baseline.
        parameters: of the fine-tuned model of the first task.
        embedding_parameters: those that make embeddings of ordinary tokens.
        milliseconds: of inference, per sample.
    """

    name: str
    scores: Mapping[str, float]
    measures: Mapping[str, str]
    constant_baselines: Mapping[str, float]
    parameters: int
    embedding_parameters: int
    milliseconds: float

    def average(self, tasks: Sequence[str]) -> float:
        """Returns the mean score of the tasks."""
        return statistics.fmean(self.scores[task] for task in tasks)


@dataclass(frozen=True)
class Comparison:
    """The rows of finished runs, and the baseline among them."""

    runs: Sequence[ComparedRun]
    baseline: ComparedRun

    @property
    def tasks(self) -> list[str]:
        """The tasks of all runs, in the order in which they first occur."""
        return list(dict.fromkeys(task for run in self.runs for task in run.scores))

    @property
    def common_tasks(self) -> list[str]:
        """The tasks that every run has: the average is over these."""
        return [task for task in self.tasks if all(task in run.scores for run in self.runs)]

    def figures(self, run: ComparedRun) -> dict[str, Any]:
        """Returns all figures of a row; shares are 0–1."""
        base, common = self.baseline, self.common_tasks
        return {
            "scores": dict(run.scores),
            "average": run.average(common),
            "prr": retention(run.average(common), base.average(common)),
            "prr_by_task": {
                task: retention(run.scores[task], base.scores[task]) for task in run.scores if task in base.scores
            },
            "parameters": run.parameters,
            "embedding_parameters": run.embedding_parameters,
            "pcr_all": compression(run.parameters, base.parameters),
            "pcr_embeddings": compression(run.embedding_parameters, base.embedding_parameters),
            "poep": embedding_share(run.embedding_parameters, run.parameters),
            "milliseconds_per_sample": run.milliseconds,
            "speed_up": speed_up(run.milliseconds, base.milliseconds),
        }

    def as_json(self) -> dict[str, Any]:
        """Returns the table for a JSON file."""
        return {
            "baseline": self.baseline.name,
            "measures": {task: run.measures[task] for run in self.runs for task in run.scores},
            "constant_baselines": {task: run.constant_baselines[task] for run in self.runs for task in run.scores},
            "rows": [{"name": run.name, **self.figures(run)} for run in self.runs],
            "timing": CONDITIONS,
        }

    def as_markdown(self) -> str:
        """Returns the table, with its legend."""
        measures, constants = self.as_json()["measures"], self.as_json()["constant_baselines"]
        titles = [f"{_title(task)} {measures[task].replace('_', ' ')}" for task in self.tasks]
        header = [
            "model",
            *titles,
            "average",
            "PRR",
            "parameters",
            "PCR",
            "embeddings",
            "PCR emb.",
            "PoEP",
            "ms/sample",
        ]
        rows = [[*header, "speed-up"]]
        for run in self.runs:
            f = self.figures(run)
            rows.append([
                run.name, *(percent(run.scores.get(task)) or "–" for task in self.tasks), percent(f["average"]),
                percent(f["prr"]) or "–", f"{run.parameters:,}", percent(f["pcr_all"]) or "–",
                f"{run.embedding_parameters:,}", percent(f["pcr_embeddings"]) or "–", percent(f["poep"]),
                f"{run.milliseconds:.2f}", f"{f['speed_up']:.2f}",
            ])  # fmt: skip
        constant = statistics.fmean(constants[task] for task in self.common_tasks)
        rows.append(["constant", *(percent(constants[task]) for task in self.tasks), percent(constant), *[""] * 8])
        lines = [f"Baseline: {self.baseline.name}", "", *markdown_table(rows, left=1), "", LEGEND, "", CONDITIONS, ""]
        return "\n".join(lines)


def compare_runs(folders: Sequence[str], baseline: str | None, summary: str) -> Comparison:
    """Returns the comparison of finished runs of `run_glue.py`; the time of inference is measured now.

    Args:
        folders: their output folders.
        baseline: one of them, or a further one, which becomes the first row; None is the first.
        summary: `mean` or `median`, over the seeds.

    Raises:
        ValueError: a folder holds no finished run, a folder is named twice, or no task is in all of them.
    """
    all_folders = [folder for folder in (baseline,) if folder is not None and folder not in folders] + list(folders)
    if len({Path(folder).resolve() for folder in all_folders}) < len(all_folders):
        raise ValueError(f"--compare names a folder twice: {', '.join(all_folders)}; name each once.")
    contents = [_read(Path(folder)) for folder in all_folders]
    models = [_any_model(Path(folder), content) for folder, content in zip(all_folders, contents, strict=True)]
    encoders = [load_encoder(model) for model in models]
    times = milliseconds_per_sample(models, encoders)
    names = _names(all_folders, contents)
    rows = zip(names, contents, encoders, times, strict=True)
    runs = [_row(name, content, encoder, milliseconds, summary) for name, content, encoder, milliseconds in rows]
    comparison = Comparison(runs, runs[0 if baseline is None else all_folders.index(baseline)])
    if not comparison.common_tasks:
        raise ValueError(f"the runs {', '.join(all_folders)} have no task in common; compare runs of the same task.")
    return comparison


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


def _row(
    name: str, content: Mapping[str, Any], encoder: PreTrainedModel, milliseconds: float, summary: str
) -> ComparedRun:
    center = CENTERS[summary]
    measures = {
        task: MEASURES.get(task, next(iter(constants))) for task, constants in content["constant_baselines"].items()
    }
    first_run: dict[str, Any] = next(iter(next(iter(content["runs"].values())).values()))
    return ComparedRun(
        name=name,
        scores={
            task: center([metrics[measures[task]] for metrics in seeds.values()])
            for task, seeds in content["scores"].items()
        },
        measures=measures,
        constant_baselines={
            task: constants[measures[task]] for task, constants in content["constant_baselines"].items()
        },
        parameters=first_run["parameters"],
        embedding_parameters=embedding_parameters(encoder),
        milliseconds=milliseconds,
    )


def _read(folder: Path) -> dict[str, Any]:
    """Returns `results.json` of a finished command.

    Raises:
        ValueError: there is none.
    """
    try:
        content: dict[str, Any] = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
        if content["scores"] and content["runs"]:
            return content
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{str(folder)!r} holds no finished run of run_glue.py; give the output folder of one.")


def _any_model(folder: Path, content: Mapping[str, Any]) -> Path:
    """Returns the folder of the first seed of the first task that is there: all have the same encoder."""
    places: list[Path] = [folder / task / f"seed-{seed}" for task, seeds in content["scores"].items() for seed in seeds]
    for place in places:
        if (place / "config.json").is_file():
            return place
    raise ValueError(f"{str(folder)!r} holds results but no model; give the folder that run_glue.py wrote.")


def _names(folders: Sequence[str], contents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a name for each run: its model with its overrides, or its folder where these are not unique."""
    models = [public_name(str(content["arguments"]["model_name_or_path"])) for content in contents]
    overrides = [content["arguments"].get("overrides") for content in contents]
    names = [describe_overrides(*each) or each[0] for each in zip(models, overrides, strict=True)]
    return [
        f"{name} ({Path(folder).name})" if names.count(name) > 1 else name
        for name, folder in zip(names, folders, strict=True)
    ]


def _title(task: str) -> str:
    return GLUE[task].title if task in GLUE else task
