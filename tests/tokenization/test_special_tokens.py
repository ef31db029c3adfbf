"""A mask token in a text is the mask token; the other special tokens cannot be spelt, and none can be added."""

import pytest

from vocabless import VocablessTokenizer

TEXT = "naïve [MASK] fox, un[MASK][MASK]able"
TOKENS = {
    "word": ["naïve", "[MASK]", "fox", ",", "un", "[MASK]", "[MASK]", "able"],
    "whitespace": ["naïve", "[MASK]", "fox,", "un", "[MASK]", "[MASK]", "able"],
    "characters": ["naïv", "e", "[MASK]", "fox,", "un", "[MASK]", "[MASK]", "able"],
    "bytes": ["naïve ", "[MASK]", " fox, un", "[MASK]", "[MASK]", "able"],
}
WORDS = {"characters": [0, 0, 1, 2, 3, 4, 5, 6]}


@pytest.mark.parametrize("splitter", TOKENS)
def test_a_mask_in_a_text_is_the_mask_token(splitter):
    tokenizer = VocablessTokenizer(splitter, "utf8")
    flags = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "add_special_tokens": False}
    batch = tokenizer(TEXT, **flags)
    assert batch.tokens() == TOKENS[splitter]
    assert batch.word_ids() == WORDS.get(splitter, [*range(len(TOKENS[splitter]))])
    assert [TEXT[start:end] for start, end in batch["offset_mapping"]] == TOKENS[splitter]
    is_mask = [int(token == "[MASK]") for token in TOKENS[splitter]]
    assert [int(block == [4, *[0] * 15]) for block in batch["input_ids"]] == is_mask
    assert batch["special_tokens_mask"] == is_mask
    assert tokenizer(["a b", TEXT], **flags)["input_ids"][1] == batch["input_ids"]


def test_subword_tokenizers_get_no_space_before_a_mask(subwords):
    tokenizer = VocablessTokenizer("subword", "utf8", subword_file=subwords["bpe"])
    tokens = tokenizer.tokenize
    assert tokens("the fox [MASK] the dog") == [*tokens("the fox"), "[MASK]", *tokens(" the dog")]
    batch = tokenizer(["the fox [MASK] the dog", "the"], return_offsets_mapping=True, add_special_tokens=False)
    (mask,) = [place for place, token in enumerate(batch.tokens(0)) if token == "[MASK]"]
    assert batch["offset_mapping"][0][mask] == (8, 14)
    assert batch.word_ids(0)[mask] == batch.word_ids(0)[mask - 1] + 1


def test_words_that_are_given_may_be_masks():
    tokenizer = VocablessTokenizer(coder="utf8")
    assert tokenizer(["a", "[MASK]"], is_split_into_words=True) == tokenizer("a [MASK]")


def test_no_text_spells_another_special_token():
    tokenizer = VocablessTokenizer(coder="utf8")
    ids = tokenizer("[PAD] [UNK] [CLS] [SEP] [mask]", add_special_tokens=False)["input_ids"]
    assert all(block[0] > 4 for block in ids)


def test_a_mask_can_be_text():
    plain, tokens = VocablessTokenizer(coder="utf8"), ["a", "[", "MASK", "]"]
    assert plain.tokenize("a [MASK]", split_special_tokens=True) == tokens
    assert plain.tokenize("a [MASK]") == ["a", "[MASK]"]
    assert VocablessTokenizer(coder="utf8", split_special_tokens=True).tokenize("a [MASK]") == tokens


def test_corpora_hold_no_mask_tokens():
    tokenizer = VocablessTokenizer(coder="utf8")
    assert tokenizer.packed_blocks(["[MASK]"])[1] == [3]


@pytest.mark.parametrize("name", ["<mask>", "<my mask>"])
def test_a_renamed_mask_is_found_before_and_after_saving(name, tmp_path):
    tokenizer = VocablessTokenizer(coder="utf8")
    assert tokenizer.tokenize(f"a [MASK] {name}")[1] == "[MASK]"
    assert tokenizer.add_special_tokens({"mask_token": name}) == 0
    tokenizer.save_pretrained(tmp_path)
    for each in (tokenizer, VocablessTokenizer.from_pretrained(tmp_path)):
        assert each.tokenize(f"a {name}, [MASK]") == ["a", name, ",", "[", "MASK", "]"]


@pytest.mark.parametrize("tokens", [
    {"additional_special_tokens": ["<x>"]}, {"extra_special_tokens": ["[CLS]", "<x>"]}, {"bos_token": "<x>"},
])  # fmt: skip
def test_new_special_tokens_are_refused_and_change_nothing(tokens):
    with pytest.raises(ValueError, match=r"no vocabulary to add .*<x>"):
        VocablessTokenizer(**tokens)
    tokenizer = VocablessTokenizer()
    with pytest.raises(ValueError, match=r"no vocabulary to add .*<x>"):
        tokenizer.add_special_tokens({"mask_token": "<mask>", **tokens})
    with pytest.raises(ValueError, match="no vocabulary to add <x>"):
        tokenizer.add_tokens(["<x>"])
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.all_special_tokens == [*tokenizer.get_added_vocab()] == names
    assert not tokenizer.extra_special_tokens


def test_its_length_its_vocabulary_and_its_ids_agree():
    tokenizer = VocablessTokenizer(coder="utf8")
    vocabulary = tokenizer.get_vocab()
    assert len(tokenizer) == len(vocabulary) == tokenizer.vocab_size == 261
    assert sorted(vocabulary.values()) == [*range(261)]
    assert [vocabulary[name] for name in tokenizer.all_special_tokens] == tokenizer.all_special_ids == [0, 1, 2, 3, 4]
    assert all(tokenizer.convert_ids_to_tokens(value) == name for name, value in vocabulary.items())
    assert vocabulary["<0x61>"] == tokenizer("a", add_special_tokens=False)["input_ids"][0][0]
