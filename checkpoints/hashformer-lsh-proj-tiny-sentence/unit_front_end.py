"""Base class of the front ends that embed each distinct block once: their embedding depends on the block alone."""
# mypy: allow-untyped-calls, no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods)

import torch
from torch import Tensor

from .blocks import FrontEnd
from .unit_cache import UnitCache, distinct_blocks


class UnitFrontEnd(FrontEnd):
    """Embeds each distinct block of a batch once. On the CPU, embeddings are also kept from call to call.

    A cached embedding is used only when no gradient is needed. The cache is emptied when a parameter changes, by an
    optimizer or by loading, and when the module enters training mode.
    """

    # In an exported graph, blocks are cut behind the longest unit, to no fewer elements than this. None: not cut, since
    # the operations of `embed_units` depend on the length.
    traced_length: int | None = 1

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__(block_size, embedding_size)
        self._cache = UnitCache(embedding_size)

    def embed_units(self, blocks: Tensor) -> Tensor:
        """Maps blocks, (…, k) int64 with k ≤ K and all zeros behind the longest unit, to embeddings (…, D)."""
        raise NotImplementedError

    def spell_special_tokens(self, blocks: Tensor) -> Tensor:
        """Returns what `embed_units` is called with. By default the blocks themselves."""
        return blocks

    def embed_distinct(self, blocks: Tensor) -> Tensor:
        """Maps distinct blocks, (n, K) int64, to embeddings (n, D). Blocks are cut behind the longest unit."""
        units = self.spell_special_tokens(blocks)
        longest = int((units.amax(dim=0) > 0).sum()) if len(units) else 1
        return self.embed_units(units[:, : max(longest, 1)])

    def forward(self, blocks: Tensor) -> Tensor:
        tracing = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined]
        if tracing:  # no cache, and no shape that depends on the values
            return self.embed_units(self.spell_special_tokens(blocks))
        if blocks.device.type == "cpu" and self._can_use_cache():
            return self._cache.look_up(blocks, self.embed_distinct)
        if blocks.device.type == "cpu":
            units, inverse = distinct_blocks(blocks)
        else:
            units, inverse = blocks.flatten(0, -2).unique(dim=0, return_inverse=True)
        return self.embed_distinct(units)[inverse.view(blocks.shape[:-1])]

    def train(self, mode: bool = True) -> "UnitFrontEnd":
        if mode and any(True for _ in self.parameters()):
            self._cache = UnitCache(self.embedding_size)  # a step may change weights without a new version
        return super().train(mode)

    def _can_use_cache(self) -> bool:
        """Returns whether the cache may be used now, and empties it if it was filled with other weights."""
        weights = [*self.parameters()]
        if weights and (torch.is_grad_enabled() or any(weight.is_inference() for weight in weights)):
            return False
        if not self._cache.is_valid_for(weights):
            self._cache = UnitCache(self.embedding_size, weights)
        return True
