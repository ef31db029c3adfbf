"""`VocablessConfig`: the front end that embeds the blocks, and the Hugging Face encoder that reads the embeddings."""
# mypy: no-warn-return-any

import copy
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, PreTrainedConfig

# All heads are listed, so that a checkpoint saved with one head also loads with another.
AUTO_MAP = {
    "AutoConfig": "configuration_vocabless.VocablessConfig",
    "AutoModel": "modeling_vocabless.VocablessModel",
    "AutoModelForPreTraining": "modeling_vocabless.VocablessForPreTraining",
    "AutoModelForMaskedLM": "modeling_vocabless.VocablessForMaskedLM",
    "AutoModelForSequenceClassification": "modeling_vocabless.VocablessForSequenceClassification",
    "AutoModelForTokenClassification": "modeling_vocabless.VocablessForTokenClassification",
}

# Tasks whose stock pipelines do not work with blocks. `ner` is the stock alias of token-classification.
CUSTOM_PIPELINES = {
    task: {"impl": f"pipelines_vocabless.Vocabless{name}Pipeline", "pt": [f"AutoModelFor{model}"]}
    for task, name, model in (
        ("token-classification", "TokenClassification", "TokenClassification"),
        ("ner", "TokenClassification", "TokenClassification"),
        ("fill-mask", "FillMask", "MaskedLM"),
    )
}

PROBLEM_TYPES = ("single_label_classification", "multi_label_classification", "regression")
POOLINGS = ("cls", "mean", "siamese")  # of `classifier_pooling`
ACTIVATIONS = ("tanh", "rms_norm")  # of `classifier_activation`
READS_SENTENCES = (False, True, "odds")  # of `classifier_reads_sentences`
LARGEST_SCORE = 1_000_000  # of `classifier_reject_score`, on either side of 0

# Legal sizes, checked before anything of such a size is built: a checkpoint may be another person's.
LIMITS = {
    "block_size": (1, 4096),
    "target_vocab_size": (1, 1 << 24),
    "num_labels": (1, 1 << 20),
    "classifier_wide_rows": (0, 1 << 24),
    "num_hidden_layers": (0, 1024),
    "num_attention_heads": (1, 1024),
    "hidden_size": (1, 1 << 16),
    "embedding_size": (1, 1 << 16),
    "intermediate_size": (1, 1 << 20),
    "max_position_embeddings": (0, 1 << 24),
    "type_vocab_size": (0, 1 << 16),
}

# Names in a file that would choose code of another repository: its classes, or its attention or expert kernels.
FOREIGN_CODE = {
    *("auto_map", "trust_remote_code", "custom_pipelines"),
    *("attn_implementation", "_attn_implementation", "_attn_implementation_internal"),
    *("experts_implementation", "_experts_implementation", "_experts_implementation_internal"),
}

# What the library raises, beside ValueError, for a value of a wrong type.
TYPE_ERRORS = (TypeError, AttributeError, IndexError, KeyError, StrictDataclassError)


