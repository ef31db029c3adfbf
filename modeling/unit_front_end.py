"""Base class of the front ends that embed each distinct block once: their embedding depends on the block alone."""
# mypy: allow-untyped-calls, no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods)

import numpy as np
import torch
from torch import Tensor

from .blocks import FrontEnd
from .unit_cache import UnitCache, distinct_blocks


class UnitFrontEnd(FrontEnd):
    """Embeds each distinct block of a batch once, in two steps: its hashes, and what the weights make of them.

    On the CPU, hashes are kept from call to call. Results of weights are never kept, because weights may change in ways
    that nobody can see from here: by a fused optimizer, an adapter, a hook.
    """

    hash_dtype: type[np.generic] = np.float32
    # In an exported graph, blocks are cut behind the longest unit, to no fewer elements than this. None: not cut, since
    # the operations of `embed_units` depend on the length.
    traced_length: int | None = 1

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__(block_size, embedding_size)
        self._cache = UnitCache(self.hash_dtype)

    def embed_units(self, blocks: Tensor) -> Tensor:
        """Maps blocks, (…, k) int64 with k ≤ K and all zeros behind the longest unit, to embeddings (…, D).

        No shape depends on the values of the blocks, as a compiled graph needs it.
        """
        raise NotImplementedError

    def hash_units(self, units: Tensor) -> tuple[Tensor, Tensor]:
        """Returns what the embeddings need of units, (n, k) int64, and weights do not change.

        By default these are the embeddings, of a front end without parameters.

        Returns:
            The hashes of all units, one after the other, (H,) of `hash_dtype`; and their number for each unit, (n,).
        """
        embeddings = self.embed_units(units)
        return embeddings.flatten(), torch.full(units.shape[:1], self.embedding_size)

    def embed_hashes(self, hashes: Tensor, counts: Tensor, units: Tensor) -> Tensor:
        """Maps what `hash_units` gave, and units (n, K), to embeddings (n, D)."""
        return hashes.view(-1, self.embedding_size)

    def replace_special_tokens(self, blocks: Tensor) -> Tensor:
        """Returns what `embed_units` is called with. By default the blocks themselves."""
        return blocks

    def forward(self, blocks: Tensor) -> Tensor:
        if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
            return self.embed_units(self.replace_special_tokens(blocks))
        if blocks.device.type == "cpu":
            units, inverse = distinct_blocks(blocks)
            hashes = self._cache.look_up(units, self._hash_distinct)
        else:
            units, inverse = blocks.flatten(0, -2).unique(dim=0, return_inverse=True)
            hashes = self._hash_distinct(units)
        return self.embed_hashes(*hashes, units)[inverse.view(blocks.shape[:-1])]

    def _hash_distinct(self, units: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the hashes of distinct blocks, (n, K) int64. Blocks are cut behind the longest unit."""
        units = self.replace_special_tokens(units)
        longest = int((units.amax(dim=0) > 0).sum()) if len(units) else 1
        return self.hash_units(units[:, : max(longest, 1)])
