"""Compares an ONNX file with its model: the differences of the outputs."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.graph import INPUT, outputs_of, run_session
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.saving.tables import markdown_table
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
    "a long text " * 50,
]
Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class Difference:
    """The difference between the outputs of a file and of the model on one kind of inputs."""

    inputs: str  # the kind, for instance "sentences"
    largest_output: float  # of the model, absolute
    maximum: float  # absolute difference
    mean: float  # absolute difference


def probes(model: PreTrainedModel, tokenizer: VocablessTokenizer) -> dict[str, list[Inputs]]:
    """Returns inputs of the model: kind of the inputs → batches, with attention masks and token types."""
    limit = cast(VocablessModel, model.base_model).max_tokens

    def encoded(*texts: list[str]) -> list[Inputs]:
        """Returns all texts as one padded batch, and the first text alone."""
        settings = {"truncation": True, "max_length": limit, "padding": True, "return_tensors": "pt"}
        return [dict(tokenizer(*batch, **settings)) for batch in (texts, [part[:1] for part in texts])]

    return {
        "sentences": encoded(SENTENCES),
        "pairs of sentences": encoded(QUESTIONS, SENTENCES),
        "unknown words": encoded(UNKNOWN_WORDS),
    }


def differences(model: PreTrainedModel, session: Any, inputs_of_kind: dict[str, list[Inputs]]) -> list[Difference]:
    """Returns the difference between a session and the model for each kind of inputs."""
    found = []
    for kind, batches in inputs_of_kind.items():
        gaps, largest = [], 0.0
        for inputs in batches:
            with torch.no_grad():
                expected = outputs_of(model, inputs).values()
            for expected_output, output in zip(expected, run_session(session, inputs[INPUT]), strict=True):
                gaps.append((output - expected_output).abs().flatten())
                largest = max(largest, float(expected_output.abs().max()))
        gap = torch.cat(gaps)
        found.append(Difference(kind, largest, float(gap.max()), float(gap.mean())))
    return found


def difference_table(differences_of_file: dict[str, list[Difference]]) -> str:
    """Returns a Markdown table: the differences of each file on each kind of inputs."""
    header = ["file", "inputs", "largest output", "largest difference", "mean difference"]
    rows = [
        [file, each.inputs, f"{each.largest_output:.3g}", f"{each.maximum:.1e}", f"{each.mean:.1e}"]
        for file, of_file in differences_of_file.items()
        for each in of_file
    ]
    return markdown_table(header, rows, num_texts=2)
