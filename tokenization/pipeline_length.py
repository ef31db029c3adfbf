"""The length that a text has in a pipeline which classifies texts."""

from typing import Any

from transformers.tokenization_utils_base import PreTrainedTokenizerBase

UNCUT_TASKS = ("text-classification", "sentiment-analysis")  # their stock pipeline asks for no truncation


class PipelineTokenizer(PreTrainedTokenizerBase):
    """Base class: a tokenizer that knows whether `pipeline` has loaded it for a task of `UNCUT_TASKS`.

    There it truncates to `model_max_length`, unless a call says otherwise. So the pipeline reads texts up to the length
    that the head was trained with, as predictions, graphs, pages and programs do; the model could read longer ones.

    Attributes:
        call_defaults: arguments of a call that does not give them, by name.
    """

    call_defaults: dict[str, Any] = {}  # noqa: RUF012

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Loads a tokenizer. `pipeline` says in `_from_pipeline` which task it is for."""
        tokenizer = super().from_pretrained(*args, **kwargs)
        tokenizer.call_defaults = {"truncation": True} if kwargs.get("_from_pipeline") in UNCUT_TASKS else {}
        return tokenizer
