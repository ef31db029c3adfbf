"""A short recovery: a model without a vocabulary learns to give each word the states that the original gives it.

Words and subwords are aligned by their characters: a word's target is the mean of the states of the subwords that share
a character with it; the first token of one stands for the first token of the other. At every layer, the embeddings
included, the loss is the squared distance of the states over the mean square of the original's; their mean is taken.
There is no dropout on either side.
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

HELD_OUT = 128  # passages at most, of documents of their own
HELD_OUT_SHARE = 0.05  # of the documents, at most


@dataclass(frozen=True)
class Distillation:
    """What is learned from, and how.

    Attributes:
        text: see `vocabless.training.pretraining.packing.load_text`.
        text_column: where files with columns keep the text.
        train_encoder: whether the encoder is trained too.
        max_steps: of the optimizer.
        learning_rate: peak of AdamW's.
        batch_size: passages of a step.
        max_seq_length: tokens of a passage.
        seed: of the order of the documents and of the passages.
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
    """Mean cosine of a model's last states and the original's, over the words of held-out text.

    Attributes:
        before: learning.
        after: learning.
        floor: of one state for all words, the mean of the original's: what knowing nothing scores.
        words: how many.
        steps: taken.
    """

    before: float
    after: float
    floor: float
    words: int
    steps: int

    def __str__(self) -> str:
        return (
            f"Mean cosine with the original's states over {self.words:,} held-out words: {self.before:.3f} before and "
            f"{self.after:.3f} after {self.steps:,} steps; one state for all words has {self.floor:.3f}."
        )


