"""Sentences of texts end at the marks of each script, and all that knows marks knows the same ones."""

import re
from pathlib import Path

import pytest

from vocabless.conversion.search_export.passages import passages_of
from vocabless.modeling import sentences as of_classifiers
from vocabless.texts.documents import Section
from vocabless.texts.sentences import sentences

IN_JAVASCRIPT = Path(__file__).parents[2] / "browser" / "sentences.js"
EXAMPLES = {
    "en": ["It costs 3.50 euros! ", "Is v1.2 here? ", 'He said "no." ', "(Yes.) ", "No… ", "End."],
    "fr": ["« C’est cher ! ", "» Oui. ", "Non."],
    "el": ["Γεια. ", "Ναι."],
    "ar": ["هل هذا هو؟ ", "نعم. ", "لا؟! ", "ربما"],
    "fa": ["این چیست؟ ", "«نمی‌دانم؟» ", "بله."],
    "ur": ["یہ ایک ہے۔ ", "وہ دو ہے۔", "کیا؟ ", "ہاں۔"],
    "hi": ["यह एक है। ", "वह दो है।", "क्या? ", "श्लोक॥ ", "अंत"],
    "bn": ["এটা এক। ", "ওটা দুই।", "শেষ"],
    "zh": ["这是一。", "那是二！？", "他说：“好。”", "完"],
    "ja": ["これです。", "「はい。」", "長さは３．５です．", "次です｡", "終"],
    "hy": ["Սա մեկն է։ ", "Վերջ։"],
    "am": ["ይህ አንድ ነው። ", "ያ ሁለት ነው፧ ", "መጨረሻ"],
    "my": ["ဒါက တစ်။ ", "အဆုံး။"],
    "km": ["នេះមួយ។ ", "ចប់"],
    "bo": ["འདི་གཅིག། ", "མཇུག"],
    "th": ["นี่คือหนึ่ง นั่นคือสอง\n", "จบ"],
}


@pytest.mark.parametrize("language", EXAMPLES)
def test_a_sentence_ends_at_the_marks_of_its_script_and_a_passage_of_the_search_page_there(language: str) -> None:
    text = "".join(EXAMPLES[language])
    assert sentences(text) == EXAMPLES[language]
    assert passages_of([Section("", text)], limit=100).sentences == EXAMPLES[language]


@pytest.mark.parametrize("mark", of_classifiers.MARKS)
def test_each_mark_of_classifiers_ends_a_sentence_of_a_passage(mark: str) -> None:
    assert sentences(f"One{mark} Two") == [f"One{mark} ", "Two"]


def test_classifiers_in_javascript_have_the_marks_and_the_limits_of_python() -> None:
    text = IN_JAVASCRIPT.read_text(encoding="utf-8")
    found = dict(re.findall(r"^const ([A-Z_]+) = ([\d.e-]+);", text, re.M))
    assert {name: float(value) for name, value in found.items()} == {
        name: getattr(of_classifiers, name) for name in ("FIRST_BYTE", "SHORTEST", "MOST_AT_ONCE", "LEAST_SAID")
    }
    assert f'const MARKS = [..."{of_classifiers.MARKS}"]' in text
    assert {*"؟۔।"} < {*of_classifiers.MARKS}
