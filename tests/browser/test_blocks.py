"""Words and blocks in the browser are those of Python."""

import random
import re
import sys
import unicodedata
from typing import Any

import pytest
import torch
from strings import random_strings
from word_forms import FORMS, FORMS_OF_EDITION_2

from vocabless import VocablessTokenizer
from vocabless.conversion.space_export.manifest import page_forms, page_tokenizer
from vocabless.tokenization.scripts import ZEROS
from vocabless.tokenization.second_forms import FORMS as EDITIONS
from vocabless.tokenization.splitters import MaskSplitter, ScriptSplitter

TEXTS = random_strings(2000)
FORM_CHARACTERS = [
    chr(code)
    for code in (*EDITIONS[2].same_length, *range(0x590, 0x700), *range(0x900, 0xA00), *range(0xE00, 0xF00))
    if unicodedata.category(chr(code)) != "Cn"
]
FORM_CHARACTERS += "ab ё!中ก1ﬁ２ŀlİSsțоóaеuỳน้ำเनफ़त्न्दাত্\u200c\u200d\ufe0f`·" * 20
IN_FORMS = ["".join(random.Random(seed).choices(FORM_CHARACTERS, k=16)) for seed in range(1000)]
IN_FORMS += [text for pair in FORMS + FORMS_OF_EDITION_2 for text in pair]
TOKENIZERS = {
    "utf8": {"coder": "utf8", "coder_options": {"block_size": 32}, "splitter_options": {"lowercase": True}},
    "utf8, upper case": {"coder": "utf8", "coder_options": {"block_size": 8}},
    "lsh": {"coder": "lsh", "splitter_options": {"lowercase": True}},
    "md5": {"coder": "md5", "splitter_options": {"lowercase": True}},
    "lsh-index": {"coder": "lsh-index", "coder_options": {"num_hyperplanes": 1033}},
    "lsh, other options": {"coder": "lsh", "coder_options": {"num_bits": 43, "num_features": 1000, "seed": -7}},
    "md5, long key": {"coder": "md5", "coder_options": {"key": "clé " * 30}},
    "whitespace": {"coder": "utf8", "splitter": "whitespace", "splitter_options": {"lowercase": True}},
    "scripts": {"coder": "utf8", "splitter": "scripts", "splitter_options": {"lowercase": True}},
    "scripts, windows": {"coder": "utf8", "splitter": "scripts", "splitter_options": {"window": 3}},
    "word, forms": {"coder": "utf8", "splitter_options": {"lowercase": True, "fold_forms": True}},
    "scripts, forms": {
        "coder": "utf8",
        "splitter": "scripts",
        "splitter_options": {"lowercase": True, "fold_forms": True},
    },
    "word, forms of edition 2": {"coder": "utf8", "splitter_options": {"lowercase": True, "fold_forms": 2}},
    "scripts, forms of edition 2": {
        "coder": "utf8",
        "splitter": "scripts",
        "splitter_options": {"lowercase": True, "fold_forms": 2},
    },
    "scripts, forms of edition 2, upper case": {
        "coder": "utf8",
        "splitter": "scripts",
        "splitter_options": {"fold_forms": 2},
    },
    "bytes": {"coder": "utf8", "splitter": "bytes", "splitter_options": {"window": 5}},
    "bytes, lsh": {"coder": "lsh", "splitter": "bytes", "splitter_options": {"window": 5}},
}
READ = """(settings, texts, isPair) => {
  const tokenizer = new modules["tokenizer.js"].Tokenizer(settings);
  return texts.map(([text, pair]) => {
    const { units, truncated } = tokenizer.unitsOf(text, isPair ? pair : undefined);
    const { data } = tokenizer.blocksOf([units], isPair);
    return { blocks: data.join(), spans: units.map(({ start, end, part }) => [start, end, part]), truncated };
  });
}"""


FOLD = """(rules, textsOfEach) => rules.map((rule, index) => {
  const forms = { invisible: "", sets: [], in_text: [rule], in_unit: [] };
  return textsOfEach[index].map((text) => modules["forms.js"].formsOf({ fold_forms: 1, forms }).foldText(text));
})"""


def settings_of(tokenizer: VocablessTokenizer) -> dict[str, Any]:
    return page_tokenizer(tokenizer, tokenizer.model_max_length)


def joined(blocks: Any) -> str:
    return ",".join(map(str, torch.tensor(blocks).flatten().tolist()))


def utf16_offset(text: str, index: int) -> int:
    return len(text[:index].encode("utf-16-le", "surrogatepass")) // 2


@pytest.mark.parametrize("name", TOKENIZERS)
def test_blocks_and_offsets_are_those_of_python(name: str, call) -> None:
    tokenizer = VocablessTokenizer(**TOKENIZERS[name], model_max_length=512)
    texts = [*TEXTS, *IN_FORMS] if name in ("utf8", "lsh", "md5", "scripts") or "forms" in name else TEXTS[:200]
    results = call(READ, settings_of(tokenizer), [[text] for text in texts], False)
    encodings, splitter = tokenizer(texts), MaskSplitter(tokenizer.unit_splitter, "[MASK]")
    wrong = []
    for index, (text, result) in enumerate(zip(texts, results, strict=True)):
        spans = [[*(utf16_offset(text, i) for i in span), 0] for span in splitter.spans(text)]
        if (result["blocks"], result["spans"]) != (joined(encodings["input_ids"][index]), spans):
            wrong.append(text)
    assert wrong == []


