"""Which texts of a corpus a teacher embeds."""

import time

import pytest
from datasets import Dataset

from vocabless.training.distillation.corpus_texts import corpus_texts, draw_texts, split_document

DOCUMENT = " ".join(f"This is sentence {i}, and more (so it seems) of it." for i in range(1, 13))


def corpus(*documents: str | None) -> Dataset:
    return Dataset.from_dict({"text": list(documents)})


def test_sentences_clauses_and_passages_take_turns() -> None:
    texts = list(split_document(DOCUMENT))
    assert texts[0] == "This is sentence 1, and more (so it seems) of it."
    assert texts[1:5] == ["This is sentence 2,", "and more", "(so it seems)", "of it."]
    assert texts[5].startswith("This is sentence 3, and")
    passage = next(text for text in texts if text.count("sentence") == 4)
    assert passage.startswith("This is sentence 8,") and passage.endswith("sentence 11, and more (so it seems) of it.")


@pytest.mark.parametrize("space", [" ", "\t", "\u00a0"])
def test_long_white_space_takes_linear_time(space) -> None:
    document = f"It rained. We{space * 32_000}stayed{space * 32_000}(at home){space} and she read."
    start = time.process_time()
    texts = list(split_document(document))
    assert time.process_time() - start < 2  # milliseconds; a search from each character takes a minute
    assert texts == ["It rained.", f"We{space * 32_000}stayed", "(at home)", "and she read."]


def test_texts_are_distinct_long_enough_and_as_many_as_asked() -> None:
    documents = corpus("One two three. Yes. One two three.", None, "Four five six seven.", "")
    texts = corpus_texts(documents, 0, seed=0)
    assert sorted(texts) == ["Four five six seven.", "One two three."]
    assert len(corpus_texts(documents, 1, seed=0)) == 1
    assert corpus_texts(documents, 0, seed=0) == texts


def test_a_corpus_without_sentences_is_refused() -> None:
    with pytest.raises(ValueError, match="has 2 documents but no sentence of 3 words"):
        corpus_texts(corpus("", "two words"), 0, seed=0)


def test_shares_divide_the_texts_among_the_corpora() -> None:
    corpora = [corpus(*(f"{name} text number {i}." for i in range(100))) for name in ("first", "second")]
    texts = draw_texts(corpora, [3, 1], 40, seed=0)
    assert [sum(text.startswith(name) for text in texts) for name in ("first", "second")] == [30, 10]
    assert len(draw_texts(corpora, None, 0, seed=0)) == 200


@pytest.mark.parametrize(("shares", "max_texts", "numbers"), [([1, 0.001], 100, "100, 0"), ([3, 1], 0, "0, 0")])
def test_a_share_of_less_than_one_text_is_refused(shares, max_texts, numbers) -> None:
    corpora = [corpus(*(f"{name} text number {i}." for i in range(100))) for name in ("first", "second")]
    with pytest.raises(ValueError, match=rf"divides --max_texts {max_texts} into {numbers} texts; raise --max_texts"):
        draw_texts(corpora, shares, max_texts, seed=0)