def distill(
    model: VocablessModel,
    tokenizer: VocablessTokenizer,
    original: PreTrainedModel,
    original_tokenizer: PreTrainedTokenizerBase,
    settings: Distillation,
) -> Agreement:
    """Trains `model` in place; returns how well it agrees with the original, before and after.

    Raises:
        ValueError: nothing to train, too little text, settings out of range, or a loss that is no number.
    """
    _check(model, settings)
    model.requires_grad_(settings.train_encoder)
    model.front_end.requires_grad_(True)
    train, held_out = _passages(tokenizer, settings)
    collate = Aligner(tokenizer, original_tokenizer, settings.max_seq_length, max_tokens(original))
    with tempfile.TemporaryDirectory() as folder:
        training = TrainingArguments(
            folder,
            max_steps=settings.max_steps,
            learning_rate=settings.learning_rate,
            per_device_train_batch_size=settings.batch_size,
            warmup_steps=settings.max_steps // 20,
            logging_steps=max(1, settings.max_steps // 20),
            seed=settings.seed,
            save_strategy="no",
            report_to=[],
            dataloader_pin_memory=torch.cuda.is_available(),
            remove_unused_columns=False,
        )
        original = original.requires_grad_(False).eval().to(training.device)  # type: ignore[arg-type]
        trainer = _Distiller(original, model=model, args=training, train_dataset=train, data_collator=collate)
        batches = [collate(held_out[i : i + settings.batch_size]) for i in range(0, len(held_out), settings.batch_size)]
        before, floor, words = _agreement(model, original, batches)
        trainer.resume()
        after, _, _ = _agreement(model, original, batches)
    model.requires_grad_(True).eval().cpu()
    return Agreement(before, after, floor, words, settings.max_steps)


def _check(model: VocablessModel, settings: Distillation) -> None:
    least = {"max_steps": 1, "per_device_train_batch_size": 1, "max_seq_length": 3}
    values = {"max_steps": settings.max_steps, "per_device_train_batch_size": settings.batch_size}
    for name, value in (values | {"max_seq_length": settings.max_seq_length}).items():
        if value < least[name]:
            raise ValueError(f"--{name} is {value}; give at least {least[name]}.")
    if settings.max_seq_length > model.max_tokens:
        raise ValueError(
            f"--max_seq_length is {settings.max_seq_length} but the model has {model.max_tokens} positions; "
            f"give at most {model.max_tokens}."
        )
    if not settings.train_encoder and not any(True for _ in model.front_end.parameters()):
        raise ValueError(
            f"the front end {model.config.front_end!r} has no parameters, so that nothing is left to train; "
            "give --train_encoder, or a variant with another front end."
        )


def _passages(tokenizer: VocablessTokenizer, settings: Distillation) -> tuple[list[str], list[str]]:
    """Returns passages to learn from, as many as the steps take if there are so many, and held-out ones."""
    documents = load_text(settings.text, settings.text_column)
    assert isinstance(documents, Dataset)
    if len(documents) < 2:
        raise ValueError(f"the text {settings.text!r} is one document; give at least two, one of them is held out.")
    documents = documents.shuffle(seed=settings.seed)
    count = min(max(1, round(HELD_OUT_SHARE * len(documents))), HELD_OUT)
    parts = documents.select(range(count)), documents.select(range(count, len(documents)))
    limits = HELD_OUT, settings.max_steps * settings.batch_size
    held_out, train = (
        list(islice(_split(part, tokenizer, settings.max_seq_length - 2), limit))
        for part, limit in zip(parts, limits, strict=True)
    )
    if not train or not held_out:
        raise ValueError(f"the text {settings.text!r} has {len(documents)} documents but too few words; give more.")
    return train, held_out


def _split(documents: Dataset, tokenizer: VocablessTokenizer, room: int) -> Iterator[str]:
    """Yields passages of whole sentences, of at most `room` words where sentences are not longer."""
    for document in tqdm(documents, desc="Reading text", unit="document"):
        parts: list[str] = []
        filled = 0
        for sentence in sentences(document["text"] or ""):
            words = len(tokenizer.unit_splitter.units(sentence))
            if parts and filled + words > room:
                yield "".join(parts)
                parts, filled = [], 0
            if words:
                parts.append(sentence)
                filled += words
        if parts:
            yield "".join(parts)


class _Distiller(ResumableTrainer):
    """Trains a model to have the states of `original`."""

    def __init__(self, original: PreTrainedModel, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._original = original

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Returns the loss, see this module."""
        model.eval()  # no dropout; gradients flow all the same
        ours, targets = _states(model, self._original, inputs)
        distances = [
            F.mse_loss(state, target) / target.square().mean() for state, target in zip(ours, targets, strict=True)
        ]
        return torch.stack(distances).mean()


def _states(model: Any, original: PreTrainedModel, batch: dict[str, Any]) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the states of the aligned words at every layer, (words, D) each, of the model and of the original."""
    shares = batch["shares"]
    aligned = shares.sum(dim=-1) > 0
    with torch.no_grad():
        targets = original(**batch["pieces"], output_hidden_states=True).hidden_states
    ours = model(**batch["words"], output_hidden_states=True).hidden_states
    return [state[aligned] for state in ours], [(shares @ target)[aligned] for target in targets]


@torch.no_grad()
def _agreement(model: Any, original: PreTrainedModel, batches: Iterable[dict[str, Any]]) -> tuple[float, float, int]:
    """Returns the mean cosine of the last states, that of the original's mean state, and the number of words."""
    model.eval()
    pairs = []
    for batch in batches:
        moved = {name: _to(value, model.device) for name, value in batch.items()}
        ours, targets = _states(model, original, moved)
        pairs.append((ours[-1], targets[-1]))
    states, target = (torch.cat(part) for part in zip(*pairs, strict=True))
    cosine = F.cosine_similarity(states, target).mean().item()
    floor = F.cosine_similarity(F.normalize(target).mean(dim=0, keepdim=True), target).mean().item()
    return cosine, floor, len(target)


def _to(value: Any, device: torch.device) -> Any:
    return {name: part.to(device) for name, part in value.items()} if isinstance(value, dict) else value.to(device)
