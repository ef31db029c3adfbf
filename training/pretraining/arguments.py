"""What `run_pretraining.py` is made of: its arguments, its Trainer, its measures."""
# mypy: allow-untyped-calls

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import HubStrategy

from vocabless.saving.run_folder import HUB_STRATEGY_HELP
from vocabless.training.pretraining.corruption import IGNORED, INTACT, REPLACED, SHUFFLED
from vocabless.training.trainer import EXACT_LOSS

CLASS_NAMES = {INTACT: "intact", SHUFFLED: "shuffled", REPLACED: "replaced"}


@dataclass
class PretrainingArguments:
    """What is pre-trained, on what, to do what."""

    variant: str = field(
        default="hashformer-lsh-proj-tiny",
        metadata={
            "help": "Name of the variant, see vocabless.list_variants(), or of a stock shape beside it: bert-tiny, "
            "roberta-base and so on, with fresh weights."
        },
    )
    corpus: list[str] | None = field(
        default=None,
        metadata={
            "help": "Training text: pydocs (embedded, the default); parquet, jsonl, csv, txt files, folders, globs; or "
            "a Hub data set owner/name[:configuration][@revision]. Several may be given.",
            "action": "extend",
        },
    )
    mix: list[float] | None = field(
        default=None,
        metadata={"help": "Share of sequences from each --corpus, by weight. None takes all of all, one by one."},
    )
    streaming: bool = field(
        default=False, metadata={"help": "Read the corpus as it is needed; needs --validation_corpus and --max_steps."}
    )
    shuffle_buffer_size: int = field(
        default=10_000, metadata={"help": "Streaming: sequences that wait, of which the next is drawn."}
    )
    validation_corpus: list[str] | None = field(
        default=None,
        metadata={"help": "Held-out text, given like --corpus. None holds out a part of it.", "action": "extend"},
    )
    validation_split_percentage: float = field(
        default=2.0, metadata={"help": "Percent of the documents of --corpus that are held out, 0–50."}
    )
    text_column: str = field(default="text", metadata={"help": "Column that holds the text, in files with columns."})
    max_seq_length: int = field(
        default=64,
        metadata={"help": "Tokens of a sequence, [CLS] and [SEP] included; at most the variant's own length."},
    )
    max_eval_samples: int = field(default=1000, metadata={"help": "Held-out sequences that are evaluated; 0 is all."})
    objective: str | None = field(
        default=None, metadata={"help": "shuffle-random (S+R) or mlm. None is the variant's own."}
    )
    shuffle_probability: float = field(default=0.15, metadata={"help": "S+R: share of tokens shuffled, 0–1."})
    replace_probability: float = field(default=0.15, metadata={"help": "S+R: share of tokens replaced, 0–1."})
    mlm_probability: float = field(default=0.15, metadata={"help": "mlm: share of tokens to predict, 0–1."})
    subword: str | None = field(
        default=None,
        metadata={
            "help": "Subword variants, stock shapes, and mlm over words: tokenizer.json, folder or Hub id of the "
            "subword tokenizer, or 'train' to train one on the corpus. None is the published one."
        },
    )
    subword_vocab_size: int = field(default=8000, metadata={"help": "Tokens of a subword tokenizer that is trained."})
    neighbour_init: bool = field(
        default=True, metadata={"help": "Start with attention to the neighbours (BERT, RoBERTa, ELECTRA encoders)."}
    )
    dropout: float = field(
        default=0.0,
        metadata={"help": "Dropout while pre-training, 0–1; the checkpoint keeps the encoder's own setting."},
    )
    preprocessing_num_workers: int = field(
        default_factory=lambda: min(8, os.cpu_count() or 1), metadata={"help": "Processes that prepare the corpus."}
    )
    example: str = field(
        default="The function returns a new list with the same elements in the reverse order, and the original list is "
        "not changed.",
        metadata={"help": "Sentence that is corrupted and judged at the end."},
    )


