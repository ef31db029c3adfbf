"""Base class of all models: configuration, initialisation, and a front end in place of the word table."""
# mypy: allow-untyped-calls

from typing import Any, cast

from torch import nn
from transformers import PreTrainedModel
from transformers.utils import logging

from .blocks import FrontEnd
from .configuration_vocabless import VocablessConfig
from .head_layers import LecunLinear

logger = logging.get_logger(__name__)


class VocablessPreTrainedModel(PreTrainedModel):
    """Base class of all models. `base_model` is the `VocablessModel`, which has the front end."""

    config_class = VocablessConfig
    base_model_prefix = "vocabless"
    main_input_name = "input_ids"
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
        if isinstance(module, FrontEnd):
            module.init_weights(self.config.initializer_range)
        elif isinstance(module, LecunLinear):
            module.init_weights()

    def get_input_embeddings(self) -> nn.Module:
        """Returns the front end, which takes the place of the word table."""
        return cast(FrontEnd, self.base_model.front_end)

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replaces the front end."""
        self.base_model.front_end = value

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Module:  # type: ignore[override]
        """Does nothing, because there is no word table to resize. Returns the front end."""
        logger.warning_once("A vocabless model has no word table; resize_token_embeddings changes nothing.")
        return self.get_input_embeddings()
