"""The loss of a student, against plain Python, and the measures of its vectors."""

import math

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import EvalPrediction

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.saving.tables import short_table
from vocabless.training.distillation.sentence_measures import SentenceMeasures, read_scored_pairs, recall
from vocabless.training.distillation.sentence_student import SentenceStudent, VectorCollator
from vocabless.training.distillation.vector_dataset import VectorDataset
from vocabless.training.trainer import EXACT_LOSS


def cosine(a, b) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


@pytest.fixture
def student(shrink) -> SentenceStudent:
    torch.manual_seed(0)
    return SentenceStudent(VocablessModel(shrink(load_config("hashgram-tiny"))), 6, 5.0).eval()


def batch_of(texts, vectors):
    examples = [{"text": text, "vector": vector} for text, vector in zip(texts, vectors, strict=True)]
    return VectorCollator(load_tokenizer("hashgram-tiny"), 16)(examples)


def test_the_loss_is_what_plain_python_computes(student) -> None:
    targets = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float16)
    batch = batch_of(["one word", "some more words, and one", ""], targets)
    with torch.no_grad():
        output = student(**batch)
        vectors = output["vectors"].tolist()
    assert all(
        cosine(vector, vector) == pytest.approx(1) and math.hypot(*vector) == pytest.approx(1) for vector in vectors
    )
    own = [1 - cosine(v, t) for v, t in zip(vectors, targets.astype(float), strict=True)]
    squares = [
        (cosine(vectors[i], vectors[j]) - cosine(targets[i].astype(float), targets[j].astype(float))) ** 2
        for i in range(3)
        for j in range(3)
    ]
    assert output["loss"].item() == pytest.approx(sum(own) / 3 + 5.0 * sum(squares) / 9, rel=1e-4)


def test_neighbours_add_the_divergence_of_the_similarities_with_the_other_texts(student) -> None:
    targets = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float16)
    batch = batch_of(["one word", "some more words, and one", ""], targets)
    with torch.no_grad():
        plain = student(**batch)
        student.neighbour_weight = 2.0
        found = student(**batch)["loss"].item() - plain["loss"].item()

    def shares(vectors, text):
        """The softmax over the other texts, of cosines divided by 0.05."""
        others = [math.exp(cosine(vectors[text], vectors[j]) / 0.05) for j in range(3) if j != text]
        return [other / sum(others) for other in others]

    divergence = sum(
        theirs * math.log(theirs / ours)
        for text in range(3)
        for theirs, ours in zip(
            shares(targets.astype(float), text), shares(plain["vectors"].tolist(), text), strict=True
        )
    )
    assert found == pytest.approx(2.0 * 0.05 * divergence / 3, rel=1e-3)
    assert found > 0.01


def test_nested_dimensions_add_the_similarities_of_the_first_numbers(student) -> None:
    targets = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float16)
    batch = batch_of(["one word", "some more words, and one", ""], targets)
    with torch.no_grad():
        plain = student(**batch)
        student.nested_dimensions = (2, 4)
        nested = student(**batch)
    vectors, pairs = plain["vectors"].tolist(), [(i, j) for i in range(3) for j in range(3)]
    expected = 0.0
    for size in (2, 4):
        parts = [vector[:size] for vector in vectors]
        squares = [
            (cosine(parts[i], parts[j]) - cosine(targets[i].astype(float), targets[j].astype(float))) ** 2
            for i, j in pairs
        ]
        expected += 5.0 / 2 * sum(squares) / 9
    assert (nested["loss"] - plain["loss"]).item() == pytest.approx(expected, rel=1e-4)
    assert nested["vectors"].tolist() == vectors


def test_padding_does_not_move_a_vector(student) -> None:
    with torch.no_grad():
        alone = student(**batch_of(["a text"], np.zeros((1, 6))))["vectors"][0]
        beside = student(**batch_of(["a text", "a text of many more words"], np.ones((2, 6))))["vectors"][0]
    torch.testing.assert_close(alone, beside)


