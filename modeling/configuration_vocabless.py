"""`VocablessConfig`: the front end that embeds the blocks, and the Hugging Face encoder that reads the embeddings."""
# mypy: allow-untyped-calls, no-warn-return-any

import copy
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from transformers import AutoConfig, PreTrainedConfig

# All heads are listed, so that a checkpoint saved with one head also loads with another.
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

# Tasks whose stock pipelines do not work with blocks. `ner` is the stock alias of token-classification.
CUSTOM_PIPELINES = {
    task: {"impl": f"pipelines_vocabless.Vocabless{name}Pipeline", "pt": [f"AutoModelFor{model}"]}
    for task, name, model in (
        ("token-classification", "TokenClassification", "TokenClassification"),
        ("ner", "TokenClassification", "TokenClassification"),
        ("fill-mask", "FillMask", "MaskedLM"),
        ("question-answering", "QuestionAnswering", "QuestionAnswering"),
    )
}

POOLINGS = ("cls", "mean", "siamese")  # of `classifier_pooling`
MAX_BLOCK_SIZE = 4096
MAX_TARGETS = 1 << 24  # of `target_vocab_size`


class VocablessConfig(PreTrainedConfig):
    """Configuration of all vocabless models.

    Args:
        front_end: name of the front end, a key of `front_ends.FRONT_ENDS`.
        front_end_options: keyword arguments of the front end, for instance `{"num_bits": 128}`.
        block_size: K, elements in a block; the same as the tokenizer's.
        encoder_config: configuration of an encoder that accepts `inputs_embeds`, or the same as a dict with
            `model_type`. The model drops this encoder's word embeddings. None is BERT with its default settings.
        position_embeddings: False drops the encoder's table of absolute positions.
        classifier_dropout: dropout probability of the heads; None uses the encoder's.
        target_vocab_size: outputs of the masked-LM head, the size of the target tokenizer's vocabulary.
        sparse_prediction: whether the masked-LM head computes logits at labelled positions only, if it gets labels.
        classifier_pooling: what the heads for whole texts read: `cls`, the state of the first token; `mean`, the mean
            of all tokens' states; or `siamese`, for pairs: the encoder reads the two texts apart, and the head
            compares their means, see `PooledHead.pool`.
        kwargs: arguments of `PreTrainedConfig`, for instance `num_labels`. What only the encoder's configuration has,
            for instance `hidden_dropout_prob`, goes there.

    Raises:
        ValueError: `block_size` or `target_vocab_size` is out of range, `front_end_options` is not a dict,
            `classifier_pooling` is unknown, or `encoder_config` has no `model_type` or is one of this family.
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
        classifier_pooling: str = "cls",
        **kwargs: Any,
    ) -> None:
        for name, value, limit in (
            ("block_size", block_size, MAX_BLOCK_SIZE),
            ("target_vocab_size", target_vocab_size, MAX_TARGETS),
        ):
            if not isinstance(value, int) or not 1 <= value <= limit:
                raise ValueError(f"{name} is {value!r}; give an integer from 1 to {limit}.")
        if not isinstance(front_end_options or {}, dict):
            raise ValueError(f"front_end_options is {front_end_options!r}; give a dict of keyword arguments.")
        if classifier_pooling not in POOLINGS:
            raise ValueError(f"classifier_pooling is {classifier_pooling!r}; give one of {', '.join(POOLINGS)}.")
        self.front_end = front_end
        self.front_end_options = dict(front_end_options or {})
        self.block_size = block_size
        self.encoder_config = _encoder_config(encoder_config)
        for name in self.names_of_encoder(kwargs):
            setattr(self.encoder_config, name, kwargs.pop(name))
        self.position_embeddings = position_embeddings
        self.classifier_pooling = classifier_pooling
        self.classifier_dropout = classifier_dropout
        self.target_vocab_size = target_vocab_size
        self.sparse_prediction = sparse_prediction
        kwargs["auto_map"] = dict(AUTO_MAP)  # always the code in the same folder, never another repository's
        kwargs["custom_pipelines"] = _custom_pipelines(kwargs.get("architectures") or [])
        kwargs.setdefault("pad_token_id", 0)
        super().__init__(**kwargs)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Builds a configuration. Of `kwargs`, what only the encoder's configuration has goes there.

        The library's method ignores such arguments, or hands them to the model, which does not know them.
        """
        config = super().from_dict(dict(config_dict))
        own = config.names_of_encoder(kwargs)
        built = super().from_dict(config_dict, **{name: kwargs[name] for name in kwargs if name not in own})
        config = built[0] if isinstance(built, tuple) else built
        for name in own:
            setattr(config.encoder_config, name, kwargs[name])
        return built

    def names_of_encoder(self, names: Iterable[str]) -> list[str]:
        """Returns those of `names` that only the encoder's configuration has."""
        has = self.encoder_config
        return [name for name in names if hasattr(has, name) and name not in SHARED_NAMES]

    def check_names(self, names: Iterable[str]) -> None:
        """Raises ValueError for a name that neither this configuration nor its encoder's has."""
        encoder = self.encoder_config
        legal = {*self.to_dict(), *encoder.to_dict(), *SHARED_NAMES}
        for name in names:
            if name not in legal and not hasattr(self, name) and not hasattr(encoder, name):
                near = get_close_matches(name, legal, cutoff=0.5)
                raise ValueError(
                    f"{name!r} is an argument of neither VocablessConfig nor its encoder's {encoder.model_type} "
                    f"configuration; {'near names are ' + ', '.join(near) if near else 'see their documentation'}."
                )

    @property
    def hidden_size(self) -> int:
        """Width of the encoder's output."""
        return self.encoder_config.hidden_size

    @property
    def embedding_size(self) -> int:
        """D, width of the front end's output: the encoder's word-embedding width."""
        return getattr(self.encoder_config, "embedding_size", self.encoder_config.hidden_size)

    @property
    def num_hidden_layers(self) -> int:
        """Number of encoder layers."""
        return self.encoder_config.num_hidden_layers

    @property
    def num_attention_heads(self) -> int:
        """Number of attention heads in each encoder layer."""
        return self.encoder_config.num_attention_heads

    @property
    def max_position_embeddings(self) -> int:
        """`max_position_embeddings` of the encoder; for the longest sequence see `VocablessModel.max_tokens`."""
        return self.encoder_config.max_position_embeddings

    @property
    def initializer_range(self) -> float:
        """Standard deviation of new weights."""
        return getattr(self.encoder_config, "initializer_range", 0.02)

    @property
    def head_dropout(self) -> float:
        """Dropout probability of the heads."""
        encoder = self.encoder_config
        names = ("classifier_dropout", "classifier_dropout_prob", "hidden_dropout_prob", "dropout", "embedding_dropout")
        values = [self.classifier_dropout] + [getattr(encoder, name, None) for name in names]
        return next((value for value in values if value is not None), 0.0)


