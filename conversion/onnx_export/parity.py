"""Whether an ONNX file computes what the model computes, and how fast: the figures that an export reports."""
# mypy: allow-untyped-calls

import statistics
import string
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.graph import INPUT, outputs_of, run_session
from vocabless.modeling.blocks import NUM_ELEMENTS, NUM_SPECIAL
from vocabless.modeling.modeling_vocabless import VocablessForMultipleChoice, VocablessModel
from vocabless.tokenization.block_coders import CLS, SEP
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

SENTENCES = [
    "The film is a quiet wonder, and its last scene stays with you.",
    "I have seldom been so bored; two hours that felt like five!",
    "Die Züge fahren heute nicht, пожалуйста подождите.",
    "No.",
]
QUESTIONS = ["Was it worth the money?", "How long was it?", "What is not running?", "Yes?"]
UNKNOWN_WORDS = [
    "zxqv brillig slithy toves",
    "naïve 日本語 😀 हिन्दी",
    "Donaudampfschifffahrtsgesellschaftskapitän " * 3,
    "’",
]
RANDOM_SHAPES = ((1, 1), (1, 2), (2, 16), (5, 33), (3, 128))  # batch × sequence
LATENCY_SHAPES = ((1, 16), (32, 64))
MAX_ROUNDS, MIN_ROUNDS, MAX_SECONDS = 25, 3, 4.0
Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class Difference:
    """What one file gives on inputs of one kind, beside what the model gives.

    Attributes:
        inputs: their kind.
        largest_output: largest absolute value of the model's outputs.
        maximum: largest absolute difference.
        mean: mean absolute difference.
        same_choices: share of the model's decisions that the file takes too; None where an output decides nothing.
    """

    inputs: str
    largest_output: float
    maximum: float
    mean: float
    same_choices: float | None


def probes(model: PreTrainedModel, tokenizer: VocablessTokenizer) -> dict[str, list[Inputs]]:
    """Returns inputs of the model by kind, with masks and token types as the tokenizer or we ourselves set them."""
    limit = cast(VocablessModel, model.base_model).max_tokens

    def encoded(*texts: list[str]) -> list[Inputs]:
        batches = (texts, [part[:1] for part in texts])  # all together, padded, and the first alone
        settings = {"truncation": True, "max_length": limit, "padding": True, "return_tensors": "pt"}
        return [as_choices(model, dict(tokenizer(*batch, **settings))) for batch in batches]

    generator = torch.Generator().manual_seed(0)
    has_pairs = "token_type_ids" in tokenizer.model_input_names
    shapes = sorted({(batch, min(length, limit)) for batch, length in RANDOM_SHAPES})
    random = [random_inputs(shape, tokenizer, has_pairs, generator) for shape in shapes]
    return {
        "sentences": encoded(SENTENCES),
        "pairs of sentences": encoded(QUESTIONS, SENTENCES),
        "unknown words": encoded(UNKNOWN_WORDS),
        "random blocks": [as_choices(model, inputs) for inputs in random],
    }


