# Generated from files of onnx_program/ in the package vocabless. Do not edit.

"""Classifies or embeds texts with an exported model on onnxruntime, numpy and regex: text → units → blocks → numbers.

    python onnx/onnx_model.py onnx/ "It is worth the money." "Two hours that felt like five!"

The verb `onnx` writes this file beside the graph of a classifier of texts or of a sentence encoder, joined with the
tokenizer's splitters and coders. So it needs no other file and no torch: copy it beside your program. It knows all
splitters and coders but those that read a vocabulary, `READS_VOCABULARY`.
"""

import hashlib
import json
import numpy as np
import re
import regex
import reprlib
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from io import TextIOWrapper
from itertools import groupby, pairwise
from numpy.typing import NDArray
from pathlib import Path
from typing import Any, ClassVar, Literal, cast


# ---- sentences.py ----------------------------------------------------------------------------------------------------
# The sentences of a text, which a classifier may read beside the whole text, and what both say together.
#
# A polite first sentence changes the mean of all states, and so it can drown the sentence that decides. The rules of
# joining them are keys of `RULES`; new classifiers have `ODDS`.

ODDS = "odds"
MARKS = ".!?…。！？｡؟।۔"  # a unit that begins with one of them ends a sentence
COMMAS = ",，،"  # by `ODDS`, one of them among the first units of a text does, too: "Dear Sir or Madam,"
SALUTATION = 6  # of these units
SHORTEST = 3  # units of a sentence, its mark among them
MOST_AT_ONCE = 64  # sentences
LEAST_SAID = 1e-3  # of a sentence, see `probabilities_by_divergence`, so that the sums of no text are all 0
LARGEST = 600.0  # logit whose exponential, and that of the negative one, is finite and not 0

FIRST_BYTE = 5  # the element of byte 0; smaller ones are special tokens
MARK_ELEMENTS, COMMA_ELEMENTS = (
    [[byte + FIRST_BYTE for byte in mark.encode()] for mark in each] for each in (MARKS, COMMAS)
)
FIRST_ELEMENTS = {first for first, *_ in MARK_ELEMENTS + COMMA_ELEMENTS}

BlockArray = NDArray[np.int64]
Logits = NDArray[Any]  # of any floating point


def read_with_sentences(
    blocks: BlockArray, logits: Logits, read: Callable[[BlockArray], Logits], rule: bool | str, rejects: bool = False
) -> Logits:
    """Returns the logits of texts, (B, L), joined with those of the sentences of texts that have several.

    Args:
        blocks: the texts, (B, S, K).
        logits: those of the whole texts, (B, L). They are returned themselves if no text has several sentences.
        read: returns the logits of sentences, (n, T, K) → (n, L).
        rule: key of `RULES`.
        rejects: whether the last label is "none of these", see `Rejection`.
    """
    found = [(texts, read(sentences)) for texts, sentences in sentences_of(blocks, rule)]
    if not found:
        return logits
    texts, of_sentences = map(np.concatenate, zip(*found, strict=True))
    if not rejects:
        return join_sentences(logits, of_sentences, texts, rule)
    joined = join_sentences(logits[:, :-1], of_sentences[:, :-1], texts, rule)
    least = smallest_of_texts(strangeness_of(logits), strangeness_of(of_sentences), texts)
    return np.column_stack([joined, joined.max(axis=1) + least]).astype(logits.dtype)


def strangeness_of(logits: Logits) -> Logits:
    """Returns by how much the last logit is above all others, (n,), for logits (n, L + 1) of a `Rejection`."""
    strangeness: Logits = logits[:, -1] - logits[:, :-1].max(axis=1)
    return strangeness


def smallest_of_texts(numbers: Logits, of_sentences: Logits, texts: NDArray[np.int64]) -> Logits:
    """Returns the smallest number of each text and its sentences, (B,): a text is as strange as its best known part."""
    smallest = numbers.copy()
    np.minimum.at(smallest, texts, of_sentences)
    return smallest


def join_sentences(logits: Logits, of_sentences: Logits, texts: NDArray[np.int64], rule: bool | str) -> Logits:
    """Returns logits (B, L) of one label that also say what the sentences of some texts do.

    The probabilities are a mean of those of the whole text and of those of its sentences together, see `RULES`. Each
    has half the weight; by `ODDS`, the whole text has half the probability that it is no everyday line, see `odds`. The
    logits of a text without sentences stay as they are. Source for passages of a text that are scored apart: Dai and
    Callan, *Deeper Text Understanding for IR with Contextual Neural Language Modeling*, SIGIR 2019; the rules are ours.

    Args:
        logits: of the whole texts, (B, L).
        of_sentences: the logits of their n sentences, (n, L).
        texts: the text of each sentence, (n,).
        rule: key of `RULES`.
    """
    sums = np.zeros(logits.shape)
    np.add.at(sums, texts, RULES[rule](of_sentences))
    totals = sums.sum(axis=1, keepdims=True)
    share = 1 / (1 + np.exp(-clipped(logits.mean(axis=1, keepdims=True)))) / 2 if rule == ODDS else 1 / 2
    joined = np.log(share * softmax(logits) + (1 - share) * sums / np.where(totals > 0, totals, 1))
    return np.where(totals > 0, joined, logits).astype(logits.dtype)


def odds(logits: Logits) -> NDArray[np.float64]:
    """Returns the exponentials of logits (n, L), whose mean is the log-odds of a text of the task.

    A softmax does not depend on this mean, so the first head makes it say how a text differs from the everyday lines of
    mails, such as greetings. A sentence counts by these odds times exp(energy), which is large where
    the head knows what it reads: the energy is the log-sum-exp of the logits without their mean.
    """
    powers: NDArray[np.float64] = np.exp(clipped(logits))
    return powers


def clipped(logits: Logits) -> NDArray[np.float64]:
    """Returns logits whose exponentials are finite, and not 0."""
    return np.clip(logits.astype(np.float64), -LARGEST, LARGEST)


def probabilities_by_divergence(logits: Logits) -> NDArray[np.float64]:
    """Returns probabilities (n, L) times the square of what they say, their Kullback-Leibler divergence from 1/L each.

    It is the rule of older classifiers.
    """
    probabilities = softmax(logits)
    logarithms = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    said = np.log(logits.shape[1]) + (probabilities * logarithms).sum(axis=1, keepdims=True)
    weighted: NDArray[np.float64] = np.maximum(said, LEAST_SAID) ** 2 * probabilities
    return weighted


