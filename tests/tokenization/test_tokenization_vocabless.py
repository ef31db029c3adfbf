"""The tokenizer's interface: calls, words, masks, decoding, corpora, saving, errors."""

import inspect
import json
import unicodedata

import numpy as np
import pytest
from strings import packed_blocks, random_strings
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from vocabless import VocablessTokenizer

CLS, SEP = [2] + [0] * 15, [3] + [0] * 15
NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["", "é \x00\ud800👩🏽‍🔬", "\ud83d\ude00", *random_strings(400)]


@pytest.fixture
def subword_file(subwords):
    return subwords["wordpiece"]


@pytest.fixture
def utf8():
    return VocablessTokenizer(coder="utf8")


def test_a_text_becomes_its_words_blocks_between_cls_and_sep():
    tokenizer = VocablessTokenizer(coder="utf8", coder_options={"block_size": 3})
    batch = tokenizer("as is", "é")
    assert batch["input_ids"] == [[2, 0, 0], [102, 120, 0], [110, 120, 0], [3, 0, 0], [200, 174, 0], [3, 0, 0]]
    assert batch["token_type_ids"] == [0, 0, 0, 0, 1, 1]
    assert batch["attention_mask"] == [1] * 6


def test_all_ways_to_give_texts_pairs_and_words_return_the_same():
    tokenizer = VocablessTokenizer()
    one = tokenizer("a b", "c")["input_ids"]
    assert tokenizer(["a", "b"], ["c"], is_split_into_words=True)["input_ids"] == one
    for batch in ((["a b"], ["c"]), ([("a b", "c")],), ([["a b", "c"]],), (np.array(["a b"]), ["c"])):
        assert tokenizer(*batch)["input_ids"] == [one]
    assert tokenizer(text for text in ["a b"])["input_ids"] == [tokenizer("a b")["input_ids"]]


@pytest.mark.parametrize("options", [
    {}, {"text_pair": "and more"}, {"padding": True}, {"max_length": 4}, {"padding": "max_length", "truncation": True},
    {"padding": "max_length", "max_length": 9, "return_tensors": "np"},
    {"truncation": True, "max_length": 4, "return_overflowing_tokens": True, "stride": 1},
    {"padding": True, "truncation": "longest_first", "pad_to_multiple_of": 4, "max_length": 8},
    {"text_target": "a label"}, {"tokenizer_kwargs": {"add_special_tokens": False}},
    {"return_special_tokens_mask": True, "return_attention_mask": False, "return_length": True, "verbose": False},
], ids=str)  # fmt: skip
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
def test_no_text_spells_a_special_token_but_the_mask(coder):
    names = "[PAD] [UNK] [CLS] [SEP] [mask] "
    for row in VocablessTokenizer(coder=coder)([names + text.replace("[MASK]", "") for text in TEXTS])["input_ids"]:
        ids = np.array(row)
        assert (ids[1:-1, 0] >= 5).all()
        assert ids.max() <= 260


MASKED = "naïve [MASK] fox, un[MASK][MASK]able"
MASKED_TOKENS = {
    "word": ["naïve", "[MASK]", "fox", ",", "un", "[MASK]", "[MASK]", "able"],
    "whitespace": ["naïve", "[MASK]", "fox,", "un", "[MASK]", "[MASK]", "able"],
    "bytes": ["naïve ", "[MASK]", " fox, un", "[MASK]", "[MASK]", "able"],
}


@pytest.mark.parametrize("splitter", MASKED_TOKENS)
def test_a_mask_in_a_text_is_the_mask_token(splitter):
    tokenizer, tokens = VocablessTokenizer(splitter, "utf8"), MASKED_TOKENS[splitter]
    flags = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "add_special_tokens": False}
    batch = tokenizer(MASKED, **flags)
    assert batch.tokens() == tokens
    assert batch.word_ids() == [*range(len(tokens))]
    assert [MASKED[start:end] for start, end in batch["offset_mapping"]] == tokens
    is_mask = [int(token == "[MASK]") for token in tokens]
    assert [int(block == [4, *[0] * 15]) for block in batch["input_ids"]] == is_mask == batch["special_tokens_mask"]
    assert tokenizer(["a b", MASKED], **flags)["input_ids"][1] == batch["input_ids"]


def test_subword_tokenizers_get_no_space_before_a_mask(subwords):
    tokenizer = VocablessTokenizer("subword", "utf8", subword_file=subwords["bpe"])
    tokens = tokenizer.tokenize
    assert tokens("the fox [MASK] the dog") == [*tokens("the fox"), "[MASK]", *tokens(" the dog")]
    batch = tokenizer(["the fox [MASK] the dog", "the"], return_offsets_mapping=True, add_special_tokens=False)
    (mask,) = [place for place, token in enumerate(batch.tokens(0)) if token == "[MASK]"]
    assert batch["offset_mapping"][0][mask] == (8, 14)
    assert batch.word_ids(0)[mask] == batch.word_ids(0)[mask - 1] + 1


