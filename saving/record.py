"""What a model card says about the training of a checkpoint: `results.json` → `CardFacts`.

A card is made of the `results.json` of its run alone, so the run writes there whatever its card says.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from huggingface_hub import EvalResult, ModelCard, ModelCardData, constants
from transformers.utils.hub import cached_file

from vocabless.loading import ENCODERS, default_encoder
from vocabless.overrides import describe_overrides
from vocabless.public_names import DATASET_ID, EMBEDDED, without_path
from vocabless.saving.checkpoint_files import first_line
from vocabless.saving.run_folder import RESULTS
from vocabless.saving.tables import markdown_table, vector_tables

OWN_LICENSE = "apache-2.0"  # license of weights that this project trains from random initialisation
SHIPPED = Path(__file__).resolve().parent.parent / "checkpoints"  # in a clone
ENGLISH = "en"  # of the embedded corpus, of GLUE, and of the translations

GLUE_REPOSITORY = "nyu-mll/glue"
GLUE_TITLES = {  # configuration of the Hub's data set → name in tables
    **{"cola": "CoLA", "sst2": "SST-2", "mrpc": "MRPC", "stsb": "STS-B", "qqp": "QQP", "mnli": "MNLI"},
    **{"qnli": "QNLI", "rte": "RTE", "wnli": "WNLI"},
}
MISMATCHED = "_mm"  # suffix of the metrics on MNLI's mismatched part
TEST = "test_"  # prefix of the metrics on a test file
STSB = "GLUE STS-B"
STSB_PAIRS = "1,500 with hash 7b18830f9433c016"  # `rows_fingerprint` of its validation part
LABELLED, UNLABELLED, COPIES = "training rows", "unlabelled rows", "corrupted copies"  # what a teacher labels
MIN_ROWS = 100  # of a held-out part, for a score in the metadata
HELD_OUT = {  # scored folds of five → what was scored, if the saved model learned all rows
    1: "Scores on training rows are those of a model that learned four fifths of them, on the rest.",
    5: "Scores on training rows are those of five models: each learned four fifths of them and was scored on the rest.",
}
# Our name of a metric → the Hub's name, where they differ.
METRIC_IDS = {"pearson": "pearsonr", "spearman": "spearmanr"}
METRIC_IDS |= {f"{average}_{name}": name for average in ("micro", "macro") for name in ("precision", "recall", "f1")}


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """Facts about the training of a checkpoint. The templates in model_cards/ read them by these names.

    A fact that is not known keeps its default, and the card leaves it out. What a run writes under one of these names
    is that fact, unless `_fine_tuned` or `_pre_trained` makes it of more.
    """

    kind: Literal["pre-trained", "fine-tuned", "random", "unknown"]  # of training; it selects sentences of the card
    title: str | None = None  # None: made of the other facts
    notes: str | None = None  # Markdown that a person adds
    license: str | None = None  # of the weights, by the Hub's name
    language: str | Sequence[str] | None = None  # of the training texts, ISO 639 codes
    datasets: Sequence[str] = ()  # Hub ids
    learning_rate: float | None = None  # the peak
    length: int | None = None  # maximum tokens of a sequence
    seed: int | None = None
    versions: Mapping[str, str] | None = None  # package → version
    measures: str | None = None  # Markdown table of the results
    teacher: str | None = None  # name or description of the model whose outputs were learned
    overrides: str = ""  # the variant and what the run changed of it; "" if it changed nothing
    start: str | None = None  # variant, Hub id or folder name of the starting model; pre-trained: None is fresh weights
    base_model: str | None = None  # the starting checkpoint: a Hub id, or the name of one that ships
    eval_results: Sequence[EvalResult] = ()  # for the card's metadata

    # fine-tuned
    dataset: str | None = None  # name of the task
    from_scratch: bool = False  # whether the starting weights were random
    is_pair: bool = False  # whether an example is a pair of texts
    is_own_data: bool = False  # whether the texts are the user's own, not those of a benchmark
    example: Sequence[str] = ()  # a text that the user gave, or both of a pair; empty takes that of the head
    threshold: float | None = None  # probability above which one of several labels is predicted
    reject: Mapping[str, Any] | None = None  # the share of texts that get the last label, and this label
    epochs: float | None = None  # that were run
    keeps_best: bool = False  # whether the best checkpoint of the run was kept, not the last
    is_head_alone: bool = False  # whether the head alone was trained, or kept
    is_mean_of_weights: bool = False  # whether the weights are the mean of those before and after training
    batch_size: int | None = None  # examples per step on each device
    teacher_rows: str | None = None  # what the teacher labelled, with the numbers of rows
    train_rows: int | None = None  # with labels of the data

    # pre-trained
    shape: str | None = None  # name of the stock shape, or of the variant before what the run changed of it
    corpus: str | None = None  # names of the corpora
    objective: str | None = None  # what the model learned to predict
    steps: int | None = None  # of the optimizer
    tokens: int | None = None  # that the model read
    teacher_license: str | None = None  # by the Hub's name
    is_sentence_model: bool = False  # whether the folder is a sentence-transformers model with the teacher's vectors


RANDOM_WEIGHTS = CardFacts(kind="random", license=OWN_LICENSE)  # a checkpoint that was never trained
UNKNOWN_TRAINING = CardFacts(kind="unknown")  # a checkpoint without a record of its training


def read_card_facts(source: str) -> CardFacts:
    """Returns what the `results.json` of a checkpoint, a folder or a Hub id, says about its training, if it has one.

    Raises:
        ValueError: the file is damaged, or holds other types than a run writes.
    """
    try:
        file = str(cached_file(source, RESULTS))
    except OSError:
        return UNKNOWN_TRAINING
    try:
        return card_facts(json.loads(Path(file).read_text(encoding="utf-8")))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"{file!r} is not what a run writes ({type(error).__name__}: {first_line(error)}); repair it, or "
            "remove it to make a card without the training."
        ) from error


def card_facts(results: Mapping[str, Any]) -> CardFacts:
    """Returns what the card says, from the content of a `results.json`."""
    if "constant_baselines" in results:
        of_kind = _fine_tuned(results)
    elif "objective" in results:
        of_kind = _pre_trained(results)
    else:
        return UNKNOWN_TRAINING
    arguments = results["arguments"]
    given = {"learning_rate": arguments["learning_rate"], "length": arguments["max_seq_length"]}
    given["seed"] = arguments.get("seed")  # a command of several seeds records that of each run
    recorded = {field.name: results[field.name] for field in fields(CardFacts) if field.name in results}
    return CardFacts(**given | recorded | of_kind | results.get("about", {}))  # the last is what a person added


def provenance(start: str, from_scratch: bool) -> dict[str, Any]:
    """Returns `license`, `language` and `base_model` of the card, which a run records while its start can be read.

    License and language are those in the card of the start, a folder or a Hub id. Of folders, only those that ship are
    named as the base model; others are places on a disk. With `from_scratch`, `start` is the name of random weights.
    """
    if from_scratch:
        return {"license": OWN_LICENSE, "language": None, "base_model": None}
    try:
        card = ModelCard.load(Path(str(cached_file(start, constants.REPOCARD_NAME)))).data
    except (OSError, ValueError):  # no readable card
        card = ModelCardData()
    folder = Path(start).resolve() if os.path.isdir(start) else None
    return {
        "license": card.license if isinstance(card.license, str) else None,  # a card can name several
        "language": card.language,
        "base_model": start if folder is None else folder.name if _ships(folder) else None,
    }


def _ships(folder: Path) -> bool:
    """Returns whether a folder is one of `SHIPPED`, or an encoder that the package carries."""
    return folder.parent == SHIPPED or folder in [Path(default_encoder(name)).resolve() for name in ENCODERS]


def describe_rows(teacher: Mapping[str, Any]) -> str:
    """Returns what a teacher labelled, such as "9 training rows and 18 corrupted copies", from its facts."""
    rows = teacher["rows"]
    kinds = [f"{rows[kind]:,} {kind}" for kind in (LABELLED, UNLABELLED, COPIES) if kind in rows]
    return " and ".join(", ".join(kinds).rsplit(", ", 1))


def held_out_metrics(results: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Returns (metric, before, after) of pre-training for each that the last evaluation has; NaN: the first lacks it.

    Their order is that of the objective.
    """
    before, after = results["before"], results["after"]
    keys = {name: f"eval_{name}" for name in results["metric_names"]}
    return [(name, before.get(key, math.nan), after[key]) for name, key in keys.items() if key in after]


