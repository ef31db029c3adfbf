"""Exports a checkpoint of this family, with any head, to ONNX. The graph reads blocks and gives the head's outputs.

    vocabless onnx runs/mine onnx/
    vocabless onnx runs/mine onnx/ --int8

TARGET gets model.onnx and inference.json, and with --int8 also model_int8.onnx.
inference.json holds the settings that turn texts into blocks and outputs into labels. The files are compared with the
model before they are written to TARGET.
A classifier of texts also gets onnx_model.py, a program that runs it without torch. So does a sentence encoder, whose
graph also gives the vectors of sentence-transformers, as the output sentence_embedding.
"""

import argparse
import importlib.util
from pathlib import Path
from typing import Any, cast

import torch
from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.graph import export, quantize, session_of
from vocabless.conversion.onnx_export.parity import difference_table, differences, probes
from vocabless.conversion.onnx_export.sentence_encoder import SentenceEncoder, sentence_encoder_of
from vocabless.conversion.onnx_export.settings import describe_length, inference_settings
from vocabless.conversion.onnx_program.onnx_model import GRAPH_ID
from vocabless.conversion.onnx_program.onnx_settings import MODEL_FILES, SETTINGS
from vocabless.joined_code import PROGRAM, write_code
from vocabless.modeling.modeling_vocabless import VocablessForSequenceClassification, VocablessModel
from vocabless.modeling.pretrained_model import WEIGHTS_ID
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.run_folder import write_json
from vocabless.saving.tables import markdown_table
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.whole_folders import weights_id

TOLERANCE = 1e-4  # largest difference in fp32, relative to the largest output, or absolute if no output is above 1
MODEL, MODEL_INT8 = MODEL_FILES
REQUIRED = ("onnx", "onnxruntime", "onnxscript")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument("--int8", action="store_true", help="also write model_int8.onnx, with 8-bit weights")


def write(arguments: argparse.Namespace, folder: Path) -> str:
    """Exports into an existing, empty folder; returns a report on differences and sizes."""
    check_packages("onnx")
    model, tokenizer = load_checkpoint(arguments.source)
    model = sentence_encoder_of(model.float(), arguments.source)
    files = write_graphs(model, tokenizer, folder, arguments.int8)
    report = check(model, tokenizer, files)
    settings = write_settings(model, tokenizer, folder)
    return f"{report}\n\n{describe_length(settings)}"


def check_packages(verb: str) -> None:
    """Raises ValueError if a package of the extra `onnx` is missing."""
    missing = [name for name in REQUIRED if importlib.util.find_spec(name) is None]
    if missing:
        packages = " and ".join(missing)
        raise ValueError(f'the verb {verb!r} needs {packages}; run pip install "vocabless[onnx]".')


def write_graphs(model: PreTrainedModel, tokenizer: VocablessTokenizer, folder: Path, int8: bool) -> list[Path]:
    """Writes model.onnx and, if `int8` says so, model_int8.onnx; returns their paths."""
    import onnx

    proto = export(model, reads_token_types(model, tokenizer))
    files = [folder / MODEL]
    onnx.save(proto, files[0])
    if int8:
        files.append(folder / MODEL_INT8)
        quantize(proto, files[-1])
    return files


def reads_token_types(model: PreTrainedModel, tokenizer: VocablessTokenizer) -> bool:
    """Returns whether the second text of a pair gets token type 1."""
    if cast(Any, model.config).classifier_pooling == "siamese":
        return True
    arguments = cast(VocablessModel, model.base_model).encoder_arguments
    return "token_type_ids" in tokenizer.model_input_names and "token_type_ids" in arguments


def check(model: PreTrainedModel, tokenizer: VocablessTokenizer, files: list[Path]) -> str:
    """Returns a report in Markdown; raises ValueError if the first file, fp32, differs from the model too much."""
    inputs, threads = probes(model, tokenizer), torch.get_num_threads()
    of_files = {file.name: differences(model, session_of(file, threads), inputs) for file in files}
    for difference in of_files[files[0].name]:
        limit = TOLERANCE * max(1.0, difference.largest_output)
        if not difference.maximum <= limit:  # also true for NaN
            raise ValueError(
                f"the graph differs from the model by {difference.maximum:.1e} on {difference.inputs}, more than "
                f"{limit:.1e}; nothing was written. Try other versions of torch and onnxruntime."
            )
    sizes = {"torch": sum(t.numel() * t.element_size() for t in model.state_dict().values())}
    sizes |= {file.name: file.stat().st_size for file in files}
    rows = [[name, f"{size / 1e6:.3f} MB"] for name, size in sizes.items()]
    return f"{difference_table(of_files)}\n\n{markdown_table(['file', 'size'], rows)}"


def write_settings(model: PreTrainedModel, tokenizer: VocablessTokenizer, folder: Path) -> dict[str, Any]:
    """Writes inference.json, the files that the tokenizer itself needs, and perhaps the program; returns the settings.

    They and the graphs in the folder get the same id, and that of the weights, if these are of a checkpoint.
    """
    settings, graphs = inference_settings(model, tokenizer), sorted(folder.glob("*.onnx"))
    source = getattr(model.config, WEIGHTS_ID, None)
    settings |= {WEIGHTS_ID: source} if source else {}
    tokenizer.save_vocabulary(str(folder))
    if graphs:
        import onnx

        settings[GRAPH_ID] = weights_id(settings, *(graph.read_bytes() for graph in graphs))
        properties = onnx.ModelProto()
        properties.metadata_props.add(key=GRAPH_ID, value=settings[GRAPH_ID])
        for graph in graphs:
            with graph.open("ab") as file:  # a message that follows another one is merged with it
                file.write(properties.SerializeToString())
    write_json(folder / SETTINGS, settings)
    if isinstance(model, (VocablessForSequenceClassification, SentenceEncoder)):
        write_code(folder, [PROGRAM])
    return settings
