"""The elementwise front end, against slow plain Python."""

import math

import pytest
import torch
from front_end_blocks import build, specials_and, tensor, units

from vocabless.modeling.front_ends import build_front_end


@pytest.mark.parametrize("focus", [True, False])
@pytest.mark.parametrize(("block_size", "width"), [(16, 48), (8, 8), (1, 5)])
def test_elementwise_concatenates_byte_embeddings(block_size: int, width: int, focus: bool) -> None:
    front_end = build("elementwise", block_size, width, focus=focus, max_tokens=700)
    part = width // block_size
    table = front_end.elements.weight.tolist()
    focus_table = front_end.focus.weight.tolist() if focus else None
    blocks = specials_and(units(block_size, 600))
    got = front_end(tensor(blocks))[0].tolist()
    for position, (block, vector) in enumerate(zip(blocks, got, strict=True)):
        expected = []
        for n, element in enumerate(block):
            focus_row = focus_table[position * block_size + n] if focus_table else [0.0] * part
            expected += [a + b for a, b in zip(table[element], focus_row, strict=True)]
        assert vector == pytest.approx(expected, abs=1e-6)


def test_pooling_sums_the_bytes_of_each_ngram_by_the_softmax_of_their_scores() -> None:
    """Elementwise 5.1: unsegmented bytes, so an n-gram crosses the border between two windows of N = 8 bytes."""
    block_size, part = 8, 3
    front_end = build("elementwise", block_size, 24, focus=False, pool_ngrams=True)
    table, weight = front_end.elements.weight.tolist(), front_end.score.weight[0].tolist()
    blocks = specials_and(units(block_size, 100))
    sequence = [element for block in blocks for element in block] + [0] * block_size
    expected = []
    for start in range(len(sequence) - block_size):
        letters = [table[element] for element in sequence[start : start + block_size] if element]
        exponents = [math.exp(sum(w * x for w, x in zip(weight, letter, strict=True))) for letter in letters]
        expected += [
            sum(e * letter[c] for e, letter in zip(exponents, letters, strict=True)) / sum(exponents)
            if sequence[start]
            else 0.0
            for c in range(part)
        ]
    assert front_end(tensor(blocks)).flatten().tolist() == pytest.approx(expected, abs=1e-5)


def test_pooling_does_not_read_the_padding_behind_a_text() -> None:
    front_end = build("elementwise", 8, 24, focus=False, pool_ngrams=True)
    blocks = tensor(units(8, 5))
    padded = torch.cat([blocks, torch.zeros(1, 3, 8, dtype=torch.int64)], dim=1)
    assert torch.allclose(front_end(padded)[:, :5], front_end(blocks), atol=1e-6)
    assert front_end(padded)[:, 5:].abs().sum() == 0


def test_padding_inside_a_block_has_no_embedding_and_no_gradient() -> None:
    front_end = build_front_end("elementwise", 4, 8, {"focus": False})
    output = front_end(tensor([[100, 0, 0, 0]]))
    assert output[0, 0, 2:].abs().sum() == 0
    output.sum().backward()
    assert front_end.elements.weight.grad[0].abs().sum() == 0
    assert front_end.elements.weight.grad[100].abs().sum() > 0
