"""The teacher's vectors are its own, they are computed once, and those of others are never read."""

import json
import shutil

import numpy as np
import pytest
import torch
from datasets import Dataset

from vocabless.training.distillation import sentence_teacher
from vocabless.training.distillation.output_cache import CACHE
from vocabless.training.distillation.sentence_teacher import SentenceTeacher, add_vectors

st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")

TEXTS = Dataset.from_dict({"text": ["the quick brown fox", "a lazy dog jumps", "over the fox", "the dog"]})


@pytest.fixture
def teacher(make_teacher, tmp_path, empty_cache) -> SentenceTeacher:
    return SentenceTeacher(make_teacher(tmp_path / "my-teacher"), 16)


def vectors_of(texts: Dataset) -> np.ndarray:
    return np.asarray(texts.with_format("numpy")["vector"][:], np.float32)


def test_vectors_are_those_of_sentence_transformers(teacher, make_teacher, tmp_path) -> None:
    texts = add_vectors(TEXTS, teacher)
    expected = st.SentenceTransformer(make_teacher(tmp_path / "again")).encode(TEXTS["text"][:])
    assert texts["text"][:] == TEXTS["text"][:] and texts.features["vector"].length == 24
    np.testing.assert_allclose(vectors_of(texts), expected, atol=2e-3)
    assert (teacher.name, teacher.license, teacher.vector_size) == ("my-teacher", None, 24)


def test_vectors_are_computed_once_and_a_killed_run_leaves_none(teacher, empty_cache, monkeypatch) -> None:
    monkeypatch.setattr(sentence_teacher, "TEXTS_PER_CALL", 2)
    calls, embed = [], teacher.embed

    def killed_once(texts):
        calls.append(texts)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return embed(texts)

    monkeypatch.setattr(teacher, "embed", killed_once)
    with pytest.raises(KeyboardInterrupt):
        add_vectors(TEXTS, teacher)
    assert not list((empty_cache / CACHE).iterdir())
    first, again = (vectors_of(add_vectors(TEXTS, teacher)) for _ in range(2))
    assert len(calls) == 4 and (first == again).all()


def test_another_teacher_or_length_makes_other_vectors(teacher, make_teacher, tmp_path) -> None:
    texts = Dataset.from_dict({"text": [" ".join(TEXTS["text"])]})
    folder = make_teacher(tmp_path / "other", seed=1)
    others = [SentenceTeacher(folder, 16), SentenceTeacher(folder, 8)]
    vectors = [vectors_of(add_vectors(texts, each)) for each in (teacher, *others)]
    assert not any(np.allclose(vectors[i], vectors[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"num_attention_heads": 4}),
        ("config_sentence_transformers.json", {"prompts": {"q": "dog: "}, "default_prompt_name": "q"}),
        ("1_Pooling/config.json", {"include_prompt": False}),
        ("tokenizer.json", {"normalizer": {"type": "Lowercase"}}),
    ],
)
def test_equal_weights_with_other_settings_are_another_teacher(file, changes, make_teacher, tmp_path) -> None:
    folder = tmp_path / "saved"
    st.SentenceTransformer(make_teacher(tmp_path / "encoder")).save(str(folder))
    first, same = (SentenceTeacher(str(folder), 16) for _ in range(2))
    settings = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(settings | changes))
    assert first.fingerprint == same.fingerprint != SentenceTeacher(str(folder), 16).fingerprint


def test_another_hash_of_a_front_end_is_another_teacher(save_model, empty_cache) -> None:
    fingerprints = set()
    for seed in (0, 0, 1):  # of the frozen n-gram vectors, which no weight shows
        torch.manual_seed(0)
        _, folder = save_model("eelbert-word-tiny", front_end_options={"seed": seed})
        fingerprints.add(SentenceTeacher(str(folder), 16, trust_remote_code=True).fingerprint)
        shutil.rmtree(folder)
    assert len(fingerprints) == 2


@pytest.mark.parametrize("value", [65536.0, float("nan")])
def test_a_vector_that_cannot_be_stored_names_the_text(value, teacher, monkeypatch, empty_cache) -> None:
    encode = teacher._model.encode

    def spoilt(texts, **options):
        vectors = encode(texts, **options)
        vectors[2, 5] = value
        return vectors

    monkeypatch.setattr(teacher._model, "encode", spoilt)
    with pytest.raises(ValueError, match="the teacher's output for 'over the fox' is not finite"):
        add_vectors(TEXTS, teacher)
    assert not list(empty_cache.rglob("*.arrow"))


def test_a_teacher_without_a_tokenizer_is_refused(make_teacher, tmp_path) -> None:
    folder = make_teacher(tmp_path / "bare")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "bare" / name).unlink()
    with pytest.raises(ValueError, match=r"the teacher '.*bare' .*; give a folder or a Hub id"):
        SentenceTeacher(folder, 16)


def test_the_license_comes_from_the_card(make_teacher, tmp_path) -> None:
    folder = make_teacher(tmp_path / "with-card")
    (tmp_path / "with-card" / "README.md").write_text("---\nlicense: mit\n---\n\n# A model\n")
    assert SentenceTeacher(folder, 16).license == "mit"
