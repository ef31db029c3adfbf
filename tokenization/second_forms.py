r"""The second edition of the forms of one word: `fold_forms` with the value 2. It has all rules of the first one.

Beside joiners and other ignorable characters, these are the characters that stand for one letter and NFKD leaves apart,
and spellings with two codes in our 30 languages. Of two forms, the one that is frequent in texts stays. Symbols of
several characters, such as ㎏ and ½, stay units of their own.

- The joiners U+200C and U+200D change nothing. Behind a dead consonant that has a letter of its own, as Bengali ৎ and
  the chillus of Malayalam, U+200D makes this letter. Variation selectors and fillers change nothing either.
- A symbol that stands for one letter, as Ⓐ, ㊤ or a Kangxi radical, is the letter.
- The dot of Catalan l·l is left out, also in ŀ; so are the stress of a Cyrillic vowel, the dot of Turkish İ in lower
  case, the nukta of Hindi क़ ख़ ग़ ज़ फ़, and further points of Arabic.
- Romanian ș and ț are ş and ţ. Hindi nasals before a consonant of their class, and the candrabindu, are the anusvara.
  Vietnamese tones are placed as in "hóa", not as in "hoá". Thai เเ is แ, and nikhahit follows the tone. Vowels that
  Devanagari and Bengali write in two signs, Yiddish digraphs, alef wasla and Persian ۀ are the usual letters.

Sources: Unicode 17, its Do-Not-Emit characters, and the spelling rules of the languages.
"""

from .forms import FIRST_FORMS, INVISIBLE, LOOK_ALIKES, POINTS, SAME_LETTERS, YO, Forms, Groups, Rules

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
