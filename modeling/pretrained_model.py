"""The base class of all models."""
# mypy: no-warn-return-any
# ruff: noqa: D102 (the library documents the methods)

from typing import Any, cast

from torch import nn
from transformers import PreTrainedModel
from transformers.utils import logging

from .blocks import FrontEnd, HasConstants
from .configuration_vocabless import VocablessConfig
from .head_layers import LecunLinear

logger = logging.get_logger(__name__)


class MainInputName:
    """The name of the input whose numbers the Trainer of the library counts as tokens, in a model that trains.

    That is the attention mask, with one number for each token; a block has K. A class, and a model in evaluation mode,
    whose main input goes to metrics, have `input_ids`.
    """

    def __get__(self, model: nn.Module | None, owner: type[nn.Module]) -> str:
        return "attention_mask" if model is not None and model.training else "input_ids"


class VocablessPreTrainedModel(PreTrainedModel):
    """Base class of all models. `base_model` is the `VocablessModel`, which has the front end."""

    config_class = VocablessConfig
    base_model_prefix = "vocabless"
    main_input_name = MainInputName()  # type: ignore[assignment]
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True

    def __new__(cls, config: VocablessConfig | None = None, **kwargs: Any) -> "VocablessPreTrainedModel":
        """Refuses what `from_pretrained` was given and nothing takes, before `__init__` raises a TypeError.

        A copy or a pickle is made without a configuration.
        """
        if config is not None:
            config.check_names(kwargs)
        return super().__new__(cls)

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, HasConstants):
            module.init_weights(self.config.initializer_range)
        elif isinstance(module, LecunLinear):
            module.init_weights()

    def get_input_embeddings(self) -> nn.Module:
        """Returns the front end, which takes the place of the word table."""
        return cast(FrontEnd, self.base_model.front_end)

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.base_model.front_end = value

    def resize_token_embeddings(  # type: ignore[override]
        self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any
    ) -> nn.Module:
        """Does nothing, because there is no word table to resize. Returns the front end."""
        if new_num_tokens not in (None, self.config.vocab_size):
            logger.warning_once("A vocabless model has no word table; resize_token_embeddings changes nothing.")
        return self.get_input_embeddings()
