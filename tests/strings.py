"""Strings that differ between languages and libraries: case, composition, spaces, joiners, surrogates."""

import random
import unicodedata

RARE = [
    *("ΑΣ", "ΑΣΑ", "Σ", "ὈΔΥΣΣΕΎΣ", "ΌΣΟΣ-", "İ", "Iı", "İSTANBUL", "ẞ", "ﬁ", "Å", "Å", "é", "e\u0301", "ﬃ", "Ⅻ", "Ω"),
    *("\u0085", "\u200b", "\ufeff", "\x1c", "\x1d", "\x1e", "\x1f", "\u00a0", "\u2028", "\u3000", "\u180e", "\t\n"),
    *("\u0301", "\u0323\u0307", "\u0307\u0323", "q\u0307\u0323", "\u200d", "\u200c", "\u20e3", "\ufe0f", "\u0345"),
    *("👩‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "1️⃣", "🇩🇪", "😀", "हिन्दी", "क्‍ष", "ไทย", "한국어", "\u1112\u1161\u11ab", "日本語"),
    *("العَرَبِيَّة", "ภาษาไทย", "ကမ္ဘာ", "ខ្មែរ", "ｶﾞﾗｽ", "ﾞ", "ＡＢＣ１２", "二〇二四年", "﷽", "①½", "が", "か\u3099"),
    *("[MASK]", "a[MASK][MASK]b", "[mask]", "[MASK", "[SEP]"),
    *("_", "a_b", "it's", "3.14", "…", "—", "²", "x\u0338", "\u0000", "\x7f", "𝔘", "𐐀", "Ǆ", "ŉ", "ǰ", "ΐ", "և"),
]  # fmt: skip
LONE_SURROGATES = ["\ud800", "\udfff", "\ud83d"]


def random_strings(count: int, seed: int = 0) -> list[str]:
    """Returns strings of up to 12 pieces: words, rare pieces, any assigned character, lone surrogates."""
    generator = random.Random(seed)
    return ["".join(_pieces(generator)) for _ in range(count)]


def _pieces(generator: random.Random) -> list[str]:
    pieces: list[str] = []
    for _ in range(generator.randrange(13)):
        kind = generator.random()
        if kind < 0.3:
            piece = "".join(generator.choice("abcXYZ09 ,.'-") for _ in range(generator.randrange(1, 6)))
        elif kind < 0.65:
            piece = generator.choice(RARE)
        elif kind < 0.97:
            piece = _assigned(generator)
        else:  # JavaScript would join it with a low surrogate behind it
            piece = generator.choice(LONE_SURROGATES) + " "
        pieces.append(piece)
    return pieces


def _assigned(generator: random.Random) -> str:
    """Returns a character that Python's tables know; one that they do not know can have changed since."""
    while True:
        character = chr(generator.choice((generator.randrange(0x3000), generator.randrange(0x20000))))
        if unicodedata.category(character) not in ("Cn", "Cs"):
            return character


def packed_blocks(tokenizer, texts):
    """The units of all texts end to end, as corpora store them, and the number of units of each text."""
    units = tokenizer.unit_splitter.units_of_batch(texts)
    return tokenizer.packed_units([unit for each in units for unit in each]), [*map(len, units)]
