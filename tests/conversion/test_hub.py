"""The verb hub, with a stand-in for the Hub on the loopback: uploading, loading by id and offline, error messages."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import huggingface_hub
import pytest
import torch
from hub_stand_in import TOKEN, Answer, Repository
from huggingface_hub import ModelCard, constants
from refusals import refusal
from safetensors.torch import load_file
from transformers import pipeline

import run_glue
import run_pretraining
import vocabless
from vocabless import load_config, load_tokenizer
from vocabless.conversion import hub as verb
from vocabless.conversion.__main__ import main
from vocabless.joined_code import CONFIGURATION, MODELING, PIPELINES, TOKENIZATION
from vocabless.saving.card_facts import UNKNOWN_TRAINING
from vocabless.saving.checkpoint import WITHOUT_PACKAGE
from vocabless.saving.model_card import CARD, REPOSITORY_PLACEHOLDER
from vocabless.saving.run_folder import RESULTS, read_results, write_json
from vocabless.saving.sentence_modules import read_dense, write_sentence_modules
from vocabless.saving.uploads import PIN_MESSAGE, upload

ROOT = Path(__file__).resolve().parent.parent.parent
PROCESS_TIMEOUT_SECONDS = 300  # a process needs a few seconds on an idle machine
NAME = "eelbert-word-uno"
TEXT = "A film as bright as a summer morning."
MIT_CARD = "---\nlicense: mit\n---\n\n# Mine\n"

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
def checkpoint(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "my-classifier"
    torch.manual_seed(1)
    vocabless.VocablessForSequenceClassification(load_config(NAME, num_labels=2)).save_pretrained(folder)
    load_tokenizer(NAME).save_pretrained(folder)
    return folder


@pytest.fixture
def copy(checkpoint, tmp_path) -> Path:
    """A copy of the checkpoint that a test may change."""
    return Path(shutil.copytree(checkpoint, tmp_path / "copy"))


def bare(code: str, folder: Path) -> list:
    done = subprocess.run(
        [sys.executable, "-I", "-c", WITHOUT_PACKAGE + code], cwd=folder, capture_output=True, text=True, check=False,
        timeout=PROCESS_TIMEOUT_SECONDS, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def readme(language: str) -> str:
    """The first code block in a language of the README's section on the Hub."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Publish")[2]
    return re.findall(rf"```{language}\n(.*?)```", section, re.S)[0]


def test_pushed_by_the_readme_loaded_by_its_id_fine_tuned_pushed_again_and_loaded_offline(
    checkpoint, hub, run_bare, tmp_path, monkeypatch, capsys
) -> None:
    assert len([line for line in (readme("bash") + readme("python")).splitlines() if line.strip()]) < 10
    (line,) = [line for line in readme("bash").splitlines() if "vocabless.conversion" in line]
    (tmp_path / "runs" / "mine" / "reviews").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "reviews" / "seed-42").symlink_to(checkpoint)
    monkeypatch.chdir(tmp_path)
    main(shlex.split(line.partition("-m vocabless.conversion ")[2]))
    printed = capsys.readouterr().out
    assert "The repository is you/my-classifier." in printed
    (commit,) = re.findall(r"at the revision (\w{40})\n", printed)
    first, tuned, again, sha = bare(readme("python").replace("COMMIT", commit) + LOAD + ANOTHER_USER, tmp_path)
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
    for name in ("model_int8.onnx", "inference.json", "onnx_model.py"):
        (copy / "onnx" / name).write_text(name)
    target = tmp_path / "target"
    main(["hub", str(copy), str(target)])
    written, given = ({f.relative_to(folder) for f in folder.rglob("*")} for folder in (target, copy))
    assert written == given - {Path("training_args.bin")}
    ours, theirs = load_file(copy / "model.safetensors"), load_file(target / "model.safetensors")
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert {tensor.dtype for tensor in theirs.values()} == {dtype}
    card = (target / CARD).read_text()
    digests = re.findall(r"^\| `(\w+\.py)` \| `(\w+)` \|$", card, re.M)
    names = sorted((CONFIGURATION, MODELING, TOKENIZATION))
    assert digests == [(name, sha256((target / name).read_bytes()).hexdigest()) for name in names]
    assert card.startswith(MIT_CARD) and card.endswith(" |\n\nEnd.\n")


