"""Adversarial training: texts are learned as they are, and with embeddings that are moved against their labels."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


def adversarial_loss(layer: nn.Module, compute: Callable[[], Tensor], epsilon: float) -> Tensor:
    """Returns the mean of a loss and of the loss with embeddings that are moved to enlarge it.

    The embeddings e of a text are moved by ε·d/‖d‖, d being the gradient of the loss by all of them together. This is
    in units of each token's own length ‖e_i‖, so that ε has the same meaning for all encoders: d_i = ‖e_i‖·∂loss/∂e_i,
    and e_i moves by ‖e_i‖·ε·d_i/‖d‖.

    Source: Miyato, Dai and Goodfellow, *Adversarial Training Methods for Semi-Supervised Text Classification*, ICLR
    2017, equation 5; differs: they normalise the embeddings of a vocabulary, here each token's length is the unit.

    Args:
        layer: makes the embeddings, (texts, tokens, D), whenever a loss is computed.
        compute: computes the loss of a batch.
        epsilon: ε.
    """
    seen: list[Tensor] = []
    with _outputs_through(layer, lambda embeddings: _seen(embeddings, seen)):
        loss = compute()
    gradients = torch.autograd.grad(loss, seen, retain_graph=True)
    moves = iter([move(each.detach(), gradient, epsilon) for each, gradient in zip(seen, gradients, strict=True)])
    with _outputs_through(layer, lambda embeddings: embeddings + next(moves)):
        return (loss + compute()) / 2


def move(embeddings: Tensor, gradient: Tensor, epsilon: float) -> Tensor:
    """Returns how far each of the embeddings, (texts, tokens, D), is moved; see `adversarial_loss`."""
    lengths = embeddings.norm(dim=-1, keepdim=True)
    direction = gradient * lengths
    size = direction.norm(dim=(1, 2), keepdim=True)
    moved: Tensor = epsilon * lengths * direction / size.clamp(min=torch.finfo(size.dtype).tiny)
    return moved


def _seen(embeddings: Tensor, seen: list[Tensor]) -> Tensor:
    if not embeddings.requires_grad:  # of a front end without weights
        embeddings.requires_grad_()
    seen.append(embeddings)
    return embeddings


@contextmanager
def _outputs_through(layer: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replaces what the layer returns by what `change` makes of it."""
    handle = layer.register_forward_hook(lambda _layer, _inputs, embeddings: change(embeddings))
    try:
        yield
    finally:
        handle.remove()
