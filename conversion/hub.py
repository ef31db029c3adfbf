"""Makes the complete repository of a checkpoint of this family; with --push, uploads it to the Hub.

    vocabless hub runs/my-classifier repository/
    vocabless hub runs/my-classifier me/my-classifier --push
    vocabless hub ewe-bert-tiny me/fresh --push --private

The repository holds the weights of SOURCE as safetensors, bit for bit, the code, the tokenizer, the records of the run
and a model card. If SOURCE has a README.md, it is kept as the card. Before anything is written or uploaded, the
repository is loaded in a process that cannot import this package and must give the same numbers.
"""

import argparse
import os
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel, set_seed
from transformers.utils import CONFIG_NAME
from transformers.utils.hub import cached_file

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.modeling.pretrained_model import WEIGHTS_ID
from vocabless.saving.checkpoint import load_checkpoint, loads_without_package, save_checkpoint
from vocabless.saving.model_card import CARD, EVAL_RESULTS, renew_card, write_card
from vocabless.saving.record import RANDOM_WEIGHTS, read_card_facts
from vocabless.saving.run_folder import RESULTS, read_json, write_json
from vocabless.saving.sentence_modules import DENSE, SENTENCE_FILES
from vocabless.saving.uploads import ONNX_FILES
from vocabless.variants import VARIANTS

COPIED_FILES = (CARD, EVAL_RESULTS, RESULTS, *SENTENCE_FILES, *ONNX_FILES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument(
        "--half",
        action="store_true",
        help="store the weights in 16 bits, in half the bytes; they load as 32 bits, rounded to three digits",
    )
    parser.add_argument("--commit_message", default="Add the model", help="message of the commit; default %(default)s")
    parser.add_argument(
        "--subword",
        help="subword tokenizer of a variant that reads subwords: a tokenizer.json, a folder or a Hub id; default: "
        "the variant's own",
    )


def write(arguments: argparse.Namespace, folder: Path) -> None:
    """Writes a complete repository into an existing, empty folder; it loads in a process without this package.

    Raises:
        ValueError: the source is no checkpoint, or has a graph of other weights.
    """
    source, graph = arguments.source, folder / "onnx/inference.json"
    is_variant = source in VARIANTS and not os.path.isdir(source)
    if is_variant:
        set_seed(0)
        model: PreTrainedModel = VocablessModel(load_config(source))
        tokenizer = load_tokenizer(source, arguments.subword)
    else:
        model, tokenizer = load_checkpoint(source)
        for name in COPIED_FILES:
            try:
                found = str(cached_file(source, name))
            except OSError:  # the checkpoint does not have it
                continue
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(found, folder / name)
    weights = model.state_dict()
    if arguments.half:
        weights = _halved(weights)
        model.load_state_dict(weights)
        for file in folder.glob(f"{DENSE}/*.safetensors"):
            save_file(_halved(load_file(file)), file, metadata={"format": "pt"})
    settings = read_json(graph, "export the graph again") if graph.is_file() else {}
    if settings.get(WEIGHTS_ID) not in (None, getattr(model.config, WEIGHTS_ID, None)):
        raise ValueError(f"{source!r} has a graph of older weights; remove it, or export it again.")
    save_checkpoint(model, tokenizer, folder, weights)
    if WEIGHTS_ID in settings:
        config = read_json(folder / CONFIG_NAME, "save the model again")
        write_json(graph, settings | {WEIGHTS_ID: config.get(WEIGHTS_ID)})
    if (folder / CARD).is_file():
        renew_card(folder)
    else:
        write_card(folder, model, tokenizer.block_size, RANDOM_WEIGHTS if is_variant else read_card_facts(str(folder)))
    if not loads_without_package(model, tokenizer, folder):
        raise ValueError(f"the repository of {source!r} gives other numbers without this package; it was not written.")


def _halved(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.half() if value.is_floating_point() else value for name, value in weights.items()}
