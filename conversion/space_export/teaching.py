"""What a page needs to make classifiers: a head to fill, the places of a checkpoint's tensors, and its other files."""
# mypy: no-warn-return-any

import copy
import tempfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from huggingface_hub import ModelCardData
from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_NAME

from vocabless.conversion.space_export.graph_json import BROWSER, Proto
from vocabless.modeling.modeling_vocabless import VocablessForSequenceClassification
from vocabless.onnx_model import VECTORS
from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.model_card import CARD
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

OPEN_LABELS = 3  # of the head that a page replaces
FIRST_WEIGHT = "classifier.dense.weight"
ALIGNMENT = 4  # bytes


def with_open_head(model: PreTrainedModel) -> VocablessForSequenceClassification:
    """Returns the encoder of any model of this family with the head that `run_glue.py` gives it for single texts.

    The head's numbers are random and not 0, so that each of its tensors is found in a graph. The encoder's tensors are
    shared.

    Raises:
        ValueError: the table of the model holds scores of its own labels.
    """
    if getattr(cast(Any, model).base_model.front_end, "num_scores", 0):
        raise ValueError(
            "the model has scores of n-grams for its own labels, which are no use for others; give the encoder that it "
            "was fine-tuned from."
        )
    config: Any = copy.deepcopy(model.config)
    config.num_labels, config.problem_type = OPEN_LABELS, "single_label_classification"
    if config.classifier_pooling == "siamese":
        config.classifier_pooling = "mean"
    opened = VocablessForSequenceClassification(config).float().eval()
    cast(Any, opened).base_model.load_state_dict(cast(Any, model).base_model.state_dict(), assign=True)
    generator = torch.Generator().manual_seed(0)
    for parameter in opened.classifier.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    return opened


def open_graph(model: PreTrainedModel, proto: Proto, graph: dict[str, Any], weights: bytes) -> tuple[Any, bytes]:
    """Makes what the head reads an output of a page's graph, and finds the tensors of the model in its constants.

    `model` is what `with_open_head` returned, `proto` its graph, and `graph` and `weights` what `to_json` made of that.

    Returns:
        For each tensor of the model its `constant`, a number in the graph or a constant of its own, and whether that is
        `transposed`; and the weights, behind which stand the tensors that the graph lacks.
    """
    from onnx import numpy_helper

    numbers: dict[Any, int] = {}
    for number, tensor in enumerate(proto.graph.initializer):
        numbers.setdefault(_content(numpy_helper.to_array(tensor)), number)
    places = {}
    for name, parameter in model.state_dict().items():
        array = parameter.numpy()
        constant: Any = numbers.get(_content(array))
        transposed = constant is None and _content(array.T) in numbers
        if transposed:
            constant = numbers[_content(array.T)]
        if constant is None:
            weights += bytes(-len(weights) % ALIGNMENT)
            constant = {"type": "float", "dims": list(array.shape), "offset": len(weights)}
            weights += array.astype("<f4").tobytes()
        places[name] = {"constant": constant, "transposed": transposed}
    first = places[FIRST_WEIGHT]["constant"]
    graph["outputs"][VECTORS] = next(node["inputs"][0] for node in graph["nodes"] if first in node["inputs"])
    return places, weights


def checkpoint_files(
    model: PreTrainedModel, tokenizer: VocablessTokenizer, model_id: str | None, license_name: str | None
) -> dict[str, str]:
    """Returns the files of a checkpoint but its weights, path → text; the page completes config.json and the card."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        save_checkpoint(model, tokenizer, folder)
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != SAFE_WEIGHTS_NAME]
        files = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    metadata = ModelCardData(
        library_name="transformers",
        pipeline_tag="text-classification",
        license=license_name,
        base_model=model_id,
        tags=["vocabless"],
    )
    encoder = f"[{model_id}](https://huggingface.co/{model_id})" if model_id else "a vocabless encoder"
    card = (BROWSER / "teach_card.md").read_text(encoding="utf-8").replace("{{encoder}}", encoder)
    return files | {CARD: f"---\n{metadata.to_yaml()}\n---\n\n{card}"}


def _content(array: Any) -> tuple[tuple[int, ...], str, bytes]:
    return array.shape, array.dtype.str, np.ascontiguousarray(array).tobytes()
