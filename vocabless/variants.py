"""The variants: every model of the family is one row of `VARIANTS`. Tests, cards and benchmarks read this table."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from typing import Any

from tokenizers import Tokenizer
from transformers.utils.hub import cached_file

from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.tokenization.block_coders import CODERS
from vocabless.tokenization.components import read_subword
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

# Turc et al. (2019), table 1: layers, width, heads; the feed-forward width is four times the width.
SIZES = {
    "uno": (2, 128, 2),
    "tiny": (2, 128, 2),
    "mini": (4, 256, 4),
    "small": (4, 512, 8),
    "base": (12, 768, 12),
}
NGRAM_BLOCK = 32  # bytes that a block of the n-gram variants holds
SUBWORD = {"wordpiece": "google-bert/bert-base-uncased", "bpe": "FacebookAI/roberta-base"}


@dataclass(frozen=True)
class Variant:
    """One row of the table.

    Attributes:
        name: family-coder-frontend[-extra]-size, also the name of its Hub repository.
        source: paper and section.
        splitter: of the tokenizer; `wordpiece` and `bpe` are the `subword` splitter over that kind of tokenizer.
        coder: of the tokenizer, with its options.
        front_end: of the model, with its options.
        encoder: model type of the encoder.
        size: a key of `SIZES`.
        objective: `shuffle-random`, `mlm` or `none` (trained on the task alone).
        max_length: tokens of a sequence.
        encoder_options: what differs from the size's encoder.
        position_embeddings: whether the encoder keeps its table of positions.
    """

    name: str
    source: str
    splitter: str
    coder: tuple[str, dict[str, Any]]
    front_end: tuple[str, dict[str, Any]]
    encoder: str
    size: str
    objective: str = "shuffle-random"
    max_length: int = 512
    encoder_options: dict[str, Any] = field(default_factory=dict)
    position_embeddings: bool = True

    @property
    def takes_subword(self) -> bool:
        """Whether its units are the tokens of a `tokenizers` tokenizer."""
        return self.splitter in SUBWORD

    @property
    def block_size(self) -> int:
        """K."""
        name, options = self.coder
        return CODERS[name](**options).block_size


def _hashformers() -> list[Variant]:
    bucket = {"emb50k": 50_260, "emb1k": 1_033}
    reads_bits = {"pool": "pool", "add": "add", "proj": "projection"}

    def row(
        coder: str, name: str, size: str = "base", splitter: str = "word", source: str = "HashFormers 3.4, Table 2"
    ) -> Variant:
        writes: tuple[str, dict[str, Any]] = (coder, {})
        if name in bucket:
            if coder == "lsh":
                writes = ("lsh-index", {"num_hyperplanes": bucket[name]})
            reads: tuple[str, dict[str, Any]] = ("bucket", {"num_buckets": bucket[name]})
        else:
            reads = (reads_bits[name], {})
        unit = "" if splitter == "word" else f"-{splitter}"
        return Variant(f"hashformer-{coder}-{name}{unit}-{size}", source, splitter, writes, reads, "roberta", size)

    rows = []
    for coder, section in (("md5", "3.2"), ("lsh", "3.5")):
        rows += [row(coder, name, source=f"HashFormers {section}, Table 2") for name in bucket]
        for name in reads_bits:
            rows += [
                row(coder, name),
                *(
                    row(coder, name, size, source="HashFormers 3.4, at Turc et al.'s size")
                    for size in ("small", "mini", "tiny")
                ),
            ]
        rows += [row(coder, name, splitter="bpe", source="HashFormers, Appendix C") for name in ("emb50k", "proj")]
    return rows


def _eelberts() -> list[Variant]:
    def row(
        name: str,
        source: str,
        splitter: str = "wordpiece",
        front_end: str = "ngram",
        objective: str = "mlm",
    ) -> Variant:
        size = name.rsplit("-", 1)[-1]
        writes = ("utf8", {"block_size": NGRAM_BLOCK})
        return Variant(
            f"eelbert-{name}", source, splitter, writes, (front_end, {}), "bert", size, objective, max_length=128
        )

    return [
        row("base", "EELBERT 3.2, Table 1"),
        row("mini", "EELBERT 3.2, Table 2"),
        row("tiny", "EELBERT 3.2, Table 2"),
        row("uno", "EELBERT 3.2, 5.2"),
        *(
            row(f"word-{size}", "EELBERT 3.2, over whole words", "word", objective="shuffle-random")
            for size in ("mini", "tiny", "uno")
        ),
        row("random-base", "EELBERT, Table 3", front_end="random"),
        row("random-mini", "EELBERT, Table 3", front_end="random"),
    ]


def _elementwise() -> list[Variant]:
    def row(
        name: str,
        source: str,
        block_size: int = 16,
        splitter: str = "word",
        encoder: str = "bert",
        size: str = "base",
        **options: Any,
    ) -> Variant:
        positions = {"num_hash_buckets": 128} if encoder == "canine" else {}
        width = {"embedding_size": SIZES[size][1]} if encoder == "albert" else {}
        return Variant(
            f"ewe-{name}-{size}", source, splitter, ("utf8", {"block_size": block_size}), ("elementwise", options),
            encoder, size, max_length=128, encoder_options={"num_attention_heads": block_size, **positions, **width},
        )  # fmt: skip

    return [
        row("bert", "Elementwise 3.2, 3.3"),
        row("bert", "Elementwise 3.2, 3.3, at Turc et al.'s size", size="mini"),
        row("bert", "Elementwise 3.2, 3.3, at Turc et al.'s size", size="tiny"),
        row("albert", "Elementwise, Table 3", encoder="albert"),
        row("canine", "Elementwise, Table 3", encoder="canine"),
        row("bert-gradient", "Elementwise 5.1", block_size=8, focus=False, gradient=True),
        row("bert-bytes", "Elementwise 3.2, units of bytes", splitter="bytes"),
        row("bert-nofocus", "Elementwise, without its global focus embeddings", focus=False),
    ]


PROFORMER = Variant(
    name="proformer",
    source="ProFormer (2019), HashFormers Table 2",
    splitter="word",
    coder=("lsh", {"num_bits": 420}),
    front_end=("linear", {"num_bits": 420}),
    encoder="roberta",
    size="base",
    objective="none",
    encoder_options={"num_hidden_layers": 2},
    position_embeddings=False,
)

VARIANTS: dict[str, Variant] = {row.name: row for row in [*_hashformers(), PROFORMER, *_eelberts(), *_elementwise()]}


def list_variants() -> list[str]:
    """Returns the names of all variants, in the order of the table."""
    return list(VARIANTS)


def find_variant(name: str) -> Variant:
    """Returns the row of that name.

    Raises:
        ValueError: there is none; the near ones are named.
    """
    if name not in VARIANTS:
        near = difflib.get_close_matches(name, VARIANTS, n=4, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(VARIANTS)}."
        raise ValueError(f"unknown variant {name!r}; {hint}")
    return VARIANTS[name]


def load_config(name: str, **kwargs: Any) -> VocablessConfig:
    """Returns the configuration of a variant.

    Args:
        name: see `list_variants`.
        kwargs: further or other arguments of `VocablessConfig`, for instance `num_labels=3`.

    Raises:
        ValueError: unknown variant, or what `VocablessConfig` refuses.

    Example:
        >>> load_config("eelbert-tiny").front_end
        'ngram'
    """
    row = find_variant(name)
    front_end, options = row.front_end
    if front_end == "elementwise":
        options = {**options, "max_tokens": row.max_length}
    given = {
        "front_end": front_end,
        "front_end_options": options,
        "block_size": row.block_size,
        "encoder_config": _encoder_config(row),
        "position_embeddings": row.position_embeddings,
        "target_vocab_size": 50_265 if row.splitter == "bpe" else 30_522,
        "variant": name,
    }
    return VocablessConfig(**{**given, **kwargs})


def load_tokenizer(
    name: str,
    subword: str | os.PathLike[str] | None = None,
    target: str | os.PathLike[str] | None = None,
    **kwargs: Any,
) -> VocablessTokenizer:
    """Returns the tokenizer of a variant.

    Args:
        name: see `list_variants`.
        subword: for variants over subwords: a `tokenizer.json`, a folder that holds one, or a Hub id; None is
            `google-bert/bert-base-uncased` for WordPiece and `FacebookAI/roberta-base` for BPE.
        target: for masked LM over other tokens than the units: the same, of the tokens that are predicted.
        kwargs: further or other arguments of `VocablessTokenizer`.

    Raises:
        ValueError: unknown variant; `subword` or `target` not found; `subword` for a variant that has no use for it.
    """
    row = find_variant(name)
    coder, coder_options = row.coder
    options: dict[str, dict[str, Any]] = {
        "word": {"lowercase": not name.startswith("ewe")},
        "bytes": {"window": row.block_size},
    }
    given: dict[str, Any] = {
        "splitter": "subword" if row.takes_subword else row.splitter,
        "splitter_options": options.get(row.splitter, {}),
        "coder": coder,
        "coder_options": coder_options,
        "model_max_length": row.max_length,
        "model_input_names": ["input_ids", *(["token_type_ids"] if row.encoder != "roberta" else []), "attention_mask"],
    }
    if row.takes_subword:
        given["subword_file"] = _find_subword(os.fspath(subword or SUBWORD[row.splitter]))
    elif subword is not None:
        raise ValueError(
            f"{name} reads whole {row.splitter}s and has no use for subword={str(subword)!r}; leave it out."
        )
    if target is not None:
        given["target_file"] = _find_subword(os.fspath(target))
    return VocablessTokenizer(**{**given, **kwargs})


def load_subword(where: str | os.PathLike[str]) -> Tokenizer:
    """Returns the subword tokenizer of a `tokenizer.json`, a folder that holds one, or a Hub id.

    Raises:
        ValueError: there is none, or it is damaged.
    """
    return read_subword(_find_subword(os.fspath(where)))


def _encoder_config(row: Variant) -> dict[str, Any]:
    layers, width, heads = SIZES[row.size]
    config: dict[str, Any] = {
        "model_type": row.encoder,
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": heads,
        "intermediate_size": 128 if row.size == "uno" else 4 * width,
        "max_position_embeddings": row.max_length,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
    }
    if row.encoder == "roberta":  # positions are counted from padding_idx + 1 = 2
        config |= {
            "max_position_embeddings": row.max_length + 2,
            "type_vocab_size": 1,
            "pad_token_id": 1,
            "layer_norm_eps": 1e-5,
        }
    if row.encoder == "bert" and row.name.startswith("eelbert"):  # as published: trained at 128, positions for 512
        config |= {"max_position_embeddings": 512}
    return config | row.encoder_options


def _find_subword(where: str) -> str:
    if os.path.isfile(where):
        return where
    if os.path.isdir(where):
        for name in ("tokenizer.json", "subword.json"):
            if os.path.isfile(os.path.join(where, name)):
                return os.path.join(where, name)
        raise ValueError(f"the folder {where!r} holds no tokenizer.json; give the file itself or another folder.")
    try:
        return str(cached_file(where, "tokenizer.json"))
    except OSError as error:
        raise ValueError(
            f"the subword tokenizer {where!r} is neither a file, a folder nor a reachable Hub repository; "
            "give subword=, the path of a tokenizer.json."
        ) from error
