"""The time of a forward pass of fine-tuned models, measured in turns."""
# mypy: allow-untyped-calls

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import torch
from transformers import AutoModel, PreTrainedModel

from vocabless.training.checkpoint_tokenizers import load_checkpoint_tokenizer, longest_sequence
from vocabless.training.texts.sentences import sentences

SENTENCES, MIN_WORDS = 64, 8
BATCH_SIZE, ROUNDS = 32, 5
CONDITIONS = (
    f"ms/sample: the forward pass of the encoder over {SENTENCES} sentences of Python's reference, in batches of "
    f"{BATCH_SIZE} as long as their longest sentence; median of {ROUNDS} rounds after one warm-up, all in turns. "
    "Embeddings of units are remembered where the model remembers them."
)


def load_encoder(folder: Path) -> PreTrainedModel:
    """Returns the encoder of a fine-tuned checkpoint, in evaluation mode."""
    model: PreTrainedModel = AutoModel.from_pretrained(folder).eval()
    return model


def milliseconds_per_sample(folders: Sequence[Path], encoders: Sequence[PreTrainedModel]) -> list[float]:
    """Returns the time of each encoder, in milliseconds per sentence.

    Args:
        folders: of the checkpoints, for their tokenizers.
        encoders: their models.
    """
    texts = _sentences()
    runs = [_forward(folder, encoder, texts) for folder, encoder in zip(folders, encoders, strict=True)]
    seconds: list[list[float]] = [[] for _ in runs]
    for number in range(ROUNDS + 1):
        for run, measured in zip(runs, seconds, strict=True):
            start = time.perf_counter()
            run()
            if number > 0:  # round 0 is the warm-up
                measured.append(time.perf_counter() - start)
    return [1000 * statistics.median(measured) / len(texts) for measured in seconds]


def _sentences() -> list[str]:
    """Returns the first sentences of Python's language reference that have enough words; it comes with Python."""
    text = " ".join(" ".join(topics.values()).split())
    return [sentence.strip() for sentence in sentences(text) if len(sentence.split()) >= MIN_WORDS][:SENTENCES]


def _forward(folder: Path, encoder: PreTrainedModel, texts: Sequence[str]) -> Callable[[], None]:
    """Returns a function that encodes all batches, which are tokenized beforehand."""
    tokenizer = load_checkpoint_tokenizer(str(folder), encoder.config.model_type, reads_words=False)
    options: dict[str, Any] = {"padding": True, "truncation": True, "return_tensors": "pt"}
    batches = [
        tokenizer(list(texts[start : start + BATCH_SIZE]), max_length=longest_sequence(encoder, tokenizer), **options)
        for start in range(0, len(texts), BATCH_SIZE)
    ]

    def run() -> None:
        with torch.inference_mode():
            for batch in batches:
                encoder(**batch)

    return run
