"""Sentences of a text against slow plain Python, and a classifier that reads them beside the whole text."""

import copy
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.modeling import sentences as module
from vocabless.modeling.blocks import NUM_SPECIAL
from vocabless.modeling.configuration_vocabless import READS_SENTENCES
from vocabless.modeling.modeling_vocabless import WHOLE_TEXTS
from vocabless.modeling.sentences import (
    COMMAS,
    MARKS,
    ODDS,
    RULES,
    SALUTATION,
    SHORTEST,
    join_sentences,
    sentences_of,
    softmax,
)

TOKENIZER = load_tokenizer("ewe-bert-word-tiny")
TEXTS = [
    "Good morning, and thank you for your help. My card is lost! What shall I do?!",
    "It is a plain text",
    "Ja. Nein. Ich weiß es nicht. Vielleicht.",
    "Dear Sir or Madam, where is my card, please",
    "我 的 卡 丢了。 请 帮 助 我！",
]


def slow_sentences(units: list[str], rule: bool | str) -> list[list[str]]:
    sentences, start = [], 0
    for place in range(len(units)):
        is_last = place + 1 == len(units)
        ends_salutation = rule == ODDS and place < SALUTATION and units[place][0] in COMMAS
        if not is_last and (ends_salutation or (units[place][0] in MARKS and units[place + 1][0] not in MARKS)):
            if place + 1 - start >= SHORTEST:
                sentences.append(units[start : place + 1])
                start = place + 1
        if is_last:
            rest = units[start:]
            if sentences and len(rest) < SHORTEST:
                sentences[-1] = sentences[-1] + rest
            else:
                sentences.append(rest)
    return sentences if len(sentences) > 1 else []


def blocks_of(units: list[str]) -> np.ndarray:
    return np.asarray(TOKENIZER([units], is_split_into_words=True)["input_ids"][0], np.int64)


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "bc", ".", "!", "…", "。", ",", "，"]), max_size=12), min_size=1, max_size=4
    ),
    st.sampled_from([*RULES]),
)
def test_sentences_are_those_of_a_slow_loop(rows, rule):
    encoded = [blocks_of(units) for units in rows]
    width = max(map(len, encoded))
    for side in ("left", "right"):
        places = [(width - len(row), 0) if side == "left" else (0, width - len(row)) for row in encoded]
        blocks = np.stack([np.pad(row, (place, (0, 0))) for row, place in zip(encoded, places, strict=True)])
        found = [
            (text, [block for block in sentence.tolist() if any(block)])
            for texts, sentences in sentences_of(blocks, rule)
            for text, sentence in zip(texts.tolist(), sentences, strict=True)
        ]
        slow = [(text, sentence) for text, row in enumerate(rows) for sentence in slow_sentences(row, rule)]
        expected = [(text, blocks_of(sentence).tolist()) for text, sentence in slow]
        assert sorted(found) == sorted(expected)


def test_sentences_of_similar_length_come_together_with_padding_behind():
    rows = [["a"] * length + [".", "b", "c", "d"] for length in range(4, 90)]
    blocks = np.zeros((len(rows), 100, TOKENIZER.block_size), np.int64)
    for row, units in zip(blocks, rows, strict=True):
        encoded = blocks_of(units)
        row[: len(encoded)] = encoded
    batches = [*sentences_of(blocks)]
    assert [len(texts) for texts, _ in batches] == [64, 64, 44]
    assert [sentences.shape[1] for _, sentences in batches] == [5, 48, 92]
    for _, sentences in batches:
        is_token = sentences[..., 0] > 0
        assert (is_token == (np.arange(is_token.shape[1]) < is_token.sum(axis=1, keepdims=True))).all()


def test_pairs_and_masks_have_no_sentences():
    pair = TOKENIZER("One short text. It has two.", "Another text. It has two, too.", return_tensors="np")
    mask = TOKENIZER("One short [MASK]. It has two.", return_tensors="np")
    assert [*sentences_of(pair["input_ids"])] == [*sentences_of(mask["input_ids"])] == []


def test_the_constants_of_the_page_are_those_of_python_and_each_mark_ends_a_sentence():
    code = Path(__file__).parents[2].joinpath("browser/sentences.js").read_text(encoding="utf-8")
    found = dict(re.findall(r"^const (\w+) = (.+?);", code, re.M))
    names = ("FIRST_BYTE", "SHORTEST", "MOST_AT_ONCE", "LEAST_SAID", "LARGEST", "SALUTATION")
    numbers = {name: getattr(module, name) for name in names}
    assert {name: float(found[name]) for name in numbers} == numbers
    assert [re.search(r'"(.+?)"', found[name]).group(1) for name in ("MARKS", "COMMAS")] == [MARKS, COMMAS]
    assert found["FIRST_BYTE"] == str(NUM_SPECIAL)
    for mark in ".!?…。！？｡؟।۔":
        assert len([*sentences_of(blocks_of(["a", "b", mark, "c", "d", "e"])[None])]) == 1, mark