def _custom_pipelines(architectures: list[str]) -> dict[str, Any]:
    """Returns the pipelines of the head of a checkpoint, or all if the head is not known.

    With pipelines of other heads, `pipeline(model=…)` could not find the task by itself.
    """
    heads = [name.replace("Vocabless", "AutoModel", 1) for name in architectures]
    rows = copy.deepcopy(CUSTOM_PIPELINES)
    return {task: row for task, row in rows.items() if not heads or row["pt"][0] in heads}


# Names that every configuration has. They are settings of the whole model.
SHARED_NAMES = {*vars(PreTrainedConfig()), *dir(PreTrainedConfig), "attn_implementation", "torch_dtype", "pad_token_id"}


def _encoder_config(encoder: PreTrainedConfig | dict[str, Any] | None) -> PreTrainedConfig:
    """Returns a copy of the encoder's configuration, with a vocabulary as small as possible."""
    if encoder is None:
        encoder = {"model_type": "bert"}
    if isinstance(encoder, dict):
        if "model_type" not in encoder:
            raise ValueError(
                f"encoder_config has the keys {sorted(encoder)} but no model_type; add one, for instance 'bert'."
            )
        encoder = AutoConfig.for_model(**encoder)
    if encoder.model_type == VocablessConfig.model_type:
        raise ValueError("encoder_config is a model of this family; give a stock encoder, for instance 'bert'.")
    encoder = copy.deepcopy(encoder)
    encoder.name_or_path = ""  # it may be a path of this machine, which checkpoints must not tell
    for name in ("auto_map", "trust_remote_code", "custom_pipelines"):  # they would name code of another repository
        if hasattr(encoder, name):
            delattr(encoder, name)
    if hasattr(encoder, "vocab_size"):
        # The word table is built and then removed, so keep it small: up to the padding row. Ids beyond it must go.
        encoder.vocab_size = (getattr(encoder, "pad_token_id", 0) or 0) + 1
        for name in ("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"):
            if hasattr(encoder, name):
                setattr(encoder, name, None)
    return encoder
