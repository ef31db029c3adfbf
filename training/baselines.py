"""Stock encoders with a vocabulary, of the same sizes: what the family is measured against, by the same scripts."""
# mypy: allow-untyped-calls

import os
from typing import Any

from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, PreTrainedConfig, PreTrainedTokenizerFast

from vocabless.variants import SIZES, load_subword

FAMILIES = ("bert", "roberta")
# [CLS], [SEP] and so on by the names of WordPiece tokenizers, then by RoBERTa's.
SPECIAL_NAMES = {
    "cls_token": ("[CLS]", "<s>"),
    "sep_token": ("[SEP]", "</s>"),
    "pad_token": ("[PAD]", "<pad>"),
    "unk_token": ("[UNK]", "<unk>"),
    "mask_token": ("[MASK]", "<mask>"),
}


def list_baselines() -> list[str]:
    """Returns the names of the stock shapes, for instance `bert-tiny`."""
    return [f"{family}-{size}" for family in FAMILIES for size in SIZES]


def load_baseline_config(name: str, vocab_size: int, max_length: int = 512, **kwargs: Any) -> PreTrainedConfig:
    """Returns the configuration of a stock shape.

    Args:
        name: see `list_baselines`.
        vocab_size: rows of the word table.
        max_length: tokens of a sequence.
        kwargs: further arguments of the configuration, for instance `num_labels=3`.

    Raises:
        ValueError: unknown name.
    """
    if name not in list_baselines():
        raise ValueError(f"unknown baseline {name!r}; choose one of {', '.join(list_baselines())}.")
    family, _, size = name.partition("-")
    layers, width, heads = SIZES[size]
    given: dict[str, Any] = {
        "vocab_size": vocab_size,
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": heads,
        "intermediate_size": 128 if size == "uno" else 4 * width,
        "max_position_embeddings": max_length,
    }
    if family == "roberta":  # positions are counted from padding_idx + 1
        given |= {"max_position_embeddings": max_length + 2, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
    return AutoConfig.for_model(family, **given, **kwargs)


def load_baseline_tokenizer(
    name: str, subword: str | os.PathLike[str], max_length: int = 512
) -> PreTrainedTokenizerFast:
    """Returns a stock tokenizer that puts [CLS] and [SEP] around a text.

    Args:
        name: see `list_baselines`.
        subword: a `tokenizer.json`, a folder that holds one, or a Hub id.
        max_length: tokens of a sequence.

    Raises:
        ValueError: it is not there or damaged, or it lacks one of the five special tokens.
    """
    tokenizer = load_subword(subword)
    vocabulary = tokenizer.get_vocab()
    names = {role: next((n for n in given if n in vocabulary), None) for role, given in SPECIAL_NAMES.items()}
    missing = [role for role, found in names.items() if found is None]
    if missing:
        raise ValueError(f"the subword tokenizer {os.fspath(subword)!r} has no {', '.join(missing)}; give another one.")
    cls, sep = str(names["cls_token"]), str(names["sep_token"])
    tokenizer.post_processor = TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    inputs = ["input_ids", *(["token_type_ids"] if name.startswith("bert") else []), "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=max_length, model_input_names=inputs, **names
    )