def slow_join(logits: list[float], of_sentences: list[list[float]], rule: bool | str) -> list[float]:
    def softmax(row: list[float]) -> list[float]:
        return [math.exp(number) / sum(map(math.exp, row)) for number in row]

    if not of_sentences:
        return logits
    weights, parts, whole = [1.0] * len(of_sentences), [], 0.5
    if rule is True:
        said = [sum(p * math.log(p * len(logits)) for p in softmax(row)) for row in of_sentences]
        weights, parts = [max(each, 0.001) ** 2 for each in said], [softmax(row) for row in of_sentences]
    else:
        parts = [[math.exp(number) for number in row] for row in of_sentences]
        whole = 0.5 / (1 + math.exp(-sum(logits) / len(logits)))
    joined = [sum(weight * row[k] for weight, row in zip(weights, parts, strict=True)) for k in range(len(logits))]
    return [math.log(whole * p + (1 - whole) * q / sum(joined)) for p, q in zip(softmax(logits), joined, strict=True)]


@pytest.mark.parametrize("rule", RULES)
def test_logits_are_joined_as_by_a_slow_loop(rule):
    random, texts = np.random.default_rng(0), np.array([0, 0, 2, 0])
    logits, of_sentences = random.normal(size=(3, 5)), 3 * random.normal(size=(4, 5)) + 7
    rows = [of_sentences[texts == text].tolist() for text in range(3)]
    expected = [slow_join(*each, rule) for each in zip(logits.tolist(), rows, strict=True)]
    found = join_sentences(logits, of_sentences, texts, rule)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (found[1] == logits[1]).all()
    single = join_sentences(logits.astype(np.float32), of_sentences.astype(np.float32), texts, rule)
    assert single.dtype == np.float32 and np.abs(single - found).max() < 1e-6
    nothing = join_sentences(logits, np.zeros((4, 5)), texts, rule)  # sentences that say nothing count alike
    np.testing.assert_allclose(nothing[0], slow_join(logits[0].tolist(), [[0.0] * 5] * 3, rule))
    assert (join_sentences(logits, of_sentences[:0], texts[:0], rule) == logits).all()
    for factor in (1e4, -1e4):
        assert np.isfinite(join_sentences(logits, of_sentences * factor, texts, rule)).all()


def test_a_sentence_counts_by_its_odds_and_the_whole_text_by_half_its_probability():
    """The two sentences are as sure as each other, but of odds e⁴ and e⁻⁴."""
    logits, sentences = np.array([[1.0, -1.0]]), np.array([[6.0, 2.0], [-6.0, -2.0]])
    for odds, share in ((30.0, 0.5), (0.0, 0.25), (-30.0, 0.0)):
        found = join_sentences(logits + odds, sentences, np.array([0, 0]), ODDS)
        together = math.exp(6) + math.exp(-6), math.exp(2) + math.exp(-2)
        expected = share * softmax(logits[0])[0] + (1 - share) * together[0] / sum(together)
        np.testing.assert_allclose(np.exp(found[0, 0]), expected, rtol=1e-9)


def test_every_rule_of_the_configuration_is_there():
    assert {False, *RULES} == {*READS_SENTENCES}


@pytest.mark.parametrize("share", [0.3, 1.0, 3.0])
def test_a_sentence_of_an_old_classifier_counts_by_what_it_says_unless_that_is_less_than_the_floor(share):
    """The floor is 0.001. Of two labels, logits of (d, 0) say nearly d² / 8."""
    logits, of_sentences = [1.0, 0.0], [[math.sqrt(8 * 0.001 * share), 0.0], [0.0, math.sqrt(8 * 0.003)]]
    found = join_sentences(np.array([logits]), np.array(of_sentences), np.array([0, 0]), True)
    np.testing.assert_allclose(found[0], slow_join(logits, of_sentences, True), rtol=1e-12)


@pytest.fixture(scope="module", params=RULES)
def model(request):
    torch.manual_seed(0)
    options = {"classifier_reads_sentences": request.param, "classifier_pooling": "mean"}
    config = load_config("ewe-bert-word-tiny", num_labels=3, **options)
    model = VocablessForSequenceClassification(config).eval()
    torch.nn.init.normal_(model.classifier.out_proj.weight)
    return model