@pytest.mark.parametrize("name", ["hashgram-tiny", "hashformer-lsh-proj-tiny"])
def test_half_the_bytes_load_as_32_bits(name, save_model, tmp_path) -> None:
    model, folder = save_model(name)
    target, size = tmp_path / "target", model.config.hidden_size
    dense = {"weight": torch.randn(6, size), "bias": torch.randn(6)}
    write_sentence_modules(folder, **dense)
    main(["hub", str(folder), str(target), "--half"])
    found = read_dense(str(target))
    assert (
        all(torch.equal(tensor, dense[name].half()) for name, tensor in found.items()) and found.keys() == dense.keys()
    )
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
    main(["hub", "ewe-bert-tiny", "fresh", "--push", "--commit_message", "Begin", "--space", "you/page"])
    repository = hub.repositories["you/fresh"]
    assert repository.messages == ["Begin", PIN_MESSAGE]
    card = ModelCard(repository.files[CARD].decode())
    assert "random weights" in card.text and f"[you/page]({constants.ENDPOINT}/spaces/you/page)" in card.text


def test_the_examples_of_a_card_load_the_commit_that_holds_the_model(copy, hub) -> None:
    for push in (["mine"], ["mine", "--exist_ok"]):
        main(["hub", str(copy), *push, "--push"])
        repository = hub.repositories["you/mine"]
        *_, model, card = repository.commits
        pinned = f'from_pretrained("you/mine", revision="{model}", trust_remote_code=True)'
        before, after = dict(repository.commits[model]), dict(repository.commits[card])
        assert after.pop(CARD).decode().count(pinned) == 2  # the tokenizer and the model
        assert b"revision=" not in before.pop(CARD)
        assert before == after


def test_the_message_names_the_command_that_repeats_a_second_commit(copy, hub, monkeypatch) -> None:
    def fail_the_second_commit(method: str, path: str, *request) -> Answer:
        is_second = "/commit/" in path and hub.repositories["you/mine"].messages
        return (500, {}, {}) if is_second else answer(method, path, *request)

    answer = hub.answer
    monkeypatch.setattr(hub, "answer", fail_the_second_commit)
    assert "conversion hub FOLDER you/mine --push --exist_ok." in refusal(main, "hub", copy, "mine", "--push")
    monkeypatch.setattr(hub, "answer", answer)
    main(["hub", str(copy), "mine", "--push", "--exist_ok"])
    assert hub.repositories["you/mine"].messages[-1] == PIN_MESSAGE


def test_a_pipeline_without_a_task_finds_it_by_the_card(copy, hub) -> None:
    main(["hub", str(copy), "mine", "--push"])
    classify = pipeline(model="you/mine", trust_remote_code=True)
    assert classify.task == "text-classification"
    assert classify(TEXT)[0]["label"].startswith("LABEL_")


def test_pickles_predictions_and_folders_are_not_uploaded(checkpoint, hub, tmp_path) -> None:
    (tmp_path / "run" / "checkpoint-2").mkdir(parents=True)
    uploaded = {"model.safetensors", "config.json"}
    for name in (*uploaded, "training_args.bin", "predictions.jsonl", "checkpoint-2/config.json"):
        (tmp_path / "run" / name).write_text("{}")
    upload(tmp_path / "run", "you/run", "Add")
    assert set(hub.repositories["you/run"].files) == uploaded


def test_a_repository_with_files_is_left_alone_without_exist_ok(copy, hub) -> None:
    taken = hub.repositories.setdefault("you/taken", Repository())
    main(["hub", str(copy), "you/taken", "--push"])  # it was empty
    before = taken.head
    (copy / CARD).write_text(MIT_CARD)
    message = refusal(main, "hub", copy, "taken", "--push")
    assert f"'you/taken' already exists and holds {len(taken.files)} files; give another name, or add --exis" in message
    assert taken.head == before
    main(["hub", str(copy), "taken", "--push", "--exist_ok", "--commit_message", "Again"])
    assert taken.messages[-1] == "Again"  # a card of the user has no example, so it is not committed twice
    assert taken.files[CARD] == (copy / CARD).read_bytes()


