"""Files without permission are named before the work begins. The test user may be root, who may do everything."""

import os
from pathlib import Path

import pytest
from refusals import refusal

import run_glue
import run_pretraining
from vocabless.conversion.__main__ import VERBS, main
from vocabless.saving.permissions import check_readable, check_writable


@pytest.fixture
def forbid(monkeypatch):
    """Returns a function after which a path may not be read or written."""

    def forbid(forbidden: Path) -> None:
        allowed = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != forbidden and allowed(path, mode))

    return forbid


@pytest.fixture
def checkpoint(save_model) -> Path:
    return save_model("eelbert-word-uno")[1]


@pytest.mark.parametrize("name", ["", "config.json", "model.safetensors"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_source_that_may_not_be_read_is_named_by_each_verb(verb, name, checkpoint, forbid, tmp_path) -> None:
    forbid(checkpoint / name)
    options = ("--variant", "hashformer-lsh-proj-tiny") if verb == "encoder" else ()
    documents = (__file__.replace(".py", ".txt"),) if verb == "search" else ()  # the encoder is read first
    message = refusal(main, verb, checkpoint, *documents, tmp_path / "new", *options)
    assert f"{str(checkpoint / name)!r} cannot be read or written" in message
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("flag", ["--model_name_or_path", "--teacher"])
@pytest.mark.parametrize("script", [run_glue, run_pretraining])
def test_a_checkpoint_or_teacher_that_may_not_be_read_is_named_by_the_scripts(
    script, flag, checkpoint, forbid, tmp_path
) -> None:
    forbid(checkpoint / "model.safetensors")
    rows = [f"A sentence that has the number {i},{i % 2}" for i in range(300)]
    (tmp_path / "texts.csv").write_text("\n".join(["text,label", *rows]))
    is_glue = script is run_glue
    student = ["--model_name_or_path" if is_glue else "--variant", "hashgram-nano"] if flag == "--teacher" else []
    texts = ["--train_file" if is_glue else "--corpus", tmp_path / "texts.csv", "--output_dir", tmp_path / "run"]
    message = refusal(script.main, *student, flag, checkpoint, *texts)
    assert "model.safetensors' cannot be read or written" in message


def test_a_target_is_checked_before_the_work(checkpoint, forbid, tmp_path, monkeypatch) -> None:
    forbid(tmp_path)
    monkeypatch.setattr("vocabless.conversion.onnx.load_checkpoint", lambda _: pytest.fail("it worked for nothing"))
    assert f"{str(tmp_path)!r} cannot be read or written" in refusal(main, "onnx", checkpoint, tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == [checkpoint]


def test_a_name_of_the_hub_and_a_relative_folder_pass(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_readable("google-bert/bert-base-uncased")
    check_writable(Path("new/folder"))
