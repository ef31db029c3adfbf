"""Makes the whole repository of a checkpoint of this family, and with --push uploads it to the Hub.

    python -m vocabless.conversion hub runs/my-classifier repository/
    python -m vocabless.conversion hub runs/my-classifier me/my-classifier --push
    python -m vocabless.conversion hub ewe-bert-tiny me/fresh --push --private

Weights as safetensors, bit by bit those of SOURCE, the code that travels, the tokenizer, the records of its run and a
model card; SOURCE's own README.md is kept. Before anything is uploaded, the repository is loaded in a process without
this package and must give the same numbers.
"""
# mypy: allow-untyped-calls

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, set_seed
from transformers.utils.hub import cached_file

from vocabless import VocablessModel, VocablessTokenizer, load_config, load_tokenizer
from vocabless.saving.checkpoint import load_checkpoint, loads_without_package, save_checkpoint
from vocabless.saving.model_card import CARD, RANDOM, UNKNOWN, write_card
from vocabless.saving.run_folder import ARGUMENTS, RESULTS
from vocabless.saving.targets import free_folder
from vocabless.saving.uploads import check_upload, upload
from vocabless.training.finetuning import card as finetuning_card
from vocabless.training.pretraining import card as pretraining_card
from vocabless.variants import VARIANTS

COMES_ALONG = (CARD, ARGUMENTS, RESULTS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares what the verb takes."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a folder or Hub id of a checkpoint of this family, or the name of a variant, for random weights",
    )
    parser.add_argument(
        "target", metavar="TARGET", help="a new or empty folder; with --push the repository, name or owner/name"
    )
    parser.add_argument("--push", action="store_true", help="upload to the Hub; nothing stays in a folder")
    parser.add_argument("--exist_ok", action="store_true", help="commit a new version where the repository holds files")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    parser.add_argument("--commit_message", default="Add the model", help="default: Add the model")
    parser.add_argument("--subword", help="of a variant over subwords: tokenizer.json, folder or Hub id")


def run(arguments: argparse.Namespace) -> str | None:
    """Writes or uploads; returns the address of what was uploaded.

    Raises:
        ValueError: a SOURCE that is not whole or not of this family, a TARGET that is taken, no token, no network.
    """
    target = arguments.target
    if arguments.push:
        repo_id = check_upload(target, replace=arguments.exist_ok)
    else:
        free_folder(target)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / Path(target).name
        folder.mkdir()
        write_repository(arguments.source, folder, arguments.subword)
        if arguments.push:
            return upload(folder, repo_id, arguments.commit_message, private=arguments.private or None)
        shutil.copytree(folder, target, dirs_exist_ok=True)
    return None


def write_repository(source: str, folder: Path, subword: str | None = None) -> None:
    """Writes a whole repository, and proves that it loads where this package is absent.

    Args:
        source: a folder, a Hub id or a variant.
        folder: is there and empty.
        subword: see `load_tokenizer`.

    Raises:
        ValueError: what `load_checkpoint` and `load_tokenizer` refuse, or a repository that does not load.
    """
    if source in VARIANTS and not os.path.isdir(source):
        model, tokenizer = _fresh(source, subword)
        save_checkpoint(model, tokenizer, folder)
        write_card(folder, model, tokenizer.block_size, RANDOM)
    else:
        model, tokenizer = load_checkpoint(source)
        save_checkpoint(model, tokenizer, folder)
        for name in COMES_ALONG:
            _copy(source, name, folder)
        if not (folder / CARD).is_file():
            write_card(folder, model, tokenizer.block_size, read_card_facts(folder))
    try:
        same = loads_without_package(model, tokenizer, folder)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    if not same:
        raise ValueError(f"what was made of {source!r} gives other numbers without this package; nothing was written.")


def _fresh(variant: str, subword: str | None) -> tuple[PreTrainedModel, VocablessTokenizer]:
    set_seed(0)
    return VocablessModel(load_config(variant)), load_tokenizer(variant, subword)


def read_card_facts(folder: Path) -> Mapping[str, Any]:
    """Returns what the results of the run that made the checkpoint say of it, if it came with any."""
    file = folder / RESULTS
    results = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if "floors" in results:
        return finetuning_card.card_facts(results)
    if "objective" in results:
        return pretraining_card.card_facts(results)
    return UNKNOWN


def _copy(source: str, name: str, folder: Path) -> None:
    try:
        shutil.copyfile(str(cached_file(source, name)), folder / name)
    except OSError:  # it has none
        pass
