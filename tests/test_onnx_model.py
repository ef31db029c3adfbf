"""The program without torch writes the blocks of the tokenizer, and gives the probabilities of a classifier."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vocabless import VocablessTokenizer
from vocabless.joined_code import PROGRAM, joined
from vocabless.onnx_model import Blocks, OnnxClassifier, main

MAX_TOKENS = 24
TEXTS = st.text(st.characters(exclude_categories=["Cn"]), max_size=60) | st.lists(
    st.sampled_from(
        ["[MASK]", *" aAé_1!.\u0301\u0308\u200d\u200b\u0939\u093f👩'\x1c\u3000İßK\ud800中かｶ\uff9eไ\u0e35"]
    ),
    max_size=60,
).map("".join)
# The program has the tokenizer's own splitters and coders, so one of each kind shows that it uses them alike.
PAIRS = [
    ("word", {"lowercase": True}, "md5", {"key": "ключ" * 40}),
    ("whitespace", {}, "lsh", {"num_bits": 50, "num_features": 997, "seed": -7}),
    ("characters", {"window": 1, "lowercase": True}, "lsh-index", {"num_hyperplanes": 200, "num_features": 97}),
    ("scripts", {"window": 2, "lowercase": True}, "utf8", {"block_size": 3}),
    ("bytes", {}, "lsh", {}),
]


def described(splitter, splitter_options, coder, coder_options, block_size):
    return {
        **{"splitter": splitter, "splitter_options": splitter_options, "max_tokens": MAX_TOKENS},
        **{"coder": coder, "coder_options": coder_options, "block_size": block_size},
        "mask_token": "[MASK]",
    }


def compare(text, splitter, splitter_options, coder, coder_options, folder, ngrams=None, side="right"):
    tokenizer = VocablessTokenizer(
        splitter, coder, splitter_options, coder_options, ngrams_file=ngrams, truncation_side=side
    )
    description = described(splitter, splitter_options, coder, coder_options, tokenizer.block_size)
    blocks = Blocks(description | {"truncation_side": side}, folder)

    @settings(max_examples=40, deadline=None)
    @given(st.lists(text, min_size=1, max_size=3))
    def check(texts):
        ours = tokenizer(texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="np")
        np.testing.assert_array_equal(blocks(texts), ours["input_ids"])
        seconds = texts[::-1]
        pairs = tokenizer(texts, seconds, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="np")
        np.testing.assert_array_equal(blocks(list(zip(texts, seconds, strict=True))), pairs["input_ids"])

    check()


@pytest.mark.parametrize(("splitter", "splitter_options", "coder", "coder_options"), PAIRS)
def test_the_blocks_are_the_tokenizers(splitter, splitter_options, coder, coder_options, tmp_path):
    compare(TEXTS, splitter, splitter_options, coder, coder_options, tmp_path)


def test_long_texts_are_cut_at_the_left_where_the_tokenizer_does_so(tmp_path):
    words = st.lists(st.sampled_from(["a", "b", "c", "[MASK]"]), max_size=40).map(" ".join)
    compare(words, "word", {}, "utf8", {}, tmp_path, side="left")


def test_settings_that_name_no_side_cut_at_the_right(tmp_path):
    description = described("word", {}, "utf8", {}, 16)
    text = " ".join(map(str, range(99)))
    right, left = (Blocks(description | side, tmp_path)([text]) for side in ({}, {"truncation_side": "left"}))
    np.testing.assert_array_equal(right, Blocks(description | {"truncation_side": "right"}, tmp_path)([text]))
    assert not np.array_equal(right, left)


def test_a_string_is_one_text(tmp_path):
    blocks = Blocks(described("word", {}, "utf8", {}, 16), tmp_path)
    np.testing.assert_array_equal(blocks("two words"), blocks(["two words"]))


def test_listed_ngrams_are_the_tokenizers(tmp_path):
    file = tmp_path / "ngrams.json"
    file.write_text(json.dumps(["a", "b", "ab", "abc", "caba", "é"]))
    compare(st.text("abcé ", max_size=40), "word", {}, "lsh", {"num_features": 50}, tmp_path, file)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"splitter": "subword"}, "the splitter 'subword' needs the package vocabless"),
        ({"coder": "sha3"}, "unknown coder 'sha3'; choose one of md5, lsh, lsh-index, utf8"),
        ({"coder_options": {"salt": 1}}, "coder 'utf8' got options .*salt"),
    ],
)
def test_what_it_does_not_know_is_refused(change, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        Blocks(described("word", {}, "utf8", {}, 16) | change, tmp_path)


def test_another_head_and_missing_files_are_refused(tmp_path):
    with pytest.raises(SystemExit, match="one text or more"):
        main([str(tmp_path)])
    with pytest.raises(SystemExit, match=r"none of model\.onnx, model_int8\.onnx, model_int4\.onnx; give the folder"):
        main([str(tmp_path), "text"])
    (tmp_path / "model.onnx").touch()
    with pytest.raises(SystemExit, match="two for each pair"):
        main(["--pairs", str(tmp_path), "text"])
    (tmp_path / "inference.json").write_text(json.dumps({"architecture": "VocablessModel"}))
    with pytest.raises(SystemExit, match="is a VocablessModel; give a VocablessForSequenceClassification"):
        main([str(tmp_path), "text"])


@pytest.mark.parametrize(
    ("logits", "is_multi_label", "expected"),
    [
        ([0.0, math.log(3)], False, {"a": 0.25, "b": 0.75}),
        ([1000.0, 0.0], False, {"a": 1.0, "b": 0.0}),
        ([0.0, math.log(3)], True, {"a": 0.5, "b": 0.75}),
        ([-4.5], False, {"a": -4.5}),
    ],
)
def test_probabilities(logits, is_multi_label, expected, monkeypatch):
    classifier = object.__new__(OnnxClassifier)
    classifier.labels, classifier.is_multi_label = list(expected), is_multi_label
    monkeypatch.setattr(classifier, "logits", lambda texts: np.array([logits] * len(texts), np.float32))
    assert classifier(["x", "y"]) == [pytest.approx(expected)] * 2


def test_a_label_that_the_terminal_cannot_write_is_escaped(tmp_path):
    (tmp_path / PROGRAM).write_text(joined(PROGRAM), encoding="utf-8")
    code = "import onnx_model as m; m.read_settings = lambda path: (path, {})"
    code += "; m.OnnxClassifier = lambda path: lambda texts: [{'été': 1.0}]"
    code += "; m.main(['folder', 'text'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("\\xe9t\\xe9 {'\\xe9t\\xe9': 1.0}\n", 0), done.stderr