def _fine_tuned(results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts on a run of `vocabless finetune`."""
    arguments, task, teacher = results["arguments"], results["task"], results.get("teacher")
    own_name = arguments.get("dataset_name") or ""
    is_own_data = results["is_own_data"]
    match = DATASET_ID.fullmatch(own_name if is_own_data else f"{GLUE_REPOSITORY}:{task}")
    hub_id, configuration = match.group("path", "name") if match else (own_name, None)
    dataset = task if is_own_data else f"GLUE {GLUE_TITLES[task]}"
    start = str(arguments["model_name_or_path"])

    def eval_result(name: str) -> EvalResult:
        """Returns a score as the card's metadata holds it, in the unit of `results.json`."""
        metric = name.removeprefix(TEST).removesuffix(MISMATCHED)
        part = "" if task != "mnli" else "_mismatched" if name.endswith(MISMATCHED) else "_matched"
        split = None if is_own_data else f"validation{part}"  # own rows can be held out, and are no split then
        return EvalResult(
            task_type="text-classification",
            dataset_type=hub_id or dataset,
            dataset_name=dataset,
            dataset_config=configuration,
            dataset_split="test" if name.startswith(TEST) else split,
            metric_type=METRIC_IDS.get(metric, metric),
            metric_name=metric.replace("_", " "),
            metric_value=results["measures"][name],
        )

    return {
        "kind": "fine-tuned",
        "start": without_path(start),
        "overrides": describe_overrides(start, arguments.get("overrides")),
        **results["start"],
        **({} if is_own_data else {"language": ENGLISH}),
        "dataset": dataset,
        "datasets": [hub_id] if hub_id else [],
        "keeps_best": arguments["load_best_model_at_end"],
        "is_head_alone": _is_head_alone(results),
        "batch_size": arguments["per_device_train_batch_size"],
        "teacher": f"{teacher['name']} ({teacher['description']})" if teacher else None,
        "teacher_rows": describe_rows(teacher) if teacher else None,
        "measures": _score_table(results),
        "eval_results": [
            eval_result(name)
            for name, rows in results["rows"].items()
            if rows >= MIN_ROWS or (results.get("scored_folds") and not name.startswith(TEST))
        ],
    }


def _is_head_alone(results: Mapping[str, Any]) -> bool:
    return bool(results.get("head", {}).get("is_kept"))


def _score_table(results: Mapping[str, Any]) -> str:
    """Returns a Markdown table of the scores with their intervals and of the constant baselines.

    A run with a first head or a teacher has one more column, one with a labelled test file more rows.
    """
    scores, constants = results["measures"], results["constant_baselines"]
    legend = (
        "Scores are multiplied by 100. The interval holds the score on other texts of the same kind, 95 % sure. The "
        "constant baseline is the best score of a model that gives the same answer to every example."
    )
    columns = {"constant baseline": constants}
    if models := HELD_OUT.get(results.get("scored_folds", 0)):
        legend += f" {models} This model learned all of them."
    if "head" in results and not _is_head_alone(results):  # whose scores are those of this model
        columns["head alone"] = results["head"]["measures"]
        legend += " Head alone: a linear model of the encoder's vectors, before fine-tuning."
    if "teacher" in results:
        columns["teacher"] = results["teacher"]["measures"]
    rows = []
    for name, number in results["rows"].items():
        low, high = results["intervals"][name]
        shown = name.removeprefix(TEST).replace("_", " ") + (", test file" if name.startswith(TEST) else "")
        others = [f"{100 * column[name]:.1f}" if name in column else "–" for column in columns.values()]
        rows.append([shown, f"{100 * scores[name]:.1f}", f"{100 * low:.1f}–{100 * high:.1f}", f"{number:,}", *others])
    header = ["measure", "this model", "95 % interval", "texts", *columns]
    return f"{legend}\n\n{markdown_table(header, rows)}"


def _pre_trained(results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts on a run of `vocabless pretrain`."""
    arguments, start = results["arguments"], results.get("start", {})
    corpora = arguments["corpus"] or [EMBEDDED]
    on_hub = {corpus: match["path"] for corpus in corpora if (match := DATASET_ID.fullmatch(corpus))}
    examples = results.get("examples", {})  # empty but for `distill`
    translations = examples.get("translations")
    english = ENGLISH if corpora == [EMBEDDED] else None
    # The weights have the license of the teacher and of the checkpoint begun from, if they agree.
    sources = ((examples, "teacher_license"), (start, "license"))
    licenses = {facts.get(key) for facts, key in sources if facts} or {OWN_LICENSE}
    return {
        "kind": "pre-trained",
        "license": licenses.pop() if len(licenses) == 1 else None,
        "start": arguments.get("model_name_or_path"),
        "shape": arguments.get("variant"),
        "overrides": describe_overrides(str(arguments.get("variant")), arguments.get("overrides")),
        "base_model": start.get("base_model"),
        "language": sorted({*translations, ENGLISH}) if translations else english,
        "datasets": list(on_hub.values()),
        "objective": results["objective_text"],
        "corpus": ", ".join(corpus if corpus in on_hub else Path(corpus).name for corpus in corpora),
        "tokens": results["tokens_seen"],
        "measures": "\n\n".join([_metric_table(results), *vector_tables(results["after"])]),
        "teacher": examples.get("teacher"),
        "teacher_license": examples.get("teacher_license"),
        "is_sentence_model": bool(examples),
        "eval_results": [_stsb_result(results["after"])] if examples.get("sts") == STSB else [],
    }


def _stsb_result(after: Mapping[str, float]) -> EvalResult:
    """Returns Spearman's rho on STS-B by the names of sentence-transformers."""
    return EvalResult(
        task_type="semantic-similarity",
        task_name="Semantic Similarity",
        dataset_type=GLUE_REPOSITORY,
        dataset_name=STSB,
        dataset_config="stsb",
        dataset_split="validation",
        metric_type="spearman_cosine",
        metric_name="Spearman Cosine",
        metric_value=after["eval_spearman"],
    )


def _metric_table(results: Mapping[str, Any]) -> str:
    """Returns a Markdown table of the metrics before and after training."""
    rows = [
        [name.replace("_", " "), f"{before:.4f}", f"{after:.4f}"] for name, before, after in held_out_metrics(results)
    ]
    table = markdown_table(["measure on held-out text", "before", "after"], rows)
    file = results["arguments"].get("sts_file")
    if file is None:
        return table
    pairs = results.get("examples", {}).get("sts") or f"`{file}`"
    return (
        f"{table}\n\nSpearman: rank correlation of the cosines of vectors with people's scores, of the pairs of "
        f"texts in {pairs}. Teacher spearman: the same with the teacher's vectors."
    )
