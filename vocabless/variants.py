"""The table of variants: every model of the family is one row. Tests, cards and benchmarks read this table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from vocabless.tokenization.block_coders import CODERS


class Size(NamedTuple):
    """The dimensions of an encoder."""

    num_hidden_layers: int
    hidden_size: int
    num_attention_heads: int
    intermediate_size: int


# Turc et al. (2019), Table 1. `uno` is EELBERT's (section 5.2): tiny with a feed-forward width of 128. `nano` is ours.
SIZES = {
    "nano": Size(1, 64, 2, 256),
    "uno": Size(2, 128, 2, 128),
    "tiny": Size(2, 128, 2, 512),
    "mini": Size(4, 256, 4, 1024),
    "small": Size(4, 512, 8, 2048),
    "base": Size(12, 768, 12, 3072),
}

BASE_WIDTH, BASE_LEARNING_RATE = SIZES["base"].hidden_size, 3e-5  # of fine-tuning: HashFormers, Table 5
NARROWEST = SIZES["nano"].hidden_size  # no narrower encoder was measured


def default_learning_rate(width: int) -> float:
    """Returns the peak learning rate to fine-tune an encoder: 3e-5 · (768 / width)^1.5, rounded to two digits.

    A width below `NARROWEST` counts as `NARROWEST`.

    Example:
        >>> [default_learning_rate(width) for width in (768, 512, 256, 128, 64)]
        [3e-05, 5.5e-05, 0.00016, 0.00044, 0.0012]
    """
    return float(f"{BASE_LEARNING_RATE * (BASE_WIDTH / max(width, NARROWEST)) ** 1.5:.1e}")


Options = dict[str, Any]
Component = tuple[str, Options]  # the name of a coder or a front end, and its options


@dataclass(frozen=True)
class Variant:
    """One row of the table."""

    name: str  # short for its family, what tells it from the family's other rows, and its size
    source: str  # paper and section
    splitter: str  # of the tokenizer. `wordpiece` and `bpe` are the `subword` splitter over that kind of tokenizer
    coder: Component  # block coder of the tokenizer, and its options
    front_end: Component  # of the model, and its options
    size: str  # a key of `SIZES`
    family: str  # which model card template describes it
    encoder: str  # model type of the encoder
    objective: str | None = "shuffle-random"  # of pre-training; or `mlm`, `distill`, None if it had no pre-training
    lowercase: bool = True  # whether the splitter `word` or `scripts` lower-cases
    fold_forms: int = 0  # the edition of the forms of one word that are the same for it, see tokenization/forms.py
    splitter_options: Options = field(default_factory=dict)  # other options of the splitter
    max_length: int = 512  # tokens of a sequence
    max_positions: int | None = None  # positions of the encoder; None is `max_length`
    position_embeddings: bool = True  # whether the encoder keeps its table of positions
    encoder_options: Options = field(default_factory=dict)  # of the encoder's configuration, added to the size's
    classifier_pooling: str = "cls"  # what the heads for whole texts read, see `VocablessConfig`

    @property
    def reads_subwords(self) -> bool:
        """Whether its units are the tokens of a `tokenizers` tokenizer."""
        return self.splitter in SUBWORD_TOKENIZERS

    @property
    def subwords(self) -> str:
        """`wordpiece` or `bpe`: the subwords that it reads, or that masked LM over its words predicts."""
        return self.splitter if self.reads_subwords else "wordpiece"

    @property
    def block_size(self) -> int:
        """K, bytes in a block."""
        name, options = self.coder
        return CODERS[name](**options).block_size


SUBWORD_TOKENIZERS = {"wordpiece": "google-bert/bert-base-uncased", "bpe": "FacebookAI/roberta-base"}

# Block coders.
MD5: Component = ("md5", {})
LSH: Component = ("lsh", {})
LSH_420: Component = ("lsh", {"num_bits": 420})
LSH_1K: Component = ("lsh-index", {"num_hyperplanes": 1_033})
LSH_50K: Component = ("lsh-index", {"num_hyperplanes": 50_260})
UTF8_8: Component = ("utf8", {"block_size": 8})
UTF8_16: Component = ("utf8", {"block_size": 16})
UTF8_32: Component = ("utf8", {"block_size": 32})
UTF8_64: Component = ("utf8", {"block_size": 64})

# Front ends.
EMB_1K: Component = ("bucket", {"num_buckets": 1_033})
EMB_50K: Component = ("bucket", {"num_buckets": 50_260})
POOL: Component = ("pool", {})
ADD: Component = ("add", {})
PROJ: Component = ("projection", {})
LINEAR: Component = ("linear", {"num_bits": 420})
NGRAM: Component = ("ngram", {})
CHARACTERS: Component = ("hash_embedding", {"num_rows": 22528, "characters": True})
RANDOM: Component = ("random_normal", {})
FOCUS: Component = ("elementwise", {"max_tokens": 128})
FOCUS_512: Component = ("elementwise", {"max_tokens": 512})  # CANINE downsamples 512 units to M = 128
NO_FOCUS: Component = ("elementwise", {"focus": False, "max_tokens": 128})
GRADIENT: Component = ("elementwise", {"focus": False, "pool_ngrams": True, "max_tokens": 128})

# One attention head for each byte of a block.
HEADS_8: Options = {"num_attention_heads": 8}
HEADS_16: Options = {"num_attention_heads": 16}

# Two layers of MiniLM (Wang et al. 2020), so that an encoder can begin from those of its teacher.
MINILM_2: Options = Size(2, 384, 12, 1536)._asdict()

# HashFormers' front ends without a table of buckets, and the sizes of their rows → where the size is from.
COMPRESSED = {"pool": POOL, "add": ADD, "proj": PROJ}
ORIGINS = {"base": "Table 2"} | dict.fromkeys(("small", "mini", "tiny"), "at Turc et al.'s size")

# Columns that all rows of a family share.
_hashgram = partial(
    Variant, family="hashgram", encoder="bert", objective="distill", fold_forms=2, classifier_pooling="mean"
)
_hashformer = partial(Variant, family="hashformer", encoder="roberta")
_eelbert = partial(Variant, family="eelbert", encoder="bert", max_length=128, max_positions=512)
_ewe_word = partial(
    Variant, family="elementwise", encoder="bert", lowercase=False, max_length=128, encoder_options=HEADS_16
)
_elementwise = partial(_ewe_word, objective=None)  # the paper trains on the task alone

# fmt: off
_ROWS = (
    _hashformer("hashformer-md5-emb50k-base", "HashFormers 3.2, Table 2", "word", MD5, EMB_50K, "base"),
    _hashformer("hashformer-md5-emb1k-base", "HashFormers 3.2, Table 2", "word", MD5, EMB_1K, "base"),
    *(_hashformer(f"hashformer-md5-{part}-{size}", f"HashFormers 3.4, {origin}", "word", MD5, front_end, size)
      for part, front_end in COMPRESSED.items() for size, origin in ORIGINS.items()),
    _hashformer("hashformer-md5-emb50k-bpe-base", "HashFormers, Appendix C", "bpe", MD5, EMB_50K, "base"),
    _hashformer("hashformer-md5-proj-bpe-base", "HashFormers, Appendix C", "bpe", MD5, PROJ, "base"),
    _hashformer("hashformer-lsh-emb50k-base", "HashFormers 3.3, Table 2", "word", LSH_50K, EMB_50K, "base"),
    _hashformer("hashformer-lsh-emb1k-base", "HashFormers 3.3, Table 2", "word", LSH_1K, EMB_1K, "base"),
    *(_hashformer(f"hashformer-lsh-{part}-{size}", f"HashFormers 3.4, {origin}", "word", LSH, front_end, size)
      for part, front_end in COMPRESSED.items() for size, origin in ORIGINS.items()),
    _hashformer("hashformer-lsh-emb50k-bpe-base", "HashFormers, Appendix C", "bpe", LSH_50K, EMB_50K, "base"),
    _hashformer("hashformer-lsh-proj-bpe-base", "HashFormers, Appendix C", "bpe", LSH, PROJ, "base"),
    Variant("proformer", "ProFormer (2021), HashFormers Table 2", "word", LSH_420, LINEAR, "base",
            family="proformer", encoder="roberta", objective=None, position_embeddings=False,
            encoder_options={"num_hidden_layers": 2}),
    _eelbert("eelbert-base", "EELBERT 3.2, Table 1", "wordpiece", UTF8_32, NGRAM, "base", objective="mlm"),
    _eelbert("eelbert-mini", "EELBERT 3.2, Table 2", "wordpiece", UTF8_32, NGRAM, "mini", objective="mlm"),
    _eelbert("eelbert-tiny", "EELBERT 3.2, Table 2", "wordpiece", UTF8_32, NGRAM, "tiny", objective="mlm"),
    _eelbert("eelbert-uno", "EELBERT 3.2, 5.2", "wordpiece", UTF8_32, NGRAM, "uno", objective="mlm"),
    _eelbert("eelbert-word-mini", "EELBERT 3.2, over whole words", "word", UTF8_32, NGRAM, "mini"),
    _eelbert("eelbert-word-tiny", "EELBERT 3.2, over whole words", "word", UTF8_32, NGRAM, "tiny"),
    _eelbert("eelbert-word-uno", "EELBERT 3.2, over whole words", "word", UTF8_32, NGRAM, "uno"),
    _eelbert("eelbert-random-base", "EELBERT 5.3, Table 3", "wordpiece", UTF8_32, RANDOM, "base", objective="mlm"),
    _eelbert("eelbert-random-mini", "EELBERT 5.3, Table 3", "wordpiece", UTF8_32, RANDOM, "mini", objective="mlm"),
    _elementwise("ewe-bert-base", "Elementwise 3.2, Table 2", "whitespace", UTF8_16, FOCUS, "base"),
    _elementwise("ewe-bert-mini", "Elementwise 3.2, at Turc et al.'s size", "whitespace", UTF8_16, FOCUS, "mini"),
    _elementwise("ewe-bert-tiny", "Elementwise 3.2, at Turc et al.'s size", "whitespace", UTF8_16, FOCUS, "tiny"),
    _elementwise("ewe-albert-base", "Elementwise 5, Table 2", "whitespace", UTF8_16, FOCUS, "base",
                 encoder="albert", encoder_options={**HEADS_16, "embedding_size": 128}),
    _elementwise("ewe-canine-base", "Elementwise 5, Table 2", "whitespace", UTF8_16, FOCUS_512, "base",
                 encoder="canine", max_length=512, encoder_options={**HEADS_16, "num_hash_buckets": 512}),
    _elementwise("ewe-bert-bytes-base", "Elementwise 5.1, Table 4", "bytes", UTF8_16, FOCUS, "base"),
    _elementwise("ewe-bert-gradient-base", "Elementwise 5.1, Table 4", "bytes", UTF8_8, GRADIENT, "base",
                 position_embeddings=False, encoder_options=HEADS_8),
    _elementwise("ewe-bert-nofocus-base", "Elementwise 5.2, Table 5", "whitespace", UTF8_16, NO_FOCUS, "base",
                 position_embeddings=False),
    _ewe_word("ewe-bert-word-base", "Elementwise 3.2, over our words", "word", UTF8_16, FOCUS, "base"),
    _ewe_word("ewe-bert-word-mini", "Elementwise 3.2, over our words", "word", UTF8_16, FOCUS, "mini"),
    _ewe_word("ewe-bert-word-tiny", "Elementwise 3.2, over our words", "word", UTF8_16, FOCUS, "tiny"),
    _ewe_word("ewe-albert-word-base", "ours, bytes as wide as ALBERT's layers", "word", UTF8_16, FOCUS, "base",
              encoder="albert", encoder_options={**HEADS_16, "embedding_size": 768}),
    _ewe_word("ewe-canine-word-base", "ours, 128 units before the downsampling", "word", UTF8_16, FOCUS, "base",
              encoder="canine", encoder_options={**HEADS_16, "num_hash_buckets": 128}),
    _ewe_word("ewe-bert-word-nofocus-base", "ours, without the global focus alone", "word", UTF8_16, NO_FOCUS, "base"),
    _hashgram("hashgram-nano", "ours", "word", UTF8_32, ("hash_embedding", {"num_rows": 5632}), "nano"),
    _hashgram("hashgram-uno", "ours", "word", UTF8_32, ("hash_embedding", {"num_rows": 7168}), "uno"),
    _hashgram("hashgram-tiny", "ours", "word", UTF8_32, ("hash_embedding", {"num_rows": 15360}), "tiny"),
    _hashgram("hashgram-mini", "ours, as wide as its teacher MiniLM", "word", UTF8_32,
              ("hash_embedding", {"num_rows": 10240}), "mini", encoder_options=MINILM_2),
    _hashgram("hashgram-multi", "ours, for every script", "scripts", UTF8_64, CHARACTERS, "mini", max_length=256,
              encoder_options={"num_hidden_layers": 2}),
)
# fmt: on

VARIANTS: dict[str, Variant] = {variant.name: variant for variant in _ROWS}


def list_variants() -> list[str]:
    """Returns the names of all variants, in the order of the table."""
    return list(VARIANTS)


def find_variant(name: str | Variant) -> Variant:
    """Returns the variant of that name, or a row as it is. Raises ValueError, with similar names, if there is none."""
    if isinstance(name, Variant):
        return name
    check_known("variant", [name], VARIANTS)
    return VARIANTS[name]


def check_known(kind: str, names: Iterable[str], legal: Iterable[str]) -> None:
    """Raises ValueError for the first name that is not legal; it lists similar names, or else all legal ones."""
    known = list(legal)
    for name in names:
        if name not in known:
            similar = difflib.get_close_matches(name, known)
            remedy = f"did you mean {' or '.join(similar)}?" if similar else f"choose one of {', '.join(known)}."
            raise ValueError(f"unknown {kind} {name!r}; {remedy if known else 'there are none.'}")
