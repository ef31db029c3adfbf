"""The teacher's vectors are its own, they are computed once, and a cache of others is never read."""

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

TEXTS = ["the quick brown fox", "a lazy dog jumps", "over the fox", "the dog"]


@pytest.fixture
def teacher(make_teacher, tmp_path) -> SentenceTeacher:
    return SentenceTeacher(make_teacher(tmp_path / "my-teacher"), 16)


def vectors_of(texts: Dataset) -> np.ndarray:
    return np.asarray(texts.with_format("numpy")["vector"][:], np.float32)


def test_vectors_are_those_of_sentence_transformers(teacher, make_teacher, tmp_path, empty_cache) -> None:
    texts = add_vectors(Dataset.from_dict({"text": TEXTS}), teacher)
    expected = st.SentenceTransformer(make_teacher(tmp_path / "again")).encode(TEXTS)
    assert texts["text"][:] == TEXTS
    np.testing.assert_allclose(vectors_of(texts), expected, atol=2e-3)
    assert (teacher.name, teacher.license, teacher.vector_size) == ("my-teacher", None, 24)


def test_vectors_are_computed_once_and_in_parts(teacher, empty_cache, monkeypatch) -> None:
    monkeypatch.setattr(sentence_teacher, "TEXTS_PER_PART", 2)
    calls: list[str] = []
    embed = teacher.embed
    monkeypatch.setattr(teacher, "embed", lambda texts: calls.extend(texts) or embed(texts))
    first = add_vectors(Dataset.from_dict({"text": TEXTS[:2]}), teacher)  # as if killed after the first part
    whole = add_vectors(Dataset.from_dict({"text": TEXTS}), teacher)
    again = add_vectors(Dataset.from_dict({"text": TEXTS}), teacher)
    assert calls == TEXTS
    assert len(list((empty_cache / CACHE).glob("*.arrow"))) == 2
    assert (vectors_of(whole) == vectors_of(again)).all() and (vectors_of(whole)[:2] == vectors_of(first)).all()


def test_another_teacher_or_length_makes_other_vectors(teacher, make_teacher, tmp_path, empty_cache) -> None:
    texts = Dataset.from_dict({"text": [" ".join(TEXTS)]})
    folder = make_teacher(tmp_path / "other", seed=1)
    others = [SentenceTeacher(folder, 16), SentenceTeacher(folder, 8)]
    vectors = [vectors_of(add_vectors(texts, each)) for each in (teacher, *others)]
    assert len({each.fingerprint() for each in (teacher, *others)}) == 3
    assert not any(np.allclose(vectors[i], vectors[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert SentenceTeacher(folder, 16).fingerprint() == others[0].fingerprint()


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"num_attention_heads": 4}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"layer_norm_eps": 0.1}),
        ("config_sentence_transformers.json", {"prompts": {"q": "dog: "}, "default_prompt_name": "q"}),
        ("1_Pooling/config.json", {"include_prompt": False}),
    ],
)
def test_equal_weights_with_other_settings_are_another_teacher(
    file, changes, make_teacher, tmp_path, empty_cache
) -> None:
    folder, copy, other = (tmp_path / name for name in ("first", "copy", "other"))
    st.SentenceTransformer(make_teacher(tmp_path / "encoder")).save(str(folder))
    shutil.copytree(folder, copy)
    shutil.copytree(folder, other)
    settings = json.loads((other / file).read_text())
    (other / file).write_text(json.dumps(settings | changes))
    first, same, another = (SentenceTeacher(str(each), 16) for each in (folder, copy, other))
    assert first.fingerprint() == same.fingerprint() != another.fingerprint()


def test_another_hash_of_a_front_end_is_another_teacher(save_model, empty_cache) -> None:
    vectors = {}
    for seed in (0, 1):  # of the frozen n-gram vectors, which no weight shows
        torch.manual_seed(0)
        _, folder = save_model("eelbert-word-tiny", front_end_options={"seed": seed})
        teacher = SentenceTeacher(str(folder), 16, trust_remote_code=True)
        vectors[teacher.fingerprint()] = vectors_of(add_vectors(Dataset.from_dict({"text": TEXTS}), teacher))
    first, second = vectors.values()
    assert not np.allclose(first, second)


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty"])
def test_damaged_vectors_are_named_and_made_again(damage, teacher, empty_cache, caplog) -> None:
    texts = Dataset.from_dict({"text": TEXTS})
    expected = vectors_of(add_vectors(texts, teacher))
    [file] = (empty_cache / CACHE).iterdir()
    content = file.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes(255 - byte for byte in content[middle : middle + 64]) + content[middle + 64 :]
    file.write_bytes({"flipped": flipped, "truncated": content[:middle], "empty": b""}[damage])
    assert (vectors_of(add_vectors(texts, teacher)) == expected).all()
    assert [record.getMessage() for record in caplog.records] == [
        f"The cached outputs {file} are damaged; the teacher computes them again."
    ]
    assert file.read_bytes() == content and list((empty_cache / CACHE).iterdir()) == [file]


@pytest.mark.parametrize("value", [65536.0, float("nan"), float("-inf")])
def test_a_vector_that_cannot_be_stored_names_teacher_and_text(value, teacher, monkeypatch, empty_cache) -> None:
    encode = teacher._model.encode

    def spoilt(texts, **options):
        vectors = encode(texts, **options)
        vectors[texts.index(TEXTS[2]), 5] = value
        return vectors

    monkeypatch.setattr(teacher._model, "encode", spoilt)
    with pytest.raises(ValueError, match=rf"teacher 'my-teacher' .* 'over the fox' the output {value:g}, .* 65504 "):
        add_vectors(Dataset.from_dict({"text": TEXTS}), teacher)
    assert not list((empty_cache / CACHE).iterdir())


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