def test_texts_are_changed_anew_in_each_epoch_and_alike_in_each_order() -> None:
    texts = Dataset.from_dict({"text": ["ab", "cdef"], "vector": [[1.0], [2.0]]})
    same, lengths = np.arange(2), lambda batch: list(map(len, batch))
    data = VectorDataset(texts, texts, same, lengths, change=lambda text, rng: f"{text}{rng.integers(10**6)}", seed=3)
    assert data.lengths.tolist() == [2, 4]
    first, again = data.__getitems__([0, 1]), data.__getitems__([1, 0])[::-1]
    assert [item["text"] for item in first] == [item["text"] for item in again]
    assert first[0]["text"].startswith("ab") and first[0]["vector"].tolist() == [1.0]
    data.set_epoch(1)
    assert data[0]["text"] != first[0]["text"]
    assert VectorDataset(texts, texts, same, lengths)[1]["text"] == "cdef"


def test_recall_counts_the_neighbours_that_both_find() -> None:
    targets = np.eye(4, dtype=np.float32)
    targets[1] = targets[0]  # 0 and 1 are neighbours, so are 2 and 3
    targets[3] = targets[2]
    assert (recall(targets, targets, 1), recall(targets[[2, 3, 0, 1]], targets, 1)) == (1, 0)


def test_recall_among_own_vectors_does_not_ask_for_the_teachers_space() -> None:
    targets = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    turned = targets[:, ::-1]  # all cosines are as before, but those with the teacher's vectors are not
    assert recall(turned, targets, index=turned) == 1 > recall(turned, targets)


def test_vectors_in_fewer_bytes_are_measured() -> None:
    rng = np.random.default_rng(1)
    targets = rng.normal(size=(40 + 6, 8)).astype(np.float32)
    vectors = targets.copy()
    vectors[:, :2] = 1.0  # the first two numbers say nothing
    measures = SentenceMeasures(40, [1.0, 3.0, 2.0], nested_dimensions=[2, 6])(EvalPrediction(vectors, targets))
    assert measures["neighbours_all"] > measures["neighbours_6"] > measures["neighbours_2"]
    assert measures["neighbours_int8"] == pytest.approx(measures["neighbours_all"], abs=0.05)
    assert measures["neighbours_binary"] < measures["neighbours_all"]
    assert measures["spearman_all"] == measures["spearman"] and "spearman_6" in measures
    table = short_table({f"eval_{name}": value for name, value in measures.items()})
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| all", "| 6", "| 2", "| int8", "| binary"]
    assert short_table({}) == ""


def test_measures_tell_texts_from_pairs() -> None:
    rng = np.random.default_rng(1)
    targets = rng.normal(size=(20 + 6, 5)).astype(np.float16)
    scores = [cosine(a, b) for a, b in zip(targets[20:23].astype(float), targets[23:].astype(float), strict=True)]
    measures = SentenceMeasures(20, scores)(EvalPrediction(targets * np.float16(2), targets))
    assert measures["cosine"] == pytest.approx(1, abs=1e-3) and measures[EXACT_LOSS] == pytest.approx(0, abs=1e-3)
    assert measures["recall_at_10"] == measures["spearman"] == measures["teacher_spearman"] == 1
    worse = SentenceMeasures(20, [-score for score in scores])(EvalPrediction(rng.normal(size=targets.shape), targets))
    assert worse["teacher_spearman"] == pytest.approx(-1) and abs(worse["cosine"]) < 0.5
    assert "spearman" not in SentenceMeasures(26, [])(EvalPrediction(targets, targets))
    same = np.ones_like(targets)
    assert SentenceMeasures(20, scores)(EvalPrediction(same, targets))["spearman"] == 0
    few = SentenceMeasures(11, [])(EvalPrediction(targets[:11], targets[:11]))
    assert few.keys() == {EXACT_LOSS, "cosine"} and SentenceMeasures(11, []).names == ["loss", "cosine"]


def test_scored_pairs_are_read_and_their_columns_checked(tmp_path) -> None:
    (tmp_path / "pairs.csv").write_text("sentence1,sentence2,label\na,b,3.5\nc,d,1\n")
    assert read_scored_pairs(str(tmp_path / "pairs.csv")) == (["a", "c"], ["b", "d"], [3.5, 1.0])
    (tmp_path / "bad.csv").write_text("first,second\na,b\n")
    with pytest.raises(ValueError, match="lacks sentence1, sentence2, score; it needs the columns"):
        read_scored_pairs(str(tmp_path / "bad.csv"))
    with pytest.raises(ValueError, match="is no parquet, jsonl or csv file"):
        read_scored_pairs(str(tmp_path / "none.csv"))