def test_a_classifier_says_what_the_whole_text_and_its_sentences_do(model):
    rule = model.config.classifier_reads_sentences

    def read(text: str) -> list[float]:
        model.config.classifier_reads_sentences = False
        logits = model(**TOKENIZER(text, return_tensors="pt")).logits[0].tolist()
        model.config.classifier_reads_sentences = rule
        return logits

    greeting = ["Good morning,", "and thank you for your help."]
    sentences = [
        [*(greeting if rule == ODDS else [" ".join(greeting)]), "My card is lost!", "What shall I do?!"],
        [],
        ["Ja. Nein.", "Ich weiß es nicht. Vielleicht."],
        ["Dear Sir or Madam,", "where is my card, please"] if rule == ODDS else [],
        ["我 的 卡 丢了。", "请 帮 助 我！"],
    ]
    with torch.no_grad():
        expected = [
            slow_join(read(text), [*map(read, each)], rule) for text, each in zip(TEXTS, sentences, strict=True)
        ]
        found = model(**TOKENIZER(TEXTS, padding=True, return_tensors="pt")).logits
    torch.testing.assert_close(found, torch.tensor(expected), rtol=1e-4, atol=1e-5)


def test_it_reads_them_in_evaluation_alone_and_never_for_embeddings(model):
    encoding = TOKENIZER(TEXTS, padding=True, return_tensors="pt")
    embeddings = model.get_input_embeddings()(encoding["input_ids"])
    of_embeddings = {"inputs_embeds": embeddings, "attention_mask": encoding["attention_mask"]}
    widths: list[int] = []
    hook = model.vocabless.register_forward_hook(lambda _, inputs, outputs: widths.append(outputs[0].shape[1]))
    with torch.no_grad():
        model.train()(**encoding)
        model.eval()(**of_embeddings)
        whole = encoding["input_ids"].shape[1]
        assert widths == [whole, whole]
        model(**encoding)
        assert len(widths) == 4 and widths[-1] < whole
    hook.remove()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_joined_logits_have_the_type_of_the_model_and_a_text_of_one_sentence_keeps_its_own(model, dtype):
    other = copy.deepcopy(model).to(dtype)
    encoding = TOKENIZER(TEXTS, padding=True, return_tensors="pt")
    found = other(**encoding).logits
    other.config.classifier_reads_sentences = False
    whole = other(**encoding).logits
    assert found.dtype == dtype and not found.requires_grad
    has_salutation = model.config.classifier_reads_sentences == ODDS
    assert (found == whole).all(dim=1).tolist() == [False, True, False, not has_salutation, False]


def test_texts_of_one_sentence_keep_their_gradient_in_evaluation(model):
    assert model(**TOKENIZER(TEXTS[1:2] * 2, return_tensors="pt")).logits.requires_grad


def test_a_warning_says_once_that_training_reads_whole_texts(model, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(f"{type(model).__module__}.logger.warning_once", said.append)
    other = copy.deepcopy(model)
    other.config.classifier_reads_sentences = False  # as while `fit` trains
    other.train()
    other.config.classifier_reads_sentences = ODDS
    other.eval()
    assert not said
    other.train()
    assert said == [WHOLE_TEXTS]


@pytest.mark.parametrize("other", [
    {"num_labels": 1, "problem_type": "regression"}, {"num_labels": 1}, {"problem_type": "multi_label_classification"},
])  # fmt: skip
@pytest.mark.parametrize("is_saved_again", [True, False])
def test_only_one_of_several_labels_is_joined_however_the_model_was_made(model, other, is_saved_again, tmp_path):
    model.save_pretrained(tmp_path)
    load = VocablessForSequenceClassification.from_pretrained
    other = load(tmp_path, ignore_mismatched_sizes=True, **other)
    if is_saved_again:
        other.save_pretrained(tmp_path)
        other = load(tmp_path)
    assert other.config.classifier_reads_sentences and not other.reads_sentences
    assert_reads_whole_texts(other)


def test_a_head_for_several_labels_is_not_joined_if_it_became_one_after_loading(model):
    other = copy.deepcopy(model)
    other.config.problem_type = "multi_label_classification"
    assert_reads_whole_texts(other)


def assert_reads_whole_texts(model):
    encoding = TOKENIZER(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        found = model(**encoding).logits
        model.config.classifier_reads_sentences = False
        assert torch.equal(found, model(**encoding).logits)
