"""The elementwise front end, against slow plain Python."""

import math

import pytest
from front_end_blocks import build, specials_and, tensor, units

from vocabless.modeling.front_ends import build_front_end


@pytest.mark.parametrize("focus", [True, False])
@pytest.mark.parametrize(("block_size", "width"), [(16, 48), (8, 8), (1, 5)])
def test_elementwise_concatenates_byte_embeddings(block_size: int, width: int, focus: bool) -> None:
    front_end = build("elementwise", block_size, width, focus=focus, max_tokens=700)
    table = front_end.elements.weight.tolist()
    focus_table = front_end.focus.weight.tolist() if focus else [[0.0] * (width // block_size)] * 700 * block_size
    elements = [element for block in specials_and(units(block_size, 600)) for element in block]
    got = front_end(tensor([elements]).view(1, -1, block_size)).view(len(elements), -1).tolist()
    for element, row, vector in zip(elements, focus_table, got, strict=False):
        assert vector == pytest.approx([a + b for a, b in zip(table[element], row, strict=True)], abs=1e-6)


def test_pooling_sums_the_bytes_of_each_ngram_by_the_softmax_of_their_scores() -> None:
    """Elementwise 5.1: unsegmented bytes, so an n-gram crosses the border between two windows of N = 8 bytes.

    The padding behind a text is not read.
    """
    front_end = build("elementwise", 8, 24, focus=False, pool_ngrams=True)
    table, weight = front_end.elements.weight.tolist(), front_end.score.weight[0].tolist()
    blocks = specials_and(units(8, 100))
    sequence = [element for block in blocks for element in block] + [0] * 8
    expected = []
    for start in range(len(sequence) - 8):
        letters = [table[element] for element in sequence[start : start + 8] if element]
        exponents = [math.exp(sum(w * x for w, x in zip(weight, letter, strict=True))) for letter in letters]
        sums = [sum(e * letter[c] for e, letter in zip(exponents, letters, strict=True)) for c in range(3)]
        expected += [total / sum(exponents) for total in sums] if sequence[start] else [0.0] * 3
    padded = front_end(tensor(blocks + [[0] * 8] * 3))
    for got in (front_end(tensor(blocks)), padded[:, :-3]):
        assert got.flatten().tolist() == pytest.approx(expected, abs=1e-5)
    assert padded[:, -3:].abs().sum() == 0


def test_padding_inside_a_block_has_no_embedding_and_no_gradient() -> None:
    front_end = build_front_end("elementwise", 4, 8, {"focus": False})
    output = front_end(tensor([[100, 0, 0, 0]]))
    assert output[0, 0, 2:].abs().sum() == 0
    output.sum().backward()
    assert front_end.elements.weight.grad[0].abs().sum() == 0
    assert front_end.elements.weight.grad[100].abs().sum() > 0
