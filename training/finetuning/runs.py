"""What `run_glue.py` is made of: its arguments, one run on one task, and the predictions that it writes."""
# mypy: allow-untyped-calls

import copy
import json
import math
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import EarlyStoppingCallback, PrinterCallback, TrainingArguments, set_seed
from transformers.trainer_utils import HubStrategy, SchedulerType

from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.model_card import write_card
from vocabless.saving.run_folder import HUB_ARGUMENTS, HUB_STRATEGY_HELP, RESULTS, claim, versions, write_json
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.card import card_facts
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.problems import Problem, Tagging
from vocabless.training.finetuning.starting_models import Start, longest_sequence
from vocabless.training.finetuning.tasks import Examples, Task
from vocabless.training.trainer import ResumableTrainer, TrainingStopped

# Where a command writes, how it reports and which runs it asks for do not make its runs other runs.
NOT_PART_OF_A_RUN = (
    *("output_dir", "logging_dir", "disable_tqdm", "report_to", "run_name", "logging_steps", "logging_strategy"),
    *("task_name", "seeds", "seed", "summary", "baseline_run", *HUB_ARGUMENTS),
)


@dataclass
class GlueArguments:
    """What is fine-tuned, on what, and how it is measured."""

    model_name_or_path: str = field(
        metadata={
            "help": "A variant, see vocabless.list_variants(), or a stock shape such as bert-tiny, both from scratch; "
            "or a folder or Hub id of any checkpoint."
        }
    )
    tokenizer_name: str | None = field(
        default=None,
        metadata={
            "help": "tokenizer.json, folder or Hub id; of subword variants and stock shapes also 'train': a WordPiece "
            "or BPE is trained on the task's own training text. None is the model's own."
        },
    )
    subword_vocab_size: int = field(default=8000, metadata={"help": "Tokens of a subword tokenizer that is trained."})
    model_revision: str = field(default="main", metadata={"help": "Branch, tag or commit of a Hub id."})
    trust_remote_code: bool = field(default=False, metadata={"help": "Whether a checkpoint may run code of its own."})
    task_name: list[str] | None = field(
        default=None, metadata={"help": "Tasks of GLUE: cola sst2 mrpc stsb qqp mnli qnli rte wnli, or all."}
    )
    data_dir: str | None = field(
        default=None,
        metadata={"help": "Folder with a folder of parquet files for each task. None fetches nyu-mll/glue."},
    )
    train_file: str | None = field(default=None, metadata={"help": "Your own data: csv, jsonl, json or parquet."})
    validation_file: str | None = field(
        default=None, metadata={"help": "What is evaluated. None holds out a part of the training data."}
    )
    test_file: str | None = field(default=None, metadata={"help": "What --do_predict predicts; labels are optional."})
    dataset_name: str | None = field(default=None, metadata={"help": "A data set of the Hub, in place of files."})
    dataset_config_name: str | None = field(default=None, metadata={"help": "Its configuration."})
    text_column: str | None = field(
        default=None, metadata={"help": "Column of the text. None is text, sentence, tokens or words."}
    )
    text_pair_column: str | None = field(default=None, metadata={"help": "Column of the text that it is paired with."})
    label_column: list[str] | None = field(
        default=None,
        metadata={
            "help": "Column of the labels; several give a text as many labels. None is label, labels, ner_tags or tags."
        },
    )
    label_separator: str | None = field(
        default=None, metadata={"help": "What separates many labels in one string, as csv files need it."}
    )
    task_type: str | None = field(
        default=None,
        metadata={
            "help": "single_label_classification, multi_label_classification, regression or token_classification. None "
            "goes by the labels: strings, integers: one; lists: many, or tags of a list of words; floats: a number."
        },
    )
    threshold: float = field(
        default=0.3, metadata={"help": "Probability above which one of many labels holds, 0–1 (Elementwise, 4.1)."}
    )
    cpc_positions: bool = field(
        default=False,
        metadata={"help": "Relabel lists of CPC codes: First-X for the first, Later-X for others (Elementwise, 4.1)."},
    )
    validation_split_percentage: float = field(
        default=10.0, metadata={"help": "Percent of the training data held out where nothing else is evaluated, 0–50."}
    )
    group_column: str | None = field(
        default=None, metadata={"help": "Rows with the same value in this column are held out together."}
    )
    max_seq_length: int = field(
        default=128, metadata={"help": "Tokens of a sequence; longer texts are cut. At most what the model takes."}
    )
    max_train_samples: int | None = field(default=None, metadata={"help": "Rows trained on, at random. None is all."})
    max_eval_samples: int | None = field(default=None, metadata={"help": "Rows evaluated, at random. None is all."})
    max_predict_samples: int | None = field(default=None, metadata={"help": "Rows predicted, at random. None is all."})
    seeds: int = field(default=1, metadata={"help": "Runs of each task, with seeds --seed, --seed + 1 and so on."})
    summary: str = field(
        default="mean", metadata={"help": "Of the seeds: mean or median.", "choices": ["mean", "median"]}
    )
    baseline_run: str | None = field(
        default=None, metadata={"help": "Folder of a finished run that the figures are divided by (PRR)."}
    )
    early_stopping_patience: int = field(
        default=2, metadata={"help": "Evaluations without a better one after which a run stops; 0 never stops early."}
    )


