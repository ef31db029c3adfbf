"""The tokenizer's interface: calls, words, decoding, corpora, saving, errors."""

import inspect
import json
import unicodedata

import numpy as np
import pytest
from strings import random_strings
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from vocabless import VocablessTokenizer

CLS, SEP = [2] + [0] * 15, [3] + [0] * 15
TEXTS = ["", "é \x00\ud800👩🏽‍🔬", "\ud83d\ude00", *random_strings(400)]


@pytest.fixture
def subword_file(subwords):
    return subwords["wordpiece"]


def test_a_text_becomes_its_words_blocks_between_cls_and_sep():
    tokenizer = VocablessTokenizer(coder="utf8", coder_options={"block_size": 3})
    batch = tokenizer("as is", "é")
    assert batch["input_ids"] == [[2, 0, 0], [102, 120, 0], [110, 120, 0], [3, 0, 0], [200, 174, 0], [3, 0, 0]]
    assert batch["token_type_ids"] == [0, 0, 0, 0, 1, 1]
    assert batch["attention_mask"] == [1] * 6


def test_all_ways_to_give_texts_pairs_and_words_return_the_same():
    tokenizer = VocablessTokenizer()
    one = tokenizer("a b", "c")["input_ids"]
    assert tokenizer(["a b"], ["c"])["input_ids"] == [one]
    assert tokenizer([("a b", "c")])["input_ids"] == [one]
    assert tokenizer([["a b", "c"]])["input_ids"] == [one]
    assert tokenizer(["a", "b"], ["c"], is_split_into_words=True)["input_ids"] == one
    assert tokenizer(np.array(["a b"]), ["c"])["input_ids"] == [one]
    assert tokenizer(text for text in ["a b"])["input_ids"] == [tokenizer("a b")["input_ids"]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"text_pair": "and more"},
        {"padding": True},
        {"padding": "max_length", "max_length": 9, "return_tensors": "np"},
        {"truncation": True, "max_length": 4, "return_overflowing_tokens": True, "stride": 1},
        {"max_length": 4},
        {"padding": True, "truncation": "longest_first", "pad_to_multiple_of": 4, "max_length": 8},
        {"padding": "max_length", "truncation": True},
        {"text_target": "a label"},
        {"tokenizer_kwargs": {"add_special_tokens": False}},
        {"return_special_tokens_mask": True, "return_attention_mask": False, "return_length": True, "verbose": False},
    ],
    ids=str,
)
def test_a_call_returns_the_same_as_the_librarys_call(options):
    tokenizer = VocablessTokenizer(model_max_length=12)
    text = "The cat, of course, walked and talked."
    ours, library = tokenizer(text, **options), PreTrainedTokenizerBase.__call__(tokenizer, text, **options)
    assert ours.keys() == library.keys()
    assert all(np.array_equal(ours[name], library[name]) for name in library)
    assert inspect.signature(tokenizer) == inspect.signature(super(VocablessTokenizer, tokenizer).__call__)


def test_a_call_warns_and_refuses_as_the_library_does():
    tokenizer = VocablessTokenizer()
    with pytest.warns(UserWarning, match="`max_length` is ignored"):
        tokenizer("a", padding=True, max_length=3, truncation=False)
    with pytest.raises(ValueError, match="not a multiple of pad_to_multiple_of"):
        tokenizer("a", padding=True, truncation=True, max_length=5, pad_to_multiple_of=8)
    with pytest.raises(ValueError, match="either `text` or `text_target`"):
        tokenizer()


@pytest.mark.parametrize("text", ["", " ", "\t\n\u200b\ufeff"])
def test_a_text_without_words_is_cls_and_sep(text):
    assert VocablessTokenizer()(text)["input_ids"] == [CLS, SEP]
    assert VocablessTokenizer()(text, add_special_tokens=False)["input_ids"] == []


@pytest.mark.parametrize("coder", ["md5", "utf8"])
def test_no_text_spells_a_separator(coder):
    for row in VocablessTokenizer(coder=coder)(["[SEP] " + text.replace("[MASK]", "") for text in TEXTS])["input_ids"]:
        ids = np.array(row)
        assert (ids[1:-1, 0] >= 5).all()
        assert ids.max() <= 260


