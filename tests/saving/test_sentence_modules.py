"""The files of sentence-transformers: they hold the dense layer, and they travel with a repository."""

import json

import numpy as np
import pytest
import torch

from vocabless.conversion.hub import write_repository
from vocabless.modeling.head_layers import mean_state
from vocabless.saving.sentence_modules import SENTENCE_FILES, write_sentence_modules
from vocabless.saving.uploads import _uploaded_files

st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")


def test_the_modules_give_the_direction_of_the_dense_layer(save_model, tmp_path) -> None:
    model, folder = save_model("hashgram-tiny")
    dense = torch.nn.Linear(model.config.hidden_size, 7)
    write_sentence_modules(folder, weight=dense.weight, bias=dense.bias, teacher_mean=torch.zeros(7))
    (folder / "run.json").write_text("{}")
    repository = tmp_path / "repository"
    repository.mkdir()
    write_repository(str(folder), repository)
    for place in (folder, repository):
        encoder = st.SentenceTransformer(str(place), trust_remote_code=True, device="cpu")
        inputs = encoder.tokenizer(["some words"], return_tensors="pt")
        with torch.no_grad():
            expected = dense(mean_state(model(**inputs)[0], inputs["attention_mask"]))
        np.testing.assert_allclose(
            encoder.encode(["some words"]), torch.nn.functional.normalize(expected).numpy(), rtol=1e-4, atol=1e-6
        )
    assert {*SENTENCE_FILES} <= {*_uploaded_files(repository)}
    assert "run.json" not in _uploaded_files(folder) and not (repository / "run.json").exists()
    assert json.loads((repository / "modules.json").read_text())[2]["path"] == "2_Dense"
