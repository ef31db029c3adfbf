"""The model and the tokenizer that a run starts from: a row of a table with random weights, or a checkpoint."""

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from vocabless.hub_connection import offline_without_hub
from vocabless.loading import ENCODERS, load_config, load_tokenizer
from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.modeling.pretrained_model import check_finite
from vocabless.saving.checkpoint import check_tokenizer
from vocabless.saving.checkpoint_files import (
    LOADING_ERRORS,
    check_encoder_tensors,
    check_has_config,
    check_head,
    check_source,
    first_line,
)
from vocabless.saving.stock_models import longest_sequence
from vocabless.stock_shapes import STOCK_SHAPES, StockShape, load_shape_config, load_shape_tokenizer
from vocabless.texts.subwords_and_ngrams import TRAINED_SUBWORD, train_subword, trained_file, with_ngrams
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.variants import VARIANTS, Variant

SHORTEST = 3  # tokens of a sequence: two special ones, and a word


class Head(NamedTuple):
    """What a run puts on an encoder."""

    name: str  # for messages
    model_class: type[PreTrainedModel]  # for an encoder of this family
    auto_class: Any  # for a stock encoder
    options: Callable[[Any, PreTrainedTokenizerBase], Mapping[str, Any]]  # what a configuration needs, by name
    needs_targets: bool = False  # whether each token needs the id of a target vocabulary


class Corpus(NamedTuple):
    """The text that a tokenizer is trained on, and where the result is kept, so that a run that continues finds it."""

    documents: Callable[[], Any]  # returns a data set with the column `text`
    folder: Path  # of the run
    vocab_size: int  # tokens of a subword tokenizer