def random_inputs(
    shape: tuple[int, int], tokenizer: VocablessTokenizer, has_pairs: bool, generator: torch.Generator
) -> Inputs:
    """Returns pairs of sequences of random blocks between [CLS] and [SEP]s, each row a token shorter than the last."""
    size, (batch, length) = tokenizer.block_size, shape
    blocks = torch.randint(NUM_SPECIAL, NUM_ELEMENTS, (*shape, size), generator=generator)
    if tokenizer.raw_block_size > size:  # blocks that may end early
        ends = torch.randint(1, size + 1, (*shape, 1), generator=generator)
        blocks *= torch.arange(size) < ends
    types = torch.zeros(shape, dtype=torch.int64)
    mask = torch.zeros(shape, dtype=torch.int64)
    for row in range(batch):
        end = max(length - row, 1)
        mask[row, :end] = 1
        for position, special in ((end // 2, SEP), (end - 1, SEP), (0, CLS)):
            blocks[row, position] = torch.tensor([special] + [0] * (size - 1))
        if end > 2:
            types[row, end // 2 + 1 : end] = 1
    blocks *= mask.unsqueeze(-1)
    return {INPUT: blocks, "attention_mask": mask} | ({"token_type_ids": types} if has_pairs else {})


def as_choices(model: PreTrainedModel, inputs: Inputs) -> Inputs:
    """Returns a batch as the head takes it: for multiple choice one question whose choices are the rows."""
    if not isinstance(model, VocablessForMultipleChoice):
        return inputs
    return {name: value.unsqueeze(0) for name, value in inputs.items()}


def differences(model: PreTrainedModel, session: Any, kinds: dict[str, list[Inputs]]) -> list[Difference]:
    """Returns how far a session is from the model, for each kind of inputs."""
    return [_difference(kind, model, session, batches) for kind, batches in kinds.items()]


def latencies(model: PreTrainedModel, tokenizer: VocablessTokenizer, sessions: list[Any]) -> dict[str, list[float]]:
    """Returns median milliseconds by batch × sequence: of the model, then of each session.

    The words are made up, of 1–10 letters and all unlike; the sides take turns, since a busy machine is busy for all.
    """
    limit = cast(VocablessModel, model.base_model).max_tokens
    generator = torch.Generator().manual_seed(0)
    found = {}
    for batch, length in LATENCY_SHAPES:
        length = min(length, limit)
        texts = [" ".join(_made_up_word(generator) for _ in range(length)) for _ in range(batch)]
        encoded = tokenizer(texts, truncation=True, max_length=length, padding="max_length", return_tensors="pt")
        inputs = as_choices(model, dict(encoded))
        sides = [_eager(model, inputs), *(_run(session, inputs[INPUT]) for session in sessions)]
        found[f"{batch}×{length}"] = _medians(sides)
    return found


def _difference(kind: str, model: PreTrainedModel, session: Any, batches: list[Inputs]) -> Difference:
    gaps, largest, choices = [], 0.0, []
    for inputs in batches:
        with torch.no_grad():
            expected = outputs_of(model, inputs)
        mask = inputs["attention_mask"].bool()
        for (name, wanted), got in zip(expected.items(), run_session(session, inputs[INPUT]), strict=True):
            gaps.append((got - wanted).abs().flatten())
            largest = max(largest, float(wanted.abs().max()))
            if name.endswith("logits") and wanted.shape[-1] > 1:
                choices.append(_same_choices(model, wanted, got, mask))
    gap = torch.cat(gaps)
    same = float(torch.cat(choices).float().mean()) if choices else None
    return Difference(kind, largest, float(gap.max()), float(gap.mean()), same)


def _same_choices(model: PreTrainedModel, wanted: Tensor, got: Tensor, mask: Tensor) -> Tensor:
    if cast(Any, model.config).problem_type == "multi_label_classification":
        return ((wanted > 0) == (got > 0)).flatten()
    same = wanted.argmax(dim=-1) == got.argmax(dim=-1)
    return same[mask] if same.shape == mask.shape else same.flatten()


def _made_up_word(generator: torch.Generator) -> str:
    length = int(torch.randint(1, 11, (1,), generator=generator))
    return "".join(string.ascii_lowercase[i] for i in torch.randint(0, 26, (length,), generator=generator).tolist())


def _eager(model: PreTrainedModel, inputs: Inputs) -> Callable[[], object]:
    def forward() -> object:
        with torch.no_grad():
            return model(**inputs)

    return forward


def _run(session: Any, blocks: Tensor) -> Callable[[], object]:
    return lambda: run_session(session, blocks)


def _medians(sides: list[Callable[[], object]]) -> list[float]:
    for side in sides:
        side()
    seconds: list[list[float]] = [[] for _ in sides]
    began = time.perf_counter()
    for done in range(MAX_ROUNDS):
        if done >= MIN_ROUNDS and time.perf_counter() - began > MAX_SECONDS:
            break
        for side, taken in zip(sides, seconds, strict=True):
            before = time.perf_counter()
            side()
            taken.append(time.perf_counter() - before)
    return [1000 * statistics.median(taken) for taken in seconds]
