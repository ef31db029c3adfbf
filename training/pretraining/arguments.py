"""The flags of `vocabless pretrain`, but those of the objectives."""

import math
from dataclasses import dataclass

from vocabless.loading import find_model
from vocabless.overrides import with_overrides
from vocabless.public_names import EMBEDDED
from vocabless.stock_shapes import StockShape, find_shape
from vocabless.training.script import (
    MIN_VOCABULARY,
    SHARE,
    Limit,
    ModelArguments,
    ScriptTrainingArguments,
    TextFileArguments,
    flag,
)
from vocabless.variants import Variant

DEFAULT_VARIANT = "hashgram-nano"


@dataclass
class PretrainingArguments(TextFileArguments, ModelArguments):
    """The model, the text and the objective."""

    variant: str | None = flag(
        None,
        "Variant, see vocabless.list_variants(), or stock shape such as bert-tiny, with fresh weights. None is "
        f"{DEFAULT_VARIANT}, without --model_name_or_path.",
        group="model",
    )
    model_name_or_path: str | None = flag(
        None,
        "Checkpoint to begin from, in place of --variant: a folder or Hub id, of this family or stock. The optimizer "
        "starts anew.",
    )
    dropout: float = flag(0.0, "Dropout while training, 0–1; the checkpoint keeps the encoder's own.", limit=SHARE)
    corpus: list[str] | None = flag(
        None,
        "Training text, any number: pydocs (embedded, the default); parquet, jsonl, csv, tsv, txt, md or html files, "
        "folders, globs; or a Hub data set owner/name[:configuration][@revision].",
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
    max_seq_length: int = flag(
        64, "Tokens of a sequence, [CLS] and [SEP] included; at most the variant's own length.", limit=Limit(3)
    )
    objective: str | None = flag(
        None,
        "shuffle-random: tell shuffled, replaced and intact words apart (S+R); mlm: predict masked tokens of "
        "--subword; distill: learn the sentence vectors of --teacher. None is that of the variant's paper, and mlm for "
        "a stock model; with --teacher, distill.",
        group="what the model learns",
    )
    subword: str | None = flag(
        None,
        "Subword tokenizer, for subword variants, stock shapes, and mlm over words: tokenizer.json, folder, Hub id, or "
        "'train' to train one on the corpus. None is the published one.",
    )
    subword_vocab_size: int = flag(8000, "Tokens of the vocabulary of --subword train.", limit=Limit(MIN_VOCABULARY))
    dry_run: bool = flag(
        False,
        "Prove that it works, in seconds: few texts, one step, a checkpoint that is checked and removed.",
        group="training",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model_name_or_path is not None:
            self.model_name_or_path = find_model(self.model_name_or_path)
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
    """The Trainer's arguments, with defaults for a tiny encoder and two cores.

    The other processes wait a day for the first one, which prepares the corpus (`ddp_timeout`, seconds). Models of this
    family use all their parameters in each step (`ddp_find_unused_parameters`).
    """

    output_dir: str | None = flag(None, "Folder of the run. None is runs/<variant>.", group="training")
    per_device_train_batch_size: int = flag(32, "Sequences that a device trains on at once.", group="training")
    max_steps: int = flag(2000, "Training steps; −1 trains --num_train_epochs epochs.", group="training")
    learning_rate: float = flag(1e-3, "Peak learning rate.", group="training")
    push_to_hub: bool = flag(False, "Upload the finished run.", group="training")
    ddp_timeout: int = 86_400
    per_device_eval_batch_size: int = 64
    warmup_steps: float = 100
    weight_decay: float = 0.01
    ddp_find_unused_parameters: bool | None = False
    eval_on_start: bool = True
    logging_steps: float = 100
    save_steps: float = 500
    save_total_limit: int | None = 2

    def __post_init__(self) -> None:
        if self.label_smoothing_factor or not self.eval_do_concat_batches:
            name = "label_smoothing_factor" if self.label_smoothing_factor else "eval_do_concat_batches"
            raise ValueError(f"--{name} is not for pre-training, whose losses are the objectives' own; leave it out.")
        super().__post_init__()
        self.remove_unused_columns = False  # the examples hold what the collator needs
        self.include_num_input_tokens_seen = "non_padding"  # on the command line it can be true or false only