def test_offsets_point_into_the_text_as_it_was_given():
    tokenizer = VocablessTokenizer(splitter_options={"lowercase": True})
    text = unicodedata.normalize("NFD", "Élève À İstanbul")
    batch = tokenizer(text, return_offsets_mapping=True)
    assert [text[start:end] for start, end in batch["offset_mapping"][1:-1]] == text.split()
    assert batch["input_ids"] == tokenizer(unicodedata.normalize("NFC", text))["input_ids"]
    assert batch.tokens()[1] == "élève"


def test_bytes_decode_to_the_text():
    tokenizer = VocablessTokenizer("bytes", "utf8", {"window": 5}, {"block_size": 5})
    rows = tokenizer(TEXTS, split_special_tokens=True)["input_ids"]
    assert tokenizer.decode(rows, skip_special_tokens=True) == TEXTS
    assert [tokenizer.decode(row, skip_special_tokens=True) for row in rows] == TEXTS


def test_decoding_joins_words_and_replaces_an_incomplete_character():
    tokenizer = VocablessTokenizer(coder="utf8", coder_options={"block_size": 4})
    assert tokenizer.decode(tokenizer("a naïve 文字")["input_ids"]) == "[CLS] a naï 文\ufffd [SEP]"
    assert tokenizer.decode(tokenizer("a b", return_tensors="pt")["input_ids"], skip_special_tokens=True) == ["a b"]
    assert tokenizer.decode([]) == ""


def test_subword_blocks_decode_with_the_decoder_of_the_subword_file(subword_file):
    tokenizer = VocablessTokenizer("subword", "utf8", subword_file=subword_file)
    assert tokenizer.tokenize("the foxes") == ["the", "fox", "##e", "##s"]
    batch = tokenizer("the foxes")
    assert tokenizer.decode(batch["input_ids"], skip_special_tokens=True) == "the foxes"
    assert tokenizer.convert_ids_to_tokens(batch["input_ids"]) == batch.tokens()


@pytest.mark.parametrize("coder", ["md5", "lsh", "lsh-index"])
def test_decoding_the_blocks_of_a_hash_is_refused(coder):
    tokenizer = VocablessTokenizer(coder=coder)
    with pytest.raises(NotImplementedError, match="cannot be decoded into text; keep the text"):
        tokenizer.decode(tokenizer("a")["input_ids"])


def test_tokens_and_ids_convert_both_ways():
    tokenizer = VocablessTokenizer(coder="utf8")
    ids = tokenizer("a naïve cat")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["[CLS]", "a", "naïve", "cat", "[SEP]"]
    assert tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=True) == ["a", "naïve", "cat"]
    assert tokenizer.convert_tokens_to_ids(["a", "[MASK]"]) == [ids[1], 4]
    assert [tokenizer.convert_ids_to_tokens(i) for i in range(5)] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert [tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.mask_token_id] == [0, 2, 4]
    assert tokenizer.convert_ids_to_tokens(CLS) == "[CLS]"
    assert tokenizer.convert_ids_to_tokens([2, 3]) == ["[CLS]", "[SEP]"]


def test_no_texts_have_no_packed_blocks():
    tokenizer = VocablessTokenizer(coder="utf8")
    assert tokenizer.packed_blocks([])[0].shape == (0, tokenizer.packed_block_size) == (0, 17)


def test_the_special_tokens_mask_marks_special_tokens_and_padding():
    tokenizer = VocablessTokenizer()
    batch = tokenizer("a b", "c", padding="max_length", max_length=8, return_special_tokens_mask=True)
    assert batch["special_tokens_mask"] == [1, 0, 0, 1, 0, 1, 1, 1]
    again = tokenizer.get_special_tokens_mask(batch["input_ids"], already_has_special_tokens=True)
    assert again == batch["special_tokens_mask"]
    assert tokenizer.get_special_tokens_mask([0, 0], [0]) == [1, 0, 0, 1, 0, 1]


SAVED = [
    ("word", "md5", {"lowercase": True}, {"key": "secret"}),
    ("whitespace", "lsh", {}, {"num_bits": 420}),
    ("characters", "lsh-index", {"window": 2}, {"num_hyperplanes": 1033}),
    ("scripts", "utf8", {"window": 2, "lowercase": True}, {"block_size": 64}),
    ("bytes", "utf8", {"window": 4}, {"block_size": 4}),
    ("subword", "utf8", {}, {"block_size": 32}),
    ("subword", "md5", {}, {}),
]


