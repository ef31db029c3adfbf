"""The models: a Hugging Face encoder with a front end in place of its word embeddings, and heads for the usual tasks.

`VocablessModel` builds the stock encoder, removes its word table and passes embeddings to it as `inputs_embeds`. The
heads work with every encoder. They have as many parameters as the stock heads, to agree with published counts.
"""
# mypy: allow-untyped-calls, allow-untyped-decorators, no-warn-return-any
# ruff: noqa: D417 (the heads document only the arguments that `VocablessModel.forward` does not have)

import sys
from typing import Any, cast

from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import (
    BaseModelOutput,
    MaskedLMOutput,
    MultipleChoiceModelOutput,
    QuestionAnsweringModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils.generic import can_return_tuple

from .blocks import check_blocks
from .configuration_vocabless import LIMITS, VocablessConfig, check_limits
from .front_ends import build_front_end
from .head_layers import PooledHead, PredictionTransform, token_loss
from .pretrained_model import VocablessPreTrainedModel
from .stock_encoders import arguments_of, build_encoder, max_tokens, min_tokens, pad_to_minimum_length

NUM_CORRUPTIONS = 3  # intact, shuffled, replaced


class VocablessModel(VocablessPreTrainedModel):
    """Front end and encoder: blocks (B, S, K) → hidden states (B, S, hidden_size).

    Raises:
        ValueError: a size is not in `LIMITS`, the front end does not fit K, D or the encoder, or the encoder does not
            accept `inputs_embeds`.
    """

    _auto_class = "AutoModel"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        check_limits({name: getattr(config.encoder_config, name, None) for name in LIMITS})
        self.front_end = build_front_end(
            config.front_end, config.block_size, config.embedding_size, config.front_end_options
        )
        self.front_end.check_encoder(config.encoder_config)
        self.encoder = build_encoder(config)
        self.max_tokens = min(max_tokens(self.encoder), self.front_end.max_tokens or sys.maxsize)
        self._min_tokens = min_tokens(self.encoder)
        self.encoder_arguments = arguments_of(self.encoder)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput:
        """Encodes blocks.

        Args:
            input_ids: blocks, (B, S, K) integers, values 0–260.
            attention_mask: (B, S), 1 for tokens, 0 for padding; None if there is no padding.
            token_type_ids: (B, S), 0 for the first text of a pair, 1 for the second. Ignored if the encoder has no
                token types.
            position_ids: (B, S); None numbers the tokens in order.
            inputs_embeds: (B, S, D) floating point, in place of `input_ids`.
            kwargs: further arguments of the encoder, for instance `output_hidden_states`.

        Returns:
            `last_hidden_state` (B, S, hidden_size), and `hidden_states` and `attentions` if `kwargs` or the
            configuration request them.

        Raises:
            ValueError: not exactly one of `input_ids` and `inputs_embeds` is given, the rank or K is wrong, or the
                sequence is too long. On the CPU also: values are out of range.
        """
        inputs_embeds = self._embed(input_ids, inputs_embeds)
        seq_length = inputs_embeds.shape[1]
        tensors = {"inputs_embeds": inputs_embeds, "attention_mask": attention_mask}
        tensors |= {"token_type_ids": token_type_ids, "position_ids": position_ids}
        inputs = {key: value for key, value in tensors.items() if value is not None and key in self.encoder_arguments}
        inputs = pad_to_minimum_length(inputs, self._min_tokens)
        for name in ("output_hidden_states", "output_attentions"):  # the default is this config's, not the encoder's
            if kwargs.get(name) is None:
                kwargs[name] = getattr(self.config, name)
        outputs = self.encoder(**inputs, **{**kwargs, "return_dict": True})
        return BaseModelOutput(
            last_hidden_state=outputs.last_hidden_state[:, :seq_length],
            hidden_states=outputs.get("hidden_states"),
            attentions=outputs.get("attentions"),
        )

    def _embed(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
        """Checks the one input that is given, and returns `inputs_embeds` or the embeddings of `input_ids`."""
        if input_ids is not None and inputs_embeds is None:
            check_blocks(input_ids, self.config.block_size)
            self._check_length(input_ids)
            return self.front_end(input_ids.long()).to(self.dtype)
        if inputs_embeds is not None and input_ids is None:
            self._check_length(inputs_embeds)
            return inputs_embeds
        raise ValueError("give either input_ids, blocks of shape (batch, seq, K), or inputs_embeds, not both.")

    def _check_length(self, inputs: Tensor) -> None:
        seq_length = inputs.shape[1]
        if seq_length > self.max_tokens:
            raise ValueError(
                f"a sequence has {seq_length} tokens but the model has {self.max_tokens} positions; "
                f"call the tokenizer with truncation=True, max_length={self.max_tokens}."
            )


class VocablessForSequenceClassification(VocablessPreTrainedModel):
    """Classification or regression of a text or a pair of texts, see `PooledHead`."""

    _auto_class = "AutoModelForSequenceClassification"
    accepts_loss_kwargs = False  # the loss is a mean over texts; gradient accumulation averages these means

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = cast(int, config.num_labels)
        self.vocabless = VocablessModel(config)
        self.classifier = PooledHead(config, self.num_labels)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Computes class logits. The other arguments are those of `VocablessModel.forward`.

        Args:
            labels: (B,) integers for single-label classification, (B, num_labels) floats 0 or 1 for multi-label
                classification, (B,) floats for regression; or None.

        Returns:
            `logits` (B, num_labels), and `loss` if there are labels.
        """
        arguments = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        inputs = self.classifier.sequences(self.get_input_embeddings(), *arguments)
        outputs = self.vocabless(*inputs, **kwargs, return_dict=True)
        logits = self.classifier(outputs.last_hidden_state, inputs[1])
        loss = None if labels is None else self.loss_function(labels, logits, self.config)
        return SequenceClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class VocablessForMultipleChoice(VocablessPreTrainedModel):
    """Choice of one out of several texts or pairs of texts, each scored by a `PooledHead`."""

    _auto_class = "AutoModelForMultipleChoice"
    accepts_loss_kwargs = False

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)
        self.classifier = PooledHead(config, 1)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> MultipleChoiceModelOutput:
        """Scores choices. The arguments are those of `VocablessModel.forward` with one more axis, (B, choices, S, …).

        Args:
            labels: (B,) integers, the index of the correct choice; or None.

        Returns:
            `logits` (B, choices), and `loss` if there are labels.

        Raises:
            ValueError: the input does not have four axes.
        """
        blocks = inputs_embeds if input_ids is None else input_ids
        if blocks is None or blocks.ndim != 4:
            shape = None if blocks is None else tuple(blocks.shape)
            raise ValueError(f"the input has shape {shape}; multiple choice needs (batch, choices, seq, K).")
        arguments = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        rows = (None if value is None else value.flatten(0, 1) for value in arguments)
        inputs = self.classifier.sequences(self.get_input_embeddings(), *rows)
        outputs = self.vocabless(*inputs, **kwargs, return_dict=True)
        logits = self.classifier(outputs.last_hidden_state, inputs[1]).view(-1, blocks.shape[1])
        loss = None if labels is None else F.cross_entropy(logits.float(), labels)
        return MultipleChoiceModelOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class _TokenClassificationBase(VocablessPreTrainedModel):
    """Base class of the two token classifiers. A subclass defines `score`."""

    vocabless: "VocablessModel"

    def score(self, hidden_states: Tensor) -> Tensor:
        """Maps hidden states (B, S, hidden_size) to logits (B, S, num_labels)."""
        raise NotImplementedError

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput:
        """Classifies tokens. The other arguments are those of `VocablessModel.forward`.

        Args:
            labels: (B, S) integers, −100 for tokens without a label; or None.
            num_items_in_batch: number of labels in all micro-batches of a step, see `token_loss`.

        Returns:
            `logits` (B, S, num_labels), and `loss` if there are labels.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        outputs = self.vocabless(*inputs, **kwargs, return_dict=True)
        logits = self.score(outputs.last_hidden_state)
        loss = token_loss(logits, labels, num_items_in_batch)
        return TokenClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class VocablessForTokenClassification(_TokenClassificationBase):
    """Classification of each token."""

    _auto_class = "AutoModelForTokenClassification"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = cast(int, config.num_labels)
        self.vocabless = VocablessModel(config)
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.hidden_size, self.num_labels)
        self.post_init()

    def score(self, hidden_states: Tensor) -> Tensor:
        """Maps hidden states (B, S, hidden_size) to logits (B, S, num_labels)."""
        return self.classifier(self.dropout(hidden_states))


class VocablessForPreTraining(_TokenClassificationBase):
    """Classifies tokens as intact (0), shuffled (1) or replaced (2). Source: HashFormers 3.6, S+R."""

    _auto_class = "AutoModelForPreTraining"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)
        self.dropout = nn.Dropout(config.head_dropout)
        self.dense = nn.Linear(config.hidden_size, NUM_CORRUPTIONS)
        self.post_init()

    def score(self, hidden_states: Tensor) -> Tensor:
        """Maps hidden states (B, S, hidden_size) to logits (B, S, 3)."""
        return self.dense(self.dropout(hidden_states))