def _of_encoder(name: str, docstring: str) -> Any:
    return property(lambda config: getattr(config.encoder_config, name), doc=docstring)


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
        classifier_activation: what follows the first layer of these heads: `tanh`; or `rms_norm`, division by the root
            mean square, so that the layer can give the vector of a sentence encoder.
        classifier_wide_rows: rows of the weights of the wide part of the heads for whole texts, see `WideLayer`; 0
            leaves it out.
        classifier_reads_sentences: whether a classifier with one label for a text reads its sentences, too, see
            `VocablessForSequenceClassification.reads_sentences`, and by which rule they are joined: `odds`, or
            True for that of older checkpoints, see `join_sentences`. Other heads ignore it.
        classifier_threshold: probability from which on a classifier with several labels for a text gives one; None is
            not known, as in checkpoints of before it was chosen.
        classifier_reject_score: familiarity below which a classifier of texts gives its last label, "none of these",
            see `Rejection`; None: it has no such label.
        append_embeddings: whether each token's state is followed by its embedding, so that heads and means of the
            states read both; `hidden_size` is then the width of the two.
        kwargs: arguments of `PreTrainedConfig`, for instance `num_labels`. What only the encoder's configuration has,
            for instance `hidden_dropout_prob`, goes there.

    Raises:
        ValueError: a size is not in `LIMITS`, `front_end_options` is not a dict, `classifier_dropout` or
            `classifier_threshold` is no probability, `classifier_reject_score` is no number, `classifier_pooling` is
            unknown or has no wide part, `classifier_activation`, `classifier_reads_sentences` or `problem_type` is
            unknown, labels have gaps or the same name, or `encoder_config` has no `model_type`, is one of this family
            or has a value of a wrong type.
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
        classifier_activation: str = "tanh",
        classifier_wide_rows: int = 0,
        classifier_reads_sentences: bool | str = False,
        classifier_threshold: float | None = None,
        classifier_reject_score: float | None = None,
        append_embeddings: bool = False,
        **kwargs: Any,
    ) -> None:
        sizes = {"block_size": block_size, "target_vocab_size": target_vocab_size}
        check_limits({**kwargs, **sizes, "classifier_wide_rows": classifier_wide_rows})
        if not isinstance(front_end_options or {}, dict):
            raise ValueError(f"front_end_options is {front_end_options!r}; give a dict of keyword arguments.")
        numbers = {"dropout": (classifier_dropout, 0, 1), "threshold": (classifier_threshold, 0, 1)}
        numbers["reject_score"] = (classifier_reject_score, -LARGEST_SCORE, LARGEST_SCORE)
        for name, (number, low, high) in numbers.items():
            if number is not None and not (isinstance(number, (int, float)) and low <= number <= high):
                raise ValueError(f"classifier_{name} is {number!r}; give a number from {low} to {high}, or None.")
        choices: dict[str, tuple[Any, tuple[Any, ...]]] = {
            "pooling": (classifier_pooling, POOLINGS),
            "activation": (classifier_activation, ACTIVATIONS),
            "reads_sentences": (classifier_reads_sentences, READS_SENTENCES),
        }
        for name, (value, legal) in choices.items():
            if value not in legal:
                raise ValueError(f"classifier_{name} is {value!r}; give one of {', '.join(map(str, legal))}.")
        if classifier_wide_rows and classifier_pooling == "siamese":
            raise ValueError(
                f"classifier_wide_rows is {classifier_wide_rows}, but a siamese head reads pairs and has no wide part; "
                "give 0, or another classifier_pooling."
            )
        self.front_end = front_end
        self.front_end_options = dict(front_end_options or {})
        self.block_size = block_size
        self.encoder_config = _encoder_config(encoder_config)
        for name in self.names_of_encoder(kwargs):
            setattr(self.encoder_config, name, kwargs.pop(name))
        self.position_embeddings = position_embeddings
        self.classifier_pooling = classifier_pooling
        self.classifier_activation = classifier_activation
        self.classifier_wide_rows = classifier_wide_rows
        self.classifier_reads_sentences = classifier_reads_sentences
        self.classifier_threshold = classifier_threshold
        self.classifier_reject_score = classifier_reject_score
        self.append_embeddings = append_embeddings
        self.classifier_dropout = classifier_dropout
        self.target_vocab_size = target_vocab_size
        self.sparse_prediction = sparse_prediction
        kwargs["auto_map"] = dict(AUTO_MAP)  # always the code in the same folder, never another repository's
        kwargs["custom_pipelines"] = pipelines_of(kwargs.get("architectures") or [])
        kwargs.setdefault("pad_token_id", 0)
        if kwargs.get("problem_type") not in (None, *PROBLEM_TYPES):
            raise ValueError(f"problem_type is {kwargs['problem_type']!r}; give one of {', '.join(PROBLEM_TYPES)}.")
        labels = kwargs.get("id2label") or {}
        is_numbered = isinstance(labels, Mapping) and {*map(str, labels)} == {*map(str, range(len(labels)))}
        names = {str(name) for name in labels.values() if isinstance(name, str | int)} if is_numbered else ()
        if not is_numbered or len(names) < len(labels):
            raise ValueError(
                f"id2label of the configuration is {labels!r}; number the labels from 0 without a gap, each with its "
                "own name."
            )
        super().__init__(**kwargs)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Builds a configuration. Of `kwargs`, what only the encoder's configuration has goes there.

        The library's method ignores such arguments, or hands them to the model, which does not know them. Of
        `config_dict`, names that would choose code of another repository are dropped.

        Raises:
            ValueError: a value has a wrong type or size.
        """
        config_dict = _without_foreign_code(config_dict)
        try:
            config = super().from_dict(dict(config_dict))
            own = config.names_of_encoder(kwargs)
            built = super().from_dict(config_dict, **{name: kwargs[name] for name in kwargs if name not in own})
        except TYPE_ERRORS as error:
            raise _wrong_type("the configuration", error) from error
        config = built[0] if isinstance(built, tuple) else built
        for name in own:
            setattr(config.encoder_config, name, kwargs[name])
        return built

    def names_of_encoder(self, names: Iterable[str]) -> list[str]:
        """Returns those of `names` that only the encoder's configuration has."""
        return [name for name in names if hasattr(self.encoder_config, name) and name not in SHARED_NAMES]

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

    num_hidden_layers = _of_encoder("num_hidden_layers", "Number of encoder layers.")
    num_attention_heads = _of_encoder("num_attention_heads", "Number of attention heads in each encoder layer.")
    max_position_embeddings = _of_encoder(
        "max_position_embeddings", "As the encoder has it; for the longest sequence see `VocablessModel.max_tokens`."
    )

    @property
    def vocab_size(self) -> int:
        """Number of values of an element, 261: 5 special ids and 256 bytes, as `len(tokenizer)`. No file has it.

        It is the bound of `input_ids`, by which libraries check ids or draw random ones. There is no vocabulary.
        """
        return 5 + 256

    @property
    def hidden_size(self) -> int:
        """Width of the model's output: that of the encoder, and with `append_embeddings` also of the front end."""
        return self.encoder_config.hidden_size + (self.embedding_size if self.append_embeddings else 0)

    @property
    def embedding_size(self) -> int:
        """D, width of the front end's output: the encoder's word-embedding width."""
        return getattr(self.encoder_config, "embedding_size", self.encoder_config.hidden_size)

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


