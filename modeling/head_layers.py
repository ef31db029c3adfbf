"""Parts of the heads: layers over the encoder, and the loss over tokens."""
# mypy: allow-untyped-calls, no-warn-return-any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import initialization as init

from .blocks import check_blocks
from .configuration_vocabless import VocablessConfig
from .text_pairs import split_pairs


class LecunLinear(nn.Linear):
    """A linear layer with LeCun's first weights, N(0, 1 / inputs), so that its outputs are as large as its inputs."""

    def init_weights(self) -> None:
        """Draws the weights."""
        init.normal_(self.weight, std=self.in_features**-0.5)


class PooledHead(nn.Module):
    """Dense layer, tanh, dropout and output layer on one vector for the whole text: (B, S, D) → (B, outputs).

    `config.classifier_pooling` chooses the vector, see `pool`. With `cls` and `mean`, the head has as many parameters
    as BERT's pooler and classifier together, and as RoBERTa's classification head. The numbers of a mean are small, so
    its layers are `LecunLinear`: with BERT's first weights, N(0, 0.02²), a narrow model needs hundreds of steps to
    enlarge them.
    """

    def __init__(self, config: VocablessConfig, num_outputs: int) -> None:
        super().__init__()
        self.pooling, self.block_size = config.classifier_pooling, config.block_size
        linear = nn.Linear if self.pooling == "cls" else LecunLinear
        num_parts = 4 if self.pooling == "siamese" else 1
        self.dense = linear(num_parts * config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.head_dropout)
        self.out_proj = linear(config.hidden_size, num_outputs)

    def sequences(self, front_end: nn.Module, *inputs: Tensor | None) -> tuple[Tensor | None, ...]:
        """Returns the first five arguments of `VocablessModel.forward` as the encoder shall read them.

        They are `inputs`, but with `siamese` the sequences that `split_pairs` makes of them.

        Raises:
            ValueError: `inputs_embeds` come from a front end that embeds a token by its place, which it has lost in the
                second sequence; see also `split_pairs` and `check_blocks`.
        """
        if self.pooling != "siamese":
            return inputs
        if inputs[0] is not None:
            check_blocks(inputs[0], self.block_size)
        elif getattr(front_end, "embeds_by_place", False):
            raise ValueError(
                "a siamese model reads the second text from place 0, but inputs_embeds of this front end hold the "
                "places of the whole pair; give input_ids."
            )
        return split_pairs(*inputs)

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Maps hidden states (B, S, D) to outputs (B, num_outputs).

        Args:
            hidden_states: (B, S, D); with `siamese` (2B, S, D), the first texts and then the second ones.
            attention_mask: (B, S) or (2B, S), 0 for padding, which a mean leaves out; None if there is no padding.
        """
        pooled = self.pool(hidden_states, attention_mask)
        return self.out_proj(self.dropout(torch.tanh(self.dense(pooled))))

    def pool(self, hidden_states: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Returns the vector that the layers read. The arguments are those of `forward`.

        Returns:
            `cls`: the state of the first token, (B, D). `mean`: the mean of the states, (B, D). `siamese`: the means u
            and v of the two texts as [u, v, |u − v|, u ∗ v], (B, 4D) (InferSent, Conneau et al. 2017, section 3.1;
            Sentence-BERT, Reimers & Gurevych 2019).
        """
        if self.pooling == "cls":
            return hidden_states[:, 0]
        mean = mean_state(hidden_states, attention_mask)
        if self.pooling == "mean":
            return mean
        first, second = mean.unflatten(0, (2, -1))
        return torch.cat([first, second, (first - second).abs(), first * second], dim=-1)


def mean_state(hidden_states: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Returns the mean of the tokens' states, (B, D), special tokens included and padding left out.

    >>> mean_state(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[1, 1, 0]])).tolist()
    [[2.0]]
    """
    if attention_mask is None:
        return hidden_states.mean(dim=1)
    weights = attention_mask.to(hidden_states.dtype).unsqueeze(-1)
    return (hidden_states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


class PredictionTransform(nn.Sequential):
    """Dense layer, GELU and layer norm, as before BERT's output layer: (…, hidden size) → (…, embedding size)."""

    def __init__(self, config: VocablessConfig) -> None:
        encoder, size = config.encoder_config, config.embedding_size
        eps = getattr(encoder, "layer_norm_eps", getattr(encoder, "norm_eps", 1e-12))
        super().__init__(nn.Linear(config.hidden_size, size), nn.GELU(), nn.LayerNorm(size, eps=eps))


def token_loss(logits: Tensor, labels: Tensor | None, num_items_in_batch: Tensor | int | None) -> Tensor | None:
    """Returns the mean cross-entropy over the labelled tokens, 0 if no token has a label, None without labels.

    Args:
        logits: (…, classes) floating point.
        labels: (…) integers, −100 for tokens without a label; or None.
        num_items_in_batch: number of labels in all micro-batches of a step. The sum is divided by it in place of the
            number of labels here, so the losses of the micro-batches add up to the mean of the step.
    """
    if labels is None:
        return None
    logits, labels = logits.flatten(0, -2).float(), labels.flatten()
    total = F.cross_entropy(logits, labels, ignore_index=-100, reduction="sum")
    count = (labels != -100).sum().clamp(min=1) if num_items_in_batch is None else num_items_in_batch
    return total / count