@dataclass
class PretrainingTrainingArguments(TrainingArguments):
    """The Trainer's own arguments, with defaults that suit a tiny encoder and two cores."""

    output_dir: str | None = field(default=None, metadata={"help": "Folder of the run. None is runs/<variant>."})
    per_device_train_batch_size: int = field(default=32, metadata={"help": "Sequences of a step on each device."})
    per_device_eval_batch_size: int = field(default=64, metadata={"help": "Sequences of an evaluation step."})
    max_steps: int = field(default=2000, metadata={"help": "Steps; −1 is as many as --num_train_epochs makes."})
    learning_rate: float = field(default=1e-3, metadata={"help": "Peak learning rate."})
    warmup_steps: float = field(default=100, metadata={"help": "Steps of linear warm-up; below 1, a share of all."})
    weight_decay: float = field(default=0.01, metadata={"help": "Weight decay of AdamW."})
    ddp_find_unused_parameters: bool | None = field(
        default=False, metadata={"help": "Look for parameters without gradient in each step; the family has none."}
    )
    eval_on_start: bool = field(default=True, metadata={"help": "Evaluate the fresh model, too."})
    logging_steps: float = field(default=100, metadata={"help": "Steps between lines of loss and tokens/s."})
    save_steps: float = field(default=500, metadata={"help": "Steps between checkpoints."})
    save_total_limit: int | None = field(default=2, metadata={"help": "Checkpoints kept."})
    hub_strategy: HubStrategy | str = field(default="end", metadata={"help": HUB_STRATEGY_HELP})

    def __post_init__(self) -> None:
        folder = self.output_dir
        super().__post_init__()
        self.output_dir = folder  # the Trainer would name a folder of its own
        self.dataloader_pin_memory = self.dataloader_pin_memory and torch.cuda.is_available()
        self.include_num_input_tokens_seen = "non_padding"  # the command line knows it as a truth value only


class Speed(TrainerCallback):
    """Adds `tokens_per_second`, since the last line, to each line of the log."""

    def __init__(self) -> None:
        self._tokens, self._start = 0, torch.inf

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Starts the clock at the first step."""
        if self._start == torch.inf:
            self._start, self._tokens = time.perf_counter(), state.num_input_tokens_seen

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Reads it at each line of training."""
        logs = kwargs.get("logs") or {}
        if "loss" in logs:
            now = time.perf_counter()
            speed = round((state.num_input_tokens_seen - self._tokens) / (now - self._start))
            logs["tokens_per_second"] = state.log_history[-1]["tokens_per_second"] = speed
            self._start, self._tokens = now, state.num_input_tokens_seen


def predictions(logits: Tensor | tuple[Tensor, ...], labels: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the likeliest class of each position and its loss, both (B, S), so that logits need not be kept.

    Args:
        logits: (B, S, classes), or (labelled positions, classes) from a sparse masked-LM head.
        labels: (B, S), −100 where nothing is asked.
    """
    scores = logits if isinstance(logits, Tensor) else logits[0]
    asked = labels != IGNORED
    if scores.ndim == 3:
        scores = scores[asked]
    found, losses = torch.full_like(labels, IGNORED), torch.zeros(labels.shape, device=labels.device)
    found[asked] = scores.argmax(dim=-1)
    losses[asked] = torch.nn.functional.cross_entropy(scores.float(), labels[asked], reduction="none")
    return found, losses


def measure(prediction: Any, per_class: bool) -> dict[str, float]:
    """Returns mean loss and accuracy; with `per_class` also the majority's share and the accuracy on each class.

    Every labelled token counts alike, however they were batched.

    Args:
        prediction: `predictions`, see there, and `label_ids`, all (N, S).
        per_class: whether the classes are intact, shuffled and replaced.
    """
    labels: NDArray[np.int64] = np.asarray(prediction.label_ids)
    asked = labels != IGNORED
    if not asked.any():
        return {"accuracy": 0.0}
    found, losses = (np.asarray(values)[asked] for values in prediction.predictions)
    labels = labels[asked]
    measures = {EXACT_LOSS: float(losses.mean(dtype=np.float64)), "accuracy": float((found == labels).mean())}
    if per_class:
        shares = [float((labels == index).mean()) for index in CLASS_NAMES]
        measures["majority"] = max(shares)
        present = {index: name for index, name in CLASS_NAMES.items() if (labels == index).any()}
        recalls = {name: float((found[labels == index] == index).mean()) for index, name in present.items()}
        measures |= {f"accuracy_{name}": value for name, value in recalls.items()}
        measures["balanced_accuracy"] = float(np.mean(list(recalls.values())))
    return measures


def first_evaluation(log: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Returns the first evaluation of a Trainer's `log_history`; {} if there is none."""
    return next((line for line in log if "eval_loss" in line), {})


def compared(before: Mapping[str, float], after: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Returns (measure, before, after) of two evaluations; NaN where the first was left out."""
    names = [
        "loss",
        "accuracy",
        "majority",
        "balanced_accuracy",
        *(f"accuracy_{name}" for name in CLASS_NAMES.values()),
    ]
    return [
        (name, before.get(f"eval_{name}", math.nan), after[f"eval_{name}"]) for name in names if f"eval_{name}" in after
    ]
