"""What fine-tuning starts from: a variant or a stock shape with random weights, or any checkpoint."""
# mypy: allow-untyped-calls

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from vocabless.loading import load_config, load_tokenizer
from vocabless.stock_shapes import STOCK_SHAPES, find_shape, load_shape_config, load_shape_tokenizer
from vocabless.training.finetuning.problems import Problem, Tagging
from vocabless.training.texts.subword import train_subword
from vocabless.variants import VARIANTS, find_variant, list_variants

TRAINED = "subword.json"
NEEDS_PREFIX_SPACE = ("bloom", "deberta", "gpt2", "longformer", "roberta")  # to read texts that are split into words


@dataclass(frozen=True)
class Start:
    """What fine-tuning starts from.

    Attributes:
        name: a variant, a stock shape, a folder or a Hub id.
        tokenizer: tokenizer.json, folder or Hub id; `train` trains a subword tokenizer on the task's own text.
        subword_vocab_size: tokens of one that is trained.
        trust_remote_code: whether a checkpoint may run its own code.
        revision: branch, tag or commit of a Hub id.
    """

    name: str
    tokenizer: str | None = None
    subword_vocab_size: int = 8000
    trust_remote_code: bool = False
    revision: str = "main"

    @property
    def is_checkpoint(self) -> bool:
        """Whether it has weights; a folder goes before a variant of its name."""
        return Path(self.name).is_dir() or self.name not in {*list_variants(), *STOCK_SHAPES}

    def check(self) -> None:
        """Finds mistakes that need neither data nor a network.

        Raises:
            ValueError: a tokenizer is missing or has no use.
        """
        if self.is_checkpoint:
            if self.tokenizer == "train":
                raise ValueError(f"--tokenizer_name train has no use: {self.name!r} has weights for its own tokenizer.")
        elif self.name in VARIANTS:
            if self.tokenizer is not None and not find_variant(self.name).reads_subwords:
                raise ValueError(f"{self.name} reads whole words and has no use for --tokenizer_name; leave it out.")
        elif self.tokenizer is None:
            raise ValueError(f"{self.name} has no tokenizer of its own; give --tokenizer_name PATH, or train.")

    def load(
        self, problem: Problem, texts: Sequence[str], folder: Path
    ) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Returns a model with a head for the problem, and its tokenizer.

        Args:
            problem: what the head is for.
            texts: of the task, which a subword tokenizer is trained on if asked for.
            folder: of the run; such a tokenizer is kept there and is read again when the run goes on.

        Raises:
            ValueError: it is not to be had.
        """
        if self.is_checkpoint:
            return self._load_checkpoint(problem)
        subword = self.tokenizer
        if subword == "train":
            subword = str(folder / TRAINED)
            if not os.path.isfile(subword):
                documents = Dataset.from_dict({"text": list(texts)})
                train_subword(documents, find_shape(self.name).subwords, self.subword_vocab_size).save(subword)
        if self.name in VARIANTS:
            tokenizer: PreTrainedTokenizerBase = load_tokenizer(self.name, subword)
            config: Any = load_config(self.name, **problem.config)
        else:
            tokenizer = load_shape_tokenizer(self.name, str(subword))
            config = load_shape_config(self.name, len(tokenizer), pad_token_id=tokenizer.pad_token_id, **problem.config)
        return problem.auto_class.from_config(config), tokenizer

    def _load_checkpoint(self, problem: Problem) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        given = {"trust_remote_code": self.trust_remote_code, "revision": self.revision}
        try:
            config = AutoConfig.from_pretrained(self.name, **given, **problem.config)
            needs_space = isinstance(problem, Tagging) and config.model_type in NEEDS_PREFIX_SPACE
            extra = {"add_prefix_space": True} if needs_space else {}
            tokenizer = AutoTokenizer.from_pretrained(self.tokenizer or self.name, **given, **extra)
            # a head of another task's size is made anew; the library lists such weights
            model = problem.auto_class.from_pretrained(self.name, config=config, ignore_mismatched_sizes=True, **given)
        except (OSError, ValueError) as error:
            cause = " ".join(str(error).split())
            raise ValueError(
                f"{self.name!r} cannot be loaded ({cause}); give a variant, one of "
                f"{', '.join(STOCK_SHAPES)}, a folder with a checkpoint, or a Hub id."
            ) from error
        return model, tokenizer


def longest_sequence(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns how many tokens a model and its tokenizer take."""
    positions = [getattr(model.base_model, "max_tokens", None), getattr(model.config, "max_position_embeddings", None)]
    return min([int(tokenizer.model_max_length), *(int(number) for number in positions if number)])
