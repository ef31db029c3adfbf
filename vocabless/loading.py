"""What a row of the table becomes: configurations and tokenizers with fresh settings. And the encoder that ships."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transformers.utils.hub import cached_file

from vocabless.hub_connection import offline_without_hub
from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.public_names import model_of_run
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.variants import SIZES, SUBWORD_TOKENIZERS, VARIANTS, Options, Variant, find_variant

# In this folder: links in a clone, folders where the package is installed.
ENCODERS = {"english": "hashgram-tiny-sentence", "multilingual": "hashgram-multi-sentence"}
TARGET_VOCAB_SIZES = {"wordpiece": 30_522, "bpe": 50_265}  # of the two published tokenizers


def load_config(name: str | Variant, **kwargs: Any) -> VocablessConfig:
    """Returns the configuration of a variant.

    Args:
        name: see `list_variants`; or a row, such as `overrides.with_overrides` returns.
        kwargs: other arguments of `VocablessConfig` or of the encoder's configuration, for instance `num_labels=3` or
            `hidden_dropout_prob=0.3`; they replace the variant's.

    Raises:
        ValueError: an unknown variant, arguments that nothing has, or values that `VocablessConfig` refuses.

    Example:
        >>> load_config("eelbert-tiny").front_end
        'ngram'
    """
    variant = find_variant(name)
    front_end, front_end_options = variant.front_end
    settings: dict[str, Any] = {
        "front_end": front_end,
        "front_end_options": front_end_options,
        "block_size": variant.block_size,
        "encoder_config": _encoder_config(variant),
        "position_embeddings": variant.position_embeddings,
        "classifier_pooling": variant.classifier_pooling,
        "target_vocab_size": TARGET_VOCAB_SIZES[variant.subwords],
        "variant": variant.name if variant.name in VARIANTS else None,
    }
    config = VocablessConfig(**{**settings, **kwargs})
    VocablessConfig(**settings).check_names(kwargs)
    return config


def load_tokenizer(
    name: str | Variant,
    subword: str | os.PathLike[str] | None = None,
    target: str | os.PathLike[str] | None = None,
    **kwargs: Any,
) -> VocablessTokenizer:
    """Returns the tokenizer of a variant.

    Args:
        name: see `load_config`.
        subword: for variants over subwords: a `tokenizer.json`, a folder that holds one, or a Hub id. None is
            `google-bert/bert-base-uncased` for WordPiece and `FacebookAI/roberta-base` for BPE.
        target: for masked LM over other tokens than the units: the tokenizer of the predicted tokens, given like
            `subword`.
        kwargs: other arguments of `VocablessTokenizer`; they replace the variant's.

    Raises:
        ValueError: an unknown variant; `subword` or `target` is not found; `subword` for a variant that reads no
            subwords.
    """
    variant = find_variant(name)
    if subword is not None and not variant.reads_subwords:
        raise ValueError(f"{variant.name} reads no subwords and has no use for subword={str(subword)!r}; leave it out.")
    forms = {"lowercase": variant.lowercase} | ({"fold_forms": variant.fold_forms} if variant.fold_forms else {})
    options: dict[str, Options] = {"word": forms, "scripts": forms, "bytes": {"window": variant.block_size}}
    settings: dict[str, Any] = {
        "splitter": "subword" if variant.reads_subwords else variant.splitter,
        "splitter_options": options.get(variant.splitter, {}) | variant.splitter_options,
        "coder": variant.coder[0],
        "coder_options": variant.coder[1],
        "model_max_length": variant.max_length,
        "model_input_names": input_names(variant.encoder),
    }
    if variant.reads_subwords:
        settings["subword_file"] = find_subword(subword or SUBWORD_TOKENIZERS[variant.splitter])
    if target is not None:
        settings["target_file"] = find_subword(target)
    return VocablessTokenizer(**{**settings, **kwargs})


def default_encoder(language: str = "english") -> str:
    """Returns the folder of a trained sentence encoder that this package carries, for `from_pretrained`.

    Args:
        language: `english`, the only language that this encoder has learned; or `multilingual`, for an encoder of 30
            languages (docs/languages.md lists them).

    Raises:
        ValueError: another language.
    """
    if language not in ENCODERS:
        raise ValueError(f"this package has no encoder {language!r}; give one of {', '.join(map(repr, ENCODERS))}.")
    folder = Path(__file__).parent / ENCODERS[language]
    in_clone = folder.parent.parent / "checkpoints" / folder.name  # of a clone without links
    return str(folder if folder.is_dir() else in_clone)


def find_model(name: str) -> str:
    """Returns the folder of a model: of an encoder that this package carries, or of the only model of a run.

    The former is given by its name or its language, see `default_encoder`. Any other name is returned as it is.

    Raises:
        ValueError: a run has several models.

    Example:
        >>> find_model("you/base")
        'you/base'
    """
    languages = {encoder: language for language, encoder in ENCODERS.items()} | {each: each for each in ENCODERS}
    return model_of_run(name) if os.path.exists(name) or name not in languages else default_encoder(languages[name])


def encoder_arguments(model_type: str, size: str, max_tokens: int) -> dict[str, Any]:
    """Returns the arguments of an encoder's configuration for a size and a longest sequence, in tokens."""
    arguments: dict[str, Any] = {**SIZES[size]._asdict(), "max_position_embeddings": max_tokens}
    if model_type == "roberta":  # RoBERTa counts positions from padding_idx + 1 = 2
        arguments |= {"max_position_embeddings": max_tokens + 2, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
    return arguments


def input_names(model_type: str) -> list[str]:
    """Returns what an encoder reads; only RoBERTa does not tell the two texts of a pair apart by `token_type_ids`."""
    types = [] if model_type == "roberta" else ["token_type_ids"]
    return ["input_ids", *types, "attention_mask"]


def _encoder_config(variant: Variant) -> dict[str, Any]:
    config = {
        "model_type": variant.encoder,
        **encoder_arguments(variant.encoder, variant.size, variant.max_positions or variant.max_length),
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
    }
    if variant.encoder == "roberta":
        config["pad_token_id"] = 1
    return config | variant.encoder_options


def find_subword(source: str | os.PathLike[str]) -> str:
    """Returns the path of the `tokenizer.json` of a file, a folder or a Hub id. Raises ValueError if there is none."""
    source = find_model(os.fspath(source))
    if os.path.isfile(source):
        return source
    if os.path.isdir(source):
        files = [os.path.join(source, name) for name in ("tokenizer.json", "subword.json")]
        if any(map(os.path.isfile, files)):
            return next(filter(os.path.isfile, files))
        raise ValueError(f"the folder {source!r} holds no tokenizer.json; give the file itself or another folder.")
    refusal = (
        f"the subword tokenizer {source!r} is neither a file, a folder nor a reachable Hub repository; "
        "give subword=, the path of a tokenizer.json."
    )
    if source.endswith(".json"):  # a file
        raise ValueError(refusal)
    try:
        with offline_without_hub(source):
            return str(cached_file(source, "tokenizer.json"))
    except OSError as error:
        raise ValueError(refusal) from error
