"""Exports a checkpoint of this family, with any head, to ONNX: blocks in, the head's outputs out.

    python -m vocabless.conversion onnx runs/mine onnx/
    python -m vocabless.conversion onnx runs/mine onnx/ --int8

TARGET gets model.onnx, with --int8 model_int8.onnx as well, and inference.json: what turns texts into blocks and
outputs into labels. Each file is compared with the model before it is left there.
"""
# mypy: allow-untyped-calls

import argparse
import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any, cast

import torch
from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.graph import INPUT, export, output_names, quantize, session_of
from vocabless.conversion.onnx_export.parity import Difference, differences, latencies, probes
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.run_folder import write_json
from vocabless.saving.targets import free_folder
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

TOLERANCE = 1e-4  # of fp32, in units of the largest output, or of 1 if that is smaller
MODEL, MODEL_INT8, SETTINGS = "model.onnx", "model_int8.onnx", "inference.json"
LABELLED = ("VocablessForSequenceClassification", "VocablessForTokenClassification")
REQUIRED = ("onnx", "onnxruntime", "onnxscript")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares what the verb takes."""
    parser.add_argument("source", metavar="SOURCE", help="a folder or Hub id of a checkpoint of this family")
    parser.add_argument("target", metavar="TARGET", help="the folder to write, a new or an empty one")
    parser.add_argument("--int8", action="store_true", help="also write model_int8.onnx, with 8-bit weights")


def run(arguments: argparse.Namespace) -> str:
    """Exports; returns sizes, differences and latencies.

    Raises:
        ValueError: a missing requirement, a checkpoint that is none of this family, a target that is not empty, an
            encoder without a dynamic graph, or a graph that differs from the model.
    """
    missing = [name for name in REQUIRED if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"the verb 'onnx' needs {' and '.join(missing)}; pip install 'vocabless[onnx]'.")
    folder = free_folder(arguments.target)
    model, tokenizer = load_checkpoint(arguments.source)
    model = model.float()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as temporary:
        files = write_graphs(model, tokenizer, Path(temporary), arguments.int8)
        report = check(model, tokenizer, files)
        write_settings(model, tokenizer, Path(temporary))
        for file in sorted(Path(temporary).iterdir()):
            os.replace(file, folder / file.name)
    return report


def write_graphs(model: PreTrainedModel, tokenizer: VocablessTokenizer, folder: Path, int8: bool) -> list[Path]:
    """Writes model.onnx and, if `int8`, model_int8.onnx; returns their paths."""
    import onnx

    base = cast(VocablessModel, model.base_model)
    has_pairs = "token_type_ids" in tokenizer.model_input_names and "token_type_ids" in base.encoder_arguments
    proto = export(model, has_pairs)
    files = [folder / MODEL]
    onnx.save(proto, files[0])
    if int8:
        files.append(folder / MODEL_INT8)
        quantize(proto, files[1])
    return files


def check(model: PreTrainedModel, tokenizer: VocablessTokenizer, files: list[Path]) -> str:
    """Compares the files with the model; returns the report.

    Raises:
        ValueError: the first file, fp32, differs by more than `TOLERANCE`.
    """
    sessions = [session_of(file, torch.get_num_threads()) for file in files]
    inputs = probes(model, tokenizer)
    found = [differences(model, session, inputs) for session in sessions]
    for difference in found[0]:
        limit = TOLERANCE * max(1.0, difference.largest_output)
        if not difference.maximum <= limit:
            raise ValueError(
                f"the graph differs from the model by {difference.maximum:.1e} on {difference.inputs}, more than "
                f"{limit:.1e}; nothing was written. Try other versions of torch and onnxruntime."
            )
    return "\n".join([*_difference_table(files, found), "", *_size_table(model, tokenizer, files, sessions)])


def write_settings(model: PreTrainedModel, tokenizer: VocablessTokenizer, folder: Path) -> None:
    """Writes inference.json, and the files that the tokenizer itself needs: subword.json, ngrams.json."""
    config = cast(Any, model.config)
    tokenizer.save_vocabulary(str(folder))
    settings = {
        "architecture": type(model).__name__,
        "input": INPUT,
        "outputs": output_names(model),
        "block_size": tokenizer.block_size,
        "max_tokens": min(tokenizer.model_max_length, cast(VocablessModel, model.base_model).max_tokens),
        "splitter": tokenizer.splitter,
        "splitter_options": tokenizer.splitter_options,
        "coder": tokenizer.coder,
        "coder_options": tokenizer.coder_options,
        "problem_type": config.problem_type,
    }
    if type(model).__name__ in LABELLED:
        settings["labels"] = [config.id2label[index] for index in range(config.num_labels)]
    write_json(folder / SETTINGS, settings)


def _difference_table(files: list[Path], found: list[list[Difference]]) -> list[str]:
    lines = [
        "| file | inputs | largest output | largest difference | mean difference | same choices |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for file, rows in zip(files, found, strict=True):
        for row in rows:
            same = "–" if row.same_choices is None else f"{100 * row.same_choices:.1f} %"
            figures = f"{row.largest_output:.3g} | {row.maximum:.1e} | {row.mean:.1e} | {same}"
            lines.append(f"| {file.name} | {row.inputs} | {figures} |")
    return lines


def _size_table(
    model: PreTrainedModel, tokenizer: VocablessTokenizer, files: list[Path], sessions: list[Any]
) -> list[str]:
    taken = latencies(model, tokenizer, sessions)
    stored = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
    sizes = [("torch, eager", stored), *((file.name, file.stat().st_size) for file in files)]
    threads = torch.get_num_threads()
    lines = [
        f"| {threads} thread{'s' * (threads > 1)} | size | {' | '.join(f'{shape}, ms' for shape in taken)} |",
        f"|---|--:|{'--:|' * len(taken)}",
    ]
    for side, (name, size) in enumerate(sizes):
        figures = " | ".join(f"{medians[side]:.2f}" for medians in taken.values())
        lines.append(f"| {name} | {size / 1e6:.3f} MB | {figures} |")
    return lines
