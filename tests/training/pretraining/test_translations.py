"""Translations: how they are read, held out and sampled, and what is measured on them."""

from collections import Counter

import numpy as np
import pytest
from datasets import Dataset, Features, List, Value
from transformers import EvalPrediction

from vocabless.saving.tables import language_table
from vocabless.training.pretraining.measures import SentenceMeasures, read_scored_pairs
from vocabless.training.pretraining.student import VectorDataset, mean_vector
from vocabless.training.pretraining.translations import ParallelTexts, read_parallel, sample_languages

ROWS = [
    {"text": "ein Hund", "english": "a dog", "lang": "de"},
    {"text": "un chien", "english": "a dog", "lang": "fr"},
    {"text": "eine Katze", "english": "a cat", "lang": "de"},
    {"text": "Kater", "english": "a cat", "lang": "de"},
    {"text": "oui", "english": None, "lang": "fr"},
]


@pytest.fixture
def parallel(tmp_path, empty_cache) -> ParallelTexts:
    file = tmp_path / "pairs.parquet"
    Dataset.from_list(ROWS).cast_column("text", Value("large_string")).to_parquet(file)  # as pandas writes it
    return read_parallel([str(file)])


def rows_of(parallel: ParallelTexts) -> list[tuple[str, str, str]]:
    english = [parallel.translations[index] for index in parallel.english_of]
    return list(zip(parallel.texts["text"][:], english, parallel.languages.tolist(), strict=True))


def test_a_text_without_a_translation_is_its_own(parallel) -> None:
    assert rows_of(parallel) == [(row["text"], row["english"] or row["text"], row["lang"]) for row in ROWS]
    assert parallel.texts.features["text"].dtype == "string"
    assert parallel.translations == ["a dog", "a cat", "oui"] and parallel.counts() == {"de": 3, "fr": 2}
    assert (
        parallel.fingerprint()
        == parallel.select(np.arange(5)).fingerprint()
        != parallel.select(np.arange(4)).fingerprint()
    )


def test_files_of_words_are_read_beside_files_of_translations(tmp_path, empty_cache) -> None:
    files = [str(tmp_path / name) for name in ("words.csv", "words.parquet", "pairs.csv")]
    (tmp_path / "words.csv").write_text("text,english,lang,rank\nHund,,de,0\n1984,,de,1\n")
    Dataset.from_dict({"text": ["chat"], "lang": ["fr"], "rank": [0]}).to_parquet(files[1])
    (tmp_path / "pairs.csv").write_text("lang,text,english\nde,ein Hund,a dog\nde,Berlin,Berlin\n")
    for order in ([0, 1, 2], [2, 1, 0]):
        parallel = read_parallel([files[index] for index in order])
        assert sorted(rows_of(parallel)) == [
            *(("1984", "1984", "de"), ("Berlin", "Berlin", "de"), ("Hund", "Hund", "de")),
            *(("chat", "chat", "fr"), ("ein Hund", "a dog", "de")),
        ]
        assert rows_of(parallel.select(parallel.translated())) == [("ein Hund", "a dog", "de")]


def test_no_translation_is_in_both_parts_and_none_twice_in_a_language(parallel) -> None:
    parts = [parallel.hold_out(0.5, seed) for seed in range(9)]
    for train, held_out in parts:
        assert sorted(rows_of(train) + rows_of(held_out)) == sorted(rows_of(parallel))
        assert not {*train.translations} & {*held_out.translations}
        assert len(train.translations) + len(held_out.translations) == 3
    assert len({len(train) for train, _ in parts}) > 1
    all_of, one_of = ([rows_of(parallel.at_most(number, seed)) for seed in range(9)] for number in (0, 1))
    assert {row for rows in all_of for row in rows} == {*rows_of(parallel)}
    for rows, one in zip(all_of, one_of, strict=True):
        assert sorted(Counter(row[1:] for row in rows).values()) == [1] * 4
        assert Counter(row[2] for row in one) == {"de": 1, "fr": 1}


