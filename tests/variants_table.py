"""Prints docs/variants.md: the variants with their sizes, counted on the models.

Run `python -m tests.variants_table > docs/variants.md` after a change to `vocabless/variants.py`.
"""

from __future__ import annotations

import sys

import torch

from vocabless import VocablessForSequenceClassification, load_config
from vocabless.variants import VARIANTS, Variant

PAGE = """\
# Variants

The parameters and sizes of all variants, to compare them before training; [choosing.md](choosing.md) recommends one.
The page is the output of `python -m tests.variants_table`, from `vocabless/variants.py`.

- **K**: bytes in a block, that is, in a token.
- **Base model**: parameters of `VocablessModel`.
- **Classifier**: parameters of `VocablessForSequenceClassification` with two labels.
- **Embeddings**: parameters of the front end. They include the rows for special tokens; the papers' tables do not.
- **fp32**: size of the base model's weights on disk, in units of 10⁶ bytes.
- **Source**: paper with section or table.

The sizes follow Turc et al.: tiny has 2 layers of width 128, mini 4 × 256, small 4 × 512, base 12 × 768.
uno is tiny with an intermediate size of 128. Ours are nano, 1 × 64, multi, 2 × 256, and the mini of hashgram, 2 × 384.

{table}"""
COLUMNS = ("Variant", "K", "Base model", "Classifier", "Embeddings", "fp32", "Source")


def variants_page() -> str:
    """Returns the page in Markdown; its table has one row for each variant."""
    rows = [COLUMNS, *(_cells(variant) for variant in VARIANTS.values())]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---|--:|--:|--:|--:|--:|---|")
    return PAGE.format(table="\n".join(lines) + "\n")


def _cells(variant: Variant) -> tuple[str, ...]:
    """Returns the cells of a variant's row, in the order of `COLUMNS`."""
    with torch.device("meta"):  # shapes without memory
        classifier = VocablessForSequenceClassification(load_config(variant.name, num_labels=2))
    base = classifier.vocabless
    embeddings = sum(parameter.numel() for parameter in base.front_end.parameters())
    num_bytes = sum(tensor.numel() * tensor.element_size() for tensor in base.state_dict().values())
    counts = (base.num_parameters(), classifier.num_parameters(), embeddings)
    size = f"{num_bytes / 1e6:.1f} MB"
    return (f"`{variant.name}`", str(variant.block_size), *(f"{count:,}" for count in counts), size, variant.source)


if __name__ == "__main__":
    sys.stdout.write(variants_page())
