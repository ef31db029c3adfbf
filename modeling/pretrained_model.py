"""The base class of all models."""
# mypy: no-warn-return-any
# ruff: noqa: D102 (the library documents the methods)

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils import CONFIG_NAME, SAFE_WEIGHTS_NAME, logging

from .blocks import FrontEnd, HasConstants
from .configuration_vocabless import VocablessConfig
from .head_layers import LecunLinear

logger = logging.get_logger(__name__)
WEIGHTS_ID = "weights_id"  # what config.json and the metadata of model.safetensors have in common, if they have it
OTHER_WEIGHTS = (
    "{file!r} does not belong to the {settings} beside it: a process is writing the folder, or was stopped while it "
    "did; load it again, or write it once more."
)


class MainInputName:
    """The name of the input whose numbers the Trainer of the library counts as tokens, in a model that trains.

    That is the attention mask, with one number for each token; a block has K. A class, and a model in evaluation mode,
    whose main input goes to metrics, have `input_ids`.
    """

    def __get__(self, model: nn.Module | None, owner: type[nn.Module]) -> str:
        return "attention_mask" if model is not None and model.training else "input_ids"


def check_finite(source: str, weights: Mapping[str, Tensor]) -> None:
    """Raises ValueError if a weight of a checkpoint is NaN or infinite."""
    kinds = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
    for name, weight in weights.items():
        if weight.dtype in kinds and not (weight.is_meta or weight.isfinite().all()):
            raise ValueError(f"the weights {name} of {source!r} are not finite numbers; train or download it again.")


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

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Loads a model, see `PreTrainedModel.from_pretrained`.

        Raises:
            OSError: the weights in the folder are not those of its config.json, which was read before them.
            ValueError: a weight is not a finite number.
        """
        source, config = str(pretrained_model_name_or_path), kwargs.get("config")
        file = Path(source, kwargs.get("subfolder") or "", SAFE_WEIGHTS_NAME)
        # Another configuration than that of the folder may be given. Repositories of the Hub change as a whole.
        is_checked = file.is_file() and (config is None or str(getattr(config, "name_or_path", None)) == source)
        before = os.stat(file) if is_checked else None
        loaded = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        check_finite(source, dict(model.named_parameters()))
        if before is not None:
            with safe_open(file, "pt") as weights:
                found = (weights.metadata() or {}).get(WEIGHTS_ID)
            after = os.stat(file)
            is_same = (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
            if not is_same or found not in (None, getattr(model.config, WEIGHTS_ID, None)):
                raise OSError(OTHER_WEIGHTS.format(file=str(file), settings=CONFIG_NAME))
        return loaded

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
