"""The models: a Hugging Face encoder with a front end in place of its word embeddings, and heads for the usual tasks.

`VocablessModel` builds the stock encoder, removes its word table and passes embeddings to it as `inputs_embeds`. The
heads work with every encoder. They have as many parameters as the stock heads, to agree with published counts.
"""
# mypy: allow-untyped-decorators, no-warn-return-any
# ruff: noqa: D102, D417 (base classes document the methods, and `VocablessModel.forward` most arguments of heads)

import sys
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import (
    BaseModelOutput,
    MaskedLMOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils.generic import can_return_tuple

from .blocks import attention_mask_of, check_blocks
from .configuration_vocabless import LIMITS, VocablessConfig, check_limits
from .front_ends import build_front_end
from .head_layers import Inputs, PooledHead, PredictionTransform, token_loss
from .pretrained_model import VocablessPreTrainedModel, logger
from .sentences import BlockArray, Logits, read_with_sentences
from .stock_encoders import arguments_of, build_encoder, max_tokens, pad_to_minimum_length

NUM_CORRUPTIONS = 3  # intact, shuffled, replaced
WHOLE_TEXTS = (
    "In training mode this model reads whole texts, but in evaluation mode also their sentences; set "
    "model.config.classifier_reads_sentences = False to read whole texts in both."
)


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
        self._min_tokens = getattr(self.encoder.config, "downsampling_rate", 1)  # of CANINE
        self.encoder_arguments = sorted(arguments_of(self.encoder))  # a set would pickle differently in each process
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
            `last_hidden_state` (B, S, `config.hidden_size`), and `hidden_states` and `attentions`, those of the
            encoder, if they are requested.

        Raises:
            ValueError: not exactly one of `input_ids` and `inputs_embeds` is given, the rank or K is wrong, or the
                sequence is too long. On the CPU also: values are out of range.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids, blocks of shape (batch, seq, K), or inputs_embeds, not both.")
        if input_ids is not None:
            check_blocks(input_ids, self.config.block_size)
        seq_length = cast(Tensor, inputs_embeds if input_ids is None else input_ids).shape[1]
        if seq_length > self.max_tokens:
            raise ValueError(
                f"a sequence has {seq_length} tokens but the model has {self.max_tokens} positions; "
                f"call the tokenizer with truncation=True, max_length={self.max_tokens}."
            )
        if input_ids is not None:
            inputs_embeds = self.front_end(input_ids.long()).to(self.dtype)
        tensors = {"inputs_embeds": inputs_embeds, "attention_mask": attention_mask}
        tensors |= {"token_type_ids": token_type_ids, "position_ids": position_ids}
        inputs = {key: value for key, value in tensors.items() if value is not None and key in self.encoder_arguments}
        inputs = pad_to_minimum_length(inputs, self._min_tokens)
        for name in ("output_hidden_states", "output_attentions"):  # the default is this config's, not the encoder's
            if kwargs.get(name) is None:
                kwargs[name] = getattr(self.config, name)
        outputs = self.encoder(**inputs, **{**kwargs, "return_dict": True})
        states = outputs.last_hidden_state[:, :seq_length]
        if self.config.append_embeddings:
            states = torch.cat([states, cast(Tensor, inputs_embeds).to(states.dtype)], dim=-1)
        return BaseModelOutput(
            last_hidden_state=states,
            hidden_states=outputs.get("hidden_states"),
            attentions=outputs.get("attentions"),
        )


class _HeadModel(VocablessPreTrainedModel):
    """Base class of the models with a head. A subclass defines `predict`, and may define the others."""

    output_class: type[Any] = TokenClassifierOutput

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)

    @property
    def reads_labelled_only(self) -> bool:
        """Whether the head reads the states of labelled tokens alone, if there are labels."""
        return False

    def sequences(self, inputs: Inputs) -> Inputs:
        """Returns the inputs as the encoder shall read them."""
        return inputs

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        """Maps hidden states (B, S, hidden_size) to logits; `read` is what `sequences` made of the inputs."""
        raise NotImplementedError

    def loss(self, logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | None) -> Tensor:
        """Returns the loss, by default `token_loss`."""
        return token_loss(logits, labels, num_items_in_batch)

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
    ) -> SequenceClassifierOutput | TokenClassifierOutput | MaskedLMOutput:
        """Computes logits. The other arguments are those of `VocablessModel.forward`.

        Args:
            labels: see the class; or None.
            num_items_in_batch: number of labels in all micro-batches of a step, see `token_loss`.

        Returns:
            `logits`, see the class, and `loss` if there are labels. sentence-transformers reads the annotation.
        """
        inputs = Inputs(input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        read = self.sequences(inputs)
        outputs = self.vocabless(*read, **kwargs, return_dict=True)
        states = outputs.last_hidden_state
        if labels is not None and self.reads_labelled_only:
            states, labels = states[labels != -100], labels[labels != -100]
        logits = self.predict(states, read, inputs)
        loss = None if labels is None else self.loss(logits, labels, num_items_in_batch)
        return self.output_class(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class VocablessForSequenceClassification(_HeadModel):
    """Classification or regression of a text or a pair of texts. Logits are (B, num_labels).

    Labels are (B,) integers for one label, (B, num_labels) floats 0 or 1 for several, (B,) floats for regression. The
    last label may be that of `Rejection`.

    If it `reads_sentences`, a text of several sentences is read once more in evaluation mode, sentence by sentence, and
    `join_sentences` makes the logits, without a gradient. In training mode, logits and loss are of the whole text;
    `train` warns of this once. States, attentions and exported graphs are of the whole text, too.
    """

    _auto_class = "AutoModelForSequenceClassification"
    output_class = SequenceClassifierOutput
    accepts_loss_kwargs = False  # the loss is a mean over texts; gradient accumulation averages these means

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = cast(int, config.num_labels)
        self.classifier = PooledHead(config, self.num_labels)
        self.post_init()

    @property
    def reads_sentences(self) -> bool | str:
        """The rule by which sentences are joined; False if the configuration has none or the head cannot.

        The head can if it has one of several labels for a text, not for a pair. It is asked at each call: the kind
        of problem may change after the model was made.
        """
        config: Any = self.config
        has_one_label = config.problem_type in (None, "single_label_classification") and config.num_labels > 1
        is_able = has_one_label and config.classifier_pooling != "siamese"
        return config.classifier_reads_sentences if is_able else False

    def train(self, mode: bool = True) -> "VocablessForSequenceClassification":
        if mode and self.reads_sentences:
            logger.warning_once(WHOLE_TEXTS)
        return super().train(mode)

    def sequences(self, inputs: Inputs) -> Inputs:
        return self.classifier.sequences(self.vocabless.front_end, inputs)

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        logits = self.classifier(states, read.attention_mask, inputs.input_ids)
        if not self.reads_sentences or self.training or inputs.inputs_embeds is not None:
            return logits
        return self._with_sentences(logits, cast(Tensor, inputs.input_ids))

    @torch.compiler.disable
    @torch.no_grad()
    def _with_sentences(self, logits: Tensor, blocks: Tensor) -> Tensor:
        """Returns the logits (B, L) of texts joined with those of their sentences; blocks are (B, S, K)."""

        def read(sentences: BlockArray) -> Logits:
            input_ids = torch.from_numpy(sentences).to(blocks.device)
            mask = attention_mask_of(input_ids)
            states = self.vocabless(input_ids, mask, return_dict=True).last_hidden_state
            return self.classifier(states, mask, input_ids).cpu().double().numpy()

        whole, rejects = logits.detach().cpu().double().numpy(), self.classifier.rejection is not None
        joined = read_with_sentences(blocks.cpu().numpy(), whole, read, self.reads_sentences, rejects)
        return logits if joined is whole else torch.from_numpy(joined).to(logits.dtype).to(logits.device)

    def loss(self, logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | None) -> Tensor:
        return self.loss_function(labels, logits, self.config)


class VocablessForTokenClassification(_HeadModel):
    """Classification of each token. Logits are (B, S, num_labels); labels (B, S), −100 for tokens without a label."""

    _auto_class = "AutoModelForTokenClassification"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = cast(int, config.num_labels)
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.hidden_size, self.num_labels)
        self.post_init()

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        return self.classifier(self.dropout(states))


class VocablessForPreTraining(_HeadModel):
    """Classifies tokens as intact (0), shuffled (1) or replaced (2). Source: HashFormers 3.6, S+R.

    Logits are (B, S, 3); labels (B, S), −100 for tokens without a label.
    """

    _auto_class = "AutoModelForPreTraining"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.dropout = nn.Dropout(config.head_dropout)
        self.dense = nn.Linear(config.hidden_size, NUM_CORRUPTIONS)
        self.post_init()

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        return self.dense(self.dropout(states))


class VocablessForMaskedLM(_HeadModel):
    """Prediction of masked tokens, over the vocabulary of a target tokenizer. Source: EELBERT 4.1.

    The output layer is not tied to an input table, because there is none. Only training needs this layer: it is dropped
    when the checkpoint is loaded with another head.

    Logits are (B, S, target_vocab_size), or (labelled tokens, target_vocab_size) if there are labels and
    `config.sparse_prediction` is set. Labels are (B, S) ids of the target vocabulary, −100 for tokens without a label.
    """

    _auto_class = "AutoModelForMaskedLM"
    output_class = MaskedLMOutput

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.transform = PredictionTransform(config)
        self.decoder: nn.Module = nn.Linear(config.embedding_size, config.target_vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.decoder

    def set_output_embeddings(self, value: nn.Module) -> None:
        self.decoder = value

    @property
    def reads_labelled_only(self) -> bool:
        return self.config.sparse_prediction

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        return self.decoder(self.transform(states))
