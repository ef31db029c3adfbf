"""Folders that are written over: a reader gets the old model, the new one or an error, never names of another model."""

import json
import os
import threading
from collections import Counter

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForSequenceClassification

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.saving.checkpoint import load_checkpoint, save_checkpoint

VARIANT = "hashgram-uno"
AUTO = AutoModelForSequenceClassification


@pytest.fixture(scope="module")
def models(shrink):
    """Label 0 → a model whose answer to each text is label 0 or 1: "old", or "not new"."""
    made = {}
    for number, name in enumerate(("old", "new")):
        labels = {0: name, 1: f"not {name}"}
        config = shrink(load_config(VARIANT, id2label=labels, label2id={label: id for id, label in labels.items()}))
        made[name] = VocablessForSequenceClassification(config).eval()
        with torch.no_grad():
            *_, bias = made[name].classifier.parameters()
            bias[number], bias[1 - number] = 99, -99
    return made, load_tokenizer(VARIANT)


def loaded(load, tokenizer):
    """What a folder gives: the name of a model, "error", or "mixed"."""
    try:
        model = load()
    except (OSError, ValueError):
        return "error"
    with torch.no_grad():
        label = model.config.id2label[int(model(**tokenizer("text", return_tensors="pt")).logits.argmax())]
    return {"old": "old", "not new": "new"}.get(label, "mixed")


def readers(folder):
    return lambda: AUTO.from_pretrained(folder), lambda: load_checkpoint(str(folder))[0]


def test_a_kill_at_any_move_leaves_the_old_model_the_new_one_or_an_error(models, tmp_path, monkeypatch):
    (made, tokenizer), move, found = models, os.replace, []
    for last in range(99):
        folder, moves = tmp_path / str(last), iter(range(99))
        save_checkpoint(made["old"], tokenizer, folder)

        def replace(file, target, moves=moves, last=last, folder=folder):
            if target.parent == folder and next(moves) == last:
                raise KeyboardInterrupt
            move(file, target)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", replace)
            try:
                save_checkpoint(made["new"], tokenizer, folder)
            except KeyboardInterrupt:
                found.append([loaded(read, tokenizer) for read in readers(folder)])
            else:
                break
        save_checkpoint(made["new"], tokenizer, folder)
        assert [loaded(read, tokenizer) for read in readers(folder)] == ["new", "new"]
    assert found == [["old", "old"]] * (len(found) - 1) + [["error", "error"]]  # before config.json, the last file


def test_readers_beside_a_writer_get_no_mixture(models, tmp_path):
    (made, tokenizer), stop = models, threading.Event()
    save_checkpoint(made["old"], tokenizer, tmp_path)

    def write():
        while not stop.is_set():
            for name in ("new", "old"):
                save_checkpoint(made[name], tokenizer, tmp_path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = Counter(loaded(read, tokenizer) for _ in range(15) for read in readers(tmp_path))
    finally:
        stop.set()
        writer.join()
    assert found.total() == 30 and not found["mixed"]


def test_weights_that_change_back_while_they_are_loaded_are_an_error(models, tmp_path, monkeypatch):
    made, tokenizer = models
    save_checkpoint(made["old"], tokenizer, tmp_path)
    read = VocablessForSequenceClassification._load_pretrained_model

    def while_another_model_is_there(*args, **kwargs):
        save_checkpoint(made["new"], tokenizer, tmp_path)
        result = read(*args, **kwargs)
        save_checkpoint(made["old"], tokenizer, tmp_path)
        return result

    monkeypatch.setattr(
        VocablessForSequenceClassification, "_load_pretrained_model", staticmethod(while_another_model_is_there)
    )
    with pytest.raises(OSError, match=r"model.safetensors' does not belong to the config.json beside it: a process"):
        AUTO.from_pretrained(tmp_path)


def test_models_saved_by_the_library_have_an_id_and_another_configuration_may_be_given(models, tmp_path):
    made, tokenizer = models
    made["old"].save_pretrained(tmp_path)
    config = AutoConfig.from_pretrained(tmp_path)
    made["new"].save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for given, expected in ((config, "error"), (AutoConfig.from_pretrained(tmp_path), "new"), (None, "new")):
        assert loaded(lambda given=given: AUTO.from_pretrained(tmp_path, config=given), tokenizer) == expected
    AUTO.from_pretrained(tmp_path, config=made["old"].config)  # not that of the folder: the user wants it so
    with safe_open(tmp_path / "model.safetensors", "pt") as weights:
        assert weights.metadata() == {"format": "pt", "weights_id": made["new"].config.weights_id}
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    made["new"].save_pretrained(tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_weights_without_an_id_are_loaded_with_any_configuration(models, tmp_path):
    made, tokenizer = models
    save_checkpoint(made["new"], tokenizer, tmp_path)
    file, config = tmp_path / "model.safetensors", tmp_path / "config.json"
    save_file(load_file(file), file, metadata={"format": "pt"})  # as tools do that change weights
    assert [loaded(read, tokenizer) for read in readers(tmp_path)] == ["new", "new"]
    config.write_text(json.dumps({**json.loads(config.read_text()), "weights_id": None}))
    assert [loaded(read, tokenizer) for read in readers(tmp_path)] == ["new", "new"]
