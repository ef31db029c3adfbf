"""The verb hub and the uploads of runs, with a stand-in for the Hub: uploading, loading by id and offline, mistakes."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import huggingface_hub
import pytest
import torch
from hub_stand_in import TOKEN, Answer, Repository
from huggingface_hub import ModelCard, constants
from refusals import refusal
from safetensors.torch import load_file

import run_glue
import run_pretraining
import vocabless
from vocabless import load_config, load_tokenizer
from vocabless.conversion.__main__ import main
from vocabless.joined_code import CONFIGURATION, MODELING, PIPELINES, TOKENIZATION
from vocabless.saving.checkpoint import WITHOUT_PACKAGE
from vocabless.saving.model_card import CARD, REPOSITORY_PLACEHOLDER
from vocabless.saving.record import UNKNOWN_TRAINING, read_card_facts
from vocabless.saving.run_folder import RESULTS, read_results, write_json
from vocabless.saving.sentence_modules import read_dense, write_sentence_modules
from vocabless.saving.uploads import PIN_MESSAGE

README = Path(__file__).resolve().parent.parent.parent / "README.md"
PROCESS_TIMEOUT_SECONDS = 300  # a process needs a few seconds on an idle machine
NAME = "eelbert-word-uno"
TEXT = "A film as bright as a summer morning."
MIT_CARD = "---\nlicense: mit\n---\n\n# Mine\n"
QUICK = "--use_cpu true --disable_tqdm true --report_to none --max_seq_length 16 --per_device_train_batch_size 8"
PRETRAIN = f"{QUICK} --variant {NAME} --max_steps 2 --push_to_hub true".split()

LOAD = """
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

def load(name, revision="main", cache=None):
    options = {"trust_remote_code": True, "revision": revision, "cache_dir": cache}
    tokenizer = AutoTokenizer.from_pretrained(name, **options)
    return AutoModelForSequenceClassification.from_pretrained(name, **options), tokenizer

def logits(model, tokenizer):
    with torch.no_grad():
        return model.eval()(**tokenizer(text, return_tensors="pt")).logits.double().tolist()
