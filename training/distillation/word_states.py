"""Trains a model without a vocabulary to give each word the hidden states that an original model gives it.

The original reads subwords. The target of a word is the mean of the original's states of its subwords, see
`alignment_weights`. The loss of a layer is the mean squared difference between states and targets, divided by the mean
square of the targets. The loss of a batch is the mean over all layers and the embeddings. Neither model uses dropout.
"""
# mypy: allow-untyped-calls

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainingArguments

from vocabless import VocablessModel, VocablessTokenizer
from vocabless.modeling.stock_encoders import max_tokens
from vocabless.training.distillation.alignment import Aligner
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.sentences import sentences
from vocabless.training.trainer import ResumableTrainer

MAX_HELD_OUT = 128  # documents, and passages of them
HELD_OUT_SHARE = 0.05  # of the documents
SPECIAL_PER_TEXT = 2  # [CLS] and [SEP]
MIN_VALUES = {"max_steps": 1, "per_device_train_batch_size": 1, "max_seq_length": SPECIAL_PER_TEXT + 1}


@dataclass(frozen=True)
class DistillationSettings:
    """The text and the hyper-parameters of a distillation.

    Attributes:
        text: a corpus, see `load_text`.
        text_column: column of the text, in files with columns.
        train_encoder: whether the encoder is trained, or only the front end.
        max_steps: steps of the optimizer.
        learning_rate: peak learning rate of AdamW.
        batch_size: passages per step.
        max_seq_length: tokens of a passage.
        seed: seed of the order of the documents and of the passages.
    """

    text: str
    text_column: str = "text"
    train_encoder: bool = False
    max_steps: int = 1000
    learning_rate: float = 5e-3
    batch_size: int = 16
    max_seq_length: int = 64
    seed: int = 0


@dataclass(frozen=True)
class Agreement:
    """How similar the last hidden states of a model and of the original are: mean cosines over the words of a text.

    Attributes:
        before: mean cosine before training.
        after: mean cosine after training.
        mean_state_baseline: mean cosine if each word had the same state, the mean of the original's normalised states.
        words: number of words.
        steps: number of training steps.
    """

    before: float
    after: float
    mean_state_baseline: float
    words: int
    steps: int

    def __str__(self) -> str:
        return (
            f"Mean cosine with the original's states over {self.words:,} held-out words: {self.before:.3f} before and "
            f"{self.after:.3f} after {self.steps:,} steps. The mean state of the original alone has "
            f"{self.mean_state_baseline:.3f}."
        )

    def as_json(self) -> dict[str, float | int]:
        """Returns the figures by their names in `results.json`."""
        return {
            "before": self.before,
            "after": self.after,
            "floor": self.mean_state_baseline,
            "words": self.words,
            "steps": self.steps,
        }


def distill(
    model: VocablessModel,
    tokenizer: VocablessTokenizer,
    original: PreTrainedModel,
    original_tokenizer: PreTrainedTokenizerBase,
    settings: DistillationSettings,
) -> Agreement:
    """Trains `model` in place; returns its agreement with the original on held-out text, before and after.

    Raises:
        ValueError: the model has nothing to train, the text is too short, a setting is out of range, or the loss is not
            finite.
    """
    _check(model, settings)
    train_passages, held_out = read_passages(tokenizer, settings)
    collate = Aligner(tokenizer, original_tokenizer, settings.max_seq_length, max_tokens(original))
    size = settings.batch_size
    held_out_batches = [collate(held_out[start : start + size]) for start in range(0, len(held_out), size)]
    model.requires_grad_(settings.train_encoder)
    model.front_end.requires_grad_(True)
    with tempfile.TemporaryDirectory() as folder:
        training = _training_arguments(folder, settings)
        original = original.requires_grad_(False).eval().to(training.device)  # type: ignore[arg-type]
        trainer = _Distiller(original, model=model, args=training, train_dataset=train_passages, data_collator=collate)
        before, baseline, num_words = mean_cosines(model, original, held_out_batches)
        trainer.resume()
        after, _, _ = mean_cosines(model, original, held_out_batches)
    model.requires_grad_(True).eval().cpu()
    return Agreement(before, after, baseline, num_words, settings.max_steps)


@torch.no_grad()
def mean_cosines(
    model: VocablessModel, original: PreTrainedModel, batches: Iterable[dict[str, Any]]
) -> tuple[float, float, int]:
    """Compares the last hidden states of a model with those of the original.

    Args:
        model: the model without a vocabulary.
        original: the original model.
        batches: what `Aligner` returns.

    Returns:
        The mean cosine of the states, the mean-state baseline (see `Agreement`) and the number of words.
    """
    model.eval()
    last_states, last_targets = [], []
    for batch in batches:
        states, targets = _word_states(model, original, _to_device(batch, model.device))
        last_states.append(states[-1])
        last_targets.append(targets[-1])
    state, target = torch.cat(last_states), torch.cat(last_targets)  # (words, D)
    mean_target = F.normalize(target).mean(dim=0, keepdim=True)
    cosine = F.cosine_similarity(state, target).mean().item()
    baseline = F.cosine_similarity(mean_target, target).mean().item()
    return cosine, baseline, len(target)