def check_limits(sizes: Mapping[str, Any]) -> None:
    """Raises ValueError if one of these settings, by name, is not in its range of `LIMITS`; None is no size."""
    for name, (low, high) in LIMITS.items():
        value = sizes.get(name)
        if value is not None and (type(value) is not int or not low <= value <= high):
            raise ValueError(f"{name} is {value!r}; give an integer from {low} to {high}.")


def pipelines_of(architectures: list[str]) -> dict[str, Any]:
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
    encoder = copy.deepcopy(_stock_config({"model_type": "bert"} if encoder is None else encoder))
    encoder.name_or_path = ""  # it may be a path of this machine, which checkpoints must not tell
    for name in FOREIGN_CODE & vars(encoder).keys():
        if not name.startswith("_"):
            delattr(encoder, name)
    if hasattr(encoder, "vocab_size"):
        # The word table is built and then removed, so keep it small: up to the padding row. Ids beyond it must go.
        encoder.vocab_size = (getattr(encoder, "pad_token_id", 0) or 0) + 1
        for name in ("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"):
            if hasattr(encoder, name):
                setattr(encoder, name, None)
    return encoder


def _stock_config(encoder: PreTrainedConfig | dict[str, Any]) -> PreTrainedConfig:
    """Returns the configuration that a dict describes, or a configuration as it is; both must be a stock encoder's."""
    if isinstance(encoder, dict):
        check_limits(encoder)
        if "model_type" not in encoder:
            raise ValueError(
                f"encoder_config has the keys {sorted(encoder)} but no model_type; add one, for instance 'bert'."
            )
        try:
            encoder = AutoConfig.for_model(**encoder)
        except TYPE_ERRORS as error:
            raise _wrong_type("encoder_config", error) from error
    if not isinstance(encoder, PreTrainedConfig):
        raise ValueError(f"encoder_config is {encoder!r}; give a configuration, or a dict with model_type.")
    if encoder.model_type == VocablessConfig.model_type:
        raise ValueError("encoder_config is a model of this family; give a stock encoder, for instance 'bert'.")
    return encoder


def _wrong_type(where: str, error: Exception) -> ValueError:
    return ValueError(f"{where} has a value of a wrong type ({' '.join(str(error).split())}); correct config.json.")


def _without_foreign_code(value: Any) -> Any:
    """Returns a copy of a JSON object without the names in `FOREIGN_CODE`, in objects inside it, too."""
    if not isinstance(value, dict):
        return value
    return {name: _without_foreign_code(item) for name, item in value.items() if name not in FOREIGN_CODE}
