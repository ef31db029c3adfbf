"""The models: a front end in place of the word embeddings of any Hugging Face encoder, and one set of heads for all.

No encoder is copied: `VocablessModel` builds the stock one, takes its word table away and feeds it `inputs_embeds`. The
heads have as many parameters as the encoders' own, so that published parameter counts come out.
"""
# mypy: allow-untyped-calls, allow-untyped-decorators, no-warn-return-any

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
from .configuration_vocabless import VocablessConfig
from .digest_front_ends import DigestFrontEnd  # noqa: F401 (transformers 5.0 takes from a folder what is named here)
from .elementwise_front_end import Elementwise
from .front_ends import build_front_end
from .head_layers import FirstTokenHead, PredictionTransform, token_loss
from .ngram_front_ends import Ngram  # noqa: F401
from .pipelines_vocabless import VocablessFillMaskPipeline  # noqa: F401 (the configuration names that file)
from .pretrained_model import VocablessPreTrainedModel
from .stock_encoders import arguments_of, build_encoder, lengthen, max_tokens, min_tokens
from .unit_cache import UnitCache  # noqa: F401

NUM_CORRUPTIONS = 3  # intact, shuffled, replaced


class VocablessModel(VocablessPreTrainedModel):
    """Front end and encoder: blocks (B, S, K) → hidden states (B, S, D).

    Raises:
        ValueError: a front end that does not fit K, D or the encoder's heads; an encoder that takes no `inputs_embeds`.
    """

    _auto_class = "AutoModel"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.front_end = build_front_end(
            config.front_end, config.block_size, config.embedding_size, config.front_end_options
        )
        if isinstance(self.front_end, Elementwise) and config.num_attention_heads != config.block_size:
            raise ValueError(
                f"elementwise gives each of the {config.block_size} elements of a block a head of its own, but the "
                f"encoder has {config.num_attention_heads} attention heads; make num_attention_heads equal block_size."
            )
        self.encoder = build_encoder(config)
        self.max_tokens = min(max_tokens(self.encoder), self.front_end.max_tokens or sys.maxsize)
        self._min_tokens = min_tokens(self.encoder)
        self._encoder_takes = arguments_of(self.encoder)
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
            input_ids: (B, S, K) integer, values 0–260.
            attention_mask: (B, S), 1 for tokens, 0 for padding; None is all tokens.
            token_type_ids: (B, S), which text of a pair; ignored by encoders that know none.
            position_ids: (B, S); None counts from the first token.
            inputs_embeds: (B, S, D) floating, in place of `input_ids`.
            kwargs: what else the encoder takes, for instance `output_hidden_states`.

        Returns:
            `last_hidden_state` (B, S, hidden_size); `hidden_states` and `attentions` if asked for.

        Raises:
            ValueError: not exactly one of `input_ids` and `inputs_embeds`; a wrong rank, K or length; on the CPU, also
                values out of range.
        """
        if input_ids is not None and inputs_embeds is None:
            check_blocks(input_ids, self.config.block_size)
            self._check_length(input_ids.shape[1])
            inputs_embeds = self.front_end(input_ids.long()).to(self.dtype)
        elif inputs_embeds is None or input_ids is not None:
            raise ValueError("give either input_ids, blocks of shape (batch, seq, K), or inputs_embeds.")
        seq_length = inputs_embeds.shape[1]
        self._check_length(seq_length)
        given = {"inputs_embeds": inputs_embeds, "attention_mask": attention_mask}
        given |= {"token_type_ids": token_type_ids, "position_ids": position_ids}
        inputs = {name: value for name, value in given.items() if value is not None and name in self._encoder_takes}
        if seq_length < self._min_tokens:
            inputs = lengthen(inputs, self._min_tokens - seq_length)
        for name in ("output_hidden_states", "output_attentions"):  # this configuration's word, not the encoder's
            if kwargs.get(name) is None:
                kwargs[name] = getattr(self.config, name)
        outputs = self.encoder(**inputs, **{**kwargs, "return_dict": True})
        return BaseModelOutput(
            last_hidden_state=outputs.last_hidden_state[:, :seq_length],
            hidden_states=outputs.get("hidden_states"),
            attentions=outputs.get("attentions"),
        )

    def _check_length(self, seq_length: int) -> None:
        if seq_length > self.max_tokens:
            raise ValueError(
                f"a sequence has {seq_length} tokens but the model has {self.max_tokens} positions; "
                f"give the tokenizer truncation=True, max_length={self.max_tokens}."
            )


class VocablessForSequenceClassification(VocablessPreTrainedModel):
    """One or more labels, or numbers, for a text or a pair of texts, read off the first token."""

    _auto_class = "AutoModelForSequenceClassification"
    accepts_loss_kwargs = False  # the loss is a mean over texts: gradient accumulation averages means

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = cast(int, config.num_labels)
        self.vocabless = VocablessModel(config)
        self.classifier = FirstTokenHead(config, self.num_labels)
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
        """Classifies. Takes what `VocablessModel.forward` takes, and labels.

        They are (B,) integers for one label; (B, labels) floats 0 or 1 for many; (B,) floats for a number.

        Returns:
            `logits` (B, labels), and `loss` if there are labels.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        outputs = self.vocabless(*inputs, **kwargs, return_dict=True)
        logits = self.classifier(outputs.last_hidden_state)
        loss = None if labels is None else self.loss_function(labels, logits, self.config)
        return SequenceClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class VocablessForMultipleChoice(VocablessPreTrainedModel):
    """Which of several choices fits."""

    _auto_class = "AutoModelForMultipleChoice"
    accepts_loss_kwargs = False

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)
        self.classifier = FirstTokenHead(config, 1)
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
        """Scores choices. Takes what `VocablessModel.forward` takes, with an axis more, and labels.

        Inputs are (B, choices, S, …), labels (B,) the right choices.

        Returns:
            `logits` (B, choices), and `loss` if there are labels.
        """
        given = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        blocks = inputs_embeds if input_ids is None else input_ids
        if blocks is None or blocks.ndim != 4:
            shape = None if blocks is None else tuple(blocks.shape)
            raise ValueError(f"the input has shape {shape}; multiple choice takes (batch, choices, seq, K).")
        inputs = [None if value is None else value.flatten(0, 1) for value in given]
        outputs = self.vocabless(*inputs, **kwargs, return_dict=True)
        logits = self.classifier(outputs.last_hidden_state).view(-1, blocks.shape[1])
        loss = None if labels is None else F.cross_entropy(logits.float(), labels)
        return MultipleChoiceModelOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class _LabelsTokens(VocablessPreTrainedModel):
    """What token classification and pre-training share: `score` maps hidden states to the logits of labels."""

    vocabless: "VocablessModel"

    def score(self, hidden_states: Tensor) -> Tensor:
        """Maps (B, S, hidden_size) to (B, S, labels)."""
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
        """Labels tokens. Takes what `VocablessModel.forward` takes, and labels, (B, S), −100 where there is none.

        Given `num_items_in_batch`, the labels in all micro-batches of a step, their losses add up to the step's mean.

        Returns:
            `logits` (B, S, labels), and `loss` if there are labels.
        """
        inputs = (input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        outputs = self.vocabless(*inputs, **kwargs, return_dict=True)
        logits = self.score(outputs.last_hidden_state)
        loss = token_loss(logits, labels, num_items_in_batch)
        return TokenClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class VocablessForTokenClassification(_LabelsTokens):
    """A label for each token."""

    _auto_class = "AutoModelForTokenClassification"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = cast(int, config.num_labels)
        self.vocabless = VocablessModel(config)
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.hidden_size, self.num_labels)
        self.post_init()

    def score(self, hidden_states: Tensor) -> Tensor:
        """Maps (B, S, hidden_size) to (B, S, labels)."""
        return self.classifier(self.dropout(hidden_states))


