"""Runs that are uploaded: each with its figures, without a path of this machine, and later where an upload failed."""

import json
import re
from pathlib import Path

import pytest
from hub_stand_in import TOKEN
from huggingface_hub import ModelCard
from refusals import refusal

import run_glue
import run_pretraining
from vocabless.conversion.__main__ import main
from vocabless.saving.model_card import CARD, REPOSITORY_PLACEHOLDER
from vocabless.saving.run_folder import read_results

NAME = "eelbert-word-uno"
QUICK = (
    "--use_cpu true --disable_tqdm true --report_to none --max_seq_length 16 --per_device_train_batch_size 8".split()
)
PRE = [*QUICK, *f"--variant {NAME} --max_steps 2 --push_to_hub true".split()]


@pytest.fixture
def private(tmp_path) -> Path:
    """A folder of the user with a table of texts."""
    folder = tmp_path / "home-of-me"
    folder.mkdir()
    rows = [f"{colour} stone number {number},{colour}" for number in range(50) for colour in ("red", "blue")]
    (folder / "colours.csv").write_text("\n".join(["text,label", *rows]))
    return folder


def test_runs_are_uploaded_with_their_figures_and_without_a_path_of_this_machine(stock_folder, hub, private) -> None:
    table, pre = str(private / "colours.csv"), str(private / "pre")
    run_pretraining.main([*PRE, "--corpus", table, "--output_dir", pre])
    tune = [*QUICK, "--train_file", table, "--validation_file", table, "--num_train_epochs", "1", "--test_file", table]
    tune += ["--save_strategy", "epoch", "--push_to_hub", "true"]
    tuned = private / "tuned"
    run_glue.main([*tune, "--model_name_or_path", pre, "--output_dir", str(tuned), "--hub_model_id", "you/colours"])
    run_glue.main([*tune, "--model_name_or_path", pre, "--output_dir", str(tuned), "--seeds", "2"])
    taught = ["--teacher", str(tuned / "colours" / "seed-42"), "--output_dir", str(private / "taught")]
    run_glue.main([*tune, "--model_name_or_path", NAME, *taught])
    (private / "source").symlink_to(stock_folder("bert"))
    main(["encoder", str(private / "source"), str(private / "words"), "--variant", "eelbert-word-tiny"])
    main(["hub", str(private / "words"), "me-words", "--push"])
    seeds = {"you/colours": 42, "you/tuned-colours-seed-42": 42, "you/tuned-colours-seed-43": 43}
    assert list(hub.repositories) == ["you/pre", *seeds, "you/taught-colours-seed-42", "you/me-words"]
    for repo_id, seed in seeds.items():
        files = hub.repositories[repo_id].files
        measures = read_results(tuned / "colours" / f"seed-{seed}")["measures"]
        card = ModelCard(files[CARD].decode())
        shown = {result.metric_name.replace(" ", "_"): result.metric_value for result in card.data.eval_results}
        assert shown == {name: measures[name] for name in ("accuracy", "macro_f1")}
        assert f'from_pretrained("{repo_id}"' in card.text
        assert {"modeling_vocabless.py", "tokenizer_config.json", "model.safetensors", "results.json"} <= set(files)
    assert (tuned / "colours" / "seed-42" / "test.md").is_file()
    for repository in hub.repositories.values():
        assert not [name for name in repository.files if re.search(r"^checkpoint|^predictions|^test|\.bin$", name)]
        assert not [name for name, content in repository.files.items() if str(private.parent).encode() in content]
        assert not [name for name, content in repository.files.items() if b"stone number" in content]


def test_a_pre_trained_run_is_uploaded_later_where_that_failed(hub, private, monkeypatch, capsys) -> None:
    folder = private / "pre"
    command = [*PRE, "--corpus", str(private / "colours.csv"), "--output_dir", str(folder)]
    assert "would upload unfinished" in refusal(run_pretraining.main, *command, "--hub_strategy", "every_save")
    monkeypatch.setenv("HF_TOKEN", "wrong")
    assert "no valid token" in refusal(run_pretraining.main, *command)
    assert not folder.exists()  # the upload is checked before any work
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    answer = hub.answer
    monkeypatch.setattr(hub, "answer", lambda *request: (503, {}, {}) if "/commit/" in request[1] else answer(*request))
    message = refusal(run_pretraining.main, *command)
    assert re.search(r"your files are unchanged.* hub FOLDER you/pre --push", message)
    monkeypatch.setattr(hub, "answer", answer)
    main(["hub", str(folder), "you/pre", "--push"])
    files = hub.repositories["you/pre"].files
    revision = list(hub.repositories["you/pre"].commits)[1]
    assert f"{hub.url}/you/pre at the revision {revision}\n" in capsys.readouterr().out
    assert REPOSITORY_PLACEHOLDER in (folder / CARD).read_text()  # the local card fits any repository
    card = ModelCard(files[CARD].decode())
    assert card.data.pipeline_tag == "feature-extraction" and "| accuracy |" in card.text and "colours.csv" in card.text
    assert json.loads(files["results.json"])["tokens_seen"] > 0
