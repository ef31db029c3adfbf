"""The loss of a student, against plain Python, its examples, and the metrics of its vectors."""

import math

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import EvalPrediction

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.saving.tables import short_table
from vocabless.training.pretraining.measures import SentenceMeasures, read_scored_pairs, recall
from vocabless.training.pretraining.student import SentenceStudent, VectorCollator, VectorDataset
from vocabless.training.trainer import EXACT_LOSS


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
def student(shrink) -> SentenceStudent:
    torch.manual_seed(0)
    return SentenceStudent(VocablessModel(shrink(load_config("hashgram-tiny"))), 6, 0.0).eval()


def batch_of(texts, vectors):
    examples = [{"text": text, "vector": vector} for text, vector in zip(texts, vectors, strict=True)]
    return VectorCollator(load_tokenizer("hashgram-tiny"), 16)(examples)


@pytest.mark.parametrize(
    ("similarity", "neighbour", "nested"), [(0.0, 0.0, ()), (5.0, 0.0, ()), (0.0, 2.0, ()), (5.0, 2.0, (2, 4))]
)
def test_the_loss_is_what_plain_python_computes(similarity, neighbour, nested, student) -> None:
    targets = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float16)
    student.similarity_weight, student.neighbour_weight, student.nested_dimensions = similarity, neighbour, nested
    with torch.no_grad():
        output = student(**batch_of(["one word", "some more words, and one", ""], targets))
    vectors, taught = output["vectors"].tolist(), targets.astype(float)
    assert all(math.hypot(*vector) == pytest.approx(1) for vector in vectors)
    expected = sum(1 - cosine(v, t) for v, t in zip(vectors, taught, strict=True)) / 3
    expected += similarity * mean_square(vectors, taught) + neighbour * 0.05 * divergence(vectors, taught)
    for size in nested:
        expected += similarity / len(nested) * mean_square([vector[:size] for vector in vectors], taught)
    assert output["loss"].item() == pytest.approx(expected, rel=1e-3)
    assert divergence(vectors, taught) > 0.1


def test_padding_does_not_move_a_vector(student) -> None:
    with torch.no_grad():
        alone = student(**batch_of(["a text"], np.zeros((1, 6))))["vectors"][0]
        beside = student(**batch_of(["a text", "a text of many more words"], np.ones((2, 6))))["vectors"][0]
    torch.testing.assert_close(alone, beside)


def test_texts_are_misspelt_anew_in_each_epoch_and_alike_in_each_order() -> None:
    texts = Dataset.from_dict({"text": ["seven boats", "came home together"], "vector": [[1.0], [2.0]]})
    same, lengths = np.arange(2), lambda batch: list(map(len, batch))
    data = VectorDataset(texts, texts, same, lengths, misspell_probability=1.0, seed=3)
    assert data.lengths.tolist() == [11, 18]
    first, again = data.__getitems__([0, 1]), data.__getitems__([1, 0])[::-1]
    assert [item["text"] for item in first] == [item["text"] for item in again]
    assert first[0]["text"] != "seven boats" and first[0]["vector"].tolist() == [1.0]
    data.set_epoch(1)
    assert data[1]["text"] != first[1]["text"]
    assert VectorDataset(texts, texts, same, lengths)[1]["text"] == "came home together"


def test_recall_counts_the_neighbours_that_both_find() -> None:
    targets = np.eye(4, dtype=np.float32)
    targets[1] = targets[0]  # 0 and 1 are neighbours, so are 2 and 3
    targets[3] = targets[2]
    assert (recall(targets, targets, 1), recall(targets[[2, 3, 0, 1]], targets, 1)) == (1, 0)
    targets = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    turned = targets[:, ::-1]  # all cosines are as before, but those with the teacher's vectors are not
    assert recall(turned, targets, index=turned) == 1 > recall(turned, targets)


def test_vectors_in_fewer_bytes_are_measured() -> None:
    targets = np.random.default_rng(1).normal(size=(40 + 6, 8)).astype(np.float32)
    vectors = targets.copy()
    vectors[:, :2] = 1.0  # the first two numbers say nothing
    metrics = SentenceMeasures(40, [1.0, 3.0, 2.0], nested_dimensions=[2, 6])(EvalPrediction(vectors, targets))
    assert metrics["neighbours_all"] > metrics["neighbours_6"] > metrics["neighbours_2"]
    assert metrics["neighbours_int8"] == pytest.approx(metrics["neighbours_all"], abs=0.05)
    assert metrics["neighbours_binary"] < metrics["neighbours_all"]
    assert metrics["spearman_all"] == metrics["spearman"] and "spearman_6" in metrics
    table = short_table({f"eval_{name}": value for name, value in metrics.items()})
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| all", "| 6", "| 2", "| int8", "| binary"]
    assert short_table({}) == ""


def test_metrics_tell_texts_from_pairs() -> None:
    rng = np.random.default_rng(1)
    targets = rng.normal(size=(20 + 6, 5)).astype(np.float16)
    scores = [cosine(a, b) for a, b in zip(targets[20:23].astype(float), targets[23:].astype(float), strict=True)]
    metrics = SentenceMeasures(20, scores)(EvalPrediction(targets * np.float16(2), targets))
    assert metrics["cosine"] == pytest.approx(1, abs=1e-3) and metrics[EXACT_LOSS] == pytest.approx(0, abs=1e-3)
    assert metrics["recall_at_10"] == metrics["spearman"] == metrics["teacher_spearman"] == 1
    worse = SentenceMeasures(20, [-score for score in scores])(EvalPrediction(rng.normal(size=targets.shape), targets))
    assert worse["teacher_spearman"] == pytest.approx(-1) and abs(worse["cosine"]) < 0.5
    assert "spearman" not in SentenceMeasures(26, [])(EvalPrediction(targets, targets))
    same = np.ones_like(targets)
    assert SentenceMeasures(20, scores)(EvalPrediction(same, targets))["spearman"] == 0
    few = SentenceMeasures(11, [])(EvalPrediction(targets[:11], targets[:11]))
    assert few.keys() == {EXACT_LOSS, "cosine"} and SentenceMeasures(11, []).names == ["loss", "cosine"]


def test_scored_pairs_are_read_with_either_name_of_the_score(tmp_path) -> None:
    for name in ("label", "score"):
        (tmp_path / f"{name}.csv").write_text(f"sentence1,sentence2,{name}\na,b,3.5\nc,d,1\n")
        assert read_scored_pairs(str(tmp_path / f"{name}.csv")) == (["a", "c"], ["b", "d"], [3.5, 1.0])