def test_a_mask_may_be_a_word_and_can_be_text_and_corpora_hold_none(utf8):
    assert utf8(["a", "[MASK]"], is_split_into_words=True) == utf8("a [MASK]")
    assert utf8.tokenize("a [MASK]") == ["a", "[MASK]"]
    assert utf8.tokenize("a [MASK]", split_special_tokens=True) == ["a", "[", "MASK", "]"]
    text = VocablessTokenizer(coder="utf8", split_special_tokens=True)
    assert text.tokenize("a [MASK]") == ["a", "[", "MASK", "]"]
    assert packed_blocks(utf8, ["[MASK]"])[1] == [3]
    assert packed_blocks(utf8, [])[0].shape == (0, utf8.packed_block_size) == (0, 17)


@pytest.mark.parametrize("name", ["<mask>", "<my mask>"])
def test_a_renamed_mask_is_found_before_and_after_saving(name, utf8, tmp_path):
    assert utf8.tokenize(f"a [MASK] {name}")[1] == "[MASK]"
    assert utf8.add_special_tokens({"mask_token": name}) == 0
    utf8.save_pretrained(tmp_path)
    for each in (utf8, VocablessTokenizer.from_pretrained(tmp_path)):
        assert each.tokenize(f"a {name}, [MASK]") == ["a", name, ",", "[", "MASK", "]"]