class Loaded(NamedTuple):
    """A model with a head in float32, and its tokenizer."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    lacks_head: bool = False  # whether a checkpoint has no classifier of this shape, or one for other labels

    @property
    def limit(self) -> int:
        """The largest sequence length, tokens. What our tokenizer remembers is the length of the last fine-tuning."""
        if isinstance(self.tokenizer, VocablessTokenizer):
            return cast(VocablessModel, self.model.base_model).max_tokens
        return longest_sequence(self.model, self.tokenizer)

    def check_length(self, length: int, name: str) -> None:
        """Raises ValueError if the model, which is called `name`, cannot read sequences of this many tokens."""
        if not SHORTEST <= length <= self.limit:
            raise ValueError(f"max_seq_length {length} does not fit {name}; give {SHORTEST} to {self.limit}.")


def is_checkpoint(name: str) -> bool:
    """Returns whether a model has trained weights. A folder takes precedence over a variant with the same name."""
    return Path(name).is_dir() or name not in {*VARIANTS, *STOCK_SHAPES}


def load(
    source: str | Variant | StockShape,
    head: Head,
    corpus: Corpus,
    subword: str | None = None,
    ngrams: str | None = None,
    tokenizer_name: str | None = None,
    **hub_options: Any,
) -> Loaded:
    """Returns a model with a head, and its tokenizer.

    Args:
        source: a row, for random weights; or a checkpoint, a folder or a Hub id, which may end in `@revision`. A head
            that the checkpoint lacks, or has in another shape, is random; for other labels, it is as good as random.
        head: what is put on the encoder.
        corpus: the text for `subword="train"` and `ngrams="train"`.
        subword: the subword tokenizer of a row that reads subwords, or of the targets of masked LM over words; None is
            the published one, or that of the checkpoint.
        ngrams: the n-grams that have a feature, see `with_ngrams`.
        tokenizer_name: folder or Hub id of a tokenizer in place of the checkpoint's own.
        hub_options: further arguments of `from_pretrained` for a checkpoint.

    Raises:
        ValueError: the model or a tokenizer cannot be loaded, lacks what the head needs, or has no use for an argument.
    """
    if isinstance(source, str):
        return _load_checkpoint(source, head, corpus, subword, tokenizer_name, hub_options)
    if isinstance(source, StockShape) and ngrams is not None:
        raise ValueError(f"{source.name} has no n-gram features; leave --set ngrams out.")
    subword = _trained(subword, corpus, str(source.subwords))
    tokenizer: Any
    config: Any
    if isinstance(source, StockShape):
        tokenizer = load_shape_tokenizer(source, subword)
        config = load_shape_config(source, len(tokenizer), pad_token_id=tokenizer.pad_token_id)
    else:
        if source.reads_subwords:
            files = {"subword": subword}
        else:  # over words, subwords can be targets alone
            files = {"target": _targets(subword, head, source.name)} if head.needs_targets else {}
        texts = (row["text"] or "" for row in corpus.documents()) if ngrams == "train" else ()
        tokenizer = with_ngrams(partial(load_tokenizer, source, **files), ngrams, corpus.folder, texts)
        config = load_config(source)
    model_class = _configured(config, head, tokenizer)
    return Loaded(model_class(config) if is_ours(config) else model_class.from_config(config), tokenizer)


def load_checkpoint_config(source: str, **hub_options: Any) -> PreTrainedConfig:
    """Returns the configuration of a checkpoint. Raises ValueError if it cannot be loaded."""
    check_source(source)
    check_has_config(source)
    with _errors_of(source):
        config: PreTrainedConfig = AutoConfig.from_pretrained(**_located(source), **hub_options)
    return config


def is_ours(config: PreTrainedConfig) -> bool:
    """Returns whether a configuration is of this family."""
    return config.model_type == VocablessConfig.model_type


def check_overrides(source: str, overrides: Iterable[str]) -> None:
    """Raises ValueError if there is an override of a variant for a checkpoint."""
    for override in overrides:
        raise ValueError(f"--set {override} changes a variant, but {source!r} has trained weights; leave it out.")


def _load_checkpoint(
    source: str,
    head: Head,
    corpus: Corpus,
    subword: str | None,
    tokenizer_name: str | None,
    hub_options: dict[str, Any],
) -> Loaded:
    config: Any = load_checkpoint_config(source, **hub_options)
    check_source(tokenizer_name or source)
    with _errors_of(source):
        tokenizer = AutoTokenizer.from_pretrained(**_located(tokenizer_name or source), **hub_options)
    if not isinstance(tokenizer, VocablessTokenizer):
        if len(tokenizer) <= len(tokenizer.all_special_tokens):  # transformers makes one up where the files are missing
            raise ValueError(f"{source!r} has no tokenizer; save the model's own tokenizer in the same folder.")
    elif is_ours(config):
        check_tokenizer(source, config, tokenizer)
    has_targets = is_ours(config) and head.needs_targets
    if subword is not None:
        if not has_targets or tokenizer.splitter == "subword":
            raise ValueError(f"{source!r} has a tokenizer of its own and no use for --subword {subword}; leave it out.")
        subword = _trained(subword, corpus, "wordpiece")
        tokenizer = VocablessTokenizer.from_pretrained(**_located(source), target_file=subword, **hub_options)
    elif has_targets and tokenizer.target_tokenizer is None:
        _targets(None, head, repr(source))
    saved = copy.deepcopy(config)
    model_class = _configured(config, head, tokenizer)
    options = {"config": config, "dtype": torch.float32, "ignore_mismatched_sizes": True, "output_loading_info": True}
    with quiet_library(shows_bars=not os.path.isdir(source)), _errors_of(source):
        model, info = model_class.from_pretrained(**_located(source), **options, **hub_options)
    check_encoder_tensors(source, model, info)
    check_head(source, saved, model, info)
    check_finite(source, dict(model.named_parameters()))
    new_tensors = *info["missing_keys"], *(name for name, *_ in info["mismatched_keys"])
    has_other_labels = config.id2label != saved.id2label
    return Loaded(model, tokenizer, has_other_labels or any(name.startswith("classifier.") for name in new_tensors))


def split_revision(name: str) -> tuple[str, str]:
    """Returns a Hub id without its `@revision`, and the revision; a folder keeps its name.

    >>> split_revision("you/base@v1"), split_revision("you/base")
    (('you/base', 'v1'), ('you/base', 'main'))
    """
    hub_id, _, revision = name.partition("@")
    return (name, "main") if os.path.exists(name) or not revision else (hub_id, revision)


def _located(name: str) -> dict[str, Any]:
    """Returns the arguments of `from_pretrained` that say where a checkpoint is."""
    source, revision = split_revision(name)
    return {"pretrained_model_name_or_path": source, "revision": revision}


def _configured(config: Any, head: Head, tokenizer: PreTrainedTokenizerBase) -> Any:
    """Sets what a head needs in the configuration; returns the class of the model."""
    for name, value in head.options(config, tokenizer).items():
        setattr(config, name, value)
    return head.model_class if is_ours(config) else head.auto_class


def _trained(subword: str | None, corpus: Corpus, kind: str) -> str | None:
    """Returns the path of a subword tokenizer; `train` trains one, unless the run has it."""
    if subword != "train":
        return subword

    def train() -> str:
        return train_subword(corpus.documents(), kind, corpus.vocab_size).to_str(pretty=True)

    return trained_file(corpus.folder / TRAINED_SUBWORD, train)


def _targets(subword: str | None, head: Head, name: str) -> str:
    """Returns the subword tokenizer of the targets. Raises ValueError if there is none."""
    if subword is None:
        raise ValueError(
            f"{head.name} over the words of {name} predicts a vocabulary; give --subword FILE, or 'train'."
        )
    return subword


@contextmanager
def quiet_library(shows_bars: bool) -> Iterator[None]:
    """Keeps the library from its report on a head, whose weights are new in every run of a new task, and from its bars.

    A folder is loaded in a moment, so `load` shows the bars of a download alone.
    """
    verbosity, had_bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    if not shows_bars:
        transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if had_bars:
            transformers_logging.enable_progress_bar()


@contextmanager
def _errors_of(source: str) -> Iterator[None]:
    """Makes one sentence of what `from_pretrained` raises for a checkpoint."""
    try:
        with offline_without_hub(source):
            yield
    except LOADING_ERRORS as error:
        *_, last = str(error).splitlines() or [""]
        cause = last.strip() if "trust_remote_code" in last else first_line(error)  # the advice to allow foreign code
        folders = sorted(str(path) for path in Path(source).parent.glob("*") if path.is_dir())
        names = [name for name in (*ENCODERS.values(), *VARIANTS, *STOCK_SHAPES, *folders) if name != source]
        near = [] if os.path.isdir(source) else get_close_matches(source, names, n=4)
        remedy = f"did you mean {' or '.join(near)}? Else give" if near else "give"
        raise ValueError(
            f"{source!r} cannot be loaded ({cause}); {remedy} a folder with a complete checkpoint, a Hub id, or a "
            "variant, such as hashgram-tiny or bert-tiny."
        ) from error
