"""The lengths that other libraries ask a tokenizer for: of a text in a pipeline, of a prompt for sentence vectors."""

import sys
from contextlib import suppress
from typing import Any

from transformers import PreTrainedConfig
from transformers.tokenization_utils_base import PreTrainedTokenizerBase
from transformers.utils import logging

_LOGGER = logging.get_logger(__name__)
CLASSIFIER = "VocablessForSequenceClassification"
UNCUT_TASKS = ("text-classification", "sentiment-analysis")  # their stock pipeline asks for no truncation


class LibraryTokenizer(PreTrainedTokenizerBase):
    """Base class: a tokenizer that gives other libraries the length of a text and of a prompt.

    If it comes from the folder of a classifier, or `pipeline` loads it for a task of `UNCUT_TASKS`, it truncates to
    `model_max_length`, unless a call says otherwise. So a pipeline reads texts up to the length that the
    classifier was saved with, as predictions, graphs, pages and programs do, and says once that it cut one.

    Attributes:
        call_defaults: arguments of a call that does not give them, by name.
    """

    call_defaults: dict[str, Any] = {}  # noqa: RUF012

    def with_defaults(self, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments of a call, with those that it does not give; it warns then of texts that are cut."""
        missing = self.call_defaults.keys() - options.keys()
        return self.call_defaults | {"warns_of_cuts": True} | options if missing else options

    def encode(  # type: ignore[override]
        self, text: Any, text_pair: Any = None, add_special_tokens: bool = True, *others: Any, **options: Any
    ) -> Any:
        """Returns the blocks of a text or a pair, as a call does; `others` say by position how it is cut."""
        options = options if others else self.with_defaults(options)
        return super().encode(text, text_pair, add_special_tokens, *others, **options)

    def warn_of_cut(self, max_length: int | None) -> None:
        """Warns, once in a process, that a text was cut which nobody asked to cut."""
        _LOGGER.warning_once(f"A text has more than {max_length} tokens; only so many are read.")

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Creates a tokenizer, also from a pickle, as the processes of an encoder's pool do."""
        count_prompts_in_blocks()
        return super().__new__(cls)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Loads a tokenizer. `pipeline` says in `_from_pipeline` which task it is for."""
        tokenizer = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        cuts = kwargs.get("_from_pipeline") in UNCUT_TASKS
        with suppress(OSError):  # there is no configuration beside the tokenizer
            options = kwargs | {"trust_remote_code": None}  # it would warn that no code is needed
            config, _ = PreTrainedConfig.get_config_dict(pretrained_model_name_or_path, **options)
            cuts = cuts or CLASSIFIER in (config.get("architectures") or ())
        tokenizer.call_defaults = {"truncation": True} if cuts else {}
        return tokenizer


def count_prompts_in_blocks() -> None:
    """Lets sentence-transformers, where it is loaded, count the tokens of a prompt in blocks.

    The method of its module Transformer takes the last axis of `input_ids` for the tokens, and fails on (1, tokens, K).
    Nothing that a tokenizer returns changes this, and a subclass would have to be named in a modules.json, which plain
    encoders and cross-encoders do not have. So the method is replaced; for other tokenizers it calls the stock one.
    """
    transformer = getattr(sys.modules.get("sentence_transformers.base.modules.transformer"), "Transformer", None)
    stock = getattr(transformer, "_get_prompt_length", None)

    def _prompt_length(self: Any, prompt: str, **kwargs: Any) -> Any:
        """Returns the number of tokens of a prompt and of [CLS] before it, as the stock method does."""
        if not hasattr(self.tokenizer, "block_size"):
            return stock(self, prompt, **kwargs)  # type: ignore[misc]
        ids = self.preprocess([prompt])["input_ids"][..., 0]  # of special tokens; other blocks begin with a byte
        return int((ids != self.tokenizer.pad_token_id).sum() - (ids == self.tokenizer.sep_token_id).sum())

    if stock and stock.__name__ != _prompt_length.__name__:  # another checkpoint may have replaced it
        transformer._get_prompt_length = _prompt_length  # type: ignore[union-attr]