@pytest.mark.parametrize(
    ("target", "token", "sentence"),
    [
        ("no such name", "hf_x", "'(you/)?no such name' is not a valid repository id"),
        ("a/b/c", "hf_x", "'a/b/c' is not a valid repository id"),
        ("others/model", "hf_x", "your token may not write to 'others/model'"),
        ("mine", "wrong", "no valid token for uploads to 'mine'; run `hf auth login`, or set HF_TOKEN"),
        ("mine", "", "no valid token for uploads to 'mine'"),
    ],
)
def test_an_impossible_upload_ends_with_one_sentence(target, token, sentence, checkpoint, hub, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    if not token:
        monkeypatch.setattr(huggingface_hub.hf_api, "get_token", lambda: None)
    assert re.search(sentence, refusal(main, "hub", checkpoint, target, "--push"))
    assert hub.repositories == {}


def test_without_a_network_nothing_is_lost(checkpoint, hub, monkeypatch) -> None:
    hub.__exit__()
    assert re.search("the upload to 'mine' at .* failed", refusal(main, "hub", checkpoint, "mine", "--push"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "check the network and HF_HUB_OFFLINE" in refusal(main, "hub", checkpoint, "mine", "--push")


def test_the_message_gives_the_reason_when_the_hub_rejects_files(copy, hub, monkeypatch) -> None:
    (copy / CARD).write_text(MIT_CARD.replace("mit", "["))
    message = refusal(main, "hub", copy, "mine", "--push")
    assert "Invalid metadata in README.md. - the metadata is no mapping); correct them" in message
    (copy / CARD).unlink()
    answer = hub.answer
    monkeypatch.setattr(hub, "answer", lambda *request: (400, {}, {}) if request[0] == "PUT" else answer(*request))
    assert "Error while uploading 'model.safetensors'" in refusal(main, "hub", copy, "mine", "--push")
    assert hub.repositories["you/mine"].files == {}


def test_a_damaged_or_missing_source_is_refused_before_anything_is_written(copy, hub, tmp_path) -> None:
    target = tmp_path / "target"
    assert "'you/nothing' is neither a folder nor a reachable Hub repository" in refusal(
        main, "hub", "you/nothing", target
    )
    weights = copy / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[: len(data) // 2])
    assert "it is truncated or holds other objects than tensors" in refusal(main, "hub", copy, target)
    weights.unlink()
    torch.save({"model": Path("a whole program")}, copy / "pytorch_model.bin")
    assert "is damaged or holds other objects than tensors; get a model.safetensors." in refusal(
        main, "hub", copy, target
    )
    weights.write_bytes(data)
    load_tokenizer("ewe-bert-tiny").save_pretrained(copy)
    assert "writes blocks of 16 elements, but the model reads 32" in refusal(main, "hub", copy, target)
    load_tokenizer(NAME, splitter="whitespace").save_pretrained(copy)
    assert f"but {NAME} reads utf8 blocks of word units" in refusal(main, "hub", copy, target)
    assert not target.exists()


def test_a_repository_that_does_not_load_without_the_package_is_not_written(checkpoint, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(verb, "loads_without_package", lambda *_: False)
    assert "gives other numbers without this package" in refusal(main, "hub", checkpoint, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_records_of_another_kind_tell_nothing_about_the_training(tmp_path) -> None:
    assert verb.read_card_facts(tmp_path) == UNKNOWN_TRAINING
    write_json(tmp_path / RESULTS, {"arguments": {}, "versions": {}, "cosine": {"after": 0.5}})
    assert verb.read_card_facts(tmp_path) == UNKNOWN_TRAINING


@pytest.mark.parametrize("command", ["hub", "space"])
@pytest.mark.parametrize(
    "text", ['{"constant_baselines": 5}', "[[", "[" * 10**5, "null", '{"constant_baselines": {}, "arguments": [1]}']
)
def test_a_damaged_record_ends_a_verb_with_one_sentence(command, text, copy, tmp_path) -> None:
    (copy / RESULTS).write_text(text)
    assert "results.json' is not what a run writes (" in refusal(main, command, copy, tmp_path / "target")


QUICK = ["--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none", "--max_seq_length", "16"]


@pytest.fixture
def texts(tmp_path) -> str:
    rows = [f"{colour} stone number {number},{colour}" for number in range(50) for colour in ("red", "blue")]
    (tmp_path / "colours.csv").write_text("\n".join(["text,label", *rows]))
    return str(tmp_path / "colours.csv")


def test_fine_tuned_runs_are_uploaded_each_with_its_figures_and_again_by_the_same_command(texts, hub, tmp_path) -> None:
    command = ["--model_name_or_path", NAME, "--train_file", texts, "--validation_file", texts, *QUICK]
    command += ["--num_train_epochs", "1", "--output_dir", str(tmp_path / "tuned"), "--push_to_hub", "true"]
    run_glue.main([*command, "--hub_model_id", "you/colours"])
    assert list(hub.repositories) == ["you/colours"]
    run_glue.main([*command, "--seeds", "2"])
    assert list(hub.repositories)[1:] == ["you/tuned-colours-seed-42", "you/tuned-colours-seed-43"]
    for repo_id in hub.repositories:
        seed = "43" if repo_id.endswith("43") else "42"
        files = hub.repositories[repo_id].files
        measures = read_results(tmp_path / "tuned" / "colours" / f"seed-{seed}")["measures"]
        card = ModelCard(files[CARD].decode())
        shown = {result.metric_name.replace(" ", "_"): result.metric_value for result in card.data.eval_results}
        assert shown == {name: measures[name] for name in ("accuracy", "macro_f1")}
        assert f'from_pretrained("{repo_id}"' in card.text
        assert {"modeling_vocabless.py", "tokenizer_config.json", "model.safetensors", "results.json"} <= set(files)
        assert not [name for name in files if name.startswith("checkpoint") or name.endswith(".bin")]


def test_a_pre_trained_run_is_uploaded_when_it_is_finished_and_later_where_that_failed(
    texts, hub, tmp_path, monkeypatch, capsys
) -> None:
    command = ["--variant", NAME, "--corpus", texts, *QUICK, "--max_steps", "2", "--preprocessing_num_workers", "1"]
    command += ["--output_dir", str(tmp_path / "pre"), "--push_to_hub", "true"]
    unfinished = refusal(run_pretraining.main, *command, "--hub_strategy", "every_save")
    assert "--hub_strategy every_save would upload unfinished runs" in unfinished
    monkeypatch.setenv("HF_TOKEN", "wrong")
    assert "no valid token" in refusal(run_pretraining.main, *command)
    assert not (tmp_path / "pre").exists()  # the upload is checked before any work
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    answer = hub.answer
    monkeypatch.setattr(hub, "answer", lambda *request: (503, {}, {}) if "/commit/" in request[1] else answer(*request))
    message = refusal(run_pretraining.main, *command)
    assert re.search(r"your files are unchanged.* hub FOLDER you/pre --push", message)
    monkeypatch.setattr(hub, "answer", answer)
    main(["hub", str(tmp_path / "pre"), "you/pre", "--push"])
    files = hub.repositories["you/pre"].files
    revision = list(hub.repositories["you/pre"].commits)[1]
    assert f"{hub.url}/you/pre at the revision {revision}\n" in capsys.readouterr().out
    assert REPOSITORY_PLACEHOLDER in (tmp_path / "pre" / CARD).read_text()  # the local card fits any repository
    card = ModelCard(files[CARD].decode())
    assert card.data.pipeline_tag == "feature-extraction" and "| accuracy |" in card.text and "colours.csv" in card.text
    assert json.loads(files["results.json"])["tokens_seen"] > 0
