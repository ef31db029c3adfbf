"""The program without torch writes the blocks of the tokenizer, and gives the probabilities of a classifier."""

import copy
import json
import math
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vocabless import VocablessTokenizer
from vocabless.conversion.onnx_program.onnx_model import Blocks, OnnxClassifier, OnnxEncoder, OnnxModel, listed, main
from vocabless.joined_code import PROGRAM, joined

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
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
    ("scripts", {"window": 2, "lowercase": True}, "utf8", {"block_size": 3}),
    ("bytes", {}, "lsh-index", {"num_hyperplanes": 200, "num_features": 97}),
]


UTF8 = ("word", {}, "utf8", {})


def described(splitter, splitter_options, coder, coder_options, block_size=16):
    return {
        "splitter": splitter, "splitter_options": splitter_options, "max_tokens": MAX_TOKENS, "mask_token": "[MASK]",
        "coder": coder, "coder_options": coder_options, "block_size": block_size,
    }  # fmt: skip


def compare(text, parts, folder, ngrams=None, side="right"):
    splitter, splitter_options, coder, coder_options = parts
    options = {"ngrams_file": ngrams, "truncation_side": side}
    tokenizer = VocablessTokenizer(splitter, coder, splitter_options, coder_options, **options)
    blocks = Blocks(described(*parts, tokenizer.block_size) | {"truncation_side": side}, folder)
    flags = {"padding": True, "truncation": True, "max_length": MAX_TOKENS, "return_tensors": "np"}

    @settings(max_examples=40, deadline=None)
    @given(st.lists(text, min_size=1, max_size=3))
    def check(texts):
        np.testing.assert_array_equal(blocks(texts), tokenizer(texts, **flags)["input_ids"])
        np.testing.assert_array_equal(blocks(texts[0]), blocks(texts[:1]))  # a string is one text
        pairs = tokenizer(texts, texts[::-1], **flags)["input_ids"]
        np.testing.assert_array_equal(blocks(list(zip(texts, texts[::-1], strict=True))), pairs)

    check()


@pytest.mark.parametrize("parts", PAIRS)
def test_the_blocks_are_the_tokenizers(parts, tmp_path):
    compare(TEXTS, parts, tmp_path)


def test_listed_ngrams_are_the_tokenizers(tmp_path):
    file = tmp_path / "ngrams.json"
    file.write_text(json.dumps(["a", "b", "ab", "abc", "caba", "é"]))
    compare(st.text("abcé ", max_size=40), ("word", {}, "lsh", {"num_features": 50}), tmp_path, file)


def test_long_texts_are_cut_where_the_tokenizer_does_so_and_by_default_at_the_right(tmp_path):
    words = st.lists(st.sampled_from(["a", "b", "c", "[MASK]"]), max_size=40).map(" ".join)
    compare(words, UTF8, tmp_path, side="left")
    text = [" ".join(map(str, range(99)))]
    by_default, right = (Blocks(described(*UTF8) | side, tmp_path)(text) for side in ({}, {"truncation_side": "right"}))
    np.testing.assert_array_equal(by_default, right)


