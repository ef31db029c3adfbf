"""What is pre-trained: a variant of the family, or a stock encoder beside it, with its tokenizer and its codec."""
# mypy: allow-untyped-calls

from dataclasses import dataclass

import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForTokenClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from vocabless import VocablessForMaskedLM, VocablessForPreTraining, load_config, load_tokenizer
from vocabless.stock_shapes import STOCK_SHAPES, load_shape_config, load_shape_tokenizer
from vocabless.training.pretraining.codecs import BlockCodec, Codec, IdCodec
from vocabless.training.pretraining.corruption import REPLACED
from vocabless.training.pretraining.first_weights import look_at_neighbours
from vocabless.variants import SUBWORD_TOKENIZERS as SUBWORD
from vocabless.variants import find_variant


@dataclass(frozen=True)
class Learner:
    """A fresh model and what feeds it.

    Attributes:
        name: of the variant or the stock shape.
        source: paper and section.
        tokenizer: travels with the checkpoint.
        codec: writes and reads the corpus.
        model: with the head of its objective.
    """

    name: str
    source: str
    tokenizer: PreTrainedTokenizerBase
    codec: Codec
    model: PreTrainedModel


def is_stock(name: str) -> bool:
    """Returns whether a name is one of `STOCK_SHAPES`.

    Raises:
        ValueError: it is no variant's either.
    """
    if name in STOCK_SHAPES:
        return True
    find_variant(name)
    return False


def subword_kind(name: str) -> str:
    """Returns `wordpiece` or `bpe`: the subwords that a model reads, or that one which reads words predicts."""
    splitter = ("bpe" if name.startswith("roberta") else "wordpiece") if is_stock(name) else find_variant(name).splitter
    return splitter if splitter in SUBWORD else "wordpiece"


def published_objective(name: str) -> str:
    """Returns the objective that a model was published with, `shuffle-random` or `mlm`; S+R for one without any."""
    objective = "mlm" if is_stock(name) else find_variant(name).objective
    return objective or "shuffle-random"


def load_learner(
    name: str,
    objective: str,
    max_seq_length: int,
    subword: str | None = None,
    dropout: float = 0.0,
    neighbour_init: bool = True,
) -> Learner:
    """Returns a fresh model with all that belongs to it.

    Args:
        name: see `list_variants` and `STOCK_SHAPES`.
        objective: `shuffle-random` or `mlm`.
        max_seq_length: tokens of a sequence.
        subword: file, folder or Hub id of a subword tokenizer, for those that read subwords and for mlm; None is the
            published one.
        dropout: while training; the configuration keeps the encoder's own.
        neighbour_init: whether `look_at_neighbours` sets the first weights of a variant.

    Raises:
        ValueError: unknown name, a length beyond the model's own, a subword tokenizer that is missing or of no use.
    """
    longest = 512 if is_stock(name) else find_variant(name).max_length
    if max_seq_length > longest:
        raise ValueError(
            f"--max_seq_length {max_seq_length} is more than the {longest} tokens of {name}; give at most {longest}."
        )
    learner = (_stock if is_stock(name) else _variant)(name, objective == "mlm", subword)
    if neighbour_init and not is_stock(name):
        look_at_neighbours(learner.model.base_model)  # type: ignore[arg-type]
    for module in learner.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    return learner


def _variant(name: str, is_mlm: bool, subword: str | None) -> Learner:
    row = find_variant(name)
    if row.reads_subwords:
        tokenizer = load_tokenizer(name, subword)
    elif is_mlm and subword is None:
        raise ValueError(f"mlm over the words of {name} predicts a vocabulary; give --subword FILE, or 'train'.")
    else:
        tokenizer = load_tokenizer(name, target=subword if is_mlm else None)
    target = tokenizer.target_tokenizer if is_mlm else None
    codec = BlockCodec(tokenizer, target)
    if target is None:
        return Learner(name, row.source, tokenizer, codec, VocablessForPreTraining(load_config(name)))
    config = load_config(name, target_vocab_size=target.get_vocab_size(), sparse_prediction=True)
    return Learner(name, row.source, tokenizer, codec, VocablessForMaskedLM(config))


def _stock(name: str, is_mlm: bool, subword: str | None) -> Learner:
    tokenizer = load_shape_tokenizer(name, subword or SUBWORD[subword_kind(name)])
    config = load_shape_config(name, len(tokenizer), pad_token_id=tokenizer.pad_token_id, num_labels=REPLACED + 1)
    auto_class = AutoModelForMaskedLM if is_mlm else AutoModelForTokenClassification
    codec = IdCodec(tokenizer, with_targets=is_mlm)
    return Learner(name, "stock encoder, fresh weights", tokenizer, codec, auto_class.from_config(config))