def softmax(logits: Logits) -> NDArray[np.float64]:
    """Returns the probabilities of logits (…, L)."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    result: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return result


def sentences_of(blocks: BlockArray, rule: bool | str = ODDS) -> Iterator[tuple[BlockArray, BlockArray]]:
    """Yields the sentences of the texts that have more than one, up to `MOST_AT_ONCE` of similar length.

    A sentence ends with a unit that begins with a mark and is not followed by another such unit, and by `ODDS` with a
    comma among the first units of a text. A sentence of fewer than `SHORTEST` units is part of the next one, or at the
    end of the text of the one before.

    Args:
        blocks: texts (B, S, K): [CLS], units and [SEP], with padding on either side. A row with more special tokens,
            such as a pair of texts, has no sentences.
        rule: key of `RULES`.

    Yields:
        The text of each sentence, (n,), and the sentences, (n, T, K), each as a text of its own, with padding behind.
    """
    found: list[tuple[int, list[int]]] = []  # a text, and the places of the tokens of one of its sentences
    for text, firsts in enumerate(blocks[..., 0].tolist()):
        ends = _ends(blocks[text], firsts, rule)
        if not ends or sum(0 < first < FIRST_BYTE for first in firsts) != 2:
            continue
        start, *units, end = (place for place, first in enumerate(firsts) if first)
        spans: list[list[int]] = [[]]
        for unit in units:
            spans[-1].append(unit)
            if unit in ends and len(spans[-1]) >= SHORTEST:
                spans.append([])
        if len(spans) > 1 and len(spans[-1]) < SHORTEST:
            last = spans.pop()
            spans[-1] += last
        if len(spans) > 1:
            found += [(text, [start, *span, end]) for span in spans]
    found.sort(key=lambda sentence: len(sentence[1]))
    for first in range(0, len(found), MOST_AT_ONCE):
        texts, places = zip(*found[first : first + MOST_AT_ONCE], strict=True)
        sentences = np.zeros((len(places), len(places[-1]), blocks.shape[-1]), np.int64)
        for sentence, text, of_sentence in zip(sentences, texts, places, strict=True):
            sentence[: len(of_sentence)] = blocks[text, of_sentence]
        yield np.asarray(texts, np.int64), sentences


def _ends(blocks: BlockArray, firsts: list[int], rule: bool | str) -> set[int]:
    """Returns the places of a text, (S, K), where a sentence may end; `firsts` are the first elements of its blocks."""
    early = next((place for place, first in enumerate(firsts) if first), 0) + SALUTATION if rule == ODDS else -1
    return {
        place
        for place, (first, behind) in enumerate(pairwise(firsts))
        if first in FIRST_ELEMENTS and behind >= FIRST_BYTE  # a mark or a comma, and a unit behind it
        if (_begins(blocks[place], MARK_ELEMENTS) and not _begins(blocks[place + 1], MARK_ELEMENTS))
        or (place <= early and _begins(blocks[place], COMMA_ELEMENTS))
    }


def _begins(block: BlockArray, marks: list[list[int]]) -> bool:
    """Returns whether the unit of a block, (K,), begins with one of the marks."""
    return any(block[: len(mark)].tolist() == mark for mark in marks)


# `classifier_reads_sentences` → what each sentence adds to the odds of the labels, by its logits, (n, L) → (n, L).
RULES = {True: probabilities_by_divergence, ODDS: odds}


# ---- options.py ------------------------------------------------------------------------------------------------------
# Makes splitters and coders from the names and options in a configuration.

def build(kind: str, classes: Mapping[str, type[Any]], name: str, options: Mapping[str, Any]) -> Any:
    """Returns an instance of the class called `name`, a splitter or a coder as `kind` says.

    `options` are its keyword arguments; None is the default of each.

    Raises:
        ValueError: unknown name or options, or wrong values.
    """
    if not isinstance(name, str) or name not in classes:
        raise ValueError(f"unknown {kind} {name!r}; choose one of {', '.join(classes)}.")
    legal = signature(classes[name]).parameters
    options = {option: value for option, value in options.items() if value is not None}
    if not options.keys() <= legal.keys():
        raise ValueError(f"{kind} {name!r} got options {sorted(options)}; it takes {', '.join(legal)}.")
    try:
        return classes[name](**options)
    except (TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{kind} {name!r} got {options} ({error}); give values as in its class.") from error


def check_integer(name: str, value: int, limit: int = 1 << 24) -> int:
    """Returns the option `name` of a splitter or coder. Raises ValueError if it is no integer from 1 to `limit`."""
    if type(value) is not int or not 1 <= value <= limit:
        raise ValueError(f"the tokenizer got {name}={value!r}; give a whole number from 1 to {limit}.")
    return value


# ---- scripts.py ------------------------------------------------------------------------------------------------------
# Patterns of the scripts that are written without spaces between words.
#
# Of the line-breaking classes of Unicode (UAX 14), ID has the ideographs and the kana, SA has Thai, Lao, Khmer, Myanmar
# and their relatives. `browser/scripts.js` has the same patterns.

# The zero-width space and the byte-order mark separate words, although Unicode does not call them white space. The four
# information separators are spaces for `str.isspace`, but not for every regex engine, so they are listed.
SPACE = r"\s\x1c-\x1f\u200b\ufeff"
WORD = r"\p{L}\p{N}\p{M}_"
CONTINUES = r"\p{M}\u200c\u200d"
HALF_WIDTH_MARKS = "\uff9e\uff9f"  # letters for Unicode, but forms of the marks U+3099 and U+309A
IDEOGRAPHS = r"\p{Han}\p{Yi}\p{Tangut}\p{Nushu}\p{Khitan_Small_Script}\u3006"
KANA = (r"\p{Hiragana}\u30fc\u3031-\u3035", r"\p{Katakana}\u30fc\uff70", r"\p{Bopomofo}")
SOUTH_EAST_ASIAN = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Ahom}"
# Ranges that hold all these scripts, and others: a text without such a character needs no pattern of this file.
MAY_LACK_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u1aaf\u2e80-\uabff\uf900-\U0003ffff]")
HAS_NO_WORDS = regex.compile(rf"(?V1)[[{SOUTH_EAST_ASIAN}]&&\p{{L}}]")

# The digits 0 of all scripts in Unicode 17; the digits 1–9 of a script follow its 0. This table is never changed, so
# each Python and each browser maps the same digits.
# fmt: off
ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50,
    0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0,
    0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950,
    0x11BF0, 0x11C50, 0x11D50, 0x11DA0, 0x11DE0, 0x11F50, 0x16130, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0,
    0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E5F1, 0x1E950, 0x1FBF0,
)
# fmt: on


def script_runs(window: int, invisible: str = "") -> regex.Pattern[str]:
    """Returns the pattern of the units of `ScriptSplitter`; `invisible` characters continue a unit, and begin none."""
    marks, others = f"[{CONTINUES}{HALF_WIDTH_MARKS}{invisible}]*+", f"{WORD}{SPACE}"
    ideographs, *kana, asian = (_letters(script) for script in (IDEOGRAPHS, *KANA, SOUTH_EAST_ASIAN))
    word = rf"[[{WORD}]--[{ideographs}{''.join(kana)}{asian}]]"
    units = [
        f"{ideographs}{marks}",
        *(f"(?:{letters}{marks})++" for letters in kana),
        rf"{asian}{marks}(?:(?!\p{{Logical_Order_Exception}}){asian}{marks}){{,{window - 1}}}+",
        f"(?:{word}{marks})++",
        f"[^{others}{invisible}](?:[^{others}]|[{CONTINUES}{HALF_WIDTH_MARKS}])*+",
    ]
    return regex.compile(f"(?V1){'|'.join(units)}")


def _letters(script: str) -> str:
    """Returns the set of the letters of a script, without its marks, digits and punctuation."""
    return rf"[[{script}]&&[\p{{L}}\p{{Nl}}]]"


# ---- forms.py --------------------------------------------------------------------------------------------------------
# Normal forms of Unicode, and forms of one word that readers take for the same: the option `fold_forms` of splitters.
#
# `Forms.fold_text` keeps the length of a text, so offsets are exact. It makes one character of all that are invisible,
# which the splitters let a word go on with, one apostrophe and one double quote of the typographic ones, a hyphen of its
# variants, and a space of `_`. `Forms.fold_unit` takes that character out of a unit, and what writers leave out as they
# like: the tatweel and the vowel points of Arabic and Hebrew, and the dots of Cyrillic ё. Arabic and Persian kaf and yeh
# become the same letters. All other accents stay.
#
# The first edition is in this file, the second, which also knows the joiners U+200C and U+200D, in `second_forms`.
# Sources: Unicode 17, its Default_Ignorable_Code_Point, and the names in UnicodeData. The tables of an edition never
# change, so hashes do not. A web page gets the tables with its model, see `page_forms`.

MAX_MARKS = 30  # in a run, in any natural text: the limit of Unicode's Stream-Safe Text Format (UAX 15)
_LONG_RUN_OF_MARKS = regex.compile(rf"[\p{{M}}{HALF_WIDTH_MARKS}]{{{MAX_MARKS},}}+")
INVISIBLE = "\u00ad"  # the soft hyphen, which stands for all of them

Rules = tuple[tuple[str, str], ...]  # pattern → what it becomes, in this order
Groups = tuple[tuple[str, Rules], ...]  # what a text holds where the rules may change it → rules, in this order


_FIRST_PLANE = "".join(map(chr, range(1 << 16)))  # all of Unicode that the tables change


class Forms:
    """One edition of the tables.

    Args:
        look_alikes: set of characters → the one character that stands for them.
        in_text: other changes that keep the length of a text.
        in_unit: changes of a decomposed unit (NFKD).
        joiners: characters that are as invisible as `INVISIBLE`, but that rules of units read.
        letters: set of symbols that stand for one letter.

    Attributes:
        invisible: the characters that continue a unit, and begin none.
        sets: set of characters → the one that stands for them; "" is that of NFKC.
        in_text, in_unit: the rules of their arguments.
    """

    def __init__(
        self, look_alikes: Rules, in_text: Groups, in_unit: Groups, *, joiners: str = "", letters: str = ""
    ) -> None:
        self.invisible = INVISIBLE + joiners
        self.sets = [*look_alikes, *([(f"[{letters}]", "")] if letters else [])]
        self._changed = re.compile("|".join(characters for characters, _ in self.sets))
        self.same_length = {
            ord(found): form or unicodedata.normalize("NFKC", found)
            for characters, form in self.sets
            for found in re.findall(characters, _FIRST_PLANE)
        }
        self.in_text, self.in_unit = _compile(in_text), _compile(in_unit)

    def fold_text(self, text: str) -> str:
        """Returns a text of the same length, with one form of characters that look alike.

        >>> FIRST_FORMS.fold_text("the read_file’s")
        "the read file's"
        """
        if text.isascii():
            text = text.replace("_", " ")
        elif self._changed.search(text):
            text = text.translate(self.same_length)
        return _apply(self.in_text, text)

    def fold_unit(self, unit: str) -> str:
        """Returns a decomposed unit (NFKD) without what readers do not need; a unit of such characters alone stays.

        >>> FIRST_FORMS.fold_unit("docu\u00adment"), FIRST_FORMS.fold_unit("ме\u0308д")
        ('document', 'мед')
        """
        return _apply(self.in_unit, unit) or unit


_Compiled = list[tuple[re.Pattern[str], list[tuple[Any, str]]]]


def _compile(groups: Groups) -> _Compiled:
    return [(re.compile(held), [(regex.compile(pattern), form) for pattern, form in rules]) for held, rules in groups]


def _apply(groups: _Compiled, text: str) -> str:
    for held, rules in groups:
        if held.search(text):
            for pattern, form in rules:
                text = pattern.sub(form, text)
    return text


LOOK_ALIKES: Rules = (
    ("[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb]", INVISIBLE),
    ("[\u02bb-\u02bd\u055a\u05f3\u2018\u2019\u201b\ua78b\ua78c]", "'"),
    ("[\u05f4\u201c\u201d\u201f]", '"'),
    ("[\u2010\u2011]", "-"),
    ("_", " "),
)
# Of decomposed texts. The hamza and madda above and below, U+0653 to U+0655, make other letters, and stay.
POINTS = (
    "\u0640\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u08d3-\u08e1\u08e3-\u08ff\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
)
YO = r"(?<=[\u0415\u0435])\u0308"
SAME_LETTERS: Rules = (("\u06a9", "\u0643"), ("\u06cc", "\u064a"))  # keheh is kaf, and Farsi yeh is yeh
FIRST_FORMS = Forms(LOOK_ALIKES, (), (("", ((f"[{INVISIBLE}{POINTS}]|{YO}", ""), *SAME_LETTERS)),))


def normal_form(text: str, form: Literal["NFC", "NFKD"] = "NFC") -> str:
    """Returns a text in a normal form of Unicode in linear time.

    `unicodedata` sorts a run of n marks in up to n² steps. A run longer than the Unicode limit for streams is therefore
    sorted here first, by the same rule; the result is the same.
    """
    if len(text) > MAX_MARKS:
        decomposition: Literal["NFD", "NFKD"] = "NFD" if form == "NFC" else "NFKD"
        text = _LONG_RUN_OF_MARKS.sub(lambda marks: _in_canonical_order(marks[0], decomposition), text)
    return unicodedata.normalize(form, text)


def _in_canonical_order(marks: str, decomposition: Literal["NFD", "NFKD"]) -> str:
    """Returns the marks decomposed, with those between two marks of class 0 sorted by their combining class."""
    decomposed = "".join([unicodedata.normalize(decomposition, mark) for mark in marks])
    runs = groupby(decomposed, key=lambda mark: unicodedata.combining(mark) == 0)
    return "".join(mark for _, run in runs for mark in sorted(run, key=unicodedata.combining))


# ---- second_forms.py -------------------------------------------------------------------------------------------------
# The second edition of the forms of one word: `fold_forms` with the value 2. It has all rules of the first one.
#
# Beside joiners and other ignorable characters, these are the characters that stand for one letter and NFKD leaves apart,
# and spellings with two codes in our 30 languages. Of two forms, the one that is frequent in texts stays. Symbols of
# several characters, such as ㎏ and ½, stay units of their own.
#
# - The joiners U+200C and U+200D change nothing. Behind a dead consonant that has a letter of its own, as Bengali ৎ and
#   the chillus of Malayalam, U+200D makes this letter. Variation selectors and fillers change nothing either.
# - A symbol that stands for one letter, as Ⓐ, ㊤ or a Kangxi radical, is the letter.
# - The dot of Catalan l·l is left out, also in ŀ; so are the stress of a Cyrillic vowel, the dot of Turkish İ in lower
#   case, the nukta of Hindi क़ ख़ ग़ ज़ फ़, and further points of Arabic.
# - Romanian ș and ț are ş and ţ. Hindi nasals before a consonant of their class, and the candrabindu, are the anusvara.
#   Vietnamese tones are placed as in "hóa", not as in "hoá". Thai เเ is แ, and nikhahit follows the tone. Vowels that
#   Devanagari and Bengali write in two signs, Yiddish digraphs, alef wasla and Persian ۀ are the usual letters.
#
# Sources: Unicode 17, its Do-Not-Emit characters, and the spelling rules of the languages.

_JOINERS = "\u200c\u200d"
# Symbols and numbers of one letter. Their form is that of NFKC, of the same length.
_LETTERS = (
    "\u24b6-\u24e9\u2e9f\u2ef3\u2f00-\u2fd5\u3192-\u319f\u3244-\u3247\u3260-\u327b\u327e\u3280-\u32b0\u32d0-\u32fe"
)
_MORE_LOOK_ALIKES: Rules = (
    ("[\u00b4\u02b9\u0374\u0384\u1fbd\u1fbf\u1ffd\u2032]", "'"),
    ("[\u02ba\u2033]", '"'),
    ("[\u05be\u2012\u2212]", "-"),
    ("\u301c", "~"),
    ("[\u3164\uff3f\uffa0]", " "),
    ("\u309b", "\u3099"),
    ("\u309c", "\u309a"),
)
_IN_TEXT: Groups = (
    ("[`\u1fef]", ((r"(?<=[\p{L}\p{M}])[`\u1fef](?=\p{L})", "'"),)),
    (
        "[\u00b7\u0387\u2022\u2027\u2219\u22c5]",
        ((r"(?<=[Ll])[\u00b7\u0387\u2022\u2027\u2219\u22c5](?=[Ll])", INVISIBLE),),
    ),
    ("\u0e40\u0e40", (("\u0e40\u0e40", f"\u0e41{INVISIBLE}"),)),
    ("\u0ec0\u0ec0", (("\u0ec0\u0ec0", f"\u0ec1{INVISIBLE}"),)),
)
# Dead consonants with U+200D → the letter of their own.
_WITH_JOINER: Rules = (
    ("\u09a4\u09cd\u200d", "\u09ce"),
    ("\u0d23\u0d4d\u200d", "\u0d7a"),
    ("\u0d28\u0d4d\u200d", "\u0d7b"),
    ("\u0d30\u0d4d\u200d", "\u0d7c"),
    ("\u0d32\u0d4d\u200d", "\u0d7d"),
    ("\u0d33\u0d4d\u200d", "\u0d7e"),
    ("\u0d15\u0d4d\u200d", "\u0d7f"),
)
_IGNORABLE = (
    f"{_JOINERS}\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef\u0898-\u089f\u08ca-\u08d2"
)
_TONES, _THAI_TONES, _THAI_A = "[\u0300\u0301\u0303\u0309\u0323]", "[\u0e48-\u0e4b\u0ec8-\u0ecb]", "[\u0e32\u0eb2]"
_LATIN_AND_CYRILLIC: Rules = (
    (YO, ""),
    (r"(?<=[Ll])\u00b7|(?<=[Ii])\u0307", ""),
    (r"(?<=[АЕИОУЫЭЮЯІЄаеиоуыэюяіє]|[Іі]\u0308)\u0301", ""),
    ("(?<=[SsTt])\u0326", "\u0327"),
    (f"([Oo])([AEae])({_TONES})$", r"\1\3\2"),
    (f"(?<![Qq])([Uu])([Yy])({_TONES})$", r"\1\3\2"),
)
_ARABIC: Rules = (*SAME_LETTERS, ("\u0671", "\u0627"), ("\u06d5(?=\u0654)", "\u0647"))
_YIDDISH: Rules = (("\u05f0", "\u05d5\u05d5"), ("\u05f1", "\u05d5\u05d9"), ("\u05f2", "\u05d9\u05d9"))
_NASALS = (
    "\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])|"
    "\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])"
)
_INDIC: Rules = (
    (r"(?<=[\u0915-\u0917\u091c\u092b])\u093c", ""),
    (f"\u0901|{_NASALS}", "\u0902"),
    ("\u0905\u093e", "\u0906"),
    ("\u0905\u0949", "\u0911"),
    ("\u0905\u094b", "\u0913"),
    ("\u0905\u094c", "\u0914"),
    ("\u090f\u0947", "\u0910"),
    ("\u0985\u09be", "\u0986"),
)
_THAI_AND_LAO: Rules = (
    (f"([\u0e4d\u0ecd])({_THAI_TONES})({_THAI_A})", r"\2\1\3"),
    (f"([\u0e4d\u0ecd])({_THAI_A})({_THAI_TONES})", r"\3\1\2"),
    (f"({_THAI_TONES})([\u0e31\u0e34-\u0e37\u0eb1\u0eb4-\u0eb7])", r"\2\1"),
)
_IN_UNIT: Groups = (
    (" ", ((" (?=[\u064b-\u0652])", ""),)),
    ("\u200d", _WITH_JOINER),
    ("", ((f"[{INVISIBLE}{POINTS}{_IGNORABLE}]", ""),)),
    ("[\u00b7\u0300-\u0326]", _LATIN_AND_CYRILLIC),
    ("[\u0671-\u06d5]", _ARABIC),
    ("[\u05f0-\u05f2]", _YIDDISH),
    ("[\u0901-\u09be]", _INDIC),
    (_THAI_TONES, _THAI_AND_LAO),
)
SECOND_FORMS = Forms(LOOK_ALIKES + _MORE_LOOK_ALIKES, _IN_TEXT, _IN_UNIT, joiners=_JOINERS, letters=_LETTERS)
FORMS = {1: FIRST_FORMS, 2: SECOND_FORMS}


def check_forms(edition: int) -> Forms | None:
    """Returns the tables of `fold_forms`: False is none of them, True the first edition.

    Raises:
        ValueError: there is no such edition.
    """
    if not isinstance(edition, int) or edition not in (0, *FORMS):
        raise ValueError(f"the splitter got fold_forms={edition!r}; give false, or an edition: 1 (as true) or 2.")
    return FORMS.get(edition)


# ---- splitters.py ----------------------------------------------------------------------------------------------------
# Splitters: text → units; each unit becomes one block.
#
# A word is a run of letters, digits and `_`, or a run of other characters except spaces. A mark or a joiner continues the
# run before it (Unicode UAX 29, rule WB4), so an accent, a Devanagari vowel sign or the joiner inside an emoji is never a
# unit of its own. By this rule, canonical composition never joins characters of two units. So units are cut from the
# unchanged text, offsets are exact, and `normalize` (NFC, lower case) is applied to each unit separately.
#
# Of Unicode, the digits are a table of ours, cases and normal forms those of Python, and classes of letters those of
# `regex`: all agree for the characters of Unicode 13, which Python 3.10 has, and a unit with a newer character may have
# another block in another version of Python, `regex` or a browser, until all of them know the character.
#
# HashFormers 3.1 splits by `\w+|[^\w\s]+`; on text without marks the result is the same.

Unit = str | bytes
Span = tuple[int, int]

_ASCII_RUNS = re.compile(r"\w+|[^\w\s]+")  # the same runs in ASCII texts, twice as fast
_NOT_SPACE = regex.compile(rf"[^{SPACE}]+")
_DIGITS = str.maketrans({chr(zero + value): str(value) for zero in ZEROS for value in range(10)})


def to_bytes(unit: Unit) -> bytes:
    """Returns the UTF-8 bytes of a unit; a lone surrogate becomes three bytes, so every `str` can be encoded."""
    return unit if isinstance(unit, bytes) else unit.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """Returns the inverse of `to_bytes`; if a character is incomplete, each invalid part becomes U+FFFD."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a unit or window was cut inside a character
        return data.decode("utf-8", "replace")


