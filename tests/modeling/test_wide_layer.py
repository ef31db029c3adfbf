"""The wide part of a head against slow plain Python, and beside the rest of a model."""

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from vocabless import VocablessForMultipleChoice, VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.modeling.wide_layer import SEED, WideLayer

P = 10**9 + 7
ROWS = 64  # so few that features collide
TEXTS = ["The fox, the fox saw a fox", "Ünï 漢字 été", "x", "", "antidisestablishmentarianism and on"]
# Variant and options → how its n-grams read a unit; None: blocks are digests.
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
    """Row → number of one text. `letters` makes the elements of n-grams of a unit's bytes."""
    numbers = stream(SEED)
    of_ngram = [next(numbers) for _ in range(5)]
    of_first, of_second = ([next(numbers) for _ in range(block_size)] for _ in range(2))

    def row(*parts: tuple[list[int], list[int]]) -> int:
        return sum(a * b for factors, elements in parts for a, b in zip(factors, elements, strict=False)) % P % ROWS

    words, spelling, seen = [], [], set()
    for block, behind in zip(blocks, [*blocks[1:], [0]], strict=True):
        for key in (tuple(block), (tuple(block), tuple(behind))):
            is_pair = isinstance(key[0], tuple)
            if block[0] < 5 or (is_pair and behind[0] < 5) or key in seen:
                continue
            seen.add(key)
            words.append(row((of_first, block), (of_second, behind if is_pair else [])))
            if letters is not None and not is_pair:
                marked = [1, *letters(bytes(element - 5 for element in block if element)), 2]
                for n in (3, 4, 5):
                    spelling += [row((of_ngram, marked[start : start + n])) for start in range(len(marked) - n + 1)]
    numbers = dict.fromkeys([*words, *spelling], 0.0)
    for half in [words, spelling][: 1 if letters is None else 2]:
        for found in half:
            numbers[found] += 1 / math.sqrt((1 if letters is None else 2) * len(half))
    return numbers


@pytest.mark.parametrize("name", KINDS)
def test_features_are_those_of_plain_python(name: str) -> None:
    options, letters = KINDS[name]
    config, tokenizer = load_config(name, **options), load_tokenizer(name)
    layer = WideLayer(config, ROWS, 3)
    torch.nn.init.normal_(layer.weight)
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
        assert torch.allclose(outputs[index], sums, atol=1e-5) and torch.allclose(compiled[index], sums, atol=1e-5)
    assert not outputs[TEXTS.index("")].any() and bool(outputs[TEXTS.index("x")].any())


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
        torch.nn.init.normal_(wide.classifier.wide.weight)
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


def test_each_choice_is_scored_by_its_own_words() -> None:
    config = load_config("hashgram-nano", classifier_wide_rows=ROWS)
    model = VocablessForMultipleChoice(config).eval()
    torch.nn.init.normal_(model.classifier.wide.weight)
    encoding = load_tokenizer("hashgram-nano")(TEXTS[:4], padding=True, return_tensors="pt")
    choices = {name: value.unflatten(0, (2, 2)) for name, value in encoding.items()}
    with torch.no_grad():
        found = model(**choices).logits
        model.classifier.wide.weight.zero_()
        model.classifier.wide.weight.requires_grad_(False)
        rest = model(**choices).logits
    assert found.shape == (2, 2) and bool((found != rest)[:, 0].all()) and found[1, 1] == rest[1, 1]


def test_a_head_of_pairs_has_no_wide_part_and_the_number_of_rows_has_a_limit() -> None:
    with pytest.raises(ValueError, match="a siamese head reads pairs and has no wide part; give 0, or another"):
        load_config("hashgram-nano", classifier_pooling="siamese", classifier_wide_rows=8)
    with pytest.raises(ValueError, match="classifier_wide_rows is -1; give an integer from 0 to"):
        load_config("hashgram-nano", classifier_wide_rows=-1)


def test_the_rows_of_a_text_never_change() -> None:
    layer, blocks = WideLayer(load_config("hashgram-nano"), 1 << 15, 1), load_tokenizer("hashgram-nano")("A fox")
    rows, numbers = layer.features(torch.tensor([blocks["input_ids"]]))
    assert sorted(rows[numbers > 0].tolist()) == [4496, 4945, 10047, 10308, 11969, 24205, 24323, 25426, 27428, 28114]
