"""The wide part of a head against slow plain Python, and beside the rest of a model."""

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.modeling.ngram_hashes import MAX_CHARACTER
from vocabless.modeling.wide_layer import NGRAM_SIZES as SIZES
from vocabless.modeling.wide_layer import ORDER, PRIME, SEED, WideLayer, integer_product

P = 10**9 + 7
ROWS = 64  # so few that features collide
TEXTS = ["The fox, the fox saw a fox", "Ünï 漢字 été", "x", "", "antidisestablishmentarianism and on"]
# Variant and options → how its wide part reads a unit; None: blocks are digests.
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "hashgram-nano": ({}, lambda unit: [byte + 5 for byte in unit]),
    "hashgram-uno": (
        {"front_end_options": {"characters": True}},
        lambda unit: [ord(character) + 5 for character in unit.decode()],
    ),
    "hashformer-md5-pool-tiny": ({}, None),
}


def stream(seed: int) -> Iterator[int]:
    """SplitMix64, 1 to P − 1."""
    mask, state = (1 << 64) - 1, seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield (z ^ (z >> 31)) % (P - 1) + 1


def slow_features(blocks: list[list[int]], block_size: int, letters: Any) -> dict[int, float]:
    """Row → number of one text. `letters` makes the characters of a unit's bytes; None: blocks are digests."""
    numbers = stream(SEED)
    of_rest = [next(numbers) % PRIME for _ in range(block_size)]
    drawn = [[[next(numbers) % PRIME for _ in SIZES] for _ in range(block_size)] for _ in range(2)]
    of_first, of_others = (list(zip(*factors, strict=True)) for factors in drawn)  # a size, an element

    def hashed(factors: Sequence[int], elements: Sequence[int]) -> int:
        return sum(a * b for a, b in zip(factors, elements, strict=False)) % PRIME

    def elements_of(block: list[int]) -> list[int]:
        is_unit = letters is not None and block[0] >= 5
        return letters(bytes(element - 5 for element in block if element)) if is_unit else block

    units = [hashed(of_rest, elements_of(block)) for block in blocks]
    features: list[tuple[int, float]] = []
    for block, unit, behind in zip(blocks, units, [*units[1:], 0], strict=True):
        hashes = [unit] * 3 + [unit * (behind + ORDER)] * 3
        if letters is not None:
            written = [element for element in elements_of(block) if element]
            rests = [written[start:] for start in range(len(written))]
            hashes += [hashed(of_rest, rest) for rest in rests[1:]]
            for start, rest in enumerate(rests):
                factors = of_others if start else of_first
                hashes += [hashed(of_size[:n], rest) for n, of_size in zip(SIZES, factors, strict=True)]
        features += [(found % ROWS, 1 / units.count(unit) / math.sqrt(len(units))) for found in hashes]
    rows = {row for row, _ in features} - {0}
    return {row: sum(number for other, number in features if other == row) for row in rows}