@pytest.mark.parametrize("tokens", [
    {"additional_special_tokens": ["<x>"]}, {"extra_special_tokens": ["[CLS]", "<x>"]}, {"bos_token": "<x>"},
])  # fmt: skip
def test_new_special_tokens_are_refused_and_change_nothing(tokens, utf8):
    for add in (
        lambda: VocablessTokenizer(**tokens), lambda: utf8.add_special_tokens({"mask_token": "<mask>", **tokens}),
        lambda: utf8.add_tokens(["<x>"]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"no vocabulary to add .*<x>"):
            add()
    assert utf8.all_special_tokens == [*utf8.get_added_vocab()] == NAMES
    assert not utf8.extra_special_tokens


def test_its_length_its_vocabulary_its_tokens_and_its_ids_agree(utf8):
    vocabulary = utf8.get_vocab()
    assert len(utf8) == len(vocabulary) == utf8.vocab_size == 261
    assert sorted(vocabulary.values()) == [*range(261)]
    assert [vocabulary[name] for name in NAMES] == utf8.all_special_ids == [0, 1, 2, 3, 4]
    assert [utf8.pad_token_id, utf8.cls_token_id, utf8.mask_token_id] == [0, 2, 4]
    assert all(utf8.convert_ids_to_tokens(value) == name for name, value in vocabulary.items())
    ids = utf8("a naïve cat")["input_ids"]
    assert vocabulary["<0x61>"] == ids[1][0]
    assert utf8.convert_ids_to_tokens(ids) == ["[CLS]", "a", "naïve", "cat", "[SEP]"]
    assert utf8.convert_ids_to_tokens(ids, skip_special_tokens=True) == ["a", "naïve", "cat"]
    assert utf8.convert_tokens_to_ids(["a", "[MASK]"]) == [ids[1], 4]
    assert utf8.convert_ids_to_tokens(CLS) == "[CLS]" and utf8.convert_ids_to_tokens([2, 3]) == ["[CLS]", "[SEP]"]


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


def test_decoding_joins_words_or_subwords_and_replaces_an_incomplete_character(subword_file):
    tokenizer = VocablessTokenizer(coder="utf8", coder_options={"block_size": 4})
    assert tokenizer.decode(tokenizer("a naïve 文字")["input_ids"]) == "[CLS] a naï 文\ufffd [SEP]"
    assert tokenizer.decode(tokenizer("a b", return_tensors="pt")["input_ids"], skip_special_tokens=True) == ["a b"]
    assert tokenizer.decode([]) == ""
    subword = VocablessTokenizer("subword", "utf8", subword_file=subword_file)
    assert subword.tokenize("the foxes") == ["the", "fox", "##e", "##s"]
    batch = subword("the foxes")
    assert subword.decode(batch["input_ids"], skip_special_tokens=True) == "the foxes"
    assert subword.convert_ids_to_tokens(batch["input_ids"]) == batch.tokens()


@pytest.mark.parametrize("coder", ["md5", "lsh", "lsh-index"])
def test_decoding_the_blocks_of_a_hash_is_refused(coder):
    tokenizer = VocablessTokenizer(coder=coder)
    with pytest.raises(NotImplementedError, match="cannot be decoded into text; keep the text"):
        tokenizer.decode(tokenizer("a")["input_ids"])


def test_the_special_tokens_mask_marks_special_tokens_and_padding():
    tokenizer = VocablessTokenizer()
    batch = tokenizer("a b", "c", padding="max_length", max_length=8, return_special_tokens_mask=True)
    again = tokenizer.get_special_tokens_mask(batch["input_ids"], already_has_special_tokens=True)
    assert again == batch["special_tokens_mask"] == [1, 0, 0, 1, 0, 1, 1, 1]
    assert tokenizer.get_special_tokens_mask([0, 0], [0]) == [1, 0, 0, 1, 0, 1]


SAVED = [
    {"coder": "md5", "splitter_options": {"lowercase": True}, "coder_options": {"key": "secret"}},
    {"splitter": "whitespace", "coder": "lsh", "coder_options": {"num_bits": 420}, "ngrams_file": "NGRAMS"},
    {"splitter": "scripts", "coder": "lsh-index", "splitter_options": {"window": 2}, "target_file": "SUBWORD"},
    {"splitter": "scripts", "coder": "utf8", "splitter_options": {"window": 2, "lowercase": True}},
    {"splitter": "bytes", "coder": "utf8", "splitter_options": {"window": 4}, "coder_options": {"block_size": 4}},
    {"splitter": "subword", "coder": "md5", "subword_file": "SUBWORD"},
]


@pytest.mark.parametrize("row", SAVED, ids=lambda row: f"{row.get('splitter')}-{row['coder']}")
def test_a_loaded_tokenizer_returns_the_same_as_the_saved_one(row, tmp_path, subword_file):
    (tmp_path / "mine.json").write_text(json.dumps(["a", "文", "at"]), encoding="utf-8")
    files = {"NGRAMS": tmp_path / "mine.json", "SUBWORD": subword_file}
    options = {name: files.get(value, value) if isinstance(value, str) else value for name, value in row.items()}
    tokenizer = VocablessTokenizer(**options, model_max_length=77, padding_side="left")
    text = "The naïve cat walked 文字 [MASK]"
    expected = tokenizer(text)["input_ids"]
    assert ("ngrams_file" not in row) or VocablessTokenizer(**options | {"ngrams_file": None})(text) != tokenizer(text)
    tokenizer.save_pretrained(tmp_path / "saved")
    (tmp_path / "saved" / "config.json").write_text(json.dumps({"model_type": "vocabless"}))
    for load in (VocablessTokenizer, AutoTokenizer):
        again = load.from_pretrained(tmp_path / "saved")
        assert type(again) is VocablessTokenizer and again(text)["input_ids"] == expected
        assert (again.model_max_length, again.padding_side) == (77, "left")
        if "SUBWORD" in row.values():  # a target file, or else the subword file
            assert again.target_tokenizer.get_vocab() == Tokenizer.from_file(subword_file).get_vocab()
        else:
            assert again.target_tokenizer is None


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
    ({"splitter": "bytes", "splitter_options": {"window": 0}}, "window=0; give a whole number from 1 to 16777216"),
    ({"splitter": "scripts", "splitter_options": {"window": 0}}, "window=0; give a whole number from 1 to"),
    ({"coder": "lsh", "coder_options": {"num_bits": 0}}, "num_bits=0; give a whole number from 1 to 32768"),
    ({"coder": "lsh-index", "coder_options": {"num_hyperplanes": 10**9}}, "num_hyperplanes=10+; give a whole number"),
    ({"coder": "utf8", "coder_options": {"block_size": "4"}}, "block_size='4'; give a whole number from 1 to 255"),
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


def test_a_text_that_nobody_asked_to_cut_is_told(monkeypatch) -> None:
    told = []
    monkeypatch.setattr(VocablessTokenizer, "warn_of_cut", lambda self, length: told.append(length))
    tokenizer = VocablessTokenizer("word", "md5", model_max_length=8)
    tokenizer.call_defaults = {"truncation": True}  # as of a classifier, for pipelines
    tokenizer(["one two", "a " * 6])
    tokenizer("a " * 7, truncation=True)  # this is wished
    assert told == []
    assert len(tokenizer("a " * 7)["input_ids"]) == 8 and told == [8]
    tokenizer([("a " * 4, "b " * 4)], padding=True)
    assert told == [8, 8]
    assert len(tokenizer.encode("a " * 7)) == 8 and told == [8, 8, 8]
    assert len(tokenizer.encode("a " * 7, truncation=False)) == len(tokenizer.encode("a " * 7, None, True, False)) == 9
    assert len(tokenizer.encode("a", None, False)) == 1


def test_an_unknown_side_is_refused() -> None:
    tokenizer = VocablessTokenizer("word", "md5")
    for call in (tokenizer, lambda texts, **options: tokenizer.pad(tokenizer(texts), **options)):
        with pytest.raises(ValueError, match="padding_side='Left' is unknown; give left or right"):
            call(["a b", "a"], padding=True, padding_side="Left")
    tokenizer.truncation_side = "middle"
    with pytest.raises(ValueError, match="truncation_side='middle' is unknown"):
        tokenizer("a b c", truncation=True, max_length=4)
