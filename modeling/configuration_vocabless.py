"""`VocablessConfig`: which front end reads the blocks, and which Hugging Face encoder works on what it gives."""
# mypy: allow-untyped-calls, no-warn-return-any

import copy
from typing import Any

from transformers import AutoConfig, PreTrainedConfig

# Every class under every Auto class, so that a checkpoint saved from any head loads as any other.
AUTO_MAP = {
    "AutoConfig": "configuration_vocabless.VocablessConfig",
    "AutoModel": "modeling_vocabless.VocablessModel",
    "AutoModelForPreTraining": "modeling_vocabless.VocablessForPreTraining",
    "AutoModelForMaskedLM": "modeling_vocabless.VocablessForMaskedLM",
    "AutoModelForSequenceClassification": "modeling_vocabless.VocablessForSequenceClassification",
    "AutoModelForTokenClassification": "modeling_vocabless.VocablessForTokenClassification",
    "AutoModelForQuestionAnswering": "modeling_vocabless.VocablessForQuestionAnswering",
    "AutoModelForMultipleChoice": "modeling_vocabless.VocablessForMultipleChoice",
}

# The tasks that the library's own pipelines cannot do; `ner` is one of its names for token classification.
CUSTOM_PIPELINES = {
    task: {"impl": f"pipelines_vocabless.Vocabless{name}Pipeline", "pt": [f"AutoModelFor{model}"]}
    for task, name, model in (
        ("token-classification", "TokenClassification", "TokenClassification"),
        ("ner", "TokenClassification", "TokenClassification"),
        ("fill-mask", "FillMask", "MaskedLM"),
        ("question-answering", "QuestionAnswering", "QuestionAnswering"),
    )
}


class VocablessConfig(PreTrainedConfig):
    """Configuration of every model of the family.

    Args:
        front_end: `bucket`, `pool`, `add`, `projection`, `ngram`, `random` or `elementwise`.
        front_end_options: keyword arguments of the front end, for instance `{"num_bits": 128}`.
        block_size: K, elements in a block; the tokenizer's.
        encoder_config: a config, or its dict with `model_type`, of an encoder that takes `inputs_embeds`. Its word
            embeddings are left out. None is a BERT of the library's defaults.
        position_embeddings: False leaves out the encoder's table of absolute positions.
        classifier_dropout: probability in the classification heads; None is the encoder's own.
        target_vocab_size: outputs of the masked-LM head, the size of the target tokenizer's vocabulary.
        sparse_prediction: whether the masked-LM head, given labels, computes logits of the labelled positions alone.
        kwargs: what every configuration of the library takes, for instance `num_labels`.

    Raises:
        ValueError: `block_size` below 1, `front_end_options` that is no dict, an `encoder_config` without `model_type`.
    """

    model_type = "vocabless"
    _auto_class = "AutoConfig"
    sub_configs = {"encoder_config": AutoConfig}  # noqa: RUF012

    def __init__(
        self,
        front_end: str = "ngram",
        front_end_options: dict[str, Any] | None = None,
        block_size: int = 32,
        encoder_config: PreTrainedConfig | dict[str, Any] | None = None,
        position_embeddings: bool = True,
        classifier_dropout: float | None = None,
        target_vocab_size: int = 30_522,
        sparse_prediction: bool = False,
        **kwargs: Any,
    ) -> None:
        if not isinstance(block_size, int) or block_size < 1:
            raise ValueError(f"block_size is {block_size!r}; it must be a whole number of at least 1 element.")
        if not isinstance(front_end_options or {}, dict):
            raise ValueError(f"front_end_options is {front_end_options!r}; give a dict of keyword arguments.")
        self.front_end = front_end
        self.front_end_options = dict(front_end_options or {})
        self.block_size = block_size
        self.encoder_config = _encoder_config(encoder_config)
        self.position_embeddings = position_embeddings
        self.classifier_dropout = classifier_dropout
        self.target_vocab_size = target_vocab_size
        self.sparse_prediction = sparse_prediction
        kwargs["auto_map"] = dict(AUTO_MAP)  # a checkpoint carries its own code: never another repository's
        kwargs["custom_pipelines"] = copy.deepcopy(CUSTOM_PIPELINES)
        kwargs.setdefault("pad_token_id", 0)
        super().__init__(**kwargs)

    @property
    def hidden_size(self) -> int:
        """Width of the encoder's output."""
        return self.encoder_config.hidden_size

    @property
    def embedding_size(self) -> int:
        """D, width of what the front end gives: the encoder's own word-embedding width."""
        return getattr(self.encoder_config, "embedding_size", self.encoder_config.hidden_size)

    @property
    def num_hidden_layers(self) -> int:
        """Layers of the encoder."""
        return self.encoder_config.num_hidden_layers

    @property
    def num_attention_heads(self) -> int:
        """Attention heads of each layer."""
        return self.encoder_config.num_attention_heads

    @property
    def max_position_embeddings(self) -> int:
        """Positions of the encoder's configuration; `VocablessModel.max_tokens` says how many tokens fit."""
        return self.encoder_config.max_position_embeddings

    @property
    def initializer_range(self) -> float:
        """Standard deviation of new weights."""
        return getattr(self.encoder_config, "initializer_range", 0.02)

    @property
    def head_dropout(self) -> float:
        """Dropout probability in the heads."""
        encoder = self.encoder_config
        names = ("classifier_dropout", "classifier_dropout_prob", "hidden_dropout_prob", "dropout", "embedding_dropout")
        values = [self.classifier_dropout] + [getattr(encoder, name, None) for name in names]
        return next((value for value in values if value is not None), 0.0)


def _encoder_config(given: PreTrainedConfig | dict[str, Any] | None) -> PreTrainedConfig:
    if given is None:
        given = {"model_type": "bert"}
    if isinstance(given, dict):
        if "model_type" not in given:
            raise ValueError(
                f"encoder_config has the keys {sorted(given)} but no model_type; add one, for instance 'bert'."
            )
        given = AutoConfig.for_model(**given)
    given = copy.deepcopy(given)
    if hasattr(given, "vocab_size"):
        given.vocab_size = (getattr(given, "pad_token_id", 0) or 0) + 1  # its table goes: never build a large one
        for name in ("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"):  # rows that are gone with it
            if hasattr(given, name):
                setattr(given, name, None)
    return given
