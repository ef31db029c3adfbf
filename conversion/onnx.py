"""Exports a checkpoint of this family, with any head, to ONNX. The graph reads blocks and gives the head's outputs.

    python -m vocabless.conversion onnx runs/mine onnx/
    python -m vocabless.conversion onnx runs/mine onnx/ --int8

TARGET gets model.onnx and inference.json, and with --int8 model_int8.onnx too. inference.json holds the settings that
turn texts into blocks and outputs into labels. The files are compared with the model before they are written to TARGET.
A classifier also gets onnx_classifier.py, a program that runs it without torch.
"""
# mypy: allow-untyped-calls

import argparse
import importlib.util
from pathlib import Path
from typing import Any, cast

import torch
from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.graph import export, quantize, session_of
from vocabless.conversion.onnx_export.parity import Difference, differences, latencies, probes
from vocabless.conversion.onnx_export.settings import inference_settings
from vocabless.joined_code import CLASSIFIER, joined
from vocabless.modeling.modeling_vocabless import VocablessForSequenceClassification, VocablessModel
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.run_folder import write_json
from vocabless.saving.targets import check_target, new_target
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

TOLERANCE = 1e-4  # largest difference in fp32, relative to the largest output, or absolute if no output is above 1
MODEL, MODEL_INT8, SETTINGS = "model.onnx", "model_int8.onnx", "inference.json"
REQUIRED = ("onnx", "onnxruntime", "onnxscript")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument("source", metavar="SOURCE", help="folder or Hub id of a checkpoint of this family")
    parser.add_argument("target", metavar="TARGET", help="new or empty folder")
    parser.add_argument("--int8", action="store_true", help="also write model_int8.onnx, with 8-bit weights")


def run(arguments: argparse.Namespace) -> str:
    """Exports; returns a report on differences, sizes and latencies.

    Raises:
        ValueError: a required package is missing, SOURCE is not a checkpoint of this family, TARGET is not empty, the
            encoder has no dynamic graph, or the graph differs from the model.
    """
    check_packages("onnx")
    check_target(arguments.target)
    model, tokenizer = load_checkpoint(arguments.source)
    model = model.float()
    with new_target(arguments.target) as folder:
        files = write_graphs(model, tokenizer, folder, arguments.int8)
        report = check(model, tokenizer, files)
        write_settings(model, tokenizer, folder)
    return report


def check_packages(verb: str) -> None:
    """Checks that the packages of the extra `onnx` are installed.

    Raises:
        ValueError: one is missing.
    """
    missing = [name for name in REQUIRED if importlib.util.find_spec(name) is None]
    if missing:
        packages = " and ".join(missing)
        raise ValueError(f'the verb {verb!r} needs {packages}; run pip install -e ".[onnx]" in a clone.')


def write_graphs(model: PreTrainedModel, tokenizer: VocablessTokenizer, folder: Path, int8: bool) -> list[Path]:
    """Writes model.onnx and, if `int8`, model_int8.onnx; returns their paths."""
    import onnx

    proto = export(model, reads_token_types(model, tokenizer))
    files = [folder / MODEL]
    onnx.save(proto, files[0])
    if int8:
        files.append(folder / MODEL_INT8)
        quantize(proto, files[1])
    return files


def reads_token_types(model: PreTrainedModel, tokenizer: VocablessTokenizer) -> bool:
    """Returns whether the second text of a pair gets token type 1."""
    base = cast(VocablessModel, model.base_model)
    if cast(Any, model.config).classifier_pooling == "siamese":
        return True
    return "token_type_ids" in tokenizer.model_input_names and "token_type_ids" in base.encoder_arguments


def check(model: PreTrainedModel, tokenizer: VocablessTokenizer, files: list[Path]) -> str:
    """Compares the files with the model; returns a report in Markdown.

    Raises:
        ValueError: the first file, fp32, differs by more than `TOLERANCE`.
    """
    sessions = [session_of(file, torch.get_num_threads()) for file in files]
    inputs = probes(model, tokenizer)
    differences_of_file = {
        file.name: differences(model, session, inputs) for file, session in zip(files, sessions, strict=True)
    }
    for difference in differences_of_file[files[0].name]:
        limit = TOLERANCE * max(1.0, difference.largest_output)
        if not difference.maximum <= limit:  # also true for NaN
            raise ValueError(
                f"the graph differs from the model by {difference.maximum:.1e} on {difference.inputs}, more than "
                f"{limit:.1e}; nothing was written. Try other versions of torch and onnxruntime."
            )
    size_of_side = {"torch, eager": sum(t.numel() * t.element_size() for t in model.state_dict().values())}
    size_of_side |= {file.name: file.stat().st_size for file in files}
    milliseconds = latencies(model, tokenizer, sessions)
    return "\n".join([*difference_table(differences_of_file), "", *_size_table(size_of_side, milliseconds)])


def write_settings(model: PreTrainedModel, tokenizer: VocablessTokenizer, folder: Path) -> None:
    """Writes inference.json, the files that the tokenizer itself needs, and beside a classifier's graph its program."""
    tokenizer.save_vocabulary(str(folder))
    write_json(folder / SETTINGS, inference_settings(model, tokenizer))
    if isinstance(model, VocablessForSequenceClassification):
        (folder / CLASSIFIER).write_text(joined(CLASSIFIER), encoding="utf-8", newline="\n")


def difference_table(differences_of_file: dict[str, list[Difference]]) -> list[str]:
    """Returns the lines of a Markdown table: the differences of each file on each kind of inputs."""
    lines = [
        "| file | inputs | largest output | largest difference | mean difference | same choices |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for file, file_differences in differences_of_file.items():
        for difference in file_differences:
            share = difference.same_choices
            same = "–" if share is None else f"{100 * share:.1f} %"
            numbers = f"{difference.largest_output:.3g} | {difference.maximum:.1e} | {difference.mean:.1e} | {same}"
            lines.append(f"| {file} | {difference.inputs} | {numbers} |")
    return lines


def _size_table(size_of_side: dict[str, int], milliseconds: dict[str, list[float]]) -> list[str]:
    """Returns a table with a line for each side.

    Args:
        size_of_side: bytes of the model and of each file.
        milliseconds: shape of the inputs → latency of each side, in the same order.
    """
    threads = torch.get_num_threads()
    lines = [
        f"| {threads} thread{'s' * (threads > 1)} | size | {' | '.join(f'{shape}, ms' for shape in milliseconds)} |",
        f"|---|--:|{'--:|' * len(milliseconds)}",
    ]
    for side, (name, size) in enumerate(size_of_side.items()):
        latency_cells = " | ".join(f"{medians[side]:.2f}" for medians in milliseconds.values())
        lines.append(f"| {name} | {size / 1e6:.3f} MB | {latency_cells} |")
    return lines
