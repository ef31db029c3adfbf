"""The README's table of variants, counted on the models: `python -m vocabless.variants_table` prints it."""

from __future__ import annotations

import sys

import torch

from vocabless import VocablessForSequenceClassification, load_config
from vocabless.variants import VARIANTS, Variant

COLUMNS = ("Variant", "K", "Base model", "Classifier", "Embeddings", "fp32", "Source")


def variants_table() -> str:
    """Returns the table in Markdown, one row for each variant."""
    lines = [_line(COLUMNS), "|---|--:|--:|--:|--:|--:|---|"]
    return "\n".join(lines + [_line(_cells(row)) for row in VARIANTS.values()]) + "\n"


def _cells(row: Variant) -> tuple[str, ...]:
    with torch.device("meta"):  # counts need no memory
        classifier = VocablessForSequenceClassification(load_config(row.name, num_labels=2))
    base = classifier.vocabless
    embeddings = sum(parameter.numel() for parameter in base.front_end.parameters())
    stored = sum(tensor.numel() * tensor.element_size() for tensor in base.state_dict().values())
    counts = (base.num_parameters(), classifier.num_parameters(), embeddings)
    size = f"{stored / 1e6:.1f} MB"
    return (f"`{row.name}`", str(row.block_size), *(f"{count:,}" for count in counts), size, row.source)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(variants_table())
