"""The flags of the pre-training objectives: base classes of the objectives, which train.

This file imports neither torch nor transformers, so that `--help` is quick.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from vocabless.training.limits import SHARE, Limit, check_limits


@dataclass(frozen=True)
class ShuffleRandomFlags:
    """Flags of `ShuffleRandom`."""

    name: ClassVar[str] = "shuffle-random"
    help: ClassVar[str] = "tell shuffled, replaced and intact words apart (S+R)"

    shuffle_probability: float = field(
        default=0.15,
        metadata={
            "group": "objective shuffle-random",
            "help": "S+R: share of shuffled tokens, 0–1.",
        },
    )
    replace_probability: float = field(default=0.15, metadata={"help": "S+R: share of replaced tokens, 0–1."})

    def __post_init__(self) -> None:
        shares = vars(self)
        check_limits(shares, dict.fromkeys(shares, SHARE))
        if not 0 < sum(shares.values()) <= 1:
            values = " and ".join(f"--{name} {value}" for name, value in shares.items())
            raise ValueError(
                f"{values} are {sum(shares.values()):g} together; give two with a sum above 0 and at most 1."
            )


@dataclass(frozen=True)
class MaskedLMFlags:
    """Flags of `MaskedLM`."""

    name: ClassVar[str] = "mlm"
    help: ClassVar[str] = "predict masked tokens of --subword"

    mlm_probability: float = field(
        default=0.15,
        metadata={
            "group": "objective mlm",
            "help": "mlm: share of tokens to predict, 0–1.",
        },
    )

    def __post_init__(self) -> None:
        check_limits(vars(self), {"mlm_probability": Limit(0, 1, above=True)})


@dataclass(frozen=True)
class DistillFlags:
    """Flags of `Distill`."""

    name: ClassVar[str] = "distill"
    help: ClassVar[str] = "learn the sentence vectors of --teacher"

    teacher: str | None = field(
        default=None,
        metadata={
            "group": "objective distill",
            "help": "distill: a sentence-transformers model or an encoder, a folder or a Hub id. None is "
            "hashgram-tiny-sentence, which is in this repository.",
        },
    )
    teacher_trust_remote_code: bool = field(
        default=False, metadata={"help": "distill: run the code that the teacher's folder or repository contains."}
    )
    teacher_bf16: bool = field(
        default=False,
        metadata={
            "help": "distill: compute the teacher's vectors in bfloat16, twice as fast on a CPU with AVX512-BF16."
        },
    )
    max_texts: int = field(
        default=400_000,
        metadata={
            "help": "distill: texts that the teacher embeds, sentences, clauses and passages; 0 is all, without --mix."
        },
    )
    sts_file: str | None = field(
        default=None,
        metadata={"help": "distill: file with the columns sentence1, sentence2 and score, to measure Spearman's rho."},
    )
    misspell_probability: float = field(
        default=0.0,
        metadata={"help": "distill: share of words that the student reads misspelt, 0–1; the teacher reads the text."},
    )
    similarity_weight: float = field(
        default=5.0, metadata={"help": "distill: weight of the similarities within a batch in the loss."}
    )


OBJECTIVE_FLAGS = (ShuffleRandomFlags, MaskedLMFlags, DistillFlags)
