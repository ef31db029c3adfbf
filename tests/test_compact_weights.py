"""Weights that an archive compresses: what they become, and how many bytes they take."""

import zlib

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.compact_weights import TABLE, compact, main, round_rows
from vocabless.conversion.__main__ import main as convert


def rounded_row(row: list[float], bits: int) -> list[float]:
    """The oracle: tries the power that holds the row and its half, number by number."""
    most = 2 ** (bits - 1) - 1
    power = 2.0**-30
    while max(map(abs, row)) > most * power:
        power *= 2
    tried = []
    for step in (power, power / 2):
        values = [max(-most, min(most, round(number / step))) * step for number in row]
        tried.append((sum((a - b) ** 2 for a, b in zip(values, row, strict=True)), -step, values))
    return min(tried)[-1]


@pytest.mark.parametrize("bits", [3, 5, 8])
def test_rows_are_whole_numbers_times_the_better_power_of_two(bits: int) -> None:
    matrix = torch.randn(40, 7, generator=torch.Generator().manual_seed(bits)) * torch.logspace(-4, 4, 40)[:, None]
    expected = torch.tensor([rounded_row(row, bits) for row in matrix.tolist()])
    assert torch.equal(round_rows(matrix, bits), expected)
    assert torch.equal(round_rows(expected, bits), expected)  # a second time changes nothing
    assert torch.equal(round_rows(torch.zeros(2, 3), bits), torch.zeros(2, 3))


def test_an_archive_holds_less_than_half_and_vectors_and_whole_numbers_keep_their_values() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = {
        TABLE: torch.randn(2000, 64, generator=generator) / 30,
        "dense.weight": torch.randn(200, 64, generator=generator) / 8,
        "norm.weight": torch.rand(64, generator=generator),
        "places": torch.arange(9),
    }
    stored = compact(weights)
    assert torch.equal(stored["places"], weights["places"])
    assert torch.equal(stored["norm.weight"], weights["norm.weight"].half())
    sizes = [len(zlib.compress(value.numpy().tobytes())) / value.nbytes for value in stored.values()]
    assert sizes[0] < 0.35 and sizes[1] < 0.5
    for name, most in ((TABLE, 0.15), ("dense.weight", 0.04)):
        difference = stored[name].float() - weights[name]
        assert difference.norm() < most * weights[name].norm()


def test_a_checkpoint_with_rounded_weights_is_stored_in_16_bits_without_another_loss(save_model, tmp_path) -> None:
    model, folder = save_model("hashgram-tiny")
    main([str(folder)])
    convert(["hub", str(folder), str(tmp_path / "target"), "--half"])
    stored, expected = load_file(tmp_path / "target" / "model.safetensors"), compact(model.state_dict())
    assert stored.keys() == expected.keys() and all(torch.equal(stored[name], expected[name]) for name in stored)