@pytest.mark.parametrize("exponent", [0, 0.3, 0.5, 1])
def test_languages_are_sampled_by_a_power_of_their_number(exponent) -> None:
    numbers = {"de": 1000, "fr": 400, "fa": 7}
    languages = np.array([name for name, number in numbers.items() for _ in range(number)])
    rows = sample_languages(languages, exponent, seed=1)
    sampled = Counter(languages[rows])
    for name, number in numbers.items():
        assert sampled[name] == pytest.approx(1000 * (number / 1000) ** exponent, abs=1)
        of_each = np.bincount(rows, minlength=len(languages))[languages == name]
        assert of_each.max() - of_each.min() <= 1
    assert (rows == sample_languages(languages, exponent, seed=1)).all()


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_parallel, "text,english\na,b\n", "lacks lang; it needs the columns text, lang"),
        (read_parallel, "text,english,lang\na,b,de\n,b,de\n", "has no text or no lang in row 2; fill it"),
        (read_parallel, "text,english,lang\na,b,\n", "has no text or no lang in row 1"),
        (read_parallel, None, "is no parquet, jsonl or csv file; give one"),
        (read_scored_pairs, "first,second\na,b\n", "lacks sentence1, sentence2, score; it needs the columns sent"),
        (read_scored_pairs, None, "is no parquet, jsonl or csv file; give one"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(read, content, message, tmp_path, empty_cache) -> None:
    file = tmp_path / "pairs.csv"
    if content is not None:
        file.write_text(content)
    flag, argument = ("--parallel", [str(file)]) if read is read_parallel else ("--sts_file", str(file))
    with pytest.raises(ValueError, match=rf"{flag} '.*pairs\.csv' {message}"):
        read(argument)


def test_each_text_has_the_vector_of_its_target() -> None:
    texts = Dataset.from_dict({"text": ["dog", "Hund", "cat"]})
    features = Features({"vector": List(Value("float16"), length=2)})
    vectors = Dataset.from_dict({"vector": [[3.0, 4.0], [1.0, 0.0]]}, features=features)
    mean = mean_vector(vectors)
    np.testing.assert_allclose(mean, [0.8, 0.4], rtol=1e-3)
    targets, rows = np.array([0, 0, 1]), np.array([2, 1, 1])
    examples = VectorDataset(texts, vectors, targets, lambda batch: [len(text) ** 2 for text in batch], rows)
    assert [item["text"] for item in examples.__getitems__([0, 1, 2])] == ["cat", "Hund", "Hund"]
    assert [item["vector"].tolist() for item in examples.__getitems__([2, 0])] == [[3, 4], [1, 0]]
    assert len(examples) == 3 and examples.lengths.tolist() == [9, 16, 16]
    centred = VectorDataset(texts, vectors, targets, lambda batch: [1] * len(batch), rows, mean)[1]["vector"]
    np.testing.assert_allclose(centred, [0.6 - 0.8, 0.8 - 0.4], atol=1e-3)


def test_each_language_is_measured() -> None:
    rng = np.random.default_rng(0)
    english_of = np.array([*range(20), 5, 6, 7])
    texts, languages = Dataset.from_dict({"text": ["x"] * 23}), np.array(["de"] * 20 + ["fr"] * 3)
    english, others = rng.normal(size=(20, 8)), rng.normal(size=(15 + 4, 8))  # texts of the corpus, and pairs
    targets = np.concatenate([others, english[english_of], english])
    vectors = targets.copy()
    vectors[15 + 4 + 20 : 15 + 4 + 22] = -english[5:7]  # two French texts point away from their translations
    parallel = ParallelTexts(texts, languages, ["y"] * 20, english_of)
    metrics = SentenceMeasures(15, [1.0, 2.0], parallel)(EvalPrediction(vectors, targets))
    assert metrics["translation_de"] == metrics["recall_at_10_de"] == 1
    assert metrics["translation_fr"] == pytest.approx(1 / 3) and "recall_at_10_fr" not in metrics
    assert metrics["cosine_fr"] == pytest.approx(-1 / 3, abs=1e-6)
    assert metrics["translation"] == pytest.approx(2 / 3) and metrics["cosine"] == pytest.approx(1)
    table = language_table({f"eval_{name}": value for name, value in metrics.items()}).splitlines()
    assert table[2:] == ["| de | 100.0 | 100.0 | 100.0 |", "| fr | 33.3 | -33.3 | – |"]
    assert language_table({"eval_cosine": 1.0}) == ""
