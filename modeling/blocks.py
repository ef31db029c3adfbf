"""Blocks as the models read them, and the base class of the front ends.

A token is a block of K elements. An element is a byte value + 5, or the id of a special token, 0–4. A special token is
the block [id, 0, …, 0]. A unit shorter than K bytes is padded with zeros; a block of zeros alone is a padding token.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig
from transformers import initialization as init

NUM_SPECIAL = 5
SPECIAL_NAMES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SEP = SPECIAL_NAMES.index("[SEP]")
NUM_ELEMENTS = NUM_SPECIAL + 256
MAX_ROWS = 1 << 24  # of a table of a front end


class HasConstants(nn.Module):
    """Base class of the modules with buffers that no checkpoint holds."""

    def __init__(self) -> None:
        super().__init__()
        self._constants: dict[str, tuple[Callable[..., Tensor], tuple[Any, ...]]] = {}

    def add_constant(self, name: str, make: Callable[..., Tensor], *arguments: Any) -> None:
        """Adds the buffer `make(*arguments)`, which no checkpoint holds."""
        self._constants[name] = make, arguments
        self.register_buffer(name, make(*arguments), persistent=False)

    def init_weights(self, std: float) -> None:
        """Initialises the parameters and constants of this module itself, not those of its submodules.

        A model that is loaded is first built without values, so the constants are made again here.
        """
        for name, (make, arguments) in self._constants.items():
            init.copy_(getattr(self, name), make(*arguments))
        for parameter in self.parameters(recurse=False):
            self.init_parameter(parameter, std)

    def init_parameter(self, parameter: Tensor, std: float) -> None:
        """Initialises a parameter with random numbers of this standard deviation."""
        init.normal_(parameter, std=std)


class FrontEnd(HasConstants):
    """Base class of the front ends: `forward` maps blocks (B, S, K) int64, values 0–260, to embeddings (B, S, D).

    `block_size` is K, `embedding_size` D. The options of a front end are the keyword-only arguments of its `__init__`.
    """

    max_tokens: int | None = None  # maximum sequence length; None is no limit
    embeds_by_place = False  # whether the embedding of a token depends on its place or on its neighbours
    reads_letters = True  # whether the elements of a block are letters, not the bytes of a digest

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__()
        self.block_size, self.embedding_size = block_size, embedding_size
        # No parameter, and no memory: its rows are the values of an element. Libraries such as PEFT compare the rows of
        # a word table with `len(tokenizer)`. A front end may have a parameter of this name instead.
        self.weight: Any = torch.zeros((), device="cpu").expand(NUM_ELEMENTS, embedding_size)

    def check_encoder(self, config: PreTrainedConfig) -> None:
        """Raises ValueError if the encoder of this configuration does not fit the front end. By default all fit."""


def to_bytes(blocks: Tensor) -> Tensor:
    """Maps elements 0–260 to byte values 0–255; special tokens and padding become 0."""
    return (blocks - NUM_SPECIAL).clamp(min=0)


def attention_mask_of(blocks: Tensor) -> Tensor:
    """Returns True for tokens and False for padding, (…, S) bool. Only padding blocks begin with 0.

    >>> attention_mask_of(torch.tensor([[[2, 0], [102, 120], [3, 0], [0, 0]]])).tolist()
    [[True, True, True, False]]
    """
    return blocks[..., 0] > 0


def token_type_ids_of(blocks: Tensor) -> Tensor:
    """Returns 1 for the tokens after the first [SEP], which are those of the second text, else 0; (…, S) int64.

    >>> token_type_ids_of(torch.tensor([[[2, 0], [102, 120], [3, 0], [102, 0], [3, 0], [0, 0]]])).tolist()
    [[0, 0, 0, 1, 1, 0]]
    """
    is_sep = (blocks[..., 0] == SEP).long()
    is_behind_sep = is_sep.cumsum(dim=-1) > is_sep  # more [SEP]s up to here than this token itself
    return (is_behind_sep & attention_mask_of(blocks)).long()


def check_blocks(blocks: Tensor, block_size: int) -> None:
    """Checks that `blocks` is an integer tensor (batch, seq, block_size) with values 0–260.

    Values are checked on the CPU only: on an accelerator the check would make the CPU wait for it.

    Raises:
        ValueError: wrong rank, K or dtype, no token, or a value out of range.
    """
    if blocks.ndim != 3 or blocks.shape[-1] != block_size:
        raise ValueError(
            f"input_ids has shape {tuple(blocks.shape)}; blocks have shape (batch, seq, {block_size}): "
            "use the tokenizer that was saved with this model."
        )
    if blocks.is_floating_point():
        raise ValueError(
            f"input_ids is {blocks.dtype}; blocks are integers 0–{NUM_ELEMENTS - 1}, pass embeddings as inputs_embeds."
        )
    if blocks.device.type == "cpu" and not torch.compiler.is_compiling():
        if not blocks.numel():
            raise ValueError(f"input_ids has shape {tuple(blocks.shape)} and holds no token; give at least one text.")
        low, high = (int(value) for value in blocks.aminmax())
        if low < 0 or high >= NUM_ELEMENTS:
            raise ValueError(
                f"input_ids contains {low if low < 0 else high}; elements of a block are 0–{NUM_ELEMENTS - 1}: "
                "use the tokenizer that was saved with this model."
            )


def check_positive(name: str, value: int, limit: int = MAX_ROWS) -> int:
    """Returns an option of the front end, called `name`. Raises ValueError if it is no integer from 1 to `limit`."""
    if type(value) is not int or not 1 <= value <= limit:
        raise ValueError(f"the front end got {name}={value!r}; give an integer from 1 to {limit}.")
    return value