def _runs(invisible: str = "") -> Any:
    """Returns the pattern of words and other runs; `invisible` characters continue a unit, and begin none."""
    return regex.compile(
        rf"[{WORD}][{WORD}{CONTINUES}{invisible}]*+|[^{WORD}{SPACE}{invisible}](?:[^{WORD}{SPACE}]|[{CONTINUES}])*+"
    )


MASK_UNIT = b"\xff"  # the unit of a mask token; no UTF-8 text holds this byte
BYTE_NAMES = [f"<0x{byte:02X}>" for byte in range(256)]


class Splitter:
    """Cuts a text into units. Subclasses define `spans`, and may define a faster `units`.

    Attributes:
        lowercase: whether `normalize` lower-cases.
        separator: what `decode` puts between units.
        splits_at_spaces: whether a text has the same units as its pieces between white space have together.
    """

    separator: ClassVar[str] = " "
    splits_at_spaces: ClassVar[bool] = False

    def __init__(self, *, lowercase: bool = False) -> None:
        self.lowercase = lowercase

    def units(self, text: str) -> Sequence[Unit]:
        """Returns the units of `text` in order, not normalised."""
        return [text[start:end] for start, end in self.spans(text)]

    def units_of_batch(self, texts: Sequence[str]) -> list[Sequence[Unit]]:
        """Returns the units of each text."""
        return [self.units(text) for text in texts]

    def spans(self, text: str) -> list[Span]:
        """Returns (start, end) of each unit of `text`, in characters."""
        raise NotImplementedError

    def normalize(self, unit: Unit) -> Unit:
        """Returns the form of a unit that the coder encodes: NFC, and lower case if the splitter lower-cases."""
        if unit.isascii() or isinstance(unit, bytes):
            return unit.lower() if self.lowercase else unit
        unit = normal_form(unit)
        return normal_form(unit.lower()) if self.lowercase else unit

    def normalize_all(self, units: Sequence[Unit]) -> list[Unit]:
        """Returns each unit normalised."""
        lowers = self.lowercase
        return [(unit.lower() if lowers else unit) if unit.isascii() else self.normalize(unit) for unit in units]

    def word_ids(self, text: str) -> Sequence[int]:
        """Returns the index of the word of each unit; here every unit is a word."""
        return range(len(self.units(text)))


