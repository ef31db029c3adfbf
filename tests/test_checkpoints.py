"""The trained weights that ship: they load, they are small, and their code is that of this version."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from test_remote_code import HEADS, LOAD, outputs_of, unequal

from vocabless.joined_code import PROGRAM, joined
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.model_card import CARD
from vocabless.saving.record import read_card_facts
from vocabless.saving.run_folder import RESULTS
from vocabless.saving.shipped_code import CODE, LINKED, SHIPPED, links_of

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = sorted(file.parent for file in ROOT.glob("checkpoints/*/config.json"))
CLASSIFIERS = [folder for folder in CHECKPOINTS if folder.name.endswith("-sst2")]
MOST_MEGABYTES = 48
RENEW = "run `python -m vocabless.saving.shipped_code` in the root of the repository"
pytestmark = pytest.mark.skipif(not CHECKPOINTS, reason="this archive has no trained weights; clone the repository")
GRAPH_MEGABYTES = {"hashgram-nano": 0.36, "hashgram-uno": 0.81, "hashgram-tiny": 1.7}
SENTENCES = {
    "A film as bright as a summer morning.": 1,
    "A borring mess, far too long.": 0,
    "one of the best movies of the year": 1,
    "the plot makes no sense and the acting is terrible": 0,
}


def name_of(folder: Path) -> str:
    return folder.name


def test_all_checkpoints_together_are_small() -> None:
    files = [file for file in (ROOT / "checkpoints").rglob("*") if file.is_file() and not file.is_symlink()]
    assert len(CHECKPOINTS) >= 4
    assert sum(file.stat().st_size for file in files) <= MOST_MEGABYTES * 2**20


@pytest.mark.parametrize("name", [*LINKED, PROGRAM])
def test_the_one_copy_of_the_code_is_that_of_this_version(name: str) -> None:
    assert (ROOT / SHIPPED / CODE / name).read_text(encoding="utf-8") == joined(name), RENEW


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=name_of)
def test_a_checkpoint_has_links_to_the_copy_and_its_digests(folder: Path) -> None:
    links = {file.relative_to(folder).as_posix(): os.readlink(file) for file in folder.rglob("*.py")}
    assert links == links_of(folder), RENEW
    assert {*LINKED} <= {*links}
    assert all((folder / name).resolve() == ROOT / SHIPPED / CODE / Path(name).name for name in links)
    digests = re.findall(r"^\| `(\w+\.py)` \| `(\w{64})` \|$", (folder / CARD).read_text(encoding="utf-8"), re.M)
    assert digests == [(name, hashlib.sha256((folder / name).read_bytes()).hexdigest()) for name in LINKED], RENEW


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=name_of)
def test_a_checkpoint_loads_with_its_code_alone(folder: Path, run_bare, tmp_path) -> None:
    model, tokenizer = load_checkpoint(str(folder))
    head, file = type(model).__name__, tmp_path / "outputs.safetensors"
    (auto,) = [auto for auto, name in HEADS.items() if name == head]
    run_bare(LOAD, folder=folder, auto=auto, head=head, text=[*SENTENCES], file=file, again="")
    inputs = tokenizer([*SENTENCES], padding=True, return_tensors="pt")
    assert unequal(outputs_of(model, inputs, auto), load_file(file)) == []


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=name_of)
def test_a_checkpoint_has_a_card_a_record_and_no_path_of_a_machine(folder: Path) -> None:
    assert json.loads((folder / RESULTS).read_text())["arguments"]
    assert read_card_facts(str(folder)).kind in ("pre-trained", "fine-tuned")  # a page is made from it
    card = (folder / CARD).read_text()
    assert "Teacher" in card and {*re.findall("^(?:# |- name: )(.*)$", card, re.M)} == {folder.name}
    assert not (folder / "run.json").exists()
    for file in [*folder.rglob("*.json"), *folder.rglob("*.md")]:
        assert not re.search(r'"(/|~/|[A-Z]:\\)[\w.-]+/', file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("folder", [folder for folder in CHECKPOINTS if (folder / "onnx").is_dir()], ids=name_of)
def test_the_graph_is_small_and_agrees(folder: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (file,) = (folder / "onnx").glob("*.onnx")
    limit = next((limit for name, limit in GRAPH_MEGABYTES.items() if folder.name.startswith(name)), 1.0)
    assert file.stat().st_size <= limit * 1e6
    model, tokenizer = load_checkpoint(str(folder))
    session = onnxruntime.InferenceSession(str(file))
    for sentence in SENTENCES:
        inputs = tokenizer(sentence, return_tensors="pt")
        names = {node.name for node in session.get_inputs()}
        (output, *_) = session.run(None, {name: value.numpy() for name, value in inputs.items() if name in names})
        with torch.no_grad():
            expected = model(**inputs)[0].numpy()
        if folder in CLASSIFIERS:
            assert output.argmax() == expected.argmax()
        else:
            cosines = (output * expected).sum(-1) / np.linalg.norm(output, axis=-1) / np.linalg.norm(expected, axis=-1)
            assert cosines.min() > 0.9
    command = [sys.executable, file.with_name(PROGRAM), file.parent, *SENTENCES]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == len(SENTENCES)
    if folder in CLASSIFIERS:
        assert [line.split()[0] for line in said] == [("negative", "positive")[label] for label in SENTENCES.values()]
