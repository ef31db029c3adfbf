"""Translations: how they are read, held out and sampled, and what is measured on them."""

from collections import Counter

import numpy as np
import pytest
from datasets import Dataset, Features, List, Value
from transformers import EvalPrediction

from vocabless.saving.tables import language_table
from vocabless.training.distillation.parallel_texts import ParallelTexts, read_parallel, sample_languages
from vocabless.training.distillation.sentence_measures import SentenceMeasures
from vocabless.training.distillation.vector_dataset import VectorDataset, mean_vector

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
    sides = [parallel.sides[side] for side in parallel.side_of]
    return list(zip(parallel.texts["text"][:], sides, parallel.languages.tolist(), strict=True))


def test_a_text_without_a_translation_is_its_own(parallel) -> None:
    assert rows_of(parallel) == [(row["text"], row["english"] or row["text"], row["lang"]) for row in ROWS]
    assert parallel.texts.features["text"].dtype == "string"
    assert parallel.sides == ["a dog", "a cat", "oui"] and parallel.counts() == {"de": 3, "fr": 2}
    assert parallel.identity() == parallel.select(np.arange(5)).identity() != parallel.select(np.arange(4)).identity()


def test_files_of_words_stand_beside_files_of_translations(tmp_path, empty_cache) -> None:
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


def test_no_english_side_is_in_both_parts(parallel) -> None:
    parts = [parallel.hold_out(0.5, seed) for seed in range(9)]
    for train, held_out in parts:
        assert sorted(rows_of(train) + rows_of(held_out)) == sorted(rows_of(parallel))
        assert not {*train.sides} & {*held_out.sides}
        assert len(train.sides) + len(held_out.sides) == 3
    assert len({len(train) for train, _ in parts}) > 1


def test_the_held_out_texts_of_a_language_have_different_english_sides(parallel) -> None:
    chosen = {row for seed in range(9) for row in rows_of(parallel.at_most(0, seed))}
    assert chosen == {*rows_of(parallel)}
    for seed in range(9):
        counts = Counter((side, language) for _, side, language in rows_of(parallel.at_most(0, seed)))
        assert set(counts.values()) == {1} and len(counts) == 4
        assert Counter(row[2] for row in rows_of(parallel.at_most(1, seed))) == {"de": 1, "fr": 1}


@pytest.mark.parametrize("exponent", [0, 0.3, 0.5, 1])
def test_languages_are_sampled_by_a_power_of_their_number(exponent) -> None:
    numbers = {"de": 1000, "fr": 400, "fa": 7}
    languages = np.array([name for name, number in numbers.items() for _ in range(number)])
    rows = sample_languages(languages, exponent, seed=1)
    found = Counter(languages[rows])
    for name, number in numbers.items():
        assert found[name] == pytest.approx(1000 * (number / 1000) ** exponent, abs=1)
        of_each = np.bincount(rows, minlength=len(languages))[languages == name]
        assert of_each.max() - of_each.min() <= 1
    assert (rows == sample_languages(languages, exponent, seed=1)).all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,english\na,b\n", r"--parallel '.*pairs\.csv' lacks the column lang; it needs text, lang, english\."),
        ("text,english,lang\na,b,de\n,b,de\n", r"--parallel '.*pairs\.csv' has no text or no lang in row 2; fill it"),
        ("text,english,lang\na,b,\n", r"--parallel '.*pairs\.csv' has no text or no lang in row 1"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(content, message, tmp_path, empty_cache) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_parallel([str(file)])
    with pytest.raises(ValueError, match=r"--parallel '.*none\.csv' is no parquet, jsonl or csv file; give one\."):
        read_parallel([str(tmp_path / "none.csv")])


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
    languages = np.array(["de"] * 20 + ["fr"] * 3)
    side_of = np.array([*range(20), 5, 6, 7])
    parallel = ParallelTexts(Dataset.from_dict({"text": ["x"] * 23}), languages, ["y"] * 20, side_of)
    sides = rng.normal(size=(20, 8))
    own, pairs = rng.normal(size=(15, 8)), rng.normal(size=(4, 8))
    vectors = np.concatenate([own, pairs, sides[side_of], sides])
    vectors[15 + 4 + 20 : 15 + 4 + 22] = -sides[5:7]  # two French texts point away from their translations
    targets = np.concatenate([own, pairs, sides[side_of], sides])
    measures = SentenceMeasures(15, [1.0, 2.0], parallel)(EvalPrediction(vectors, targets))
    assert measures["translation_de"] == measures["recall_at_10_de"] == 1
    assert measures["translation_fr"] == pytest.approx(1 / 3) and "recall_at_10_fr" not in measures
    assert measures["cosine_fr"] == pytest.approx(-1 / 3, abs=1e-6)
    assert measures["translation"] == pytest.approx(2 / 3) and measures["cosine"] == pytest.approx(1)
    table = language_table({f"eval_{name}": value for name, value in measures.items()}).splitlines()
    assert table[2:] == ["| de | 100.0 | 100.0 | 100.0 |", "| fr | 33.3 | -33.3 | – |"]
    assert language_table({"eval_cosine": 1.0}) == ""
