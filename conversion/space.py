"""Makes a web page of a classifier: one HTML file with the model in it, and the README.md of a static Space.

    vocabless space runs/my-classifier page/
    vocabless space runs/my-classifier page/ --overwrite --title "Reviews" --example "What a book!"
    vocabless space me/my-classifier me/my-page --push

SOURCE is a checkpoint with one label, many labels or a number for a text or a pair of texts, or with tags for words.
TARGET gets index.html, which opens offline. Weights are 8-bit numbers. If the page would have more than 10 MB, TARGET
gets weights.js too; weights of more than 30 MB are refused.
"""

import argparse
from pathlib import Path
from typing import Any, cast

from transformers import PreTrainedModel

from vocabless.conversion.onnx import check_packages, reads_token_types
from vocabless.conversion.onnx_export.graph import export
from vocabless.conversion.onnx_export.parity import difference_table, differences, probes
from vocabless.conversion.onnx_export.settings import answer_settings, describe_length
from vocabless.conversion.space_export.graph_json import page_session, to_json
from vocabless.conversion.space_export.manifest import examples_of, page_tokenizer, task_of
from vocabless.conversion.space_export.page import (
    add_page_arguments,
    heading,
    model_id_of,
    size_report,
    write_page,
    write_readme,
)
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.saving.card_heads import labels_of
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.record import CardFacts, read_card_facts
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument(
        "--title", help="title of the page; default: the name of the data that SOURCE was fine-tuned on, else of SOURCE"
    )
    parser.add_argument(
        "--example",
        action="append",
        nargs="+",
        metavar="TEXT",
        help="a text to try, two texts for a model of pairs; can be given several times; default: that of the run, "
        "else none for your own data and three texts of ours for other models",
    )
    add_page_arguments(parser)


def write(arguments: argparse.Namespace, folder: Path) -> str:
    """Writes all files of the page into an existing, empty folder; returns a report on differences and sizes."""
    check_packages("space")
    source = arguments.source
    model, tokenizer = load_checkpoint(source)
    model = model.float()
    facts = read_card_facts(source)
    is_pair = arguments.pairs or facts.is_pair
    manifest = make_manifest(model, tokenizer, is_pair, arguments.example or run_examples(facts, is_pair))
    manifest |= heading(arguments, facts.dataset or Path(source).resolve().name)
    proto = export(model, reads_token_types(model, tokenizer))
    manifest["graph"], weights = to_json(proto, arguments.bits)
    write_page(folder, manifest, weights)
    write_readme(folder, manifest["title"], model_id_of(arguments), facts.license, manifest["task"])
    differences_of_weights = weights_report(model, tokenizer, proto, arguments.bits)
    return f"{differences_of_weights}{size_report(folder)}\n{describe_length(manifest['tokenizer'])}"


def make_manifest(
    model: PreTrainedModel, tokenizer: VocablessTokenizer, is_pair: bool, examples: list[list[str]] | None = None
) -> dict[str, Any]:
    """Returns the manifest without title, model card and graph.

    Raises:
        ValueError: a page cannot show the model's head, or cannot cut texts as its tokenizer does; or an example has
            another number of texts than the model reads.
    """
    task = task_of(model)
    is_pair = is_pair and task != "tags"
    return {
        "task": task,
        "labels": labels_of(model),
        "is_pair": is_pair,
        **answer_settings(model),
        "tokenizer": page_tokenizer(tokenizer, cast(VocablessModel, model.base_model).max_tokens),
        "examples": examples_of(task, is_pair, examples),
    }


def run_examples(facts: CardFacts, is_pair: bool) -> list[list[str]] | None:
    """Returns the example that was given to the run; for own data without one none; None: the page's own."""
    if len(facts.example) == 1 + is_pair:
        return [list(facts.example)]
    return [] if facts.is_own_data else None


def weights_report(model: PreTrainedModel, tokenizer: VocablessTokenizer, proto: Any, bits: int) -> str:
    """Returns a table: how far the outputs with a page's weights are from the model's; "" for 32 bits."""
    if bits == 32:
        return ""
    of_weights = differences(model, page_session(proto, bits), probes(model, tokenizer))
    return difference_table({f"{bits}-bit weights": of_weights}) + "\n\n"
