"""Makes a JavaScript package of a sentence encoder or a classifier: a module for pages and Node, types and the model.

    vocabless javascript hashgram-tiny-sentence my-encoder/
    vocabless javascript runs/my-classifier my-classifier/ --name @me/reviews --overwrite

TARGET gets vocabless.js, vocabless.d.ts, model.bin, package.json and README.md, as npm expects them. Nothing is
published. SOURCE is a sentence encoder, or a classifier that a page can show, see the verb `space`. The module needs no
other package. Weights are 8-bit numbers.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from vocabless import __version__
from vocabless.conversion.onnx import check_packages, reads_token_types
from vocabless.conversion.onnx_export.graph import export
from vocabless.conversion.onnx_export.sentence_encoder import with_vectors
from vocabless.conversion.onnx_export.settings import describe_length
from vocabless.conversion.space import make_manifest, run_examples, weights_report
from vocabless.conversion.space_export.graph_json import BROWSER, to_json
from vocabless.conversion.space_export.manifest import PAIRS, page_tokenizer
from vocabless.conversion.space_export.page import add_page_arguments, model_id_of, size_report, substitute
from vocabless.conversion.space_export.script import as_module
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.saving.card_heads import NEUTRAL_EXAMPLE
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.record import OWN_LICENSE, read_card_facts
from vocabless.saving.sentence_modules import SentenceModules, read_sentence_modules

MODULE, TYPES, MODEL = "vocabless.js", "vocabless.d.ts", "model.bin"
HEADER = f"/* vocabless {__version__}, Apache-2.0. Made with `vocabless javascript`. */\n\n"
SENTENCES = ["Where is my money?", "A bank holds our savings.", "The river bank is muddy."]
ENCODE = """const encoder = await Encoder.load();
const [question, ...answers] = encoder.encode({texts});
const cosine = (one, other) => one.reduce((sum, number, i) => sum + number * other[i], 0);
console.log(answers.map((answer) => cosine(question, answer)));
const [small] = encoder.encode(["Where is my money?"], {{ int8: true }}); // a quarter of the memory"""
CLASSIFY = """const classifier = await Classifier.load();
for (const {{ label, probabilities }} of await classifier.classify({texts})) {{
  console.log(label, probabilities); // in the order of classifier.labels
}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument("--name", help="name of the package, as npm permits it; default: that of SOURCE")
    add_page_arguments(parser)


def write(arguments: argparse.Namespace, folder: Path) -> str:
    """Writes the package into an existing, empty folder; returns a report on differences and sizes."""
    check_packages("javascript")
    source, name = arguments.source, arguments.name or package_name(arguments.source)
    model, tokenizer = load_checkpoint(source)
    facts = read_card_facts(source)
    if is_encoder := type(model) is VocablessModel:
        modules = read_sentence_modules(source) or SentenceModules()
        width = model.config.hidden_size if modules.weight is None else len(modules.weight)
        model, examples = with_vectors(model.float(), modules, gives_states=False), list[Any](SENTENCES)
        manifest: dict[str, Any] = {"tokenizer": page_tokenizer(tokenizer, model.max_tokens), "dimensions": width}
    else:
        is_pair = arguments.pairs or facts.is_pair
        manifest = make_manifest(model.float(), tokenizer, is_pair, run_examples(facts, is_pair))
        examples = manifest.pop("examples") or (PAIRS if manifest["is_pair"] else [NEUTRAL_EXAMPLE])
    proto = export(model, reads_token_types(model, tokenizer))
    manifest["graph"], weights = to_json(proto, arguments.bits)
    differences = weights_report(model, tokenizer, proto, arguments.bits)
    (folder / MODULE).write_text(HEADER + as_module(BROWSER, MODULE), encoding="utf-8")
    (folder / TYPES).write_bytes((BROWSER / TYPES).read_bytes())
    (folder / MODEL).write_bytes(json.dumps(manifest, separators=(",", ":")).encode() + b"\n" + weights)
    write_package_json(folder, name, facts.license)
    write_readme(folder, name, model_id_of(arguments), facts.license, examples, is_encoder)
    return f"{differences}{size_report(folder, (MODULE, MODEL))}\n{describe_length(manifest['tokenizer'])}"


def package_name(source: str) -> str:
    """Returns the name of a model's package: that of its source in the letters that npm permits.

    >>> package_name("me/My Encoder")
    'my-encoder'
    """
    name = re.sub(r"[^a-z0-9._~-]+", "-", Path(source).resolve().name.lower()).strip("-._")
    return name or "vocabless-model"


def write_package_json(folder: Path, name: str, license_name: str | None) -> None:
    """Writes package.json; `license_name` is that of the weights, by the Hub's name, or None if it is not known."""
    content = {
        "name": name,
        "version": "1.0.0",
        "description": "Text without a vocabulary: a small model that runs in pages and in Node",
        "license": "Apache-2.0" if license_name == OWN_LICENSE else "SEE LICENSE IN README.md",
        "type": "module",
        "exports": {".": {"types": f"./{TYPES}", "default": f"./{MODULE}"}, f"./{MODEL}": f"./{MODEL}"},
        "files": [MODULE, TYPES, MODEL],
        "sideEffects": False,
        "engines": {"node": ">=18"},
    }
    (folder / "package.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def write_readme(
    folder: Path, name: str, model_id: str | None, license_name: str | None, texts: list[Any], is_encoder: bool
) -> None:
    """Writes README.md with an example over `texts`; the other arguments are those of `write_package_json`."""
    example = (ENCODE if is_encoder else CLASSIFY).format(texts=json.dumps(texts, ensure_ascii=False))
    parts = {
        "name": name,
        "class": "Encoder" if is_encoder else "Classifier",
        "gives": "vectors of sentences" if is_encoder else "labels and probabilities of texts",
        "model": f"[{model_id}](https://huggingface.co/{model_id})" if model_id else "A vocabless model",
        "example": example,
        "license": license_name or "a licence that their maker has not recorded",
    }
    text = substitute((BROWSER / "javascript_readme.md").read_text(encoding="utf-8"), parts)
    (folder / "README.md").write_text(text, encoding="utf-8")