@dataclass
class GlueTrainingArguments(TrainingArguments):
    """The Trainer's own arguments, with HashFormers' values (Table 5): one set for all tasks.

    The paper says nothing of the length of a sequence (128 here), of weight decay (the Trainer's 0), of how early
    stopping waits (2 epochs here) and of what decides it (the measure that its average takes, here).
    """

    output_dir: str | None = field(default=None, metadata={"help": "Folder of the runs. None is runs/glue/<model>."})
    num_train_epochs: float = field(default=5.0, metadata={"help": "Epochs at most."})
    per_device_train_batch_size: int = field(default=32, metadata={"help": "Texts of a step on each device."})
    per_device_eval_batch_size: int = field(default=64, metadata={"help": "Texts of an evaluation step."})
    learning_rate: float = field(default=3e-5, metadata={"help": "Peak learning rate."})
    lr_scheduler_type: SchedulerType | str = field(
        default="cosine_with_restarts", metadata={"help": "How the learning rate falls."}
    )
    warmup_steps: float = field(default=0.06, metadata={"help": "Steps of warm-up; below 1, a share of all."})
    eval_strategy: str = field(default="epoch", metadata={"help": "When to evaluate: no, steps or epoch."})
    save_strategy: str = field(default="epoch", metadata={"help": "When to save, for going on and for the best."})
    logging_strategy: str = field(default="epoch", metadata={"help": "When to log: no, steps or epoch."})
    save_total_limit: int | None = field(default=1, metadata={"help": "Checkpoints kept beside the best."})
    load_best_model_at_end: bool = field(default=True, metadata={"help": "Whether the best epoch is what remains."})
    hub_strategy: HubStrategy | str = field(default="end", metadata={"help": HUB_STRATEGY_HELP})

    def __post_init__(self) -> None:
        folder, best = self.output_dir, self.metric_for_best_model
        super().__post_init__()
        self.output_dir = folder  # the Trainer would name a folder of its own
        self.metric_for_best_model = best  # None is the task's own
        self.dataloader_pin_memory = self.dataloader_pin_memory and torch.cuda.is_available()

    def of_run(self, folder: Path, seed: int, problem: Problem) -> "GlueTrainingArguments":
        """Returns the arguments of one run."""
        run = copy.copy(self)
        run.output_dir, run.seed = str(folder), seed
        run.push_to_hub = False  # the Trainer would push unfinished runs, see `upload_run`
        if run.metric_for_best_model is None:
            run.metric_for_best_model, run.greater_is_better = problem.best, True
        return run


def identity(arguments: GlueArguments, training: GlueTrainingArguments) -> dict[str, Any]:
    """Returns what makes the runs of a command these runs and no others."""
    given = asdict(arguments) | training.to_sanitized_dict()
    return {name: value for name, value in given.items() if name not in NOT_PART_OF_A_RUN}


def claim_again(folder: str | os.PathLike[str], arguments: dict[str, Any]) -> None:
    """Takes a folder for runs, like `claim`, but a finished one too: what is finished is read, what lacks is run.

    Raises:
        ValueError: the folder holds runs with other arguments (they are named), or other files.
    """
    results = Path(folder) / RESULTS
    aside = results.with_suffix(".before")
    if results.is_file():
        os.replace(results, aside)
    try:
        claim(folder, arguments)
    finally:
        if aside.is_file():
            os.replace(aside, results)


def run_folder(folder: Path, task: Task, seed: int) -> Path:
    """Returns where, in the folder of a command, the run of a task with a seed is."""
    return folder / task.name / f"seed-{seed}"


def fine_tune(
    task: Task, seed: int, start: Start, arguments: GlueArguments, training: GlueTrainingArguments
) -> dict[str, Any]:
    """Returns the results of a task with a seed: those of its folder if it is finished, else of a run.

    Raises:
        ValueError: a model or length that does not fit.
        TrainingStopped: the loss is not finite, or the disk is full.
    """
    folder = run_folder(Path(str(training.output_dir)), task, seed)
    if not (folder / RESULTS).is_file():
        _run(task, folder, start, arguments, training.of_run(folder, seed, task.problem))
    if training.process_index == 0:
        for checkpoint in folder.glob("checkpoint-*"):
            shutil.rmtree(checkpoint)
    results: dict[str, Any] = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    return results