def read_passages(tokenizer: VocablessTokenizer, settings: DistillationSettings) -> tuple[list[str], list[str]]:
    """Returns passages to train on and held-out passages, from different documents.

    There are at most as many training passages as the steps need.

    Raises:
        ValueError: the text is too short.
    """
    documents = load_text(settings.text, settings.text_column)
    assert isinstance(documents, Dataset)
    if len(documents) < 2:
        raise ValueError(f"the text {settings.text!r} is one document; give at least two, because one is held out.")
    documents = documents.shuffle(seed=settings.seed)
    num_held_out = min(max(1, round(HELD_OUT_SHARE * len(documents))), MAX_HELD_OUT)
    held_out_documents = documents.select(range(num_held_out))
    train_documents = documents.select(range(num_held_out, len(documents)))
    max_words = settings.max_seq_length - SPECIAL_PER_TEXT
    held_out = list(islice(_passages(held_out_documents, tokenizer, max_words), MAX_HELD_OUT))
    max_passages = settings.max_steps * settings.batch_size
    train = list(islice(_passages(train_documents, tokenizer, max_words), max_passages))
    if not train or not held_out:
        raise ValueError(f"the text {settings.text!r} has {len(documents)} documents but too few words; give more.")
    return train, held_out


def _passages(documents: Dataset, tokenizer: VocablessTokenizer, max_words: int) -> Iterator[str]:
    """Yields passages of whole sentences with at most `max_words` words; a longer sentence is one passage."""
    for document in tqdm(documents, desc="Reading text", unit="document"):
        passage, num_words = "", 0
        for sentence in sentences(document["text"] or ""):
            sentence_words = len(tokenizer.unit_splitter.units(sentence))
            if passage and num_words + sentence_words > max_words:
                yield passage
                passage, num_words = "", 0
            if sentence_words:
                passage += sentence
                num_words += sentence_words
        if passage:
            yield passage


def _check(model: VocablessModel, settings: DistillationSettings) -> None:
    """Checks the settings against the model."""
    values = {
        "max_steps": settings.max_steps,
        "per_device_train_batch_size": settings.batch_size,
        "max_seq_length": settings.max_seq_length,
    }
    for flag, value in values.items():
        if value < MIN_VALUES[flag]:
            raise ValueError(f"--{flag} is {value}; give at least {MIN_VALUES[flag]}.")
    if settings.max_seq_length > model.max_tokens:
        raise ValueError(
            f"--max_seq_length is {settings.max_seq_length} but the model has {model.max_tokens} positions; "
            f"give at most {model.max_tokens}."
        )
    if not settings.train_encoder and not any(True for _ in model.front_end.parameters()):
        raise ValueError(
            f"the front end {model.config.front_end!r} has no parameters to train; add --train_encoder, or give a "
            "variant with another front end."
        )


def _training_arguments(folder: str, settings: DistillationSettings) -> TrainingArguments:
    twentieth = settings.max_steps // 20
    return TrainingArguments(
        folder,
        max_steps=settings.max_steps,
        learning_rate=settings.learning_rate,
        per_device_train_batch_size=settings.batch_size,
        warmup_steps=twentieth,
        logging_steps=max(1, twentieth),
        seed=settings.seed,
        save_strategy="no",
        report_to=[],
        dataloader_pin_memory=torch.cuda.is_available(),
        remove_unused_columns=False,
    )


class _Distiller(ResumableTrainer):
    """Trains a model to have the hidden states of `original`."""

    def __init__(self, original: PreTrainedModel, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._original = original

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Returns the loss of a batch, see the docstring of this module."""
        model.eval()  # turns dropout off; gradients are still computed
        states, targets = _word_states(model, self._original, inputs)
        losses = [
            F.mse_loss(state, target) / target.square().mean() for state, target in zip(states, targets, strict=True)
        ]
        return torch.stack(losses).mean()


def _word_states(model: Any, original: PreTrainedModel, batch: dict[str, Any]) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the model's states of the aligned words and their targets, both (words, D) for each layer."""
    weights = batch["weights"]  # (B, S, P)
    is_aligned = weights.sum(dim=-1) > 0
    with torch.no_grad():
        subword_states = original(**batch["subwords"], output_hidden_states=True).hidden_states  # (B, P, D) each
    states = model(**batch["words"], output_hidden_states=True).hidden_states  # (B, S, D) each
    targets = [(weights @ state)[is_aligned] for state in subword_states]
    return [state[is_aligned] for state in states], targets


def _to_device(batch: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Returns a batch, a nested dictionary of tensors, on another device."""
    return {
        name: _to_device(value, device) if isinstance(value, dict) else value.to(device)
        for name, value in batch.items()
    }