"""
# What another user does after the lines of the README: fine-tunes the model, saves it, loads it again and publishes it.
ANOTHER_USER = f"""
text = {TEXT!r}
model, tokenizer = load("you/my-classifier")
model.train()(**tokenizer(text, return_tensors="pt"), labels=torch.tensor([1])).loss.backward()
torch.optim.SGD(model.parameters(), 0.1).step()
model.save_pretrained("tuned"), tokenizer.save_pretrained("tuned")
model, tokenizer = load("./tuned")
model.push_to_hub("theirs")
sha = tokenizer.push_to_hub("theirs").oid
print(json.dumps([logits(*load("you/my-classifier")), logits(model, tokenizer), logits(*load("you/theirs", sha)), sha]))
"""
OFFLINE = """
result = [logits(*load("you/my-classifier", cache=cache)), logits(*load("you/theirs", sha, cache))]
"""


@pytest.fixture(scope="module")
def checkpoint(random_checkpoint) -> Path:
    return random_checkpoint(NAME, "VocablessForSequenceClassification")


@pytest.fixture
def copy(checkpoint, tmp_path) -> Path:
    """A copy of the checkpoint that a test may change."""
    return Path(shutil.copytree(checkpoint, tmp_path / "copy"))


@pytest.fixture
def private(tmp_path) -> Path:
    """A folder of the user with a table of texts."""
    folder = tmp_path / "home-of-me"
    folder.mkdir()
    rows = [f"{colour} stone number {number},{colour}" for number in range(50) for colour in ("red", "blue")]
    (folder / "colours.csv").write_text("\n".join(["text,label", *rows]))
    return folder


def bare(code: str, folder: Path) -> list:
    done = subprocess.run(
        [sys.executable, "-I", "-c", WITHOUT_PACKAGE + code], cwd=folder, capture_output=True, text=True, check=False,
        timeout=PROCESS_TIMEOUT_SECONDS, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_pushed_by_the_readme_loaded_by_its_id_fine_tuned_pushed_again_and_loaded_offline(
    checkpoint, hub, run_bare, tmp_path, monkeypatch, capsys
) -> None:
    (line,) = re.findall("^vocabless hub .*", README.read_text(encoding="utf-8"), re.M)
    page = (README.parent / "docs" / "hub.md").read_text(encoding="utf-8").partition("## Load")[2]
    python = re.findall(r"```python\n(.*?)\n```", page, re.S)[0]
    (tmp_path / "my-classifier").symlink_to(checkpoint)
    monkeypatch.chdir(tmp_path)
    main(shlex.split(line)[1:])
    printed = capsys.readouterr().out
    assert "The repository is you/my-classifier." in printed
    (commit,) = re.findall(r"at the revision (\w{40})\n", printed)
    first, tuned, again, sha = bare(python.replace("COMMIT", commit) + LOAD + ANOTHER_USER, tmp_path)
    pushed, theirs = hub.repositories["you/my-classifier"], hub.repositories["you/theirs"]
    assert sha == theirs.head and len(theirs.commits) == 3  # created, model, tokenizer
    for files in (pushed.files, theirs.files):
        assert {name for name in files if name.endswith(".py")} == {CONFIGURATION, MODELING, TOKENIZATION}
    assert REPOSITORY_PLACEHOLDER.encode() not in pushed.files[CARD] and b'"you/my-classifier"' in pushed.files[CARD]
    assert first != tuned == again
    offline = run_bare(LOAD + OFFLINE, text=TEXT, sha=sha, cache=tmp_path / "home" / "hub")
    assert offline == [first, tuned]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_folder_gets_the_whole_repository_bit_for_bit_and_its_card_gets_digests(dtype, copy, tmp_path) -> None:
    model = vocabless.VocablessForSequenceClassification.from_pretrained(copy)
    model.to(dtype).save_pretrained(copy)
    (copy / CARD).write_text(f"{MIT_CARD}\n| code | SHA-256 |\n|---|---|\n| `old.py` | `0` |\n\nEnd.\n")
    (copy / "training_args.bin").write_bytes(b"pickle")
    (copy / "onnx").mkdir()
    weights_id = json.loads((copy / "config.json").read_text())["weights_id"]
    for name in ("model_int8.onnx", "inference.json", "onnx_model.py"):
        (copy / "onnx" / name).write_text(json.dumps({"weights_id": weights_id}))
    target = tmp_path / "target"
    main(["hub", str(copy), str(target)])
    written, given = ({f.relative_to(folder) for f in folder.rglob("*")} for folder in (target, copy))
    assert written == given - {Path("training_args.bin")}
    ids = [json.loads((target / name).read_text())["weights_id"] for name in ("config.json", "onnx/inference.json")]
    assert ids[0] == ids[1]
    ours, theirs = load_file(copy / "model.safetensors"), load_file(target / "model.safetensors")
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert {tensor.dtype for tensor in theirs.values()} == {dtype}
    card = (target / CARD).read_text()
    digests = re.findall(r"^\| `(\w+\.py)` \| `(\w+)` \|$", card, re.M)
    names = sorted((CONFIGURATION, MODELING, TOKENIZATION))
    assert digests == [(name, sha256((target / name).read_bytes()).hexdigest()) for name in names]
    assert card.startswith(MIT_CARD) and card.endswith(" |\n\nEnd.\n")


def test_half_the_bytes_load_as_32_bits(save_model, tmp_path) -> None:
    model, folder = save_model("hashgram-tiny")
    target = tmp_path / "target"
    dense = {"weight": torch.randn(6, model.config.hidden_size), "bias": torch.randn(6)}
    write_sentence_modules(folder, **dense)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "inference.json").write_text(json.dumps({"weights_id": "another"}))
    assert "has a graph of older weights; remove it, or" in refusal(main, "hub", str(folder), str(target), "--half")
    shutil.rmtree(folder / "onnx")
    main(["hub", str(folder), str(target), "--half"])
    found = read_dense(str(target))
    assert found.keys() == dense.keys() and all(torch.equal(found[name], dense[name].half()) for name in dense)
    whole, half = load_file(folder / "model.safetensors"), load_file(target / "model.safetensors")
    assert {tensor.dtype for tensor in half.values()} == {torch.float16} and whole.keys() == half.keys()
    loaded = vocabless.VocablessModel.from_pretrained(target)
    assert loaded.dtype == torch.float32 and loaded.config.dtype == torch.float32
    state = loaded.state_dict()
    assert all(torch.equal(state[name], tensor.half().float()) for name, tensor in model.state_dict().items())


def test_what_the_library_uploads_while_it_saves_is_the_joined_code(hub, tmp_path) -> None:
    model = vocabless.VocablessForTokenClassification(load_config(NAME))
    for name, saved in (("model", model), ("config", model.config), ("tokenizer", load_tokenizer(NAME))):
        saved.save_pretrained(str(tmp_path / name), push_to_hub=True, repo_id=f"you/{name}")
        saved.push_to_hub(f"you/{name}-again")
        own = {TOKENIZATION} if name == "tokenizer" else {CONFIGURATION, MODELING, PIPELINES}
        for repo_id in (f"you/{name}", f"you/{name}-again"):
            assert {file for file in hub.repositories[repo_id].files if file.endswith(".py")} == own


def test_a_variant_is_published_with_random_weights(hub) -> None:
    main(["hub", "ewe-bert-tiny", "fresh", "--push", "--commit_message", "Begin"])
    repository = hub.repositories["you/fresh"]
    assert repository.messages == ["Begin", PIN_MESSAGE]
    card = ModelCard(repository.files[CARD].decode())
    assert "random weights" in card.text


def test_a_card_loads_the_commit_of_the_model_and_only_exist_ok_commits_again(copy, hub) -> None:
    mine = hub.repositories.setdefault("you/mine", Repository())  # it is empty
    for options in ([], ["--exist_ok", "--commit_message", "Again"]):
        main(["hub", str(copy), "mine", "--push", *options])
        *_, model, card = mine.commits
        pinned = f'from_pretrained("you/mine", revision="{model}", trust_remote_code=True)'
        before, after = dict(mine.commits[model]), dict(mine.commits[card])
        assert after.pop(CARD).decode().count(pinned) == 2  # the tokenizer and the model
        assert b"revision=" not in before.pop(CARD)
        assert before == after and mine.messages[-1] == PIN_MESSAGE
        message = f"'you/mine' already exists and holds {len(mine.files)} files; give another name, or add --exist_ok"
        assert message in refusal(main, "hub", copy, "mine", "--push")
        assert mine.head == card
    assert mine.messages[-2] == "Again"
    (copy / CARD).write_text(MIT_CARD)
    main(["hub", str(copy), "mine", "--push", "--exist_ok", "--commit_message", "Mine"])
    assert mine.messages[-1] == "Mine"  # a card of the user has no example, so it is not committed twice


@pytest.mark.parametrize(("target", "token", "sentence"), [
    ("a/b/c", "hf_x", "'a/b/c' is not a valid repository id"),
    ("others/model", "hf_x", "your token may not write to 'others/model'"),
    ("mine", "", "no valid token for uploads to 'mine'; run `hf auth login`, or set HF_TOKEN"),
])  # fmt: skip
def test_an_impossible_upload_ends_with_one_sentence(target, token, sentence, checkpoint, hub, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    if not token:
        monkeypatch.setattr(huggingface_hub.hf_api, "get_token", lambda: None)
    assert sentence in refusal(main, "hub", checkpoint, target, "--push")
    assert hub.repositories == {}


def test_the_message_gives_the_reason_when_an_upload_fails(copy, hub, monkeypatch) -> None:
    (copy / CARD).write_text(MIT_CARD.replace("mit", "["))
    message = refusal(main, "hub", copy, "mine", "--push")
    assert "Invalid metadata in README.md. - the metadata is no mapping); correct them" in message
    (copy / CARD).unlink()
    lost = RuntimeError("Error while uploading 'model.safetensors'")  # as for a large file
    with monkeypatch.context() as patched:
        patched.setattr(huggingface_hub.HfApi, "create_commit", Mock(side_effect=lost))
        assert "Error while uploading 'model.safetensors'" in refusal(main, "hub", copy, "mine", "--push")
    answer = hub.answer

    def fail_the_second_commit(method: str, path: str, *request) -> Answer:
        is_second = "/commit/" in path and hub.repositories["you/mine"].messages
        return (500, {}, {}) if is_second else answer(method, path, *request)

    monkeypatch.setattr(hub, "answer", fail_the_second_commit)
    assert "vocabless hub FOLDER you/mine --push --exist_ok." in refusal(main, "hub", copy, "mine", "--push")


def test_without_a_source_or_a_network_the_reason_is_named(checkpoint, hub, tmp_path, monkeypatch) -> None:
    hub.__exit__()
    assert re.search("the upload to 'mine' at .* failed", refusal(main, "hub", checkpoint, "mine", "--push"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "check the network and HF_HUB_OFFLINE" in refusal(main, "hub", checkpoint, "mine", "--push")
    said = refusal(main, "hub", "you/nothing", tmp_path / "target")
    assert "'you/nothing' is neither a folder nor a reachable Hub repository" in said


def test_records_of_another_kind_tell_nothing_about_the_training(tmp_path) -> None:
    assert read_card_facts(str(tmp_path)) == UNKNOWN_TRAINING
    write_json(tmp_path / RESULTS, {"arguments": {}, "versions": {}, "cosine": {"after": 0.5}})
    assert read_card_facts(str(tmp_path)) == UNKNOWN_TRAINING


def test_runs_are_uploaded_with_their_figures_and_without_a_path_of_this_machine(
    random_checkpoint, stock_folder, hub, private
) -> None:
    table, pre, tuned = (str(private / name) for name in ("colours.csv", "pre", "tuned"))
    run_pretraining.main([*PRETRAIN, "--corpus", table, "--output_dir", pre])
    labels = {0: "blue", 1: "red"}
    (private / "teacher").symlink_to(random_checkpoint(NAME, "VocablessForSequenceClassification", id2label=labels))
    tune = f"{QUICK} --num_train_epochs 1 --save_strategy epoch --push_to_hub true".split()
    tune += ["--train_file", table, "--validation_file", table, "--test_file", table, "--model_name_or_path", pre]
    tune += ["--teacher", str(private / "teacher"), "--output_dir", tuned]
    run_glue.main([*tune, "--hub_model_id", "you/colours"])
    run_glue.main([*tune, "--seeds", "2"])
    (private / "source").symlink_to(stock_folder("bert"))
    main(["encoder", str(private / "source"), str(private / "words"), "--variant", "eelbert-word-tiny"])
    main(["hub", str(private / "words"), "me-words", "--push"])
    seeds = {"you/colours": 42, "you/tuned-colours-seed-42": 42, "you/tuned-colours-seed-43": 43}
    assert list(hub.repositories) == ["you/pre", *seeds, "you/me-words"]
    for repo_id, seed in seeds.items():
        files = hub.repositories[repo_id].files
        measures = read_results(Path(tuned, "colours", f"seed-{seed}"))["measures"]
        card = ModelCard(files[CARD].decode())
        shown = {result.metric_name.replace(" ", "_"): result.metric_value for result in card.data.eval_results}
        assert shown == {name: measures[name] for name in ("accuracy", "macro_f1")}
        assert f'from_pretrained("{repo_id}"' in card.text
        assert {"modeling_vocabless.py", "tokenizer_config.json", "model.safetensors", "results.json"} <= set(files)
    for repository in hub.repositories.values():
        assert not [name for name in repository.files if re.search(r"^checkpoint|^predictions|\.bin$", name)]
        assert not [name for name, content in repository.files.items() if str(private.parent).encode() in content]
        assert not [name for name, content in repository.files.items() if b"stone number" in content]
        assert "test.md" not in repository.files  # the labels of the person's data


def test_a_pre_trained_run_is_uploaded_later_where_that_failed(hub, private, monkeypatch, capsys) -> None:
    folder = private / "pre"
    command = [*PRETRAIN, "--corpus", str(private / "colours.csv"), "--output_dir", str(folder)]
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
    files, revision = hub.repositories["you/pre"].files, list(hub.repositories["you/pre"].commits)[1]
    assert f"{hub.url}/you/pre at the revision {revision}\n" in capsys.readouterr().out
    assert REPOSITORY_PLACEHOLDER in (folder / CARD).read_text()  # the local card fits any repository
    card = ModelCard(files[CARD].decode())
    assert card.data.pipeline_tag == "feature-extraction" and "| accuracy |" in card.text and "colours.csv" in card.text
    assert json.loads(files["results.json"])["tokens_seen"] > 0


def test_a_name_that_no_repository_can_have_is_told_before_a_missing_token(random_checkpoint, tmp_path):
    folder = random_checkpoint("eelbert-word-uno")
    for name in ("bad name!!", "a/b/c"):
        assert f"{name!r} is not a valid repository id" in refusal(main, "hub", folder, name, "--push")