class _RunSplitter(Splitter):
    """Base class of the splitters whose units are the matches of a pattern; ASCII texts may have a faster one."""

    splits_at_spaces = True
    _pattern: Any = _NOT_SPACE
    _ascii_pattern: ClassVar[Any] = _NOT_SPACE

    def units(self, text: str) -> Sequence[Unit]:
        units: list[Unit] = (self._ascii_pattern if text.isascii() else self._pattern).findall(text)
        return units

    def spans(self, text: str) -> list[Span]:
        pattern = self._ascii_pattern if text.isascii() else self._pattern
        return [match.span() for match in pattern.finditer(text)]


class WordSplitter(_RunSplitter):
    """Runs of word characters and runs of other non-space characters.

    Args:
        lowercase: whether `normalize` lower-cases.
        fold_forms: the edition of the tables by which forms of one word are the same, 2 or 1 (True), see `forms`;
            0 (False) is none. With one, `units` gives folded text, and `normalize` is NFKC without what `fold_unit`
            leaves out. It is NFC in the papers and without this option.

    Raises:
        ValueError: an unknown edition.

    >>> WordSplitter().units("It's 3.14, naïve_x!")
    ['It', "'", 's', '3', '.', '14', ',', 'naïve_x', '!']
    >>> splitter = WordSplitter(fold_forms=2)
    >>> splitter.normalize_all(splitter.units("ﬁles, docu\u00adments, read_me"))
    ['files', ',', 'documents', ',', 'read', 'me']
    """

    _pattern, _ascii_pattern = _runs(), _ASCII_RUNS

    def __init__(self, *, lowercase: bool = False, fold_forms: int = 0) -> None:
        super().__init__(lowercase=lowercase)
        self.fold_forms, self._forms = fold_forms, check_forms(fold_forms)
        if self._forms:
            self._pattern = _FOLDED_RUNS[int(fold_forms)]

    def units(self, text: str) -> Sequence[Unit]:
        return super().units(self._folded(text))

    def spans(self, text: str) -> list[Span]:
        return super().spans(self._folded(text))

    def normalize(self, unit: Unit) -> Unit:
        if not self._forms or unit.isascii() or isinstance(unit, bytes):
            return super().normalize(unit)
        text = self._forms.fold_unit(normal_form(unit, "NFKD"))
        return normal_form(text.lower() if self.lowercase else text)

    def _folded(self, text: str) -> str:
        return self._forms.fold_text(text) if self._forms else text


_FOLDED_RUNS = {edition: _runs(forms.invisible) for edition, forms in FORMS.items()}


class WhitespaceSplitter(_RunSplitter):
    """Runs of non-space characters.

    >>> WhitespaceSplitter(lowercase=True).spans("It's  here")
    [(0, 4), (6, 10)]
    """


class ScriptSplitter(WordSplitter):
    """Words, and in scripts that are written without spaces what stands for a word.

    There a unit is an ideograph, a run of hiragana, of katakana or of Bopomofo, or up to `window` letters of Thai, Lao,
    Khmer, Myanmar and their relatives; a vowel that is written before its consonant begins a new unit. Letters keep
    their marks. `normalize` is NFKD instead of NFC: full-width, half-width and presentation forms are the same, and
    n-grams see the letters of a Hangul syllable. The decimal digits of all scripts become 0–9.

    >>> ScriptSplitter().units("Pythonで書く。 ไม่สามารถเปลี่ยนแปลง")
    ['Python', 'で', '書', 'く', '。', 'ไม่สามารถ', 'เปลี่ยน', 'แปลง']
    """

    def __init__(self, *, window: int = 8, lowercase: bool = False, fold_forms: int = 0) -> None:
        super().__init__(lowercase=lowercase, fold_forms=fold_forms)
        self.window = check_integer("window", window)
        self._script_runs = script_runs(self.window, self._forms.invisible if self._forms else "")

    def units(self, text: str) -> Sequence[Unit]:
        if text.isascii() or not MAY_LACK_SPACES.search(text):
            return super().units(text)
        return cast(list[Unit], self._script_runs.findall(self._folded(text)))

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in self._script_runs.finditer(self._folded(text))]

    def word_ids(self, text: str) -> Sequence[int]:
        ids: list[int] = []  # the windows of a run of Thai letters are one word
        run_end = -1  # where the last unit ended, if it is such a window
        for start, end in self.spans(text):
            is_window = HAS_NO_WORDS.match(text, start) is not None
            goes_on = is_window and start == run_end
            ids.append((ids[-1] if ids else -1) + (not goes_on))
            run_end = end if is_window else -1
        return ids

    def normalize(self, unit: Unit) -> Unit:
        if unit.isascii() or isinstance(unit, bytes):
            return super().normalize(unit)
        text = normal_form(unit, "NFKD").translate(_DIGITS)
        text = self._forms.fold_unit(text) if self._forms else text
        if not self.lowercase:  # the first edition leaves the order of marks as it is
            return normal_form(text, "NFKD") if self.fold_forms > 1 else text
        return normal_form(text.lower(), "NFKD")


class ByteSplitter(Splitter):
    r"""Consecutive windows of `window` bytes of the text's UTF-8, spaces included; a window may end inside a character.

    Source: Elementwise 3.2, tokenisation by bytes. With the `utf8` coder, `decode` returns the text.

    >>> ByteSplitter(window=4).units("naïve")
    [b'na\xc3\xaf', b've']
    """

    separator = ""

    def __init__(self, *, window: int = 16) -> None:
        super().__init__()
        self.window = check_integer("window", window)

    def units(self, text: str) -> Sequence[Unit]:
        data = to_bytes(text)
        return [data[start : start + self.window] for start in range(0, len(data), self.window)]

    def spans(self, text: str) -> list[Span]:
        # character_at[b]: the index of the character that contains byte b.
        character_at = [index for index, character in enumerate(text) for _ in to_bytes(character)]
        starts = range(0, len(character_at), self.window)
        return [(character_at[s], character_at[min(s + self.window, len(character_at)) - 1] + 1) for s in starts]

    def normalize(self, unit: Unit) -> Unit:
        return unit


class SubwordSplitter(Splitter):
    """The tokens of a WordPiece, BPE or Unigram `tokenizers.Tokenizer`; a token's text is the unit.

    The text has the mark of its place, such as "##" of WordPiece and "Ġ" of BPE. Coders and front ends hash it, too.
    The tokenizer's post-processor, padding and truncation are not used.
    """

    def __init__(self, tokenizer: Any) -> None:  # tokenizers.Tokenizer
        super().__init__()
        self.tokenizer = tokenizer
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        # The names of its own special tokens are ordinary text. `MaskSplitter` takes out the masks before.
        self.tokenizer.encode_special_tokens = True

    def units(self, text: str) -> Sequence[Unit]:
        return cast(list[Unit], self._encode(text).tokens)

    def units_of_batch(self, texts: Sequence[str]) -> list[Sequence[Unit]]:
        encodings = self.tokenizer.encode_batch([without_surrogates(text) for text in texts], add_special_tokens=False)
        return [encoding.tokens for encoding in encodings]

    def spans(self, text: str) -> list[Span]:
        spans = []
        for start, end in self._encode(text).offsets:  # some tokenizers count the spaces around a token as part of it
            piece = text[start:end]
            start += len(piece) - len(piece.lstrip())
            spans.append((start, start + len(piece.strip())))
        return spans

    def word_ids(self, text: str) -> Sequence[int]:
        return cast(list[int], self._encode(text).word_ids)

    def normalize(self, unit: Unit) -> Unit:
        return unit

    def _encode(self, text: str) -> Any:  # tokenizers.Encoding
        return self.tokenizer.encode(without_surrogates(text), add_special_tokens=False)