class VocablessForMaskedLM(VocablessPreTrainedModel):
    """Prediction of masked tokens, over the vocabulary of a target tokenizer. Source: EELBERT 4.1.

    The output layer is not tied to an input table, because there is none. Only training needs this layer: it is dropped
    when the checkpoint is loaded with another head.
    """

    _auto_class = "AutoModelForMaskedLM"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)
        self.transform = PredictionTransform(config)
        self.decoder: nn.Module = nn.Linear(config.embedding_size, config.target_vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        """Returns the output layer."""
        return self.decoder

    def set_output_embeddings(self, value: nn.Module) -> None:
        """Replaces the output layer."""
        self.decoder = value

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | None = None,
        **kwargs: Any,
    ) -> MaskedLMOutput:
        """Predicts target tokens. The other arguments are those of `VocablessModel.forward`.

        Args:
            labels: (B, S) ids of the target vocabulary, −100 for tokens without a label; or None.
            num_items_in_batch: number of labels in all micro-batches of a step, see `token_loss`.

        Returns:
            `logits` (B, S, target_vocab_size), or (labelled tokens, target_vocab_size) if there are labels and
            `config.sparse_prediction` is set; `loss` if there are labels.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        outputs = self.vocabless(*inputs, **kwargs, return_dict=True)
        hidden = outputs.last_hidden_state
        if labels is not None and self.config.sparse_prediction:
            labelled = labels != -100
            hidden, labels = hidden[labelled], labels[labelled]
        logits = self.decoder(self.transform(hidden))
        loss = token_loss(logits, labels, num_items_in_batch)
        return MaskedLMOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class VocablessForQuestionAnswering(VocablessPreTrainedModel):
    """Prediction of the first and the last token of an answer in a context."""

    _auto_class = "AutoModelForQuestionAnswering"
    accepts_loss_kwargs = False

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        **kwargs: Any,
    ) -> QuestionAnsweringModelOutput:
        """Scores tokens as the ends of the answer. The other arguments are those of `VocablessModel.forward`.

        Args:
            start_positions: (B,) integers, the first token of the answer; S or more is ignored in the loss.
            end_positions: (B,) integers, the last token of the answer; S or more is ignored in the loss.

        Returns:
            `start_logits` and `end_logits` (B, S), and `loss` if both positions are given.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        outputs = self.vocabless(*inputs, **kwargs, return_dict=True)
        start_logits, end_logits = self.qa_outputs(outputs.last_hidden_state).unbind(dim=-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = self.loss_function(start_logits, end_logits, start_positions, end_positions)
        return QuestionAnsweringModelOutput(
            loss=loss,
            start_logits=start_logits.contiguous(),
            end_logits=end_logits.contiguous(),
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
