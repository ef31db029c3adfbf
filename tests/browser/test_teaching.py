"""The head that a page learns is the one of Python: folds, strength, weights, score and interval."""

import csv
import io
import random
import zipfile
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from vocabless.modeling.head_layers import PooledHead
from vocabless.training.finetuning import problems
from vocabless.training.finetuning.first_head import FirstHead, cross_validate_head
from vocabless.training.finetuning.metrics import FOLDS, interval
from vocabless.training.finetuning.problems import SingleLabel
from vocabless.training.finetuning.tasks import folds_of

ENTRY = "teach_page.js"  # it does not start without its elements
TEACH = """(vectors, targets, labels, texts) => {
  const { crossValidate, FirstHead } = modules["first_head.js"];
  const rows = vectors.map((vector) => Float64Array.from(vector));
  const folds = modules["folds.js"].foldsOf(targets, texts);
  return crossValidate(rows, targets, labels, folds, async () => false).then(({ strength, logits }) => {
    const head = FirstHead.fit(rows, targets, labels, strength);
    const tensors = Object.entries(head.tensors()).map(([name, { dims, data }]) => [name, dims, Array.from(data)]);
    const [own, ofHead] = [rows.map((row) => head.logits(row)), rows.map((row) => head.headLogits(row))];
    return { strength, logits, own, head: ofHead, tensors };
  });
}"""


@pytest.fixture
def exact(monkeypatch) -> None:
    """Python's own tolerance is for speed; here both sides go to the minimum."""
    monkeypatch.setattr(problems, "TOLERANCE", 1e-10)


def examples(rows: int, width: int, labels: int, seed: int) -> tuple[np.ndarray, list[int]]:
    """Vectors of which some numbers tell the label, with scales and offsets of their own, and the labels."""
    generator = np.random.default_rng(seed)
    targets = [*range(labels), *generator.integers(labels, size=rows - labels).tolist()]
    vectors = generator.normal(size=(rows, width)) + np.eye(labels, width)[targets] * 2
    return vectors * generator.uniform(0.01, 3, width) + generator.normal(size=width), targets


@pytest.mark.parametrize("strength", [0.003, 3.0])
@pytest.mark.parametrize(("rows", "width", "labels"), [(40, 8, 2), (12, 128, 3), (150, 20, 8)])
def test_probabilities_are_those_of_scikit_learn(rows: int, width: int, labels: int, strength: float, call) -> None:
    vectors, targets = examples(rows, width, labels, seed=rows)
    logits = call(
        """(vectors, targets, labels, strength) => {
          const rows = vectors.map((vector) => Float64Array.from(vector));
          const { logisticRegression } = modules["logistic_regression.js"];
          const { weight, bias } = logisticRegression(rows, targets, labels, strength);
          return rows.map((row) => weight.map((w, label) => w.reduce((sum, x, i) => sum + x * row[i], bias[label])));
        }""",
        vectors.tolist(), targets, labels, strength,
    )  # fmt: skip
    model = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000).fit(vectors, targets)
    found = torch.tensor(logits, dtype=torch.float64).softmax(-1).numpy()
    assert np.abs(found - model.predict_proba(vectors)).max() <= 1e-4


@pytest.mark.parametrize(("rows", "labels"), [(30, 2), (41, 3), (9, 4)])  # of 9 rows, some folds lack a label
def test_the_head_is_that_of_python(rows: int, labels: int, call, exact) -> None:
    vectors, targets = examples(rows, 24, labels, seed=rows)
    texts = [f"text {row % (rows - 3)}" for row in range(rows)]  # three texts are there twice
    found = call(TEACH, vectors.tolist(), targets, labels, texts)
    problem = SingleLabel([str(label) for label in range(labels)])
    strength, logits = cross_validate_head(problem, vectors, targets, folds_of(targets, groups=texts))
    assert found["strength"] == strength
    assert np.abs(np.array(found["logits"]) - logits).max() <= 1e-4
    head = FirstHead.fit(problem, vectors, targets, strength)
    assert np.abs(np.array(found["own"]) - head.logits(vectors)).max() <= 1e-4
    config = SimpleNamespace(classifier_pooling="mean", block_size=8, hidden_size=24, head_dropout=0.1)
    pooled = PooledHead(config, labels)
    head.write_into(pooled)
    state = {f"classifier.{name}": tensor for name, tensor in pooled.state_dict().items()}
    assert [name for name, *_ in found["tensors"]] == list(state)
    for name, dims, numbers in found["tensors"]:
        assert torch.allclose(torch.tensor(numbers).view(dims), state[name], atol=1e-4, rtol=1e-4), name
    with torch.no_grad():
        of_module = pooled.eval()(torch.from_numpy(vectors).float().unsqueeze(1))
    assert np.abs(np.array(found["head"]) - of_module.numpy()).max() <= 1e-3


