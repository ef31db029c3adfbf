"""sentence-transformers loads a saved folder without changes; it encodes, ranks, and saves it again."""

from pathlib import Path

import numpy as np
import pytest
import torch

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


def test_a_saved_folder_loads_without_the_package(random_checkpoint, run_bare, tmp_path) -> None:
    encoder = encoder_of(random_checkpoint("eelbert-tiny"))
    ranker = ranker_of(random_checkpoint("eelbert-word-tiny", "VocablessForSequenceClassification", num_labels=1))
    encoder.save_pretrained(str(tmp_path / "encoder"))
    ranker.save_pretrained(str(tmp_path / "ranker"))
    vectors, scores = run_bare(ENCODE, folders=[tmp_path / "encoder", tmp_path / "ranker"], texts=TEXTS)
    assert np.allclose(vectors, encoder.encode(TEXTS), atol=1e-5)
    assert np.allclose(scores, ranker.predict([(TEXTS[0], text) for text in TEXTS]), atol=1e-5)
