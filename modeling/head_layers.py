"""Parts of the heads: layers over the encoder, pairs that it reads apart, and the loss over tokens."""
# mypy: no-warn-return-any

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import initialization as init

from .blocks import FrontEnd, check_blocks, token_type_ids_of
from .configuration_vocabless import VocablessConfig
from .rejection import Rejection
from .wide_layer import WideLayer


class Inputs(NamedTuple):
    """The first arguments of `VocablessModel.forward`."""

    input_ids: Tensor | None = None
    attention_mask: Tensor | None = None
    token_type_ids: Tensor | None = None
    position_ids: Tensor | None = None
    inputs_embeds: Tensor | None = None


class LecunLinear(nn.Linear):
    """A linear layer with LeCun's first weights, N(0, 1 / inputs), so that its outputs are as large as its inputs."""

    def init_weights(self) -> None:
        """Draws the weights."""
        init.normal_(self.weight, std=self.in_features**-0.5)


class PooledHead(nn.Module):
    """Dense layer, activation, dropout and output layer on one vector for the whole text: (B, S, D) → (B, outputs).

    `config.classifier_pooling` chooses the vector, see `pool`. With `cls` and `mean`, the head has as many parameters
    as BERT's pooler and classifier together, and as RoBERTa's classification head. The numbers of a mean are small, so
    its layers are `LecunLinear`: with BERT's first weights, N(0, 0.02²), a narrow model needs hundreds of steps to
    enlarge them.

    `config.classifier_activation` is tanh, or `rms_norm`, which divides the outputs of the dense layer by their root
    mean square: the output layer then reads the vector of a sentence encoder with the length √D, whose numbers are
    large enough for an optimizer's steps, see `read_sentence_vector`.

    With `config.classifier_wide_rows`, the outputs of a `WideLayer` are added, which reads the blocks. With
    `config.classifier_reject_score`, the last of several outputs is that of `Rejection`.
    """

    def __init__(self, config: VocablessConfig, num_outputs: int) -> None:
        super().__init__()
        self.pooling, self.activation = config.classifier_pooling, config.classifier_activation
        linear = nn.Linear if self.pooling == "cls" else LecunLinear
        num_parts = 4 if self.pooling == "siamese" else 1
        self.dense = linear(num_parts * config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.head_dropout)
        self.rejection = None
        if config.classifier_reject_score is not None and num_outputs > 1:
            num_outputs -= 1
            num_taught = config.hidden_size if self.activation == "rms_norm" else 0
            self.rejection = Rejection(config, num_parts * config.hidden_size + num_taught)
        self.out_proj = linear(config.hidden_size, num_outputs)
        rows = config.classifier_wide_rows
        self.wide = WideLayer(config, rows, num_outputs) if rows else None

    def sequences(self, front_end: FrontEnd, inputs: Inputs) -> Inputs:
        """Returns the inputs as the encoder shall read them: with `siamese`, the sequences of `split_pairs`.

        With a wide part, `inputs_embeds` may be given with `input_ids`, which are for the wide part alone then.

        Raises:
            ValueError: a head with a wide part gets no `input_ids`; or `inputs_embeds` come from a front end that
                embeds a token by its place, which it has lost in the second sequence; see also `split_pairs` and
                `check_blocks`.
        """
        if self.wide is not None:
            if inputs.input_ids is None:
                raise ValueError("the wide part of the head reads blocks; give input_ids beside inputs_embeds.")
            return inputs if inputs.inputs_embeds is None else inputs._replace(input_ids=None)
        if self.pooling != "siamese":
            return inputs
        if inputs.input_ids is not None:
            check_blocks(inputs.input_ids, front_end.block_size)
        elif front_end.embeds_by_place:
            raise ValueError(
                "a siamese model reads the second text from place 0, but inputs_embeds of this front end hold the "
                "places of the whole pair; give input_ids."
            )
        return split_pairs(inputs)

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, blocks: Tensor | None = None
    ) -> Tensor:
        """Maps hidden states (B, S, D), and blocks (B, S, K) for a wide part, to outputs (B, num_outputs)."""
        pooled, num_tokens = self.pool(hidden_states, attention_mask)
        hidden = self.activate(pooled)
        outputs = self.out_proj(self.dropout(hidden))
        if self.wide is not None and blocks is not None:
            outputs = outputs + self.wide(blocks, num_tokens)
        return outputs if self.rejection is None else self.rejection(outputs, self.directions(pooled, hidden))

    def activate(self, pooled: Tensor) -> Tensor:
        """Maps the vector that `pool` returns to what the output layer reads."""
        hidden = self.dense(pooled)
        if self.activation == "rms_norm":
            return F.normalize(hidden, dim=-1) * hidden.shape[-1] ** 0.5
        return torch.tanh(hidden)

    def directions(self, pooled: Tensor, hidden: Tensor) -> Tensor:
        """Returns the vector that the layers read, with the length 1, and behind it a sentence vector, if there is one.

        Both are (B, D); `hidden` is what `activate` returns.
        """
        vectors = [pooled, hidden] if self.activation == "rms_norm" else [pooled]
        return torch.cat([F.normalize(vector, dim=-1) for vector in vectors], dim=-1)

    def pool(self, hidden_states: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Returns the vector that the layers read, and the number of tokens if it was counted, see `mean_state`.

        Args:
            hidden_states: (B, S, D); with `siamese` (2B, S, D), the first texts and then the second ones.
            attention_mask: (B, S) or (2B, S), 0 for padding, which a mean leaves out; None if there is no padding.

        Returns:
            `cls`: the state of the first token, (B, D). `mean`: the mean of the states, (B, D). `siamese`: the means u
            and v of the two texts as [u, v, |u − v|, u ∗ v], (B, 4D) (InferSent, Conneau et al. 2017, section 3.1;
            Sentence-BERT, Reimers & Gurevych 2019).
        """
        if self.pooling == "cls":
            return hidden_states[:, 0], None
        mean, num_tokens = mean_state(hidden_states, attention_mask)
        if self.pooling == "mean":
            return mean, num_tokens
        first, second = mean.unflatten(0, (2, -1))
        return torch.cat([first, second, (first - second).abs(), first * second], dim=-1), None


class PredictionTransform(nn.Sequential):
    """Dense layer, GELU and layer norm, as before BERT's output layer: (…, hidden size) → (…, embedding size)."""

    def __init__(self, config: VocablessConfig) -> None:
        encoder, size = config.encoder_config, config.embedding_size
        eps = getattr(encoder, "layer_norm_eps", getattr(encoder, "norm_eps", 1e-12))
        super().__init__(nn.Linear(config.hidden_size, size), nn.GELU(), nn.LayerNorm(size, eps=eps))


def mean_state(hidden_states: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Returns the mean of the tokens' states, (B, D), and their number, (B, 1), at least 1; None without a mask.

    The special tokens are included, and padding is left out.

    >>> mean_state(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[1, 1, 0]]))
    (tensor([[2.]]), tensor([[2.]]))
    """
    if attention_mask is None:
        return hidden_states.mean(dim=1), None
    weights = attention_mask.to(hidden_states.dtype).unsqueeze(-1)
    num_tokens = weights.sum(dim=1).clamp(min=1)
    return (hidden_states * weights).sum(dim=1) / num_tokens, num_tokens


def split_pairs(inputs: Inputs) -> Inputs:
    """Makes two sequences of each pair, [CLS] a [SEP] b [SEP]: [CLS] a [SEP] and [CLS] b [SEP].

    A single text is a pair whose second sequence is [CLS] alone. Returned are all first sequences and then all second
    ones, (2B, T, …), without token types and positions, because tokens are numbered anew. T is the longest sequence, or
    S in a compiled graph.

    Raises:
        ValueError: the texts cannot be told apart.
    """
    input_ids, attention_mask, token_type_ids, _, inputs_embeds = inputs
    tokens = inputs_embeds if input_ids is None else input_ids
    if token_type_ids is None and input_ids is not None:
        token_type_ids = token_type_ids_of(input_ids)
    if tokens is None or token_type_ids is None:
        raise ValueError("a siamese model splits pairs; give input_ids, or inputs_embeds with token_type_ids.")
    is_token = torch.ones_like(token_type_ids) if attention_mask is None else (attention_mask > 0).long()
    is_second = (token_type_ids > 0).long() * is_token
    last = tokens.shape[1] - 1
    positions = torch.arange(last + 1, device=tokens.device)
    first_token = (is_token.cumsum(dim=1) == 0).sum(dim=1, keepdim=True)  # [CLS], after padding on the left
    start = (is_second.cumsum(dim=1) == 0).sum(dim=1, keepdim=True)
    source = torch.where(positions == 0, first_token, start + positions - 1).clamp(max=last)
    seconds = tokens.gather(1, source.unsqueeze(-1).expand_as(tokens))
    is_in_second = (positions <= is_second.sum(dim=1, keepdim=True)).long()
    sequences, mask = torch.cat([tokens, seconds]), torch.cat([is_token - is_second, is_in_second])
    if not torch.compiler.is_compiling():  # a graph cannot have a width that depends on values
        width = int(mask.any(dim=0).nonzero().max()) + 1
        sequences, mask = sequences[:, :width], mask[:, :width]
    name = "inputs_embeds" if input_ids is None else "input_ids"
    return Inputs(attention_mask=mask, **{name: sequences})


def token_loss(logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
    """Returns the mean cross-entropy over the labelled tokens, 0 if no token has a label.

    Logits are (…, classes) floating point, labels (…) integers, −100 for tokens without a label. The sum is divided by
    `num_items_in_batch`, the number of labels in all micro-batches of a step, in place of the number of labels here, so
    that the losses of the micro-batches add up to the mean of the step.
    """
    logits, labels = logits.flatten(0, -2).float(), labels.flatten()
    total = F.cross_entropy(logits, labels, ignore_index=-100, reduction="sum")
    count = (labels != -100).sum().clamp(min=1) if num_items_in_batch is None else num_items_in_batch
    return total / count
