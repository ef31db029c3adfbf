"""Counts the n-grams that have a feature, once for all rows with LSH, and the unique tokens of the pre-training text.

    python -m papers ngrams hashformer-lsh-proj-base ngrams.json
    vocabless pretrain --recipe hashformer --set ngrams=ngrams.json

All of the text is counted, with what a run holds out. Source: HashFormers 3.3 and 4.2.
"""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from vocabless import load_tokenizer
from vocabless.texts.corpora import load_text
from vocabless.texts.subwords_and_ngrams import top_ngrams, trained_file, unit_counts
from vocabless.training.script import read_recipe

UNIQUE_TOKENS = 11_890_081  # of HashFormers 4.2


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers ngrams`."""
    parser.add_argument("model", metavar="MODEL", help="variant whose tokens are counted")
    parser.add_argument("file", metavar="FILE", help="new JSON file")
    parser.add_argument("--subword", help="its subword tokenizer, if it has one; None is the published one")
    corpus = read_recipe("hashformer")["corpus"]
    parser.add_argument("--corpus", nargs="+", default=corpus, help="text (default: that of the recipe hashformer)")


def run(arguments: Namespace) -> str:
    """Writes the n-grams to FILE; returns a sentence on the tokens.

    Raises:
        ValueError: FILE exists, the model is unknown, or a corpus cannot be read.
    """
    file = Path(arguments.file)
    if file.exists():
        raise ValueError(f"the file {str(file)!r} exists; give a new one.")
    splitter = load_tokenizer(arguments.model, arguments.subword).unit_splitter
    batches = (batch for source in arguments.corpus for batch in load_text(source).iter(batch_size=1000))
    units = unit_counts((text or "" for batch in batches for text in batch["text"]), splitter)
    ngrams = top_ngrams(units)
    file.parent.mkdir(parents=True, exist_ok=True)
    trained_file(file, lambda: json.dumps(ngrams))
    return f"{len(units):,} unique tokens, {UNIQUE_TOKENS:,} in the paper; {len(ngrams):,} n-grams: {file}"
