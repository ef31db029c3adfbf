"""The arguments of `run_pretraining.py`.

This file imports neither torch nor transformers, so that `--help` is quick.
"""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vocabless.training.design_flags import NGRAMS_HELP, axis_flag, read_design
from vocabless.training.limits import COUNT, MIN_VOCABULARY, SHARE, Limit, check_limits
from vocabless.training.pretraining.objective_flags import OBJECTIVE_FLAGS
from vocabless.training.texts.text_format import TextFormat

if TYPE_CHECKING:
    from vocabless.stock_shapes import StockShape
    from vocabless.variants import Variant

OBJECTIVE_HELP = "; ".join(f"{objective.name}: {objective.help}" for objective in OBJECTIVE_FLAGS)
DEFAULT_VARIANT = "hashgram-nano"
LIMITS = {
    "shuffle_buffer_size": COUNT,
    "max_seq_length": Limit(3),
    "max_eval_samples": Limit(),
    "subword_vocab_size": Limit(MIN_VOCABULARY),
    "dropout": SHARE,
    "preprocessing_num_workers": COUNT,
}


@dataclass
class PretrainingArguments:
    """The model, the text and the objective."""

    variant: str | None = field(
        default=None,
        metadata={
            "group": "model",
            "help": "Name of a variant, see vocabless.list_variants(), or of a stock shape such as bert-tiny or "
            f"roberta-base. The weights are fresh. None is {DEFAULT_VARIANT}, without --model_name_or_path.",
        },
    )
    model_name_or_path: str | None = field(
        default=None,
        metadata={
            "help": "Begin from the weights of a checkpoint, in place of --variant: a folder or Hub id, of this family "
            "or stock. The optimizer starts anew."
        },
    )
    size: str | None = axis_flag("size")
    splitter: str | None = axis_flag("splitter")
    splitter_options: str | None = axis_flag("splitter_options")
    coder: str | None = axis_flag("coder")
    coder_options: str | None = axis_flag("coder_options")
    front_end: str | None = axis_flag("front_end")
    front_end_options: str | None = axis_flag("front_end_options")
    encoder_options: str | None = axis_flag("encoder_options")
    ngrams: str | None = field(default=None, metadata={"help": NGRAMS_HELP})
    corpus: list[str] | None = field(
        default=None,
        metadata={
            "group": "text",
            "help": "Training text: pydocs (embedded, the default); parquet, jsonl, csv, tsv or txt files, folders, "
            "globs; or a Hub data set owner/name[:configuration][@revision]. Give as many as you like.",
            "action": "extend",
        },
    )
    mix: list[float] | None = field(
        default=None,
        metadata={"help": "Share of sequences from each --corpus, one weight each. None concatenates the corpora."},
    )
    streaming: bool = field(
        default=False,
        metadata={"help": "Read the corpus while training; needs --validation_corpus and --max_steps."},
    )
    shuffle_buffer_size: int = field(
        default=10_000, metadata={"help": "Streaming: sequences in the buffer from which the next one is drawn."}
    )
    validation_corpus: list[str] | None = field(
        default=None,
        metadata={
            "help": "Held-out text, in the same form as --corpus. None holds out a part of --corpus.",
            "action": "extend",
        },
    )
    validation_split_percentage: float = field(
        default=2.0, metadata={"help": "Percent of the documents of --corpus that are held out, 0–50."}
    )
    text_column: str = field(default="text", metadata={"help": "Column of the text, in files with columns."})
    encoding: str = field(
        default="utf-8", metadata={"help": "Encoding of csv, tsv, jsonl, json and txt files, such as latin-1."}
    )
    delimiter: str | None = field(
        default=None,
        metadata={"help": "Delimiter of csv and tsv files, such as ';' or tab. None is a comma, in tsv a tab."},
    )
    max_seq_length: int = field(
        default=64,
        metadata={"help": "Tokens of a sequence, [CLS] and [SEP] included; at most the variant's own length."},
    )
    max_eval_samples: int = field(
        default=1000, metadata={"help": "Held-out sequences of an evaluation; 0 evaluates all."}
    )
    objective: str | None = field(
        default=None,
        metadata={
            "group": "what the model learns",
            "help": f"{OBJECTIVE_HELP}. None is the objective that the variant was published with, and mlm for a stock "
            "model; with --teacher, distill.",
        },
    )
    subword: str | None = field(
        default=None,
        metadata={
            "group": "subwords, for variants and objectives that need them",
            "help": "Subword tokenizer for subword variants, for stock shapes, and for mlm over words: a "
            "tokenizer.json, a folder, a Hub id, or 'train' to train one on the corpus. None is the published one.",
        },
    )
    subword_vocab_size: int = field(
        default=8000, metadata={"help": "Vocabulary size of a subword tokenizer trained by --subword train."}
    )
    neighbour_init: bool = field(
        default=True,
        metadata={
            "group": "model",
            "help": "Start fresh BERT, RoBERTa and ELECTRA encoders with attention to the neighbouring tokens.",
        },
    )
    dropout: float = field(
        default=0.0,
        metadata={"help": "Dropout during pre-training, 0–1; the checkpoint keeps the encoder's own setting."},
    )
    preprocessing_num_workers: int = field(
        default_factory=lambda: min(8, os.cpu_count() or 1),
        metadata={
            "group": "text",
            "help": "Processes that prepare the corpus.",
        },
    )

    def __post_init__(self) -> None:
        check_limits(vars(self), LIMITS)

    @property
    def text_format(self) -> TextFormat:
        """The format of local text files.

        Raises:
            ValueError: see `TextFormat`.
        """
        return TextFormat(self.encoding, self.delimiter)

    @property
    def shape(self) -> "Variant | StockShape":
        """The row of the variant or of the stock shape, with the axes that the run changes.

        Raises:
            ValueError: there is none of that name, or an axis or an option is unknown.
        """
        from vocabless.designs import redesign  # imports torch, which `--help` does not need
        from vocabless.stock_shapes import find_shape

        return redesign(find_shape(str(self.variant)), self.design)

    @property
    def design(self) -> dict[str, Any]:
        """Axis → value of the axes of the row that the run changes, see `read_design`."""
        return read_design(self)


