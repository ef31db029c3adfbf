"""A student of sentence vectors: its loss against plain Python, its examples and translations, and its measures."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from datasets import Dataset, Features, List, Value
from torch import nn
from transformers import TrainerState

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.saving.tables import vector_tables
from vocabless.training.pretraining.losses import DirectionLoss, LastStage
from vocabless.training.pretraining.measures import measured_names, read_scored_pairs, recall
from vocabless.training.pretraining.translations import ParallelTexts, read_parallel, sample_languages
from vocabless.training.pretraining.vector_texts import VectorTexts, mean_vectors, ready_blocks

pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")

from vocabless.training.pretraining.evaluation import Evaluation, HeldOutTexts, ScoredPairs, Translations
from vocabless.training.pretraining.student import LengthBatches, StudentCollator, sentence_student


def cosine(a, b) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def mean_square(vectors, targets) -> float:
    """The mean squared difference between the cosines of all pairs."""
    places = [(i, j) for i in range(len(vectors)) for j in range(len(vectors))]
    squares = [(cosine(vectors[i], vectors[j]) - cosine(targets[i], targets[j])) ** 2 for i, j in places]
    return sum(squares) / len(squares)


def divergence(vectors, targets) -> float:
    """The mean divergence between softmaxes over the other texts, of cosines divided by 0.05."""

    def shares(rows, text):
        others = [math.exp(cosine(rows[text], row) / 0.05) for place, row in enumerate(rows) if place != text]
        return [other / sum(others) for other in others]

    pairs = [zip(shares(targets, text), shares(vectors, text), strict=True) for text in range(len(targets))]
    return sum(theirs * math.log(theirs / ours) for pair in pairs for theirs, ours in pair) / len(targets)


@pytest.fixture
def student(shrink):
    torch.manual_seed(0)
    model, tokenizer = VocablessModel(shrink(load_config("hashgram-tiny"))), load_tokenizer("hashgram-tiny")
    return sentence_student(model, tokenizer, 6, 16, {}, model.config.hidden_size).eval()


class Known:
    """A model that knows the vectors of some texts."""

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts, **options):
        return np.array([self.vectors[text] for text in texts])


@pytest.mark.parametrize(("is_last", "nested"), [(False, ()), (True, ()), (True, (2, 4, 9))])
def test_the_loss_is_what_plain_python_computes(is_last, nested) -> None:
    targets = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 6)).astype(np.float16))
    vectors = nn.functional.normalize(torch.from_numpy(np.random.default_rng(1).normal(size=(3, 6))), dim=-1)
    loss = DirectionLoss(lambda features: {"sentence_embedding": features["vectors"]}, nested)
    loss.in_last_stage = is_last
    value = loss([{"vectors": vectors}], targets).item()
    vectors, taught = vectors.tolist(), targets.tolist()
    expected = sum(1 - cosine(v, t) for v, t in zip(vectors, taught, strict=True)) / 3
    expected += 5 * mean_square(vectors, taught) + 2 * is_last * 0.05 * divergence(vectors, taught)
    for size in (size for size in nested if size < 6):
        expected += 5 / 2 * mean_square([vector[:size] for vector in vectors], taught)
    assert value == pytest.approx(expected, rel=1e-3)
    assert divergence(vectors, taught) > 0.1


def test_padding_does_not_move_a_vector_and_bfloat16_does_not_round_it(student) -> None:
    def vectors_of(*texts):
        with torch.no_grad():
            return student(student.preprocess([*texts]))["sentence_embedding"]

    alone, (beside, _) = vectors_of("a text")[0], vectors_of("a text", "a text of many more words")
    torch.testing.assert_close(alone, beside)
    assert alone.norm().item() == pytest.approx(1)
    with torch.autocast("cpu", torch.bfloat16):
        rough = vectors_of("a text")
    assert rough.dtype == torch.float32 and (rough.bfloat16().float() != rough).any()
    torch.testing.assert_close(rough[0], alone, atol=0.02, rtol=0)


def test_weights_of_the_last_stage_learn_in_it_alone() -> None:
    weight = nn.Parameter(torch.ones(2, 3))
    loss = DirectionLoss(nn.Identity())
    LastStage(loss, weight, 2, 0.5)
    for loss.in_last_stage, last in ((False, 0.0), (True, 1.0)):
        weight.grad = None
        weight.sum().backward()
        assert weight.grad.tolist() == [[1.0, 1.0, last]] * 2


def test_texts_are_misspelt_anew_in_each_epoch_and_alike_in_each_order() -> None:
    texts = Dataset.from_dict({"text": ["seven boats", "came home together"], "vector": [[1.0], [2.0]]})
    same, lengths = np.arange(2), lambda batch: list(map(len, batch))
    reader = VectorTexts(texts, texts, same, lengths, misspell_probability=1.0, seed=3)
    data = reader.dataset()
    assert data.with_format("numpy")["length"][:].tolist() == [11, 18]
    first, again = data[[0, 1]], data[[1, 0]]
    assert first["text"] == again["text"][::-1]
    assert first["text"][0] != "seven boats" and first["label"][0].tolist() == [1.0]
    reader.on_epoch_begin(None, TrainerState(epoch=1.0), None)
    assert data[1]["text"] != first["text"][1]
    assert VectorTexts(texts, texts, same, lengths).dataset()[1]["text"] == "came home together"


def test_blocks_that_are_found_once_give_the_batches_of_the_texts(empty_cache) -> None:
    tokenizer, same = load_tokenizer("hashgram-tiny"), np.arange(4)
    texts = Dataset.from_dict({"text": ["seven boats", "a [MASK] came home together", "", "naïve"]})
    vectors = Dataset.from_dict({"vector": [[1.0], [2.0], [3.0], [4.0]]})
    collate = StudentCollator(tokenizer, 5)
    ready = ready_blocks(texts, tokenizer, 5)
    assert ready.cache_files and ready_blocks(texts, "another family", 5) is None
    plain, blocks = (
        VectorTexts(texts, vectors, same, lambda batch: [1] * len(batch), blocks=each).dataset()
        for each in (None, ready)
    )
    for indices in ([3, 1, 0], [2], [1, 2, 3, 0]):
        expected, given = (collate(data.__getitems__(indices)) for data in (plain, blocks))
        assert expected.keys() == given.keys() and expected["label"].dtype == torch.float32
        for name, values in expected.items():
            assert values.dtype == given[name].dtype and torch.equal(values, given[name])


def test_each_text_has_the_vector_of_its_target() -> None:
    texts = Dataset.from_dict({"text": ["dog", "Hund", "cat"]})
    features = Features({"vector": List(Value("float16"), length=2)})
    vectors = Dataset.from_dict({"vector": [[3.0, 4.0], [1.0, 0.0]]}, features=features)
    one_group = np.zeros(2, int)
    np.testing.assert_allclose(mean_vectors(vectors, one_group), [[0.8, 0.4]], rtol=1e-3)
    targets, rows = np.array([0, 0, 1]), np.array([2, 1, 1])
    examples = VectorTexts(texts, vectors, targets, lambda batch: [len(text) ** 2 for text in batch], rows).dataset()
    assert examples[:]["text"] == ["cat", "Hund", "Hund"]
    assert [label.tolist() for label in examples[[2, 0]]["label"]] == [[3, 4], [1, 0]]
    assert len(examples) == 3 and examples.with_format("numpy")["length"][:].tolist() == [9, 16, 16]
    centred = VectorTexts(texts, vectors, targets, lambda batch: [1] * len(batch), rows, one_group).dataset()
    np.testing.assert_allclose(centred[1]["label"], [0.6 - 0.8, 0.8 - 0.4], atol=1e-3)


def test_the_mean_of_each_language_is_taken_off_its_vectors() -> None:
    values = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float16)
    features = Features({"vector": List(Value("float16"), length=3)})
    vectors = Dataset.from_dict({"vector": values}, features=features)
    texts, groups = Dataset.from_dict({"text": list("abcdefg")}), np.array([0, 1, 0, 2, 2, 1, 0])
    lengths, same = (lambda batch: [1] * len(batch)), np.arange(7)
    data = VectorTexts(texts, vectors, same, lengths, groups=groups).dataset()
    units = [row / np.linalg.norm(row) for row in values.astype(np.float32)]
    for index, label in enumerate(data[:]["label"]):
        others = [unit for unit, group in zip(units, groups, strict=True) if group == groups[index]]
        np.testing.assert_allclose(label, units[index] - sum(others) / len(others), atol=1e-3)


def test_batches_of_like_length_are_in_another_order_in_each_epoch() -> None:
    data = Dataset.from_dict({"length": [3, 1, 2, 9, 8, 7, 5]})
    batches = LengthBatches(data, 3, False, seed=1)
    first = list(batches)
    assert sorted(map(len, first)) == [1, 3, 3] and {*first[0], *first[1], *first[2]} == {*range(7)}
    assert len(batches) == 3 and first == list(batches)
    batches.set_epoch(1)
    assert first != list(batches)
    assert len(LengthBatches(data, 3, True)) == 2


def test_recall_counts_the_neighbours_that_both_find() -> None:
    targets = np.repeat(np.eye(2, dtype=np.float32), 11, axis=0)  # two groups, in which each has ten neighbours
    assert (recall(targets, targets), recall(targets[::-1], targets)) == (1, 0)
    targets = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    turned = targets[:, ::-1]  # all cosines are as before, but those with the teacher's vectors are not
    assert recall(turned, targets, index=turned) == 1 > recall(turned, targets)


def test_vectors_in_fewer_bytes_are_measured() -> None:
    targets = np.random.default_rng(1).normal(size=(40 + 6, 8)).astype(np.float32)
    vectors = targets.copy()
    vectors[:, :2] = 1.0  # the first two numbers say nothing
    texts = [str(row) for row in range(46)]
    parts = [
        HeldOutTexts(texts[:40], targets[:40], [2, 6]),
        ScoredPairs(texts[40:], [1.0, 3.0, 2.0], targets[40:], [2, 6]),
    ]
    metrics = Evaluation(parts)(Known(dict(zip(texts, vectors, strict=True))))
    assert metrics.keys() >= {"loss", *measured_names(40, True, False)} and "sequential_score" not in metrics
    assert metrics["neighbours_all"] > metrics["neighbours_6"] > metrics["neighbours_2"]
    assert metrics["neighbours_int8"] == pytest.approx(metrics["neighbours_all"], abs=0.05)
    assert metrics["neighbours_binary"] < metrics["neighbours_all"]
    assert metrics["spearman_all"] == metrics["spearman"] and "spearman_6" in metrics
    (table,) = vector_tables({f"eval_{name}": value for name, value in metrics.items()})
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| all", "| 6", "| 2", "| int8", "| binary"]


def test_texts_are_measured_against_the_teacher_and_pairs_against_people() -> None:
    rng = np.random.default_rng(1)
    targets = rng.normal(size=(26, 5)).astype(np.float16)
    texts = [str(row) for row in range(26)]
    scores = [cosine(a, b) for a, b in zip(targets[20:23].astype(float), targets[23:].astype(float), strict=True)]

    def measures(vectors, scores=scores):
        model = Known(dict(zip(texts, vectors, strict=True)))
        pairs = ScoredPairs(texts[20:], scores, targets[20:])
        return Evaluation([HeldOutTexts(texts[:20], targets[:20]), pairs])(model)

    best = measures(targets * np.float16(2))
    assert best["cosine"] == pytest.approx(1, abs=1e-3) and best["loss"] == pytest.approx(0, abs=1e-3)
    assert best["recall_at_10"] == best["spearman"] == best["teacher_spearman"] == 1
    worse = measures(rng.normal(size=targets.shape), [-score for score in scores])
    assert worse["teacher_spearman"] == pytest.approx(-1) and abs(worse["cosine"]) < 0.5
    assert measures(np.ones_like(targets))["spearman"] == 0
    few = HeldOutTexts(texts[:11], targets[:11])(Known(dict(zip(texts, targets, strict=True))))
    assert few.keys() == {*measured_names(11, False, False)} == {"loss", "cosine"}


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
    all_of, one_of = ([rows_of(parallel.at_most(number, seed)) for seed in range(9)] for number in (9, 1))
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


@pytest.mark.parametrize(("read", "content", "message"), [
    (read_parallel, "text,english\na,b\n", "lacks lang; it needs the columns text, lang"),
    (read_parallel, "text,english,lang\na,b,de\n,b,de\n", "has no text or no lang in row 2; fill it"),
    (read_parallel, "text,english,lang\na,b,\n", "has no text or no lang in row 1"),
    (read_parallel, None, "does not exist; give a"),
    (read_scored_pairs, "first,second\na,b\n", "lacks sentence1, sentence2, score; it needs the columns sent"),
    (read_scored_pairs, "sentence1,sentence2,score\na,b,1\na,b,\n", "lacks a sentence or a score in row 2; fill"),
    (read_scored_pairs, "sentence1,sentence2,score\na,,1\n", "lacks a sentence or a score in row 1"),
    (read_scored_pairs, "sentence1,sentence2,score\na,b,nan\n", "lacks a sentence or a score in row 1"),
    (read_scored_pairs, None, "does not exist; give a"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_refused(read, content, message, tmp_path, empty_cache) -> None:
    file = tmp_path / "pairs.csv"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ValueError, match=rf"pairs\.csv' {message}"):
        read([str(file)] if read is read_parallel else str(file))


def test_each_language_is_measured() -> None:
    rng = np.random.default_rng(0)
    english_of = np.array([*range(20), 5, 6, 7])
    texts, languages = [f"text {row}" for row in range(23)], np.array(["de"] * 20 + ["fr"] * 3)
    english, translations = rng.normal(size=(20, 8)), [f"translation {row}" for row in range(20)]
    vectors = dict(zip([*texts, *translations], [*english[english_of], *english], strict=True))
    vectors |= dict(zip(texts[20:22], -english[5:7], strict=True))  # point away from their translations
    parallel = ParallelTexts(Dataset.from_dict({"text": texts}), languages, translations, english_of)
    metrics = Translations(parallel, english)(Known(vectors))
    assert metrics["translation_de"] == metrics["recall_at_10_de"] == 1
    assert metrics["translation_fr"] == pytest.approx(1 / 3) and "recall_at_10_fr" not in metrics
    assert metrics["cosine_fr"] == pytest.approx(-1 / 3, abs=1e-6)
    assert metrics["translation"] == pytest.approx(2 / 3)
    *_, table = vector_tables({f"eval_{name}": value for name, value in metrics.items()})
    assert table.splitlines()[2:] == ["| de | 100.0 | 100.0 | 100.0 |", "| fr | 33.3 | -33.3 | – |"]
    assert vector_tables({"eval_cosine": 1.0}) == []


def test_scored_pairs_are_read_with_either_name_of_the_score(tmp_path) -> None:
    for name in ("label", "score"):
        (tmp_path / f"{name}.csv").write_text(f"sentence1,sentence2,{name}\na,b,3.5\nc,d,1\n")
        assert read_scored_pairs(str(tmp_path / f"{name}.csv")) == (["a", "c"], ["b", "d"], [3.5, 1.0])
