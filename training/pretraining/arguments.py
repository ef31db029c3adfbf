"""The flags of `run_pretraining.py`, but those of the objectives."""

import math
import os
from dataclasses import dataclass

from vocabless.overrides import with_overrides
from vocabless.public_names import EMBEDDED
from vocabless.stock_shapes import StockShape, find_shape
from vocabless.training.script_arguments import ModelArguments, ScriptTrainingArguments
from vocabless.training.script_parser import COUNT, MIN_VOCABULARY, SHARE, Limit, check_limits, flag
from vocabless.variants import Variant

DEFAULT_VARIANT = "hashgram-nano"
LIMITS = {
    "max_seq_length": Limit(3),
    "max_eval_samples": Limit(),
    "subword_vocab_size": Limit(MIN_VOCABULARY),
    "dropout": SHARE,
    "preprocessing_num_workers": COUNT,
}


@dataclass
class PretrainingArguments(ModelArguments):
    """The model, the text and the objective."""

    variant: str | None = flag(
        None,
        "Name of a variant, see vocabless.list_variants(), or of a stock shape such as bert-tiny or "
        f"roberta-base. The weights are fresh. None is {DEFAULT_VARIANT}, without --model_name_or_path.",
        group="model",
    )
    model_name_or_path: str | None = flag(
        None,
        "Begin from the weights of a checkpoint, in place of --variant: a folder or Hub id, of this family "
        "or stock. The optimizer starts anew.",
    )
    corpus: list[str] | None = flag(
        None,
        "Training text: pydocs (embedded, the default); parquet, jsonl, csv, tsv or txt files, folders, "
        "globs; or a Hub data set owner/name[:configuration][@revision]. Give as many as you like.",
        group="text",
        action="extend",
    )
    mix: list[float] | None = flag(
        None, "Share of sequences from each --corpus, one weight each. None concatenates the corpora."
    )
    streaming: bool = flag(False, "Read the corpus while training; needs --validation_corpus and --max_steps.")
    validation_corpus: list[str] | None = flag(
        None, "Held-out text, in the same form as --corpus. None holds out a part of --corpus.", action="extend"
    )
    validation_split_percentage: float = flag(2.0, "Percent of the documents of --corpus that are held out, 0–50.")
    text_column: str = flag("text", "Column of the text, in files with columns.")
    max_seq_length: int = flag(64, "Tokens of a sequence, [CLS] and [SEP] included; at most the variant's own length.")
    max_eval_samples: int = flag(1000, "Held-out sequences of an evaluation; 0 evaluates all.")
    objective: str | None = flag(
        None,
        "shuffle-random: tell shuffled, replaced and intact words apart (S+R); mlm: predict masked tokens of "
        "--subword; distill: learn the sentence vectors of --teacher. None is the objective that the variant was "
        "published with, and mlm for a stock model; with --teacher, distill.",
        group="what the model learns",
    )
    subword: str | None = flag(
        None,
        "Subword tokenizer for subword variants, for stock shapes, and for mlm over words: a "
        "tokenizer.json, a folder, a Hub id, or 'train' to train one on the corpus. None is the published one.",
        group="subwords, for variants and objectives that need them",
    )
    subword_vocab_size: int = flag(8000, "Vocabulary size of a subword tokenizer trained by --subword train.")
    dry_run: bool = flag(
        False,
        "Prove that it works, in seconds: few texts, one step, a checkpoint that is checked and removed.",
        group="training",
    )
    dropout: float = flag(
        0.0, "Dropout during pre-training, 0–1; the checkpoint keeps the encoder's own setting.", group="model"
    )
    preprocessing_num_workers: int = flag(
        min(8, os.cpu_count() or 1), "Processes that prepare the corpus.", group="text"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(vars(self), LIMITS)
        mix = self.mix
        if mix is not None and (len(mix) != len(self.sources) or not all(0 < weight < math.inf for weight in mix)):
            raise ValueError(
                f"--mix {' '.join(map(str, mix))} for {len(self.sources)} corpora; give one weight above 0 for each."
            )

    @property
    def sources(self) -> list[str]:
        """The corpora to train on."""
        return self.corpus or [EMBEDDED]

    @property
    def shape(self) -> Variant | StockShape:
        """The row of the variant or of the stock shape, with the overrides of the run.

        Raises:
            ValueError: there is none of that name, or an override is unknown.
        """
        return with_overrides(find_shape(str(self.variant)), self.overrides)


@dataclass
class PretrainingTrainingArguments(ScriptTrainingArguments):
    """The Trainer's arguments, with defaults for a tiny encoder and two cores."""

    output_dir: str | None = flag(None, "Folder of the run. None is runs/<variant>.", group="training")
    per_device_train_batch_size: int = flag(32, "Sequences that a device trains on at once.")
    total_batch_size: int | None = flag(
        None,
        "Sequences of a training step over all devices. --gradient_accumulation_steps follows from it, and "
        "--per_device_train_batch_size is the most that a device takes at once. None does not fix it.",
    )
    ddp_timeout: int = flag(
        86_400, "Seconds that the other processes wait for the first one, which prepares the corpus."
    )
    per_device_eval_batch_size: int = flag(64, "Sequences of an evaluation step.")
    max_steps: int = flag(2000, "Training steps; −1 trains --num_train_epochs epochs.")
    learning_rate: float = flag(1e-3, "Peak learning rate.")
    warmup_steps: float = flag(100, "Steps of linear warm-up; a number below 1 is a share of all steps.")
    weight_decay: float = flag(0.01, "Weight decay of AdamW.")
    ddp_find_unused_parameters: bool | None = flag(
        False, "Look for parameters without a gradient in each step; models of this family have none."
    )
    eval_on_start: bool = flag(True, "Evaluate the fresh model before training.")
    logging_steps: float = flag(100, "Steps between log lines with loss and tokens/s.")
    save_steps: float = flag(500, "Steps between checkpoints.")
    save_total_limit: int | None = flag(2, "Number of checkpoints that are kept.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.total_batch_size is not None:
            given = self.per_device_train_batch_size, self.gradient_accumulation_steps
            sizes = split_batch(self.total_batch_size, self.world_size * max(1, self.n_gpu), *given)
            self.per_device_train_batch_size, self.gradient_accumulation_steps = sizes
        self.remove_unused_columns = False  # the examples hold what the collator needs
        self.include_num_input_tokens_seen = "non_padding"  # on the command line it can be true or false only


def split_batch(total: int, devices: int, largest: int, accumulation: int = 1) -> tuple[int, int]:
    """Returns the sequences that a device trains on at once, and how often it does so in a training step.

    All devices together train on `total` sequences in a step, each on at most `largest` at once. The user's number of
    times, `accumulation`, must fit; 1 is no wish.

    Raises:
        ValueError: the sequences cannot be divided so.

    Example:
        >>> split_batch(128, 2, 16)
        (16, 4)
    """
    share, rest = divmod(total, devices)
    at_once = min(largest, share) or 1
    times, rest_of_share = divmod(share, at_once)
    if rest or rest_of_share or not share or accumulation not in (1, times):
        raise ValueError(
            f"--total_batch_size {total} is not {devices} devices × {at_once} sequences at once × a whole number"
            f"{f', which is {accumulation}' if accumulation > 1 else ''} of times; give another number of processes, "
            "--per_device_train_batch_size or --total_batch_size."
        )
    return at_once, times
