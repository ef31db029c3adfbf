"""Which texts count as English."""

from vocabless.texts.english import ENGLISH_TEXTS, are_english, is_english

ENGLISH = "I would like to know when the parcel that I ordered will be here."
GERMAN = "Ich möchte gern wissen, wann das Paket ankommt, das ich bestellt habe."


def test_texts_are_english_if_most_of_those_that_can_be_judged_are() -> None:
    few = round(10 * (1 - ENGLISH_TEXTS))
    assert are_english([ENGLISH] * (10 - few) + [GERMAN] * few) is True
    assert are_english([ENGLISH] * (9 - few) + [GERMAN] * (few + 1)) is False
    assert are_english(["Refund", "Lost card", *[ENGLISH] * 3]) is True
    assert are_english(["Refund", "Rückgabe", "4 € 20"]) is None


def test_other_letters_tell_short_texts_apart_and_names_in_them_do_not() -> None:
    assert is_english("보험") is False and is_english("страховка и карта") is False
    assert is_english("José and Zoë went to the café near the old station.") is True
    assert is_english("") is None and is_english("12 34 56 78 90") is None