class VocablessForPreTraining(_LabelsTokens):
    """Tells intact (0), shuffled (1) and replaced (2) tokens apart. Source: HashFormers 3.6, S+R."""

    _auto_class = "AutoModelForPreTraining"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)
        self.dense = nn.Linear(config.hidden_size, NUM_CORRUPTIONS)
        self.post_init()

    def score(self, hidden_states: Tensor) -> Tensor:
        """Maps (B, S, hidden_size) to (B, S, 3)."""
        return self.dense(hidden_states)


class VocablessForMaskedLM(VocablessPreTrainedModel):
    """Predicts masked tokens over the vocabulary of a target tokenizer.

    The output layer is not tied to any input table, there being none: it is needed for training alone and is left
    behind when the checkpoint is loaded under another head. Source: EELBERT 4.1.
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
        """Predicts. Takes what `VocablessModel.forward` takes, and labels: (B, S) ids of the target vocabulary.

        Nothing is predicted where they are −100. For `num_items_in_batch` see `VocablessForTokenClassification`.

        Returns:
            `logits` (B, S, target_vocab_size), or with `config.sparse_prediction` and labels (labelled positions,
            target_vocab_size); `loss` if there are labels.
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
    """Where in a context the answer begins and ends."""

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
        """Finds the answer. Takes what `VocablessModel.forward` takes, and the answer's first and last token, (B,).

        Positions of S or more are ignored.

        Returns:
            `start_logits` and `end_logits` (B, S), and `loss` if positions are given.
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