def _run(task: Task, folder: Path, start: Start, arguments: GlueArguments, training: GlueTrainingArguments) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    problem = task.problem
    set_seed(training.seed)
    with training.main_process_first(desc="loading the model"):
        model, tokenizer = start.load(problem, task.train.plain_texts(), folder)
    limit = longest_sequence(model, tokenizer)
    if not 3 <= arguments.max_seq_length <= limit:
        raise ValueError(
            f"--max_seq_length {arguments.max_seq_length} is not what {arguments.model_name_or_path} takes; "
            f"give 3 to {limit}."
        )

    def encode(examples: Examples) -> EncodedExamples:
        return EncodedExamples(examples, problem, tokenizer, arguments.max_seq_length)

    validation = {suffix: encode(examples) for suffix, examples in task.validation.items()}
    trainer = ResumableTrainer(
        model=model,
        args=training,
        train_dataset=encode(task.train),
        eval_dataset=validation[""],
        data_collator=problem.collator(tokenizer),
        compute_metrics=problem.measure,
        preprocess_logits_for_metrics=_first,
        processing_class=tokenizer,
    )
    if arguments.early_stopping_patience > 0 and training.load_best_model_at_end:
        trainer.add_callback(EarlyStoppingCallback(arguments.early_stopping_patience))
    if training.disable_tqdm:
        trainer.remove_callback(PrinterCallback)
    outcome = trainer.resume()
    measures = {
        f"{name.removeprefix('eval_')}{suffix}": value
        for suffix, encoded in validation.items()
        for name, value in trainer.evaluate(encoded).items()
    }
    if not math.isfinite(measures["loss"]):  # the last step of all may be the one that diverges
        raise TrainingStopped(
            f"the loss of the evaluation is {measures['loss']}. Try a lower --learning_rate in another folder."
        )
    if training.do_predict:
        measures |= _predict(
            trainer, task, {suffix: encode(examples) for suffix, examples in task.test.items()}, folder
        )
    weights = trainer.full_state_dict()
    if trainer.is_world_process_zero():
        save_checkpoint(model, tokenizer, folder, weights)
        results = {
            "task": task.name,
            "from_scratch": not start.is_checkpoint,
            "seed": training.seed,
            "measures": measures,
            "floors": task.floors(),
            "train": outcome.metrics,
            "best_checkpoint": trainer.state.best_model_checkpoint,
            "epochs": trainer.state.epoch,
            "log": trainer.state.log_history,
            "parameters": model.num_parameters(),
            "footnotes": _unscored(task, validation),
            "arguments": identity(arguments, training),
            "versions": all_versions(),
        }
        if isinstance(tokenizer, VocablessTokenizer):
            write_card(folder, model, tokenizer.block_size, card_facts(results))
        write_json(folder / RESULTS, results)
    trainer.accelerator.wait_for_everyone()


def all_versions() -> dict[str, str]:
    """Returns the versions that a result depends on, those of the measures too."""
    return versions() | {name: version(name) for name in ("evaluate", "scikit-learn", "scipy")}


def _predict(
    trainer: ResumableTrainer, task: Task, tests: dict[str, EncodedExamples], folder: Path
) -> dict[str, float]:
    """Writes the predictions of the tests; returns the measures on those that have labels."""
    trainer.args.train_sampling_strategy = "random"  # group_by_length would permute the rows of an evaluation, too
    found: dict[str, float] = {}
    for suffix, encoded in tests.items():
        has_labels = task.test[suffix].labels is not None
        output = trainer.predict(encoded, metric_key_prefix="test")
        if has_labels:
            found |= {f"{name}{suffix}": value for name, value in (output.metrics or {}).items()}
        if trainer.is_world_process_zero():
            logits, targets = np.asarray(output.predictions), np.asarray(output.label_ids)
            rows: Iterable[dict[str, Any]] = task.problem.rows(logits, targets)
            if isinstance(task.problem, Tagging):
                rows = _by_word(rows, task.test[suffix].texts, encoded.word_ids)
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            (folder / f"predictions{suffix}.jsonl").write_text("".join(lines), encoding="utf-8")
    return found


def _by_word(
    rows: Iterable[dict[str, Any]], texts: list[list[str]], word_ids: list[list[int]]
) -> Iterable[dict[str, Any]]:
    """Yields rows with a value for each word; None for one that was cut off or has no token."""
    for row, words, known in zip(rows, texts, word_ids, strict=True):
        laid = {name: dict(zip(known, values, strict=True)) for name, values in row.items()}
        yield {name: [values.get(word) for word in range(len(words))] for name, values in laid.items()}


def _unscored(task: Task, validation: dict[str, EncodedExamples]) -> list[str]:
    """Returns a footnote on the words whose tags are not scored."""
    if not isinstance(task.problem, Tagging):
        return []
    words = sum(len(text) for text in task.validation[""].texts)
    lost = words - sum(map(len, validation[""].word_ids))
    return [f"{task.title}: {lost:,} of {words:,} words, cut off or without a token, are not scored"] if lost else []


def _first(logits: Any, labels: Tensor) -> Tensor:
    """Returns the logits alone, where a model gives hidden states beside them."""
    return logits if isinstance(logits, Tensor) else logits[0]