def test_a_label_without_rows_is_never_the_likeliest(call, exact) -> None:
    vectors, targets = examples(20, 5, 2, seed=0)
    for rows in (slice(None), [row for row, target in enumerate(targets) if target == 1]):
        some, labels = vectors[rows], np.array(targets)[rows].tolist()
        found = call(
            """(vectors, targets) => {
              const rows = vectors.map((vector) => Float64Array.from(vector));
              const { weight, bias } = modules["logistic_regression.js"].logisticRegression(rows, targets, 3, 0.03);
              return [weight.map((row) => Array.from(row)), Array.from(bias)];
            }""",
            some.tolist(), labels,
        )  # fmt: skip
        expected = SingleLabel(list("abc")).fit_linear(some, labels, 0.03)
        assert all(np.abs(np.array(mine) - its).max() <= 1e-5 for mine, its in zip(found, expected, strict=True))


@pytest.mark.parametrize("seed", [0, 42, 2**32 - 1])
def test_the_order_is_that_of_python(seed: int, call) -> None:
    for count in (1, 2, 700, 1025):
        order = list(range(count))
        random.Random(seed).shuffle(order)
        assert (
            call('(count, seed) => modules["folds.js"].shuffled([...Array(count).keys()], seed)', count, seed) == order
        )


def test_the_interval_is_that_of_python(call) -> None:
    pairs = [(right / count, count) for count in (4, 10, 57, 3000) for right in {0, 1, count // 2, count - 1, count}]
    found = call('(pairs) => pairs.map((pair) => modules["first_head.js"].intervalOf(...pair))', pairs)
    expected = [interval("accuracy", share, count, scored_folds=FOLDS) for share, count in pairs]
    assert np.abs(np.array(found) - expected).max() <= 1e-12


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.csv", "text,label\nBe kind.,x\n", [("Be kind.", "x")]),
        ("a.csv", 'Label;id;Text\r\nx;1;"one; ""2""\r\n3"\r\n\r\ny;2;four', [('one; "2" 3', "x"), ("four", "y")]),
        ("a.tsv", "one\tx\ntwo, or\ty", [("one", "x"), ("two, or", "y")]),
        ("A.CSV", "category,sentence\nx,one", [("one", "x")]),
        ("a.csv", "label,what\nx,one\n,two\ny,", [("one", "x")]),
        ("some texts.txt", "one, x\n\n  two \r\n", [("one, x", "some texts"), ("two", "some texts")]),
        ("list.csv", "one\ntwo", [("one", "list"), ("two", "list")]),
        ("list.csv", "text\none", [("one", "list")]),
        ("a.csv", "", []),
        ("a.csv", '"never closed, x\ny', [("never closed, x y", "a")]),
    ],
)  # fmt: skip
def test_tables_are_read(name: str, content: str, rows: list[tuple[str, str]], call) -> None:
    for encoding in ("utf-8", "utf-8-sig"):
        found = call('(bytes, name) => modules["csv.js"].readTexts(bytes, name)', content.encode(encoding), name)
        assert [(row["text"], row["label"]) for row in found] == rows


def test_a_table_in_windows_1252_is_read(call) -> None:
    found = call('(bytes) => modules["csv.js"].readTexts(bytes, "a.csv")', "Schöne Grüße,x".encode("cp1252"))
    assert found == [{"text": "Schöne Grüße", "label": "x"}]


def test_a_written_table_is_read_again_here_and_by_python(call) -> None:
    rows = [{"text": 'say "no", no', "label": "a,b"}, {"text": "עברית 😀", "label": "text"}]
    written = call('(rows) => modules["csv.js"].writeCsv(rows)', rows)
    assert list(csv.DictReader(io.StringIO(written))) == rows
    assert call('(bytes) => modules["csv.js"].readTexts(bytes, "a.csv")', written.encode()) == rows


def test_a_zip_file_is_read_by_python(call) -> None:
    files = {"folder/a.txt": "Grüße 😀", "folder/größe.txt": "", "folder/long.txt": "no " * 100_000}
    found = call(
        """async (files) => Array.from(new Uint8Array(await modules["zip.js"].zip(files).arrayBuffer()))""", files
    )
    with zipfile.ZipFile(io.BytesIO(bytes(found))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name).decode() for name in archive.namelist()} == files
    assert call('() => modules["zip.js"].crc32(new TextEncoder().encode("vocabless"))') == zlib.crc32(b"vocabless")
