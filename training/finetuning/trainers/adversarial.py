"""Adversarial training: texts are learned as they are, and with embeddings that are moved against their labels."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from vocabless.training.finetuning.tasks.problems import Problem
from vocabless.training.trainer import ResumableTrainer


class AdversarialTrainer(ResumableTrainer):
    """A Trainer whose loss may be `adversarial_loss`.

    Args:
        problem: of the rows.
        epsilon: how far the embeddings of a text are moved; 0 does not move them. Nothing is moved where FSDP or
            DeepSpeed divides the model among processes: a step of theirs has one backward pass.
        options: of the Trainer.
    """

    def __init__(self, problem: Problem, epsilon: float, **options: Any) -> None:
        super().__init__(**options)
        self._problem = problem
        self._epsilon = 0.0 if self.is_sharded else epsilon

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Returns the loss of a batch, and the model's outputs if asked to."""
        if return_outputs or not (self._epsilon and model.training):
            return self.clean_loss(model, inputs, return_outputs, num_items_in_batch)
        layer = cast(Any, self.model).get_input_embeddings()
        return adversarial_loss(
            layer, lambda: self.clean_loss(model, dict(inputs), num_items_in_batch=num_items_in_batch), self._epsilon
        )

    def clean_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        """Returns the loss of a batch as it is, and the model's outputs if asked to."""
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)


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