class MaskSplitter(Splitter):
    """Makes each mask token in a text, such as "[MASK]", a unit, `MASK_UNIT`; `splitter` cuts the texts around it."""

    def __init__(self, splitter: Splitter, mask: str) -> None:
        super().__init__(lowercase=splitter.lowercase)
        self._splitter, self.mask = splitter, mask
        # Pieces between white space must not cut the name.
        self.splits_at_spaces = splitter.splits_at_spaces and mask.split() == [mask]

    def units(self, text: str) -> Sequence[Unit]:
        if self.mask not in text:
            return self._splitter.units(text)
        return [unit for _, part in self._parts(text) for unit in (self._splitter.units(part) if part else [MASK_UNIT])]

    def units_of_batch(self, texts: Sequence[str]) -> list[Sequence[Unit]]:
        has_mask = any(self.mask in text for text in texts)
        return super().units_of_batch(texts) if has_mask else self._splitter.units_of_batch(texts)

    def spans(self, text: str) -> list[Span]:
        mask = [(0, len(self.mask))]
        return [
            (start + first, start + last)
            for start, part in self._parts(text)
            for first, last in (self._splitter.spans(part) if part else mask)
        ]

    def word_ids(self, text: str) -> Sequence[int]:
        ids: list[int] = []
        for _, part in self._parts(text):
            first = ids[-1] + 1 if ids else 0
            ids += [first + word for word in self._splitter.word_ids(part)] if part else [first]
        return ids

    def normalize(self, unit: Unit) -> Unit:
        return self.mask if unit is MASK_UNIT else self._splitter.normalize(unit)

    def _parts(self, text: str) -> list[tuple[int, str]]:
        """Returns the texts between the masks, with their starts, and "" with its start for each mask.

        Before a mask, subword tokenizers get no space: in BPE it belongs to the token after it.
        """
        parts, start = [], -len(self.mask)
        *texts, last = text.split(self.mask)
        for part in texts:
            start += len(self.mask)
            cut = part.rstrip() if isinstance(self._splitter, SubwordSplitter) else part
            parts += [(start, cut)] * bool(cut)
            start += len(part)
            parts.append((start, ""))
        return parts + [(start + len(self.mask), last)] * bool(last)


def without_surrogates(text: str) -> str:
    """Returns `text`, of the same length, with U+FFFD for each lone surrogate: the Rust library refuses surrogates."""
    return text if text.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


SPLITTERS: dict[str, type[Splitter]] = {
    "word": WordSplitter,
    "whitespace": WhitespaceSplitter,
    "scripts": ScriptSplitter,
    "bytes": ByteSplitter,
    "subword": SubwordSplitter,
}


# ---- block_coders.py -------------------------------------------------------------------------------------------------
# Block coders: units → blocks of K bytes. The same unit and options give the same block for ever.
#
# `md5` and `lsh` write a digest of T bits, most significant bit first. `lsh-index` writes an integer, big-endian. `utf8`
# writes the unit itself. All arithmetic is on integers, so every platform gives the same bytes.
#
# Sources: HashFormers 3.2 (md5), 3.5 and 3.3 (lsh, lsh-index); Elementwise 3.2 (utf8).

Bytes = NDArray[np.uint8]
Elements = NDArray[np.uint16]
Integers = NDArray[np.int64]
Scores = NDArray[np.signedinteger[Any]]

NUM_SPECIAL = 5  # elements 0–4 are special tokens; byte value b is element b + 5
PAD, UNK, CLS, SEP, MASK = range(NUM_SPECIAL)
MAX_NGRAM = 4
MAX_BITS, MAX_FEATURES = 1 << 15, 1 << 24  # limits of the options; of hyperplanes there are at most MAX_FEATURES
_MAX_NUMBERS_AT_ONCE = 1 << 17  # in a temporary array of `_rolled_products`: half a megabyte fits the CPU's cache
_MAX_ADDED_NUMBERS = 1 << 22  # for a unit, 16 megabytes; beyond it a transform is as fast
_MAX_JOINT_FEATURES = 64  # features of a unit that `_sums` adds together with those of other units; 18 characters


def splitmix64(seed: int, count: int) -> NDArray[np.uint64]:
    """Returns the first `count` outputs of the SplitMix64 generator, (count,) uint64; no library version changes them.

    Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (OOPSLA 2014).

    >>> hex(splitmix64(0, 1)[0])
    '0xe220a8397b1dcdaf'
    """
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
        seed & 0xFFFFFFFFFFFFFFFF
    )
    return _mix(state)


class BlockCoder:
    """Writes a unit as a block of `block_size` bytes.

    Attributes:
        block_size: K.
        pads: True if a short unit leaves padding at the end of its block; False if all K bytes are a digest.
    """

    block_size: int
    pads: bool = False

    def encode(self, units: Sequence[Unit]) -> Bytes:
        """Returns the packed blocks of `units`, which corpora store; the block of a unit depends on that unit alone.

        They are (n, K) uint8, or (n, K + 1) with the number of bytes before the padding last where the coder pads.
        """
        raise NotImplementedError

    def elements(self, units: Sequence[Unit]) -> Elements:
        """Returns the elements of the blocks of `units`, (n, K) uint16, see `unpack`."""
        return unpack(self.encode(units), self.pads, np.uint16)

    def decode(self, block: bytes) -> bytes:
        """Returns the UTF-8 bytes of the unit that was written as `block`, given without its padding.

        Raises:
            NotImplementedError: the coder is a hash.
        """
        raise NotImplementedError(
            f"{type(self).__name__} hashes each unit, so blocks cannot be decoded into text; "
            "keep the text with its blocks, or use the utf8 coder."
        )


class Utf8Coder(BlockCoder):
    """Writes a unit's own UTF-8 bytes, cut at K and zero-padded. Source: Elementwise 3.2.

    >>> Utf8Coder(block_size=4).encode(["as", "naïve"]).tolist()
    [[97, 115, 0, 0, 2], [110, 97, 195, 175, 4]]
    """

    pads = True

    def __init__(self, *, block_size: int = 16) -> None:
        self.block_size = check_integer("block_size", block_size, 255)  # the length of a packed block is one byte

    def encode(self, units: Sequence[Unit]) -> Bytes:
        size = self.block_size
        data = [to_bytes(unit)[:size] for unit in units]
        packed = np.empty((len(units), size + 1), dtype=np.uint8)
        blocks = b"".join([unit.ljust(size, b"\0") for unit in data])
        packed[:, :size] = np.frombuffer(blocks, dtype=np.uint8).reshape(-1, size)
        packed[:, size] = np.fromiter(map(len, data), dtype=np.uint8, count=len(data))
        return packed

    def decode(self, block: bytes) -> bytes:
        return block


class Md5Coder(BlockCoder):
    """HMAC-MD5 of a unit's UTF-8 bytes: T = 128 bits. Source: HashFormers 3.2; RFC 2104, RFC 1321.

    `key` is the secret key; the authors' published models use `en`.

    >>> Md5Coder(key="Jefe").encode(["what do ya want for nothing?"]).tobytes().hex()
    '750c783e6ab0b503eaa86e310a5db738'
    """

    block_size = 16

    def __init__(self, *, key: str = "en") -> None:
        self.key = key
        secret = key.encode("utf-8")
        secret = (_md5(secret).digest() if len(secret) > 64 else secret).ljust(64, b"\0")
        # The two keyed states are copied for each unit, which takes half the time of the `hmac` module.
        self._pads = bytes(b ^ 0x36 for b in secret), bytes(b ^ 0x5C for b in secret)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        inner, outer = map(_md5, self._pads)
        digests = []
        for unit in units:
            first, second = inner.copy(), outer.copy()
            first.update(to_bytes(unit))
            second.update(first.digest())
            digests.append(second.digest())
        return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 16)


class NgramFeatures:
    """Maps the character n-grams of a unit, n = 1…4, to feature numbers in [0, num_features).

    Args:
        num_features: F, the length of the feature vector x.
        ngrams: the n-grams that have a feature, most frequent first (HashFormers 3.3: the top 50 000 of a corpus); an
            n-gram's feature is its rank. None: every n-gram has a feature, its hash modulo F, and nothing is stored.
    """

    def __init__(self, num_features: int, ngrams: Sequence[str] | None = None) -> None:
        self.num_features = num_features
        self._rank = None if ngrams is None else {ngram: rank for rank, ngram in enumerate(ngrams)}

    def __call__(self, units: Sequence[Unit]) -> tuple[Integers, Integers]:
        """Returns (features, owners), both (m,) int64: the feature of each n-gram, and the index of its unit.

        An n-gram that occurs twice has two entries, because its weight is its frequency in the unit.
        """
        texts = [unit.decode("latin-1") if isinstance(unit, bytes) else unit for unit in units]
        return self._hashed(texts) if self._rank is None else self._ranked(texts, self._rank)

    def _hashed(self, texts: Sequence[str]) -> tuple[Integers, Integers]:
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        owner = np.repeat(np.arange(len(texts)), lengths)
        remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters up to the unit's end
        state = np.zeros(len(codes), dtype=np.uint64)  # state[i]: hash of the n-gram that begins at character i
        features, owners = [], []
        for n in range(1, MAX_NGRAM + 1):
            state = state[: len(codes) - n + 1]
            state = _mix(state + codes[n - 1 :] + np.uint64(1))
            within_unit = remaining[: len(state)] >= n
            features.append((state % np.uint64(self.num_features)).astype(np.int64)[within_unit])
            owners.append(owner[: len(state)][within_unit])
            if len(codes) <= n:
                break
        return np.concatenate(features), np.concatenate(owners)

    def _ranked(self, texts: Sequence[str], rank: dict[str, int]) -> tuple[Integers, Integers]:
        pairs = [
            (rank[text[start : start + n]], owner)
            for owner, text in enumerate(texts)
            for n in range(1, MAX_NGRAM + 1)
            for start in range(len(text) - n + 1)
            if text[start : start + n] in rank
        ]
        features, owners = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return features, owners


