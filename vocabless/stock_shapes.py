"""The table of stock shapes: encoders with a vocabulary, at the same sizes, that the family is measured against."""

import os
from dataclasses import dataclass, field
from typing import Any

from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoConfig,
    CanineConfig,
    CanineTokenizer,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from vocabless.loading import encoder_arguments, find_subword, input_names
from vocabless.tokenization.components import read_subword
from vocabless.variants import SIZES, Variant, check_known, find_variant

MAX_TOKENS = 512
CANINE_TOKENS = 2048  # characters: the limit of CANINE's own tokenizer; its table has 16 384 positions
# Names of the special tokens: WordPiece tokenizers' first, then RoBERTa's.
SPECIAL_NAMES = {
    "cls_token": ("[CLS]", "<s>"),
    "sep_token": ("[SEP]", "</s>"),
    "pad_token": ("[PAD]", "<pad>"),
    "unk_token": ("[UNK]", "<unk>"),
    "mask_token": ("[MASK]", "<mask>"),
}


@dataclass(frozen=True)
class StockShape:
    """One row of the table."""

    name: str  # as `--variant` and `--model_name_or_path` take it
    encoder: str  # model type of the encoder
    size: str  # a key of `SIZES`
    subwords: str | None  # kind of subword tokenizer, `wordpiece` or `bpe`. None: its tokenizer reads characters
    objective: str | None = "mlm"  # its pre-training objective; None if this project does not pre-train it
    max_length: int = MAX_TOKENS  # tokens of a sequence
    encoder_options: dict[str, Any] = field(default_factory=dict)  # of the configuration, added to the size's

    @property
    def reads_subwords(self) -> bool:
        """Whether its units are those of a subword tokenizer."""
        return self.subwords is not None


COMPARED = ("uno", "tiny", "mini", "small", "base")  # sizes of the family's own rows
_ROWS = (
    *(StockShape(f"bert-{size}", "bert", size, "wordpiece") for size in COMPARED),
    # The originals that Elementwise compares with (Tables 2 and 3; section 5 for 16 heads).
    StockShape("bert-16heads-base", "bert", "base", "wordpiece", encoder_options={"num_attention_heads": 16}),
    # ALBERT's own default is no dropout; here it has the dropout of the row that it is compared with.
    StockShape(
        "albert-base",
        "albert",
        "base",
        "wordpiece",
        encoder_options={"embedding_size": 128, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
    ),
    StockShape("canine-base", "canine", "base", None, objective=None, max_length=CANINE_TOKENS),
    *(StockShape(f"roberta-{size}", "roberta", size, "bpe") for size in COMPARED),
)

STOCK_SHAPES: dict[str, StockShape] = {shape.name: shape for shape in _ROWS}


def load_shape_config(
    name: str | StockShape, vocab_size: int, max_length: int | None = None, **kwargs: Any
) -> PreTrainedConfig:
    """Returns the configuration of a stock shape, a key of `STOCK_SHAPES` or a row.

    `vocab_size` is the number of rows of the word table, which CANINE lacks. `max_length` is in tokens of a sequence;
    None is the shape's own. `kwargs` are other arguments of the configuration, for instance `num_labels=3`.
    """
    shape = find_stock_shape(name)
    if shape.encoder == "canine":
        return CanineConfig(**(SIZES[shape.size]._asdict() | shape.encoder_options), **kwargs)
    arguments = encoder_arguments(shape.encoder, shape.size, max_length or shape.max_length) | shape.encoder_options
    return AutoConfig.for_model(shape.encoder, vocab_size=vocab_size, **arguments, **kwargs)


def load_shape_tokenizer(
    name: str | StockShape, subword: str | os.PathLike[str] | None, max_length: int | None = None
) -> PreTrainedTokenizerBase:
    """Returns a stock tokenizer that puts [CLS] and [SEP] around a text.

    Args:
        name: a key of `STOCK_SHAPES`, or a row.
        subword: a `tokenizer.json`, a folder that holds one, or a Hub id; None for a shape that reads characters.
        max_length: tokens of a sequence; None is the shape's own length.

    Raises:
        ValueError: an unknown name; a subword tokenizer that is missing, not found, damaged or not needed, or that has
            not all special tokens.
    """
    shape = find_stock_shape(name)
    max_length = max_length or shape.max_length
    if (shape.subwords is None) != (subword is None):
        need = "reads characters and has no use for a" if shape.subwords is None else "needs a"
        raise ValueError(f"{shape.name} {need} subword tokenizer; {'leave it out' if subword else 'give one'}.")
    if subword is None:
        return CanineTokenizer(model_max_length=max_length)
    tokenizer = read_subword(find_subword(subword))
    vocabulary = tokenizer.get_vocab()
    names = {role: next(filter(vocabulary.__contains__, each), "") for role, each in SPECIAL_NAMES.items()}
    missing = [role for role, special_name in names.items() if not special_name]
    if missing:
        raise ValueError(f"the subword tokenizer {os.fspath(subword)!r} has no {', '.join(missing)}; give another one.")
    cls, sep = names["cls_token"], names["sep_token"]
    tokenizer.post_processor = TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    reads = input_names(shape.encoder)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=max_length, model_input_names=reads, **names
    )


def find_shape(name: str) -> Variant | StockShape:
    """Returns the variant or the stock shape of that name. Raises ValueError with similar names of variants."""
    return STOCK_SHAPES.get(name) or find_variant(name)


def find_stock_shape(name: str | StockShape) -> StockShape:
    """Returns the stock shape of that name; a row is returned as it is. Raises ValueError if there is none."""
    if isinstance(name, StockShape):
        return name
    check_known("stock shape", [name], STOCK_SHAPES)
    return STOCK_SHAPES[name]
