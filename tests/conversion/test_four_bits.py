"""4-bit rows of a table of n-grams: their numbers, how they are packed, and the graph that reads them."""

import numpy as np
import pytest
import torch
from refusals import refusal
from torch import nn

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.conversion import javascript
from vocabless.conversion import onnx as verb
from vocabless.conversion.__main__ import main
from vocabless.conversion.onnx_export.four_bits import (
    GROUP,
    LARGEST,
    SHARES,
    SMALLEST,
    PackedTable,
    pack,
    packed_rows,
    quantize_rows,
    restore_rows,
)
from vocabless.conversion.onnx_export.graph import INPUT, export, session_of
from vocabless.conversion.space_export.graph_json import to_json

onnx, *_ = (
    pytest.importorskip(package, reason="the extra [onnx] is not installed")
    for package in ("onnx", "onnxruntime", "onnxscript")
)

WIDTHS = [1, 2, GROUP, GROUP + 3, 2 * GROUP]


def table_of(width, rows=7):
    table = np.random.default_rng(width).standard_normal((rows, width)).astype(np.float32)
    table[0], table[1] = 0, 1e-6 * table[1]
    table[2, 0] = 40.0  # beside small numbers
    return table


def slow_error(values, factor):
    """The squared error of a group's numbers with a factor, in plain Python."""
    numbers = (min(max(round(value / factor), SMALLEST), LARGEST) for value in values)
    return sum((number * factor - value) ** 2 for number, value in zip(numbers, values, strict=True))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_factor_of_each_group_has_the_smallest_error(width) -> None:
    table = table_of(width)
    numbers, factors = quantize_rows(table)
    assert numbers.shape == (7, width) and factors.shape == (7, -(-width // GROUP))
    assert numbers.min() >= SMALLEST and numbers.max() <= LARGEST
    found = (restore_rows(numbers, factors) - table) ** 2
    for row, values in enumerate(table.tolist()):
        for start in range(0, width, GROUP):
            group = values[start : start + GROUP]
            largest = max(map(abs, group)) or 1.0
            best = min(slow_error(group, share * largest / LARGEST) for share in SHARES)
            assert found[row, start : start + GROUP].sum() == pytest.approx(best, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_packed_table_gives_the_rows_that_its_numbers_stand_for(width) -> None:
    table = table_of(width)
    numbers, factors = quantize_rows(table)
    packed = pack(numbers)
    unpacked = [[byte % 16 - 8 for byte in row] + [byte // 16 - 8 for byte in row] for row in packed.tolist()]
    assert packed.shape == (7, -(-width // 2)) and [row[:width] for row in unpacked] == numbers.tolist()
    rows = torch.tensor([[3, 0, 6], [2, 2, 1]])
    expected = restore_rows(numbers, factors)[rows.numpy()]
    np.testing.assert_allclose(PackedTable(torch.from_numpy(table))(rows).numpy(), expected, rtol=1e-6)


@pytest.fixture
def model(shrink):
    torch.manual_seed(0)
    options = {"num_rows": 300, "max_ngram": 2}  # few sizes: a graph takes long to trace
    return VocablessModel(shrink(load_config("hashgram-nano", front_end_options=options))).eval()


def test_a_graph_with_4_bit_rows_is_the_model_with_the_table_that_they_stand_for(model, tmp_path) -> None:
    texts = ["The film is a quiet wonder.", "naïve"]
    inputs = load_tokenizer("hashgram-nano")(texts, padding=True, return_tensors="pt")
    table = model.front_end.table
    with packed_rows(model):
        (tmp_path / "model.onnx").write_bytes(export(model, has_pairs=True).SerializeToString())
    assert model.front_end.table is table
    found = session_of(tmp_path / "model.onnx", 1).run(None, {INPUT: inputs["input_ids"].numpy()})[0]
    with torch.no_grad():
        before = model(**inputs)[0].numpy()
        restored = restore_rows(*quantize_rows(table.weight.detach().numpy()))
        model.front_end.table = nn.Embedding.from_pretrained(torch.from_numpy(restored))
        expected = model(**inputs)[0].numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(found - before).max() > 1e-3


def test_the_files_have_half_the_bytes_of_the_table(model, tmp_path) -> None:
    files = verb.write_graphs(model, load_tokenizer("hashgram-nano"), tmp_path, int8=True, int4=True)
    assert [file.name for file in files] == ["model.onnx", "model_int8.onnx", "model_int4.onnx"]
    half = model.front_end.table.weight.numel() // 2
    proto = export(model, has_pairs=True)
    eight, four = (len(to_json(proto, bits)[1]) for bits in (8, 4))
    assert eight - four == pytest.approx(half, rel=0.05)
    sizes = [file.stat().st_size for file in files]
    assert sizes[2] < sizes[1] < sizes[0]


@pytest.mark.parametrize("name", ["onnx", "javascript"])
def test_a_model_without_a_table_of_n_grams_is_refused(name, save_model, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(javascript, "export", lambda *_: onnx.ModelProto())  # the export itself takes seconds
    _, folder = save_model("eelbert-word-tiny")
    message = refusal(main, name, folder, tmp_path / "target", "--int4")
    assert "--int4 packs the rows of a table of n-grams, and this model has none; leave it out." in message
    assert not (tmp_path / "target").exists()