class LshCoder(BlockCoder):
    """Signs of random hyperplanes: bit i = [x·r_i ≥ 0], where x is the vector of a unit's n-gram frequencies.

    Component j of hyperplane r_i is η[(j + i) mod F]: all hyperplanes are one random vector η, rolled by i. η follows
    from `seed`, so nothing is stored. Source: HashFormers 3.5; 3.3 for η.

    Differs from the paper: η has integer components (sums of four uniform 16-bit numbers, nearly normal), so x·r_i is
    exact and the same on every platform. Features are hashed unless `ngrams` is given.

    Args:
        num_bits: T; the block has ⌈T/8⌉ bytes. If T is no multiple of 8, the last bits are 0.
        num_features: F.
        ngrams: see `NgramFeatures`.
        seed: seed of η.
    """

    def __init__(
        self, *, num_bits: int = 128, num_features: int = 50_000, ngrams: Sequence[str] | None = None, seed: int = 42
    ) -> None:
        self.num_bits = check_integer("num_bits", num_bits, MAX_BITS)
        self.block_size = -(-num_bits // 8)
        self._features = NgramFeatures(check_integer("num_features", num_features, MAX_FEATURES), ngrams)
        self._eta = normal_integers(seed, num_features)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        scores = _rolled_products(self._eta, self._features, units, self.num_bits)
        return np.packbits(scores >= 0, axis=1)


class LshIndexCoder(BlockCoder):
    """Index of the hyperplane with the largest product: v = argmax_i x·r_i over N hyperplanes, big-endian.

    The first maximum wins. Hyperplanes, features and the other arguments are the same as in `LshCoder`. N is
    `num_hyperplanes`; the block has as many bytes as the number N − 1. Source: HashFormers 3.3.
    """

    def __init__(
        self,
        *,
        num_hyperplanes: int = 50_260,
        num_features: int = 50_260,
        ngrams: Sequence[str] | None = None,
        seed: int = 42,
    ) -> None:
        self.num_hyperplanes = check_integer("num_hyperplanes", num_hyperplanes, MAX_FEATURES)
        self.block_size = max(1, -(-(num_hyperplanes - 1).bit_length() // 8))
        self._features = NgramFeatures(check_integer("num_features", num_features, MAX_FEATURES), ngrams)
        self._eta = normal_integers(seed, num_features)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        blocks = np.empty((len(units), self.block_size), dtype=np.uint8)
        for index, unit in enumerate(units):  # one at a time, because each has N scores
            scores = _rolled_products(self._eta, self._features, [unit], self.num_hyperplanes)[0]
            blocks[index] = [*int(scores.argmax()).to_bytes(self.block_size, "big")]
        return blocks


def special_blocks(block_size: int) -> Elements:
    """Returns the blocks [id, 0, …, 0] of the special tokens, by id, (5, K) uint16."""
    blocks = np.zeros((NUM_SPECIAL, block_size), dtype=np.uint16)
    blocks[:, 0] = range(NUM_SPECIAL)
    return blocks


def unpack(packed: Bytes, pads: bool, dtype: type[np.integer[Any]] = np.int64) -> NDArray[Any]:
    """Returns the elements of packed blocks, (…, K) of this type: byte value b → b + 5, padding → 0.

    `packed` is what `BlockCoder.encode` returns, (…, K) uint8, or (…, K + 1) with the length last if the coder `pads`.

    >>> unpack(np.array([[97, 115, 0, 2]], dtype=np.uint8), pads=True).tolist()
    [[102, 120, 0]]
    """
    if not pads:
        return np.add(packed, NUM_SPECIAL, dtype=dtype)
    elements = np.add(packed[..., :-1], NUM_SPECIAL, dtype=dtype)
    elements[np.arange(elements.shape[-1]) >= packed[..., -1:]] = PAD
    return elements


def normal_integers(seed: int, count: int) -> NDArray[np.int32]:
    """Returns `count` nearly normal integers of mean 0 and variance 4·(2¹⁶)²/12, absolute values below 2¹⁷.

    Each is the sum of four uniform 16-bit numbers, less the mean of such sums.
    """
    fields = splitmix64(seed, count)[:, None] >> np.array([0, 16, 32, 48], dtype=np.uint64) & np.uint64(0xFFFF)
    sums: Integers = fields.sum(axis=1).astype(np.int64)
    return (sums - 2 * 0xFFFF).astype(np.int32)


def _rolled_products(eta: NDArray[np.int32], features: NgramFeatures, units: Sequence[Unit], count: int) -> Scores:
    """Returns x·r_i for each unit and i = 0…count−1, (n, count).

    r_i is η rolled by i, and x counts the features of the unit. So x·r_i is the sum of η[(j + i) mod F] over these
    features j, and all products of a unit are the sum of one window of η per feature: η[j], …, η[j + count − 1].
    For η = (7, 8, 9), count = 2 and the features 0 and 2, the windows are (7, 8) and (9, 7), the products (16, 15).
    """
    repeated = np.resize(eta, len(eta) + count - 1)  # η, then η from its beginning again
    # windows[j] is one item of 4·count bytes, because that is copied faster than `count` numbers are.
    windows = np.ndarray(len(eta), f"V{4 * count}", repeated, strides=(4,))
    step = max(1, _MAX_NUMBERS_AT_ONCE // count)
    scores = [_sums(eta, windows, features, units[start : start + step], count) for start in range(0, len(units), step)]
    return scores[0] if len(scores) == 1 else np.concatenate([np.zeros((0, count), np.int32), *scores])


def _sums(
    eta: NDArray[np.int32], windows: NDArray[np.void], features: NgramFeatures, units: Sequence[Unit], count: int
) -> Scores:
    """Returns the sum of the windows of each unit's features, (n, count).

    Adds the first feature of all units at once, then the second of all that have two, and so on. Units that have more
    than `_MAX_JOINT_FEATURES` are then finished alone.
    """
    feature, owner = features(units)
    feature = feature[np.argsort(owner, kind="stable")]  # the first unit's features, then the second's, …
    sizes = np.bincount(owner, minlength=len(units))
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(-sizes, kind="stable")  # most features first: each step adds to the first units only
    sizes, starts = sizes[order], starts[order]

    most = sizes[0]
    sums = np.zeros((len(units), count), dtype=np.int32 if most < 1 << 14 else np.int64)  # of numbers below 2¹⁷
    steps = np.arange(min(most, _MAX_JOINT_FEATURES))
    columns = feature.take(starts + steps[:, None], mode="clip")  # columns[k]: the k-th feature of each unit
    num_adding = np.searchsorted(-sizes, -steps)  # num_adding[k]: how many units have it
    for column, stop in zip(columns, num_adding.tolist(), strict=True):
        sums[:stop] += _windows_of(column[:stop], windows, count)

    for index in range(np.count_nonzero(sizes > _MAX_JOINT_FEATURES)):
        rest = feature[starts[index] + _MAX_JOINT_FEATURES : starts[index] + sizes[index]]
        if len(rest) * count < _MAX_ADDED_NUMBERS:
            sums[index] += _windows_of(rest, windows, count).sum(axis=0, dtype=sums.dtype)
        else:
            _add_correlation(sums[index], rest, eta)

    scores = np.empty_like(sums)
    scores[order] = sums
    return scores


def _add_correlation(total: Scores, features: Integers, eta: NDArray[np.int32]) -> None:
    """Adds the sum of the features' windows by Fourier transforms, in a time that hardly depends on their number.

    It is the circular correlation of η with the counts of the features. Eight bits of the counts go at a time, so the
    errors stay far below 1/2 and rounding is exact.
    """
    spectrum, counts, place = np.fft.rfft(eta), np.bincount(features, minlength=len(eta)), 0
    while counts.any():
        part = np.fft.rfft(counts & 0xFF)
        products = np.rint(np.fft.irfft(spectrum * part.conj(), len(eta))).astype(np.int64) << place
        total += np.resize(products, len(total)).astype(total.dtype)
        counts, place = counts >> 8, place + 8


def _windows_of(features: Integers, windows: NDArray[np.void], count: int) -> NDArray[np.int32]:
    """Returns the windows of `features`, (m, count)."""
    return windows[features].view(np.int32).reshape(-1, count)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _md5(data: bytes) -> Any:  # hashlib's own type has no public name
    return hashlib.md5(data, usedforsecurity=False)


CODERS: dict[str, type[BlockCoder]] = {
    "md5": Md5Coder,
    "lsh": LshCoder,
    "lsh-index": LshIndexCoder,
    "utf8": Utf8Coder,
}


# ---- truncation.py ---------------------------------------------------------------------------------------------------
# Truncation and overflow: which units of one or two sequences a row holds.

Range = tuple[int, int]  # units (start, stop)
Row = tuple[int, Sequence[Range]]  # (index of its sample, the range of units of each of its sequences)


def rows_of_samples(samples: Iterable[Sequence[int]], max_units: int, *options: Any) -> tuple[list[Row], bool]:
    """Returns the rows of all samples, given by the number of units of their sequences, and whether one was cut.

    See `truncated_ranges` for the other arguments.

    >>> rows_of_samples([[2], [5]], 3, "longest_first", "right")
    ([(0, [(0, 2)]), (1, [(0, 3)])], True)
    """
    rows: list[Row] = []
    is_cut = False
    for index, lengths in enumerate(samples):
        if sum(lengths) <= max_units:
            rows.append((index, [(0, length) for length in lengths]))
        else:
            rows += [(index, ranges) for ranges in truncated_ranges(lengths, max_units, *options)]
            is_cut = True
    return rows, is_cut


def truncated_ranges(
    lengths: Sequence[int], max_units: int, strategy: str, side: str, stride: int = 0, overflow: bool = False
) -> list[list[Range]]:
    """Returns, for each row of a sample, the units (start, stop) of each sequence.

    Args:
        lengths: number of units of each of one or two sequences.
        max_units: units that fit a row.
        strategy: which sequence is cut: `longest_first`, `only_first` or `only_second`.
        side: "right" cuts off the end, "left" the beginning.
        stride: number of units that neighbouring rows share.
        overflow: whether the units that were cut off follow in further rows.

    Raises:
        ValueError: no units would be left, the side is another, or `overflow` of a pair under longest_first.

    >>> truncated_ranges([5], 3, "longest_first", "right", stride=1, overflow=True)
    [[(0, 3)], [(2, 5)]]
    """
    if sum(lengths) <= max_units:
        return [[(0, length) for length in lengths]]
    if side not in ("left", "right"):
        raise ValueError(f"truncation_side={side!r} is unknown; give left or right.")
    if max_units < 0:
        raise ValueError(f"max_length is {-max_units} less than the number of special tokens; raise max_length.")
    if len(lengths) == 2 and strategy == "longest_first":
        if overflow:
            raise ValueError(
                "the overflow of a pair is ambiguous under truncation='longest_first'; "
                "give truncation='only_first' or 'only_second'."
            )
        shorter = min(*lengths, max_units // 2)
        kept = (max_units - shorter, shorter) if lengths[0] > lengths[1] else (shorter, max_units - shorter)
        return [[_kept_range(length, count, side) for length, count in zip(lengths, kept, strict=True)]]
    cut = int(strategy == "only_second")  # index of the sequence that is cut
    if cut >= len(lengths):
        raise ValueError("truncation='only_second' got a single text; give text_pair, or truncation=True.")
    size = max_units - sum(lengths) + lengths[cut]
    if size <= 0 and len(lengths) == 2:
        raise ValueError(
            f"cutting only the {'second' if cut else 'first'} sequence leaves {size} of its {lengths[cut]} tokens; "
            "raise max_length, or give truncation='longest_first'."
        )
    parts = _windows(lengths[cut], size, stride, side) if overflow else [_kept_range(lengths[cut], size, side)]
    whole = [(0, length) for length in lengths]
    return [[*whole[:cut], part, *whole[cut + 1 :]] for part in parts]


def _windows(length: int, size: int, stride: int, side: str) -> list[Range]:
    """Returns ranges of at most `size` units that cover all units; neighbours share `stride` units."""
    if not 0 <= stride < size:
        raise ValueError(
            f"stride={stride} must be at least 0 and less than the {size} tokens that fit a row; "
            "lower stride, or raise max_length."
        )
    starts = range(0, max(length - stride, 1), size - stride)
    parts = [(start, min(start + size, length)) for start in starts]
    return [(length - stop, length - start) for start, stop in parts] if side == "left" else parts


def _kept_range(length: int, count: int, side: str) -> Range:
    return (length - count, length) if side == "left" else (0, count)


# ---- onnx_settings.py ------------------------------------------------------------------------------------------------
# The settings of an ONNX graph: inference.json, the file beside it.

SETTINGS = "inference.json"
MODEL_FILES = ("model.onnx", "model_int8.onnx")  # of a folder, the first that it holds is read
PROBLEM_TYPES = ("single_label_classification", "multi_label_classification", "regression")
FEWEST_TOKENS = 3  # two special ones, and a word
LEGAL: dict[str, Callable[[Any], bool]] = {  # of the settings: name → whether a value is legal
    **dict.fromkeys(("splitter", "coder", "architecture"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("splitter_options", "coder_options"), lambda value: isinstance(value, dict)),
    "labels": lambda value: isinstance(value, list) and all(isinstance(label, str | int) for label in value),
    "mask_token": lambda value: isinstance(value, str | None),
    "max_tokens": lambda value: isinstance(value, int) and value >= FEWEST_TOKENS,
    "outputs": lambda value: isinstance(value, list),
    "problem_type": lambda value: value in (None, *PROBLEM_TYPES),
    "threshold": lambda value: isinstance(value, int | float) and 0 <= value <= 1,
    "truncation_side": lambda value: value in ("left", "right"),
}


def read_settings(path: str | Path) -> tuple[Path, dict[str, Any]]:
    """Returns the .onnx file that a path means, see `OnnxModel`, and its settings, the content of inference.json."""
    files = [Path(path) / name for name in MODEL_FILES] if Path(path).is_dir() else [Path(path)]
    file = next(filter(Path.is_file, files), None)
    if file is None:
        problem = f"holds none of {', '.join(MODEL_FILES)}" if Path(path).is_dir() else "does not exist"
        raise ValueError(f"{str(path)!r} {problem}; give the folder or a file of an exported model.")
    settings = read_json(file.with_name(SETTINGS))
    if not isinstance(settings, dict):
        raise damaged(file.with_name(SETTINGS), "it holds no object")
    return file, settings


def read_json(file: Path) -> Any:
    """Returns the content of a file. Raises ValueError if it is no JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise damaged(file, str(error)) from error


def check_settings(file: Path, settings: dict[str, Any], needed: Sequence[str]) -> None:
    """Raises ValueError if the settings of a graph lack a name of `needed`, or have a value that is not legal."""
    if missing := [name for name in needed if name not in settings]:
        raise damaged(file.with_name(SETTINGS), f"it lacks {', '.join(missing)}")
    for name, is_legal in LEGAL.items():
        if name in settings and not is_legal(settings[name]):
            raise damaged(file.with_name(SETTINGS), f"its {name} cannot be {settings[name]!r}")


def damaged(file: Path, problem: str) -> ValueError:
    """Returns an error of one sentence for a file of an exported model."""
    return ValueError(f"{str(file)!r} is damaged: {problem}; export the model again.")


# ---- onnx_model.py ---------------------------------------------------------------------------------------------------

Text = str | tuple[str, str]  # a text, or a pair of texts
Texts = str | Iterable[Text]  # a list, also a column of numpy, pandas, Polars or Arrow, or what yields texts
ARCHITECTURE = "VocablessForSequenceClassification"
GRAPH_ID = "graph_id"  # what the settings and the graphs of a folder have in common
VECTORS = "sentence_embedding"  # output of a sentence encoder's graph
READS_VOCABULARY = ("subword", "lsh-pieces", "lsh-index-pieces")
THRESHOLD = 0.5  # of several labels, where the settings have none
BATCH = 64  # texts that are read at once
LARGEST_INT8 = 127


class OnnxModel:
    """A model in the folder that `vocabless onnx` has written; base of the two below.

    Args:
        path: one of the .onnx files, or their folder, of which the first of `MODEL_FILES` is read.
        threads: of onnxruntime; 0 is one for each core. Where several processes share a machine, give 1.

    Raises:
        ValueError: the model is of another kind, its tokenizer is one that this file does not know, or a file is
            damaged or does not belong to the other.
        OSError: a file is missing.
    """

    def __init__(self, path: str | Path, threads: int = 0) -> None:
        self._made_of = (Path(path).absolute(), threads)
        file, self.settings = read_settings(path)
        self.check(file, self.settings)
        check_settings(file, self.settings, self.needed)
        self.blocks = Blocks(self.settings, file.parent)
        self._session = open_session(file, threads)
        if (read := self._session.get_inputs()[0].shape[-1]) != (written := self.blocks([""]).shape[-1]):
            raise damaged(file.with_name(SETTINGS), f"its blocks have {written} elements, the graph's {read}")
        if self._session.get_modelmeta().custom_metadata_map.get(GRAPH_ID, "") not in ("", self.settings.get(GRAPH_ID)):
            raise ValueError(
                f"{str(file)!r} does not belong to the {SETTINGS} beside it: a process is writing the folder, or was "
                "stopped while it did; load it again, or export the model once more."
            )

    needed: tuple[str, ...] = ("splitter", "splitter_options", "coder", "coder_options", "max_tokens")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and what was pickled, loads its folder again."""
        return type(self), self._made_of

    @staticmethod
    def check(file: Path, settings: dict[str, Any]) -> None:
        """Raises ValueError if the settings are not those of this kind of model."""

    def run(self, texts: Texts, output: str) -> NDArray[np.float32]:
        """Returns an output of the graph for each text, (n, its width). Texts of similar length are read together."""
        texts = listed(texts)
        order = sorted(range(len(texts)), key=lambda index: len("".join(texts[index])))
        values = np.zeros((len(texts), self.width(output)), np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            values[batch] = self.run_blocks(self.blocks([texts[index] for index in batch]), output)
        return values

    def run_blocks(self, blocks: NDArray[np.int64], output: str) -> NDArray[np.float32]:
        """Returns an output of the graph for the blocks of texts, (B, S, K)."""
        values: NDArray[np.float32] = self._session.run([output], {"input_ids": blocks})[0]
        return values

    def width(self, output: str) -> int:
        """Returns the size of the last dimension of an output of the graph."""
        return next((int(found.shape[-1]) for found in self._session.get_outputs() if found.name == output), 0)


class OnnxClassifier(OnnxModel):
    """A classifier of texts or of pairs of texts. See `OnnxModel` for the arguments and the errors.

    Attributes:
        labels: in the order of the logits.
        threshold: probability from which on one of several labels for a text is given.
    """

    needed = (*OnnxModel.needed, "labels", "problem_type")

    def __init__(self, path: str | Path, threads: int = 0) -> None:
        super().__init__(path, threads)
        self.labels: list[str] = self.settings["labels"]
        self.is_multi_label = self.settings["problem_type"] == "multi_label_classification"
        width = self.width("logits")
        if not len({*map(str, self.labels)}) == len(self.labels) == width:
            problem = f"its labels, {self.labels}, are not {width} different names, one for each output of the graph"
            raise damaged(read_settings(path)[0].with_name(SETTINGS), problem)
        self.threshold: float = self.settings.get("threshold", THRESHOLD)

    @staticmethod
    def check(file: Path, settings: dict[str, Any]) -> None:
        """Raises ValueError if the model is no classifier of texts."""
        check_settings(file, settings, ("architecture",))
        if settings["architecture"] != ARCHITECTURE:
            raise ValueError(f"{str(file)!r} is a {settings['architecture']}; give a {ARCHITECTURE}.")

    def logits(self, texts: Texts) -> NDArray[np.float32]:
        """Returns the logits of all texts, (n, labels); a string is one text. See `run` for the batches."""
        return self.run(texts, "logits")

    def run_blocks(self, blocks: NDArray[np.int64], output: str) -> NDArray[np.float32]:
        """Returns the logits of texts; a model that reads sentences, too, reads those of texts with several."""
        logits = super().run_blocks(blocks, output)
        rule = self.settings.get("reads_sentences")
        if not rule:
            return logits
        run, rejects = super().run_blocks, self.settings.get("rejects", False)
        return read_with_sentences(blocks, logits, lambda sentences: run(sentences, output), rule, rejects)

    def __call__(self, texts: Texts) -> list[dict[str, float]]:
        """Returns label → probability for each text or pair of texts, a string is one; for a regression, its number."""
        return [dict(zip(self.labels, row, strict=True)) for row in self.probabilities(texts).tolist()]

    def probabilities(self, texts: Texts) -> NDArray[np.float64]:
        """Returns the probabilities of all texts, (n, labels); for a regression, the numbers, (n, 1)."""
        values = self.logits(texts).astype(np.float64)
        if self.is_multi_label:
            return 1 / (1 + np.exp(-values))
        return values if self.is_number else softmax(values)

    @property
    def is_number(self) -> bool:
        """Whether the model gives a number and no label."""
        return len(self.labels) == 1 and not self.is_multi_label

    def label_of(self, probabilities: dict[str, float]) -> str | list[str]:
        """Returns the label of a text by an answer of `__call__`; of several labels, those that reach the limit."""
        if self.is_multi_label:
            return [label for label, probability in probabilities.items() if probability >= self.threshold]
        return max(probabilities, key=probabilities.__getitem__)


def listed(texts: Any) -> list[Text]:
    """Returns texts, or pairs of them, as a list; a string is one text. Raises ValueError for anything else."""
    if isinstance(texts, str):
        return [texts]
    is_column = isinstance(texts, Iterable) and not isinstance(texts, bytes | bytearray | Mapping | set | frozenset)
    if not is_column or hasattr(texts, "columns") or getattr(texts, "ndim", 1) == 0:
        raise ValueError(f"texts are a list of strings, but here is one {type(texts).__name__}; give a list.")
    rows = texts.to_pylist() if hasattr(texts, "to_pylist") else [*texts]  # of Arrow
    for row in rows:
        parts = row if isinstance(row, tuple | list | np.ndarray) else [row]
        if not all(isinstance(part, str) for part in parts):
            raise ValueError(
                f"texts are strings, or pairs of two, but here is {reprlib.repr(row)}; give a list of them."
            )
    return rows


class OnnxEncoder(OnnxModel):
    """A sentence encoder: texts → the vectors that sentence-transformers gives. See `OnnxModel` for the arguments.

    Attributes:
        dimensions: D, the numbers of a vector.
    """

    def __init__(self, path: str | Path, threads: int = 0) -> None:
        super().__init__(path, threads)
        self.dimensions = self.width(VECTORS)

    @staticmethod
    def check(file: Path, settings: dict[str, Any]) -> None:
        """Raises ValueError if the graph gives no vectors of texts."""
        if VECTORS not in (outputs := settings.get("outputs", ())):
            raise ValueError(
                f"{str(file)!r} gives {', '.join(outputs)} and no {VECTORS}; export a sentence encoder, a "
                "checkpoint with a modules.json."
            )

    def encode(
        self, texts: Texts, dimensions: int | None = None, int8: bool = False
    ) -> NDArray[np.float32] | NDArray[np.int8]:
        """Returns the vector of each text or pair of texts, (n, D) float32; a string is one text.

        Args:
            texts: any number of texts. They are read in batches of similar length.
            dimensions: keeps the first numbers of each vector, and divides them by their length; None keeps all.
            int8: whether each vector is multiplied so that its largest number is ±127, and rounded: (n, D) int8. The
                factors differ, so compare such vectors by their cosine.

        Raises:
            ValueError: `dimensions` is below 1 or above D, or a pair has not two texts.
        """
        if dimensions is not None and not 1 <= dimensions <= self.dimensions:
            raise ValueError(f"dimensions={dimensions} is not within 1 and {self.dimensions}; give a number between.")
        vectors = self.run(texts, VECTORS)
        if dimensions is not None:
            vectors = vectors[:, :dimensions]
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return as_int8(vectors) if int8 else vectors


def as_int8(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Returns vectors as int8 numbers, each multiplied so that its largest number is ±127.

    >>> as_int8(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[64, -127], [0, 0]]
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    return np.rint(vectors * (LARGEST_INT8 / np.where(largest > 0, largest, 1))).astype(np.int8)


def open_session(file: Path, threads: int) -> Any:
    """Returns an onnxruntime session of a graph. Raises ValueError if the file is damaged."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    errors = tuple(each for each in vars(state).values() if isinstance(each, type) and issubclass(each, Exception))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except errors as error:
        raise damaged(file, str(error).rpartition(":")[2].rstrip(".")) from error


class Blocks:
    """Writes texts as the `input_ids` of a model, by its inference.json and, if its folder has one, its ngrams.json.

    Warns once if it cuts a text. Raises ValueError for a splitter, a coder or an option that this file does not know.
    """

    def __init__(self, settings: dict[str, Any], folder: Path) -> None:
        coder_options, ngrams = settings["coder_options"], folder / "ngrams.json"
        if ngrams.is_file():
            coder_options = {**coder_options, "ngrams": read_json(ngrams)}
        for kind in ("splitter", "coder"):
            if settings[kind] in READS_VOCABULARY:
                raise ValueError(
                    f"the {kind} {settings[kind]!r} needs the package vocabless; use its tokenizer, or another model."
                )
        self._coder: BlockCoder = build("coder", CODERS, settings["coder"], coder_options)
        self._splitter: Splitter = build("splitter", SPLITTERS, settings["splitter"], settings["splitter_options"])
        if settings.get("mask_token"):
            self._splitter = MaskSplitter(self._splitter, settings["mask_token"])
        self._max_tokens = int(settings["max_tokens"])
        self._has_warned = False
        self._side = settings.get("truncation_side", "right")

    def __call__(self, texts: str | Sequence[Text]) -> NDArray[np.int64]:
        """Returns [CLS], then the units of each text and [SEP], padded with 0, (B, S, K)."""
        rows = [self._parts(text) for text in ([texts] if isinstance(texts, str) else texts)]
        units = list({unit for row in rows for part in row for unit in part} - {MASK_UNIT})
        elements = self._coder.elements(self._splitter.normalize_all(units))
        special = special_blocks(self._coder.block_size)
        block_of = dict(zip(units, elements, strict=True)) | {MASK_UNIT: special[MASK], None: special[SEP]}
        lines = [[unit for part in row for unit in (*part, None)] for row in rows]
        blocks = np.zeros((len(lines), 1 + max(map(len, lines), default=1), self._coder.block_size), np.int64)
        blocks[:, 0] = special[CLS]
        for block_row, line in zip(blocks, lines, strict=True):
            block_row[1 : len(line) + 1] = [block_of[unit] for unit in line]
        return blocks

    def _parts(self, text: Text) -> list[Sequence[Unit]]:
        """Returns the units of a text, or of both texts of a pair, that fit a row; the longer text is cut first."""
        parts = [self._splitter.units(part) for part in ((text,) if isinstance(text, str) else text)]
        if not 1 <= len(parts) <= 2:
            raise ValueError(f"a pair has {len(parts)} texts; give a string, or two strings.")
        limit = self._max_tokens - 1 - len(parts)
        if sum(map(len, parts)) > limit and not self._has_warned:
            self._has_warned = True
            warnings.warn(f"a text has more than {self._max_tokens} tokens; only so many are read.", stacklevel=2)
        (ranges,) = truncated_ranges([*map(len, parts)], limit, "longest_first", self._side)
        return [units[start:stop] for units, (start, stop) in zip(parts, ranges, strict=True)]


def main(argv: list[str] | None = None) -> None:
    """Prints the answer for each text, FOLDER TEXT …, or for each pair, --pairs FOLDER FIRST SECOND …

    It is the label and all probabilities, or of a sentence encoder the vector, a JSON list in a line.
    """
    arguments = sys.argv[1:] if argv is None else argv
    is_pair = "--pairs" in arguments[:1]
    path, *words = arguments[is_pair:] or [""]
    if not words or (is_pair and len(words) % 2):
        sys.exit(
            "Give the folder or the file of an exported model, and one text or more; with --pairs, two for each pair."
        )
    texts: list[Text] = list(zip(words[::2], words[1::2], strict=True)) if is_pair else list(words)
    try:
        _, settings = read_settings(path)
        model = OnnxEncoder(path) if VECTORS in settings.get("outputs", ()) else OnnxClassifier(path)
    except (ValueError, OSError) as error:
        sys.exit(f"{error}")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a label can have characters that the terminal lacks
    for text in texts:
        if isinstance(model, OnnxEncoder):
            print(json.dumps(model.encode([text])[0].tolist()))
            continue
        (probabilities,) = model([text])
        print(model.label_of(probabilities), {label: round(value, 4) for label, value in probabilities.items()})


if __name__ == "__main__":
    main()
