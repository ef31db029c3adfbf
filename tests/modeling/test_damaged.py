"""Damaged checkpoints: one sentence for each, whoever loads them."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.saving.checkpoint import load_checkpoint, save_checkpoint


@pytest.fixture
def folder(shrink, tmp_path):
    model = VocablessForSequenceClassification(shrink(load_config("hashgram-uno", num_labels=3)))
    save_checkpoint(model, load_tokenizer("hashgram-uno"), tmp_path)
    return tmp_path


def refused(folder, sentence):
    for load in (AutoModelForSequenceClassification.from_pretrained, load_checkpoint):
        with pytest.raises(ValueError, match=sentence):
            load(str(folder))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(folder, value):
    file = folder / "model.safetensors"
    tensors = load_file(file)
    (name, *_) = (name for name in tensors if name.startswith("classifier"))
    tensors[name] = torch.full_like(tensors[name], value)
    save_file(tensors, file, metadata={"format": "pt"})
    refused(folder, rf"the weights {name} of '.*' are not finite numbers; train or download it again\.$")


@pytest.mark.parametrize("labels", [{"0": "a", "2": "b", "5": "c"}, {"0": "a", "1": "a", "2": "b"}])
def test_labels_with_gaps_or_one_name_are_refused(folder, labels):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"id2label": labels}))
    refused(folder, "number the labels from 0 without a gap, each with its own name")
