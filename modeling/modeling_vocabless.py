"""The models: a front end in place of the word embeddings of any Hugging Face encoder, and one set of heads for all.

No encoder is copied: `VocablessModel` builds the stock one, takes its word table away and feeds it `inputs_embeds`. The
heads have as many parameters as the encoders' own (a dense layer, tanh, dropout and an output layer is BERT's pooler and
classifier as well as RoBERTa's head), so that published parameter counts come out.
"""

import inspect
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, PreTrainedModel
from transformers.modeling_outputs import (
    BaseModelOutput,
    MaskedLMOutput,
    MultipleChoiceModelOutput,
    QuestionAnsweringModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils import can_return_tuple, logging

from .configuration_vocabless import VocablessConfig
from .front_ends import NUM_ELEMENTS, Elementwise, FrontEnd, build_front_end

logger = logging.get_logger(__name__)

NUM_CORRUPTIONS = 3  # intact, shuffled, replaced


class VocablessPreTrainedModel(PreTrainedModel):
    """What all models share: configuration, initialisation, and the absence of a word table."""

    config_class = VocablessConfig
    base_model_prefix = "vocabless"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, FrontEnd):
            module.init_weights(self.config.initializer_range)

    def get_input_embeddings(self) -> nn.Module:
        """Returns the front end, which stands where others have a word table."""
        return cast(VocablessModel, self.base_model).front_end

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replaces the front end."""
        cast(VocablessModel, self.base_model).front_end = value

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Module:  # type: ignore[override]
        """Changes nothing: every word has an embedding already. Returns the front end."""
        logger.warning_once("A vocabless model has no word table; resize_token_embeddings changes nothing.")
        return self.get_input_embeddings()


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
                f"elementwise gives each of the {config.block_size} elements of a block a head of its own, but the encoder "
                f"has {config.num_attention_heads} attention heads; make num_attention_heads equal block_size."
            )
        self.encoder = _build_encoder(config)
        self._encoder_takes = frozenset(inspect.signature(self.encoder.forward).parameters)
        self.max_tokens = _max_tokens(self.encoder, config)
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

        Returns:
            `last_hidden_state` (B, S, hidden_size); `hidden_states` and `attentions` if asked for.

        Raises:
            ValueError: not exactly one of `input_ids` and `inputs_embeds`; a wrong rank, K or length; on the CPU, also
                values out of range.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids, blocks of shape (batch, seq, K), or inputs_embeds.")
        if input_ids is not None:
            self._check(input_ids)
            inputs_embeds = self.front_end(input_ids.long()).to(self.dtype)
        assert inputs_embeds is not None
        seq_length = inputs_embeds.shape[1]
        if seq_length > self.max_tokens:
            raise ValueError(
                f"a sequence has {seq_length} tokens but the encoder has {self.max_tokens} positions; "
                f"give the tokenizer truncation=True, max_length={self.max_tokens}."
            )
        shortage = getattr(self.config.encoder_config, "downsampling_rate", 1) - seq_length
        if shortage > 0:  # CANINE's strided convolution needs as many positions as its stride
            inputs_embeds = F.pad(inputs_embeds, (0, 0, 0, shortage))
            if attention_mask is None:
                attention_mask = inputs_embeds.new_ones(inputs_embeds.shape[0], seq_length)
            attention_mask = F.pad(attention_mask, (0, shortage))
            token_type_ids = None if token_type_ids is None else F.pad(token_type_ids, (0, shortage))
        optional = {"token_type_ids": token_type_ids, "position_ids": position_ids}
        taken = {name: value for name, value in optional.items() if value is not None and name in self._encoder_takes}
        outputs = self.encoder(inputs_embeds=inputs_embeds, attention_mask=attention_mask, **taken, **kwargs)
        return BaseModelOutput(
            last_hidden_state=outputs.last_hidden_state[:, :seq_length],
            hidden_states=outputs.get("hidden_states"),
            attentions=outputs.get("attentions"),
        )

    def _check(self, input_ids: Tensor) -> None:
        size = self.config.block_size
        if input_ids.ndim != 3 or input_ids.shape[-1] != size:
            raise ValueError(
                f"input_ids has shape {tuple(input_ids.shape)}; blocks have shape (batch, seq, {size}): "
                "use the tokenizer that was saved with this model."
            )
        if input_ids.is_floating_point():
            raise ValueError(f"input_ids is {input_ids.dtype}; blocks are integers 0–{NUM_ELEMENTS - 1}.")
        # The range is looked at where that costs no synchronisation.
        if input_ids.device.type == "cpu" and input_ids.numel() and not torch.compiler.is_compiling():
            low, high = (int(value) for value in input_ids.aminmax())
            if low < 0 or high >= NUM_ELEMENTS:
                raise ValueError(
                    f"input_ids has the value {low if low < 0 else high}; elements of a block are 0–{NUM_ELEMENTS - 1}."
                )


class VocablessForSequenceClassification(VocablessPreTrainedModel):
    """One or more labels, or numbers, for a text or a pair of texts, read off the first token."""

    _auto_class = "AutoModelForSequenceClassification"
    accepts_loss_kwargs = False  # the loss is a mean over texts: gradient accumulation averages means

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.vocabless = VocablessModel(config)
        self.classifier = _FirstTokenHead(config, config.num_labels)
        self.post_init()

    @can_return_tuple
    def forward(
        self, input_ids: Tensor | None = None, labels: Tensor | None = None, **kwargs: Any
    ) -> SequenceClassifierOutput:
        """Classifies.

        Args:
            input_ids: (B, S, K), see `VocablessModel.forward`, which takes `kwargs`.
            labels: (B,) integers for one label; (B, labels) floats 0 or 1 for many; (B,) floats for a number.

        Returns:
            `logits` (B, labels), and `loss` if there are labels.
        """
        outputs = self.vocabless(input_ids, **kwargs)
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
        self.classifier = _FirstTokenHead(config, 1)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> MultipleChoiceModelOutput:
        """Scores choices.

        Args:
            input_ids: (B, choices, S, K).
            attention_mask: (B, choices, S).
            token_type_ids: (B, choices, S).
            labels: (B,) the right choice.

        Returns:
            `logits` (B, choices), and `loss` if there are labels.
        """
        if input_ids is None or input_ids.ndim != 4:
            shape = None if input_ids is None else tuple(input_ids.shape)
            raise ValueError(f"input_ids has shape {shape}; multiple choice takes (batch, choices, seq, K).")
        choices = input_ids.shape[1]
        flat = [None if value is None else value.flatten(0, 1) for value in (input_ids, attention_mask, token_type_ids)]
        outputs = self.vocabless(flat[0], attention_mask=flat[1], token_type_ids=flat[2], **kwargs)
        logits = self.classifier(outputs.last_hidden_state).view(-1, choices)
        loss = None if labels is None else F.cross_entropy(logits.float(), labels)
        return MultipleChoiceModelOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class VocablessForTokenClassification(VocablessPreTrainedModel):
    """A label for each token."""

    _auto_class = "AutoModelForTokenClassification"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.vocabless = VocablessModel(config)
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput:
        """Labels tokens.

        Args:
            input_ids: (B, S, K), see `VocablessModel.forward`, which takes `kwargs`.
            labels: (B, S) integers, −100 where none is asked for.
            num_items_in_batch: labels in all micro-batches of a step; the loss is their mean.

        Returns:
            `logits` (B, S, labels), and `loss` if there are labels.
        """
        outputs = self.vocabless(input_ids, **kwargs)
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        return TokenClassifierOutput(
            loss=_token_loss(logits, labels, num_items_in_batch),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )


class VocablessForPreTraining(VocablessPreTrainedModel):
    """Tells intact (0), shuffled (1) and replaced (2) tokens apart. Source: HashFormers 3.6, S+R."""

    _auto_class = "AutoModelForPreTraining"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)
        self.dense = nn.Linear(config.hidden_size, NUM_CORRUPTIONS)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput:
        """Judges tokens; arguments and result as in `VocablessForTokenClassification`, with three labels."""
        outputs = self.vocabless(input_ids, **kwargs)
        logits = self.dense(outputs.last_hidden_state)
        return TokenClassifierOutput(
            loss=_token_loss(logits, labels, num_items_in_batch),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )


class VocablessForMaskedLM(VocablessPreTrainedModel):
    """Predicts masked tokens over the vocabulary of a target tokenizer.

    The output layer is not tied to any input table, there being none: it is needed for training alone and is left behind
    when the checkpoint is loaded under another head. Source: EELBERT 4.1.
    """

    _auto_class = "AutoModelForMaskedLM"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)
        size = config.embedding_size
        self.transform = nn.Sequential(
            nn.Linear(config.hidden_size, size), nn.GELU(), nn.LayerNorm(size, eps=_norm_eps(config))
        )
        self.decoder = nn.Linear(size, config.target_vocab_size)
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
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | None = None,
        **kwargs: Any,
    ) -> MaskedLMOutput:
        """Predicts.

        Args:
            input_ids: (B, S, K), see `VocablessModel.forward`, which takes `kwargs`.
            labels: (B, S) ids of the target vocabulary, −100 where nothing is predicted.
            num_items_in_batch: labels in all micro-batches of a step; the loss is their mean.

        Returns:
            `logits` (B, S, target_vocab_size), or with `config.sparse_prediction` and labels (labelled positions,
            target_vocab_size); `loss` if there are labels.
        """
        outputs = self.vocabless(input_ids, **kwargs)
        hidden = outputs.last_hidden_state
        if labels is not None and self.config.sparse_prediction:
            labelled = labels != -100
            hidden, labels = hidden[labelled], labels[labelled]
        logits = self.decoder(self.transform(hidden))
        return MaskedLMOutput(
            loss=_token_loss(logits, labels, num_items_in_batch),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
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
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        **kwargs: Any,
    ) -> QuestionAnsweringModelOutput:
        """Finds the answer.

        Args:
            input_ids: (B, S, K), see `VocablessModel.forward`, which takes `kwargs`.
            start_positions: (B,) the first token of the answer; S or more is ignored.
            end_positions: (B,) the last token of the answer; S or more is ignored.

        Returns:
            `start_logits` and `end_logits` (B, S), and `loss` if positions are given.
        """
        outputs = self.vocabless(input_ids, **kwargs)
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


class _FirstTokenHead(nn.Module):
    """Dropout, dense, tanh, dropout, output, on the first token. (B, S, D) → (B, outputs)."""

    def __init__(self, config: VocablessConfig, num_outputs: int) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.head_dropout)
        self.out_proj = nn.Linear(config.hidden_size, num_outputs)

    def forward(self, hidden_states: Tensor) -> Tensor:
        pooled = torch.tanh(self.dense(hidden_states[:, 0]))
        return self.out_proj(self.dropout(pooled))


class _NoPositions(nn.Module):
    """Stands where an encoder has its table of positions, and adds nothing."""

    def forward(self, position_ids: Tensor) -> Tensor:
        return torch.zeros((), device=position_ids.device)


def _build_encoder(config: VocablessConfig) -> PreTrainedModel:
    """Returns the stock encoder without its word table and pooler."""
    encoder = AutoModel.from_config(config.encoder_config)
    kind = config.encoder_config.model_type
    if "inputs_embeds" not in inspect.signature(encoder.forward).parameters or config.encoder_config.is_encoder_decoder:
        raise ValueError(
            f"the encoder {kind!r} takes no inputs_embeds; choose one that does, such as "
            "roberta, bert, albert, canine, modernbert, electra or distilbert."
        )
    canine_tables = getattr(getattr(encoder, "char_embeddings", None), "_modules", {})
    hash_tables = [name for name in canine_tables if name.startswith("HashBucketCodepointEmbedder")]
    for name in hash_tables:
        del canine_tables[name]
    if not hash_tables:
        encoder.set_input_embeddings(None)
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    if not config.position_embeddings:
        embeddings = getattr(encoder, "embeddings", None)
        if not hasattr(embeddings, "position_embeddings"):
            raise ValueError(
                f"the encoder {kind!r} has no table of positions to leave out; set position_embeddings=True."
            )
        embeddings.position_embeddings = _NoPositions()
    return encoder


def _max_tokens(encoder: PreTrainedModel, config: VocablessConfig) -> int:
    """Returns how many tokens have a position: RoBERTa and its kin count from padding_idx + 1."""
    table = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    if not isinstance(table, nn.Embedding):
        return config.max_position_embeddings
    return table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1)


def _token_loss(logits: Tensor, labels: Tensor | None, num_items_in_batch: Tensor | None) -> Tensor | None:
    """Mean cross-entropy over labels other than −100, or their sum over `num_items_in_batch`; 0 where there is none."""
    if labels is None:
        return None
    logits, labels = logits.flatten(0, -2).float(), labels.flatten()
    total = F.cross_entropy(logits, labels, ignore_index=-100, reduction="sum")
    count = (labels != -100).sum().clamp(min=1) if num_items_in_batch is None else num_items_in_batch
    return total / count


def _norm_eps(config: VocablessConfig) -> float:
    encoder = config.encoder_config
    return getattr(encoder, "layer_norm_eps", getattr(encoder, "norm_eps", 1e-12))