@dataclass
class PretrainingTrainingFlags:
    """The Trainer's arguments, with defaults for a tiny encoder and two cores."""

    output_dir: str | None = field(
        default=None,
        metadata={
            "group": "training",
            "help": "Folder of the run. None is runs/<variant>.",
        },
    )
    per_device_train_batch_size: int = field(
        default=32, metadata={"help": "Sequences of a training step on each device."}
    )
    per_device_eval_batch_size: int = field(default=64, metadata={"help": "Sequences of an evaluation step."})
    max_steps: int = field(default=2000, metadata={"help": "Training steps; −1 trains --num_train_epochs epochs."})
    learning_rate: float = field(default=1e-3, metadata={"help": "Peak learning rate."})
    warmup_steps: float = field(
        default=100, metadata={"help": "Steps of linear warm-up; a number below 1 is a share of all steps."}
    )
    weight_decay: float = field(default=0.01, metadata={"help": "Weight decay of AdamW."})
    ddp_find_unused_parameters: bool | None = field(
        default=False,
        metadata={"help": "Look for parameters without a gradient in each step; models of this family have none."},
    )
    eval_on_start: bool = field(default=True, metadata={"help": "Evaluate the fresh model before training."})
    logging_steps: float = field(default=100, metadata={"help": "Steps between log lines with loss and tokens/s."})
    save_steps: float = field(default=500, metadata={"help": "Steps between checkpoints."})
    save_total_limit: int | None = field(default=2, metadata={"help": "Number of checkpoints that are kept."})


FLAGS = (PretrainingArguments, *OBJECTIVE_FLAGS, PretrainingTrainingFlags)  # what `--help` shows