@pytest.mark.parametrize(("change", "sentence"), [
    ({"splitter": "subword"}, "the splitter 'subword' needs the package vocabless"),
    ({"coder": "lsh-pieces"}, "the coder 'lsh-pieces' needs the package vocabless; use its tokenizer"),
    ({"coder": "sha3"}, "unknown coder 'sha3'; choose one of md5, lsh, lsh-index, utf8"),
    ({"coder_options": {"salt": 1}}, "coder 'utf8' got options .*salt"),
])  # fmt: skip
def test_what_it_does_not_know_is_refused(change, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        Blocks(described(*UTF8) | change, tmp_path)


SETTINGS = {"architecture": "VocablessForSequenceClassification", "labels": ["a"], "problem_type": None}
SETTINGS |= described(*UTF8)


@pytest.mark.parametrize(("arguments", "files", "sentence"), [
    (["FOLDER"], {}, "one text or more"), (["--pairs", "FOLDER", "text"], {"model.onnx": ""}, "two for each pair"),
    (["FOLDER", "text"], {}, r"none of model\.onnx, model_int8\.onnx; give the folder"),
    (["FOLDER", "text"], {"model.onnx": "", "inference.json": json.dumps({"architecture": "VocablessModel"})},
     "is a VocablessModel; give a VocablessForSequenceClassification"),
    *((["FOLDER", "text"], {"model.onnx": "", "inference.json": content}, r"inference\.json' is damaged: .*" + problem)
      for content, problem in (("", "Expecting value"), ("[]", "it holds no object"), ("{}", "it lacks architecture"))),
    *((["FOLDER", "text"], {"model.onnx": graph, "inference.json": json.dumps(SETTINGS | change)}, sentence)
      for graph, change, sentence in (
          ("", {"max_tokens": "many"}, r"inference\.json' is damaged: its max_tokens cannot be 'many'"),
          ("", {"max_tokens": 0}, "its max_tokens cannot be 0"), ("", {"coder": 1}, "its coder cannot be 1"),
          ("", {"truncation_side": "middle"}, "its truncation_side cannot be 'middle'"),
          ("", {"problem_type": "sorting"}, "its problem_type cannot be 'sorting'"),
          ("", {"labels": [["a"], "b"]}, r"its labels cannot be \[\['a'\], 'b'\]"),
          ("", {"threshold": None}, "its threshold cannot be None"), ("", {"mask_token": 3}, "its mask_token cannot"),
          ("", {"coder_options": []}, "its coder_options cannot be"), ("", {}, r"model\.onnx' is damaged: No graph"),
          ("half", {}, r"model\.onnx' is damaged: Protobuf parsing failed; export the model again"))),
])  # fmt: skip
def test_another_head_and_missing_files_are_refused(arguments, files, sentence, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(SystemExit, match=sentence):
        main([str(tmp_path) if argument == "FOLDER" else argument for argument in arguments])


@pytest.mark.parametrize(("logits", "is_multi_label", "expected"), [
    ([0.0, math.log(3)], False, {"a": 0.25, "b": 0.75}), ([1000.0, 0.0], False, {"a": 1.0, "b": 0.0}),
    ([0.0, math.log(3)], True, {"a": 0.5, "b": 0.75}), ([-4.5], False, {"a": -4.5}),
])  # fmt: skip
def test_probabilities(logits, is_multi_label, expected, monkeypatch):
    classifier = object.__new__(OnnxClassifier)
    classifier.labels, classifier.is_multi_label = list(expected), is_multi_label
    monkeypatch.setattr(classifier, "logits", lambda texts: np.array([logits] * len(texts), np.float32))
    assert classifier(["x", "y"]) == [pytest.approx(expected)] * 2


TWO = ["One.", "Two."]


@pytest.mark.parametrize("texts", [
    TWO, tuple(TWO), np.array(TWO), np.array(TWO, object), (text for text in TWO), dict.fromkeys(TWO).keys(),
    pd.Series(TWO, index=[4, 9]), pd.Series(TWO, index=["b", "a"], dtype="string"), pd.Index(TWO),
    pa.array(TWO), pa.chunked_array([TWO]), pd.Series(TWO, index=[4, 9]).array,
])  # fmt: skip
def test_texts_are_lists_columns_and_what_yields_them(texts):
    assert listed(texts) == TWO
    assert listed("One.") == listed(np.str_("One.")) == ["One."]
    assert listed([]) == [] and listed([("a", "b"), ["c", "d"]]) == [("a", "b"), ["c", "d"]]


@pytest.mark.parametrize(("texts", "found"), [
    (None, "one NoneType"), (5, "one int"), (b"One.", "one bytes"), ({"a": 1}, "one dict"), ({"a"}, "one set"),
    (pd.DataFrame({"a": TWO}), "one DataFrame"), (pa.table({"a": TWO}), "one Table"), (np.array("a"), "one ndarray"),
    (["ok", None], "None"), (["ok", float("nan")], "nan"), ([b"ok"], "b'ok'"), (["ok", 5], "5"),
    (pd.Series(["ok", None], dtype="string"), "(<NA>|nan)"), (pa.array(["ok", None]), "None"), ([("a", None)], "None"),
    ([{"text": "a"}], "{'text': 'a'}"), ([b"x" * 9999], r"b'x+\.\.\.x+'"),
])  # fmt: skip
def test_what_is_no_text_is_refused_with_a_sentence(texts, found):
    with pytest.raises(ValueError, match=rf"here is \(?('a', )?{found}\)?; give a list") as refused:
        listed(texts)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(("kind", "name"), [(OnnxClassifier, "sst2"), (OnnxEncoder, "sentence")])
def test_a_copy_and_what_was_pickled_load_their_folder_again(kind, name, monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime", reason="the extra [onnx] is not installed")
    monkeypatch.chdir(CHECKPOINTS)
    model = kind(f"hashgram-nano-{name}/onnx", threads=1)
    monkeypatch.chdir(tmp_path)
    read = model.logits if kind is OnnxClassifier else model.encode
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        again = other.logits if kind is OnnxClassifier else other.encode
        np.testing.assert_array_equal(again(TWO), read(pd.Series(TWO, index=[4, 9])))


@pytest.mark.parametrize(("given", "expected"), [({}, ["b", "c"]), ({"threshold": 0.3}, ["a", "b", "c"]),
                                               ({"threshold": 0.6}, ["c"])])  # fmt: skip
def test_several_labels_have_the_limit_of_the_settings_or_a_half(given, expected, monkeypatch):
    settings = {"labels": ["a", "b", "c", "d"], "problem_type": "multi_label_classification", **given}
    monkeypatch.setattr(OnnxModel, "__init__", lambda model, *_: setattr(model, "settings", settings))
    monkeypatch.setattr(OnnxModel, "width", lambda *_: 4)
    answer = dict(zip("abcd", (0.3, 0.5, 0.75, 0.0), strict=True))
    assert OnnxClassifier("folder").label_of(answer) == expected
    settings["problem_type"] = "single_label_classification"
    assert OnnxClassifier("folder").label_of(answer) == "c"


class Session:
    """Stands in for a session: the logit of a text is the sum of its blocks."""

    largest = 0  # of the batches, in tokens

    def get_outputs(self):
        return [SimpleNamespace(name="logits", shape=["batch", 1])]

    def run(self, _, inputs):
        self.largest = max(self.largest, math.prod(inputs["input_ids"].shape[:2]))
        return [inputs["input_ids"].sum(axis=(1, 2))[:, None]]


def test_a_long_text_among_many_does_not_widen_all_and_the_order_is_that_of_the_list(tmp_path):
    classifier = object.__new__(OnnxClassifier)
    classifier.labels, classifier.is_multi_label, classifier.settings = ["number"], False, {}
    classifier._session = Session()
    classifier.blocks = Blocks(described(*UTF8) | {"max_tokens": 512}, tmp_path)
    texts = [f"text {number}" for number in range(2000)]
    texts.insert(7, "word " * 600)
    texts[300] = ("two", "texts")
    answers = classifier(texts)
    assert classifier._session.largest <= 64 * 512
    assert answers == [classifier([text])[0] for text in texts]
    assert classifier("text 3") == [answers[3]] and classifier([]) == []


def test_a_label_that_the_terminal_cannot_write_is_escaped(tmp_path):
    (tmp_path / PROGRAM).write_text(joined(PROGRAM), encoding="utf-8")
    code = "import onnx_model as m; m.read_settings = lambda path: (path, {})"
    code += "; m.OnnxClassifier.__init__ = lambda model, path: setattr(model, 'is_multi_label', False)"
    code += "; m.OnnxClassifier.__call__ = lambda model, texts: [{'été': 1.0}]"
    code += "; m.main(['folder', 'text'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("\\xe9t\\xe9 {'\\xe9t\\xe9': 1.0}\n", 0), done.stderr


def test_the_first_text_that_is_cut_gets_a_warning(tmp_path):
    blocks = Blocks(described(*UTF8), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        blocks(["word " * (MAX_TOKENS - 2)])
    with pytest.warns(UserWarning, match=rf"more than {MAX_TOKENS} tokens; only so many are read") as caught:
        for _ in range(2):
            blocks(["word " * (MAX_TOKENS - 1), ("word " * MAX_TOKENS, "word")])
    assert len(caught) == 1