@pytest.mark.parametrize("edition", EDITIONS)
def test_each_rule_of_forms_changes_the_same_texts_as_in_python(edition: int, call) -> None:
    forms, generator = EDITIONS[edition], random.Random(0)
    rules = [rule for groups in (forms.in_text, forms.in_unit) for _, of_group in groups for rule in of_group]
    shown = [re.sub(r"\\u(\w{4})", lambda code: chr(int(code[1], 16)), pattern.pattern) for pattern, _ in rules]
    characters = [re.sub(r"[][()|?<=!$]", "", pattern) for pattern in shown]
    texts = [["".join(generator.choices(of_rule, k=5)) for _ in range(2000)] for of_rule in characters]
    expected = [
        [pattern.sub(form, text) for text in of_rule] for (pattern, form), of_rule in zip(rules, texts, strict=True)
    ]
    assert all(before != after for before, after in zip(texts, expected, strict=True))
    tables = page_forms(forms)
    assert call(FOLD, tables["in_text"] + tables["in_unit"], texts) == expected
    plane = "".join(chr(code) for code in range(1 << 16) if not 0xD800 <= code < 0xE000)
    fold = '(options, text) => modules["forms.js"].formsOf(options).foldText(text)'
    assert call(fold, {"fold_forms": edition, "forms": tables}, plane) == forms.fold_text(plane)


def test_a_model_of_an_earlier_version_without_tables_of_forms_is_refused(call) -> None:
    settings = settings_of(VocablessTokenizer(coder="utf8", splitter_options={"fold_forms": 2}))
    del settings["splitter_options"]["forms"]
    start = """(settings) => {
      try { new modules["tokenizer.js"].Tokenizer(settings); } catch (error) { return error.message; }
    }"""
    assert call(start, settings).endswith("write it again with `vocabless javascript`.")
    settings["splitter_options"]["fold_forms"] = 0
    assert call(start, settings) is None


def test_the_ngrams_of_a_file_have_the_features_of_python(call, tmp_path) -> None:
    file = tmp_path / "ngrams.json"
    file.write_text('["a", "b", "ab", "\\u00e9", "abc", "bc0X", "X"]', encoding="utf-8")
    tokenizer = VocablessTokenizer(coder="lsh", coder_options={"num_features": 7}, ngrams_file=file)
    texts = TEXTS[:100]
    results = call(READ, settings_of(tokenizer), [[text] for text in texts], False)
    assert [result["blocks"] for result in results] == list(map(joined, tokenizer(texts)["input_ids"]))


def test_marks_and_digits_are_normalised_as_in_python(call) -> None:
    characters = [chr(code) for code in range(sys.maxunicode)]
    marks = [each for each in characters if unicodedata.category(each)[0] == "M"]
    generator = random.Random(0)
    texts = ["a" + "".join(generator.choices(marks, k=length)) + "é" for length in range(25, 325)]
    texts += ["".join(generator.choices(["\u0301", "\u0316", "\u0344", "\u034f", "a"], k=200)) for _ in range(100)]
    voiced = [text.replace("a", "\uff9e") for text in texts]
    digits = [each for each in characters if unicodedata.category(each)[0] == "N"]
    digits += [chr(zero + value) for zero in ZEROS for value in range(10)]  # Python may not know all of them
    normalize = '(texts, ...how) => texts.map((text) => modules["words.js"].normalizeUnit(text, ...how))'
    assert call(normalize, texts, "word", {}) == [unicodedata.normalize("NFC", text) for text in texts]
    assert call(normalize, voiced, "scripts", {}) == [unicodedata.normalize("NFKD", text) for text in voiced]
    assert call(normalize, digits, "scripts", {"lowercase": True}) == list(
        map(ScriptSplitter(lowercase=True).normalize, digits)
    )


@pytest.mark.parametrize("splitter", ["word", "whitespace", "scripts", "bytes"])
@pytest.mark.timeout(60)  # minutes if each mark is moved past all others
def test_many_marks_take_linear_time(splitter: str, call) -> None:
    tokenizer = VocablessTokenizer(splitter, "utf8", {} if splitter == "bytes" else {"lowercase": True})
    call(
        """(settings, text) => {
          const tokenizer = new modules["tokenizer.js"].Tokenizer(settings);
          tokenizer.blocksOf([tokenizer.unitsOf(text).units], false);
        }""",
        settings_of(tokenizer), "a" + "\u0301\u0316\uff9e" * 200_000,
    )  # fmt: skip


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("limit", [4, 9, 10])
def test_pairs_and_long_texts_are_cut_as_in_python(side: str, limit: int, call) -> None:
    tokenizer = VocablessTokenizer(coder="utf8", model_max_length=limit, truncation_side=side)
    words = "one two three four five six seven eight nine ten".split()
    pairs = [[" ".join(words[:first]), " ".join(words[:second])] for first in range(0, 11, 2) for second in range(11)]
    for is_pair in (False, True):
        results = call(READ, settings_of(tokenizer), pairs, is_pair)
        for (text, pair), result in zip(pairs, results, strict=True):
            parts = (text, pair) if is_pair else (text,)
            assert result["blocks"] == joined(tokenizer(*parts, truncation=True)["input_ids"])
            assert result["truncated"] == (len(tokenizer(*parts)["input_ids"]) > limit)
