"""sentence-transformers loads a saved folder without changes; it encodes, trains, ranks, and saves the folder again."""

from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset

st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")

NAMES = ["hashformer-lsh-proj-tiny", "eelbert-word-tiny", "eelbert-tiny", "ewe-bert-tiny"]
TEXTS = ["Zoë  met 李小龍 in São Paulo 😀.", "short", "the quick brown fox " * 200, ""]

ENCODE = """
from sentence_transformers import CrossEncoder, SentenceTransformer
encoder = SentenceTransformer(folders[0], trust_remote_code=True, device="cpu")
ranker = CrossEncoder(folders[1], trust_remote_code=True, device="cpu")
result = [encoder.encode(texts).tolist(), ranker.predict([[texts[0], text] for text in texts]).tolist()]
"""


def encoder_of(folder: str | Path):
    return st.SentenceTransformer(str(folder), trust_remote_code=True, device="cpu")


def ranker_of(folder: str | Path, **kwargs):
    return st.CrossEncoder(str(folder), trust_remote_code=True, device="cpu", **kwargs)


def training(kind: str, folder: Path, **kwargs):
    return getattr(st, kind)(
        output_dir=str(folder), max_steps=2, per_device_train_batch_size=4, learning_rate=0.1, report_to=[],
        use_cpu=True, disable_tqdm=True, save_strategy="no", **kwargs,
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_vector_of_a_text_is_the_mean_of_its_token_states(name: str, random_checkpoint) -> None:
    encoder = encoder_of(random_checkpoint(name))
    tokenizer, model = encoder.tokenizer, encoder[0].auto_model
    longest = 512 if name.startswith("hashformer") else 128
    assert encoder.max_seq_length == tokenizer.model_max_length == longest
    vectors = encoder.encode(TEXTS, batch_size=3)
    for text, vector in zip(TEXTS, vectors, strict=True):
        with torch.no_grad():
            states = model(**tokenizer(text, truncation=True, return_tensors="pt")).last_hidden_state
        assert np.allclose(vector, states[0].mean(dim=0).numpy(), atol=1e-5)
    encoder.max_seq_length = 3
    assert np.allclose(encoder.encode("short of breath"), encoder.encode("short"), atol=1e-5)


@pytest.mark.parametrize("name", ["eelbert-word-tiny", "ewe-bert-tiny"])
def test_a_trained_encoder_saves_and_loads_unchanged(name: str, random_checkpoint, tmp_path) -> None:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    encoder = encoder_of(random_checkpoint(name))
    before = encoder.encode(TEXTS)
    rows = {"anchor": ["a b", "c d e f", "g", "h i"] * 2, "positive": ["b a", "d", "g h x y z", "i"] * 2}
    st.SentenceTransformerTrainer(
        model=encoder,
        args=training("SentenceTransformerTrainingArguments", tmp_path / "run"),
        train_dataset=Dataset.from_dict(rows),
        loss=MultipleNegativesRankingLoss(encoder),
    ).train()
    expected = encoder.encode(TEXTS)
    assert not np.allclose(expected, before, atol=1e-3)
    encoder.max_seq_length = 99
    encoder.save_pretrained(str(tmp_path / "saved"))
    again = encoder_of(tmp_path / "saved")
    assert again.max_seq_length == 99
    encoder.max_seq_length = again.max_seq_length = 128
    assert np.allclose(again.encode(TEXTS), expected, atol=1e-6)


def test_a_trained_cross_encoder_saves_loads_and_ranks_unchanged(random_checkpoint, tmp_path) -> None:
    from sentence_transformers.cross_encoder import CrossEncoderTrainer

    ranker = ranker_of(random_checkpoint("eelbert-word-tiny"), num_labels=1)
    pairs = [("a", text) for text in TEXTS]
    before = ranker.predict(pairs, batch_size=3)
    rows = {
        "text": ["a b", "c d e f", "g", "h i"] * 2,
        "other": ["b a", "d", "g h x", "i"] * 2,
        "label": [0.0, 1.0] * 4,
    }
    CrossEncoderTrainer(
        model=ranker,
        args=training("CrossEncoderTrainingArguments", tmp_path / "run"),
        train_dataset=Dataset.from_dict(rows),
    ).train()
    expected = ranker.predict(pairs, batch_size=3)
    assert not np.allclose(expected, before, atol=1e-3)
    ranker.save_pretrained(str(tmp_path / "saved"))
    assert np.allclose(ranker_of(tmp_path / "saved").predict(pairs, batch_size=2), expected, atol=1e-6)
    scores = [result["score"] for result in ranker.rank("a", TEXTS)]
    assert np.allclose(scores, sorted(expected, reverse=True), atol=1e-6)


def test_a_saved_folder_loads_without_the_package(random_checkpoint, run_bare, tmp_path) -> None:
    encoder = encoder_of(random_checkpoint("eelbert-tiny"))
    ranker = ranker_of(random_checkpoint("eelbert-word-tiny", "VocablessForSequenceClassification", num_labels=1))
    encoder.save_pretrained(str(tmp_path / "encoder"))
    ranker.save_pretrained(str(tmp_path / "ranker"))
    vectors, scores = run_bare(ENCODE, folders=[tmp_path / "encoder", tmp_path / "ranker"], texts=TEXTS)
    assert np.allclose(vectors, encoder.encode(TEXTS), atol=1e-5)
    assert np.allclose(scores, ranker.predict([(TEXTS[0], text) for text in TEXTS]), atol=1e-5)