def with_weights(layer: WideLayer) -> WideLayer:
    """Gives all rows random weights but row 0, which stands for nothing."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        layer.weight[1:] = torch.randn(len(layer.weight) - 1, layer.weight.shape[1], generator=generator)
    return layer


@pytest.mark.parametrize("name", KINDS)
def test_features_are_those_of_plain_python(name: str) -> None:
    options, letters = KINDS[name]
    config, tokenizer = load_config(name, **options), load_tokenizer(name)
    layer = with_weights(WideLayer(config, ROWS, 3)).eval()
    encoding = tokenizer(TEXTS, padding=True, return_tensors="pt")
    rows, numbers = layer.features(encoding["input_ids"])
    outputs = layer(encoding["input_ids"])
    compiled = torch.export.export(layer, (encoding["input_ids"],), strict=False).module()(encoding["input_ids"])
    for index, blocks in enumerate(tokenizer(TEXTS)["input_ids"]):
        expected = slow_features(blocks, config.block_size, letters)
        found = dict.fromkeys(expected, 0.0)
        for row, number in zip(*(x[index].flatten().tolist() for x in (rows, numbers)), strict=True):
            if number:
                found[row] += number
        assert found == pytest.approx(expected, abs=1e-6)
        sums = sum((number * layer.weight[row] for row, number in expected.items()), torch.zeros(3))
        for found_sums in (outputs[index], compiled[index], layer(torch.tensor([blocks]))[0]):
            assert torch.allclose(found_sums, sums, atol=1e-5)
    nothing = torch.zeros(1, 2, config.block_size, dtype=torch.long)  # padding alone
    assert not layer(nothing).any()


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1]])
def test_training_leaves_row_0_at_nothing(texts) -> None:
    layer, tokenizer = WideLayer(load_config("hashgram-nano"), ROWS, 3), load_tokenizer("hashgram-nano")
    torch.manual_seed(0)  # with which the first text keeps its wide part
    layer(tokenizer(texts, padding=True, return_tensors="pt")["input_ids"]).sum().backward()
    assert layer.weight.grad is not None
    assert not layer.weight.grad[0].any() and layer.weight.grad[1:].any()


def test_a_quarter_of_the_texts_lack_a_wide_part_in_training() -> None:
    layer = with_weights(WideLayer(load_config("hashgram-nano"), ROWS, 3))
    blocks = load_tokenizer("hashgram-nano")(["the words"] * 1000, return_tensors="pt")["input_ids"]
    torch.manual_seed(0)
    found, expected = layer(blocks), layer.eval()(blocks)
    lacks = (found == 0).all(dim=1)
    assert 200 < lacks.sum() < 300
    torch.testing.assert_close(found[~lacks], expected[~lacks], rtol=0, atol=0)


def test_a_long_text_of_one_word_loses_no_digits() -> None:
    name = "hashformer-md5-pool-tiny"
    layer = with_weights(WideLayer(load_config(name), ROWS, 3)).eval()
    blocks = load_tokenizer(name)("word " * 600, return_tensors="pt")["input_ids"]
    rows, numbers = (found.flatten() for found in layer.features(blocks))
    exact = (numbers.double().unsqueeze(-1) * layer.weight.double()[rows]).sum(dim=0)
    torch.testing.assert_close(layer(blocks)[0].double(), exact, rtol=0, atol=1e-6)


def test_a_new_wide_part_has_no_effect_and_a_saved_one_comes_back(tmp_path) -> None:
    config = load_config("hashgram-nano", num_labels=3, classifier_pooling="mean")
    torch.manual_seed(0)
    plain = VocablessForSequenceClassification(config).eval()
    wide_config = copy.deepcopy(config)
    wide_config.classifier_wide_rows = ROWS
    wide = VocablessForSequenceClassification(wide_config).eval()
    assert {*wide.state_dict()} - {*plain.state_dict()} == {"classifier.wide.weight"}
    wide.load_state_dict(plain.state_dict(), strict=False)
    encoding = load_tokenizer("hashgram-nano")(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        torch.testing.assert_close(wide(**encoding).logits, plain(**encoding).logits, rtol=0, atol=0)
        with_weights(wide.classifier.wide)
        expected = wide(**encoding).logits
        assert not torch.equal(expected, plain(**encoding).logits)
        wide.save_pretrained(tmp_path)
        loaded = VocablessForSequenceClassification.from_pretrained(tmp_path).eval()
        torch.testing.assert_close(loaded(**encoding).logits, expected, rtol=0, atol=0)
        embeddings = wide.get_input_embeddings()(encoding["input_ids"])
        both = wide(**{**encoding, "inputs_embeds": embeddings}).logits
        torch.testing.assert_close(both, expected, rtol=0, atol=0)
        alone = {name: value for name, value in encoding.items() if name != "input_ids"}
        with pytest.raises(ValueError, match="the wide part of the head reads blocks; give input_ids beside"):
            wide(**alone, inputs_embeds=embeddings)


def test_hashes_are_the_same_where_there_are_no_products_of_integers() -> None:
    class OnAccelerator:
        device = torch.device("cuda")

        def __init__(self, elements: torch.Tensor) -> None:
            self.elements = elements

        def __getitem__(self, places: Any) -> torch.Tensor:
            return self.elements[places]

    generator = torch.Generator().manual_seed(0)
    elements = torch.randint(0, 261, (2, 3, 7), generator=generator)
    factors = torch.randint(1, PRIME, (7, 11), generator=generator)
    elsewhere: Any = OnAccelerator(elements)
    assert torch.equal(integer_product(elsewhere, factors), integer_product(elements, factors))


def test_products_of_the_largest_integers_are_exact() -> None:
    elements, factors = torch.full((2, 32), MAX_CHARACTER), torch.full((32, 3), PRIME - 1)
    assert integer_product(elements, factors).tolist() == [[32 * MAX_CHARACTER * (PRIME - 1)] * 3] * 2


def test_a_head_of_pairs_has_no_wide_part_and_the_number_of_rows_has_a_limit() -> None:
    with pytest.raises(ValueError, match="a siamese head reads pairs and has no wide part; give 0, or another"):
        load_config("hashgram-nano", classifier_pooling="siamese", classifier_wide_rows=8)
    with pytest.raises(ValueError, match="classifier_wide_rows is -1; give an integer from 0 to"):
        load_config("hashgram-nano", classifier_wide_rows=-1)


def test_the_rows_of_a_text_never_change() -> None:
    layer, blocks = WideLayer(load_config("hashgram-nano"), 1 << 15, 1), load_tokenizer("hashgram-nano")("A fox")
    rows, numbers = layer.features(torch.tensor([blocks["input_ids"]]))
    of_fox = [1359, 4106, 6313, 17568, 23241, 26457, 30118, 31717]
    assert sorted(rows[0, 2][numbers[0, 2] > 0].tolist()) == sorted([*of_fox, *[26644] * 3, *[32620] * 3])
