"""The block contract as models see it, and the base of every front end.

Elements of a block are 0–4, the special tokens, or a byte value + 5. A special token is the block [id, 0, …, 0]; zeros
behind a unit's bytes, and whole blocks of zeros, are padding.
"""

import torch
from torch import Tensor, nn

NUM_SPECIAL = 5
SPECIAL_NAMES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NUM_ELEMENTS = NUM_SPECIAL + 256


class FrontEnd(nn.Module):
    """Base of all front ends: `forward(blocks)` maps (B, S, K) int64, values 0–260, to (B, S, D).

    Args:
        block_size: K.
        embedding_size: D.
    """

    max_tokens: int | None = None  # the longest sequence that it reads; None is any

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__()
        self.block_size = block_size
        self.embedding_size = embedding_size

    def init_weights(self, std: float) -> None:
        """Fills the parameters and buffers that no submodule fills; a buffer that is not saved is filled here alone."""


def to_bytes(blocks: Tensor) -> Tensor:
    """Returns the bytes, 0–255, of elements 0–260; special elements and padding give 0."""
    return (blocks - NUM_SPECIAL).clamp(min=0)


def check_blocks(blocks: Tensor, block_size: int) -> None:
    """Refuses what are no blocks of `block_size` elements.

    Raises:
        ValueError: a rank other than 3, another K, floats; on the CPU, where looking costs no synchronisation, also
            values out of range.
    """
    if blocks.ndim != 3 or blocks.shape[-1] != block_size:
        raise ValueError(
            f"input_ids has shape {tuple(blocks.shape)}; blocks have shape (batch, seq, {block_size}): "
            "use the tokenizer that was saved with this model."
        )
    if blocks.is_floating_point():
        raise ValueError(
            f"input_ids is {blocks.dtype}; blocks are integers 0–{NUM_ELEMENTS - 1}, embeddings go in as inputs_embeds."
        )
    if blocks.device.type == "cpu" and blocks.numel() and not torch.compiler.is_compiling():
        low, high = (int(value) for value in blocks.aminmax())
        if low < 0 or high >= NUM_ELEMENTS:
            raise ValueError(
                f"input_ids has the value {low if low < 0 else high}; elements of a block are 0–{NUM_ELEMENTS - 1}: "
                "use the tokenizer that was saved with this model."
            )


def at_least_one(name: str, value: int) -> int:
    """Returns `value`, the option `name` of a front end.

    Raises:
        ValueError: it is no whole number of at least 1.
    """
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"a front end got {name}={value!r}; give a whole number of at least 1.")
    return value
