"""What a teacher embeds, and that its vectors are its own, computed once, and never read from those of others."""

import json
import shutil

import numpy as np
import pytest
import torch
from datasets import Dataset

from vocabless.training.output_cache import CACHE
from vocabless.training.pretraining import teacher as teachers
from vocabless.training.pretraining.teacher import (
    SentenceTeacher,
    add_vectors,
    corpus_texts,
    draw_texts,
    split_document,
)

st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")

TEXTS = Dataset.from_dict({"text": ["the quick brown fox", "a lazy dog jumps", "over the fox", "the dog"]})


@pytest.fixture
def teacher(make_teacher, tmp_path, empty_cache) -> SentenceTeacher:
    return SentenceTeacher(make_teacher(tmp_path / "my-teacher"), 16)


def vectors_of(texts: Dataset) -> np.ndarray:
    return np.asarray(texts.with_format("numpy")["vector"][:], np.float32)


def test_vectors_are_those_of_sentence_transformers(teacher, make_teacher, tmp_path) -> None:
    texts, folder = add_vectors(TEXTS, teacher), make_teacher(tmp_path / "again")
    expected = st.SentenceTransformer(folder).encode(TEXTS["text"][:])
    assert texts["text"][:] == TEXTS["text"][:] and texts.features["vector"].length == 24
    np.testing.assert_allclose(vectors_of(texts), expected, atol=2e-3)
    assert (teacher.name, teacher.license, teacher.vector_size) == ("my-teacher", None, 24)
    (tmp_path / "again" / "README.md").write_text("---\nlicense: mit\n---\n\n# A model\n")
    assert SentenceTeacher(folder, 16).license == "mit"
    assert vectors_of(add_vectors(TEXTS, SentenceTeacher(folder, 5))).shape == (4, 24)  # no multiple of `LENGTH_STEP`
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "again" / name).unlink()
    with pytest.raises(ValueError, match=r"the teacher '.*again' .*; give a folder or a Hub id"):
        SentenceTeacher(folder, 16)


def test_vectors_are_computed_once_and_a_killed_run_leaves_none(
    teacher, make_teacher, tmp_path, empty_cache, monkeypatch
) -> None:
    monkeypatch.setattr(teachers, "TEXTS_PER_CALL", 2)
    calls, embed = [], teacher.embed

    def killed_once(batch):
        calls.append(batch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return embed(batch)

    monkeypatch.setattr(teacher, "embed", killed_once)
    with pytest.raises(KeyboardInterrupt):
        add_vectors(TEXTS, teacher)
    assert not list((empty_cache / CACHE).iterdir())
    first, again = (vectors_of(add_vectors(TEXTS, teacher)) for _ in range(2))
    assert len(calls) == 4 and (first == again).all()
    texts, folder = Dataset.from_dict({"text": [" ".join(TEXTS["text"])]}), make_teacher(tmp_path / "other", seed=1)
    teachers_of_one = [teacher, SentenceTeacher(folder, 16), SentenceTeacher(folder, 8)]  # another one, or length
    vectors = [vectors_of(add_vectors(texts, each)) for each in teachers_of_one]
    assert not any(np.allclose(vectors[i], vectors[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


@pytest.mark.parametrize(("file", "changes"), [
    ("config.json", {"num_attention_heads": 4}),
    ("config_sentence_transformers.json", {"prompts": {"q": "dog: "}, "default_prompt_name": "q"}),
    ("1_Pooling/config.json", {"include_prompt": False}),
    ("tokenizer.json", {"normalizer": {"type": "Lowercase"}}),
])  # fmt: skip
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


def test_a_vector_that_cannot_be_stored_names_the_text(teacher, monkeypatch, empty_cache) -> None:
    encode = teacher._model.encode
    for value in (65536.0, float("nan")):

        def spoilt(texts, value=value, **options):
            vectors = encode(texts, **options)
            vectors[2, 5] = value
            return vectors

        monkeypatch.setattr(teacher._model, "encode", spoilt)
        with pytest.raises(ValueError, match="the teacher's output for 'over the fox' is not finite"):
            add_vectors(TEXTS, teacher)
    assert not list(empty_cache.rglob("*.arrow"))


def test_sentences_clauses_and_passages_take_turns() -> None:
    texts = list(split_document(" ".join(f"This is sentence {i}, and more (so it seems) of it." for i in range(1, 13))))
    assert texts[0] == "This is sentence 1, and more (so it seems) of it."
    assert texts[1:5] == ["This is sentence 2,", "and more", "(so it seems)", "of it."]
    assert texts[5].startswith("This is sentence 3, and")
    passage = next(text for text in texts if text.count("sentence") == 4)
    assert passage.startswith("This is sentence 8,") and passage.endswith("sentence 11, and more (so it seems) of it.")


@pytest.mark.timeout(30)  # it takes milliseconds; a search from each character takes a minute
@pytest.mark.parametrize("space", [" ", "\t", "\u00a0"])
def test_long_white_space_takes_linear_time(space) -> None:
    long = space * 32_000
    texts = list(split_document(f"It rained. We{long}stayed{long}(at home){space} and she read."))
    assert texts == ["It rained.", f"We{long}stayed", "(at home)", "and she read."]


def test_texts_are_distinct_long_enough_as_many_as_asked_and_divided_among_the_corpora() -> None:
    documents = Dataset.from_dict({"text": ["One two three. Yes. One two three.", None, "Four five six seven.", ""]})
    texts = corpus_texts(documents, 0, seed=0)
    assert sorted(texts) == ["Four five six seven.", "One two three."] and corpus_texts(documents, 0, seed=0) == texts
    assert len(corpus_texts(documents, 1, seed=0)) == 1
    with pytest.raises(ValueError, match="has 2 documents but no sentence of 3 words"):
        corpus_texts(Dataset.from_dict({"text": ["", "two words"]}), 0, seed=0)
    names = ("first", "second")
    corpora = [Dataset.from_dict({"text": [f"{name} text number {i}." for i in range(100)]}) for name in names]
    texts = draw_texts(corpora, [3, 1], 40, seed=0)
    assert [sum(text.startswith(name) for text in texts) for name in names] == [30, 10]
    assert len(draw_texts(corpora, None, 0, seed=0)) == 200
    for shares, number, parts in (([1, 0.001], 100, "100, 0"), ([3, 1], 0, "0, 0")):  # less than one text
        with pytest.raises(ValueError, match=rf"divides --max_texts {number} into {parts} texts; raise --max_texts"):
            draw_texts(corpora, shares, number, seed=0)