@pytest.mark.parametrize("row", SAVED, ids=lambda row: f"{row[0]}-{row[1]}")
@pytest.mark.parametrize("load", [VocablessTokenizer.from_pretrained, AutoTokenizer.from_pretrained])
def test_a_loaded_tokenizer_returns_the_same_as_the_saved_one(row, load, tmp_path, subword_file):
    file = subword_file if row[0] == "subword" else None
    tokenizer = VocablessTokenizer(*row, subword_file=file, model_max_length=77, padding_side="left")
    tokenizer.save_pretrained(tmp_path)
    if load == AutoTokenizer.from_pretrained:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "vocabless"}))
    again = load(tmp_path)
    assert isinstance(again, VocablessTokenizer)
    text = "The naïve cat walked 文字 [MASK]"
    assert again(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert (again.model_max_length, again.padding_side) == (77, "left")


def test_listed_ngrams_are_saved_and_change_the_blocks(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(["a", "文", "at"]), encoding="utf-8")
    tokenizer = VocablessTokenizer(coder="lsh", ngrams_file=file)
    tokenizer.save_pretrained(tmp_path / "saved")
    again = VocablessTokenizer.from_pretrained(tmp_path / "saved")
    assert again("cat 文")["input_ids"] == tokenizer("cat 文")["input_ids"]
    assert again("cat 文")["input_ids"] != VocablessTokenizer(coder="lsh")("cat 文")["input_ids"]


def test_the_tokenizer_for_masked_lm_is_the_target_file_or_the_subword_file(tmp_path, subword_file):
    vocabulary = Tokenizer.from_file(subword_file).get_vocab()
    assert VocablessTokenizer().target_tokenizer is None
    assert VocablessTokenizer("subword", subword_file=subword_file).target_tokenizer.get_vocab() == vocabulary
    words = VocablessTokenizer(target_file=subword_file)
    words.save_pretrained(tmp_path)
    again = VocablessTokenizer.from_pretrained(tmp_path)
    assert again.target_tokenizer.get_vocab() == vocabulary
    assert again("cats")["input_ids"] == VocablessTokenizer()("cats")["input_ids"]


@pytest.mark.parametrize(("args", "is_split", "message"), [
    ([5], False, "text is int '5'"), ([["a", None]], False, r"text\[1\] is NoneType"),
    ([[["a", "b", "c"]]], False, "must be a str .words need is_split_into_words=True"),
    (["a"], True, "must be a list of str"), ([["a"], ["b", "c"]], False, "got 1 texts and 2 values of text_pair"),
])  # fmt: skip
def test_values_that_are_not_texts_are_refused_in_one_sentence(args, is_split, message):
    with pytest.raises(ValueError, match=message):
        VocablessTokenizer()(*args, is_split_into_words=is_split)


@pytest.mark.parametrize(("options", "message"), [
    ({"splitter": "x"}, "unknown splitter 'x'; choose one of word"), ({"coder": {}}, "unknown coder"),
    ({"coder_options": {"bits": 3}}, "it takes key"), ({"splitter_options": "x"}, "splitter_options is"),
    ({"coder_options": {"key": 3}}, "coder 'md5' got"), ({"model_max_length": "x"}, "model_max_length is"),
    ({"ngrams_file": "NGRAMS"}, "it takes key"), ({"coder": "lsh", "ngrams_file": "OBJECT"}, "give a JSON list"),
    ({"splitter": "subword"}, "got no subword_file"), ({"target_file": "/missing.json"}, "cannot read '/missing.json'"),
    ({"splitter": "subword", "subword_file": "NGRAMS"}, "cannot read '.*NGRAMS'.*give the path of a tok"),
])  # fmt: skip
def test_wrong_names_options_files_and_types_are_refused_in_one_sentence(options, message, tmp_path):
    (tmp_path / "NGRAMS").write_text('["a"]')
    (tmp_path / "OBJECT").write_text("{}")
    files = {name: str(tmp_path / value) if value in ("NGRAMS", "OBJECT") else value for name, value in options.items()}
    with pytest.raises(ValueError, match=message) as caught:
        VocablessTokenizer(**files)
    assert "\n" not in str(caught.value)


def test_code_that_a_file_names_is_not_kept(tmp_path):
    VocablessTokenizer().save_pretrained(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    for auto_map in (3, {"AutoTokenizer": ["owner/repository--other.Tokenizer", None]}):
        file.write_text(json.dumps({**json.loads(file.read_text()), "auto_map": auto_map}))
        VocablessTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path / "again")
        saved = json.loads((tmp_path / "again" / "tokenizer_config.json").read_text())
        assert saved["auto_map"]["AutoTokenizer"][0] == "tokenization_vocabless.VocablessTokenizer"
