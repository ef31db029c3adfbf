"""A saved folder loads where this package is not installed, and gives the same numbers bit for bit."""

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from test_variants import QUICK

import vocabless
from vocabless import list_variants, load_config, load_tokenizer
from vocabless.joined_code import CONFIGURATION, MODELING, PIPELINES, TOKENIZATION, joined, write_code
from vocabless.modeling.configuration_vocabless import AUTO_MAP
from vocabless.saving.checkpoint import WITHOUT_PACKAGE
from vocabless.variants import VARIANTS

TEXT = ["The quick brown fox, at 25 °C.", "naïve 日本語 😀"]
HEADS = {auto: path.split(".")[1] for auto, path in AUTO_MAP.items() if auto != "AutoConfig"}
HEAD_VARIANT = "eelbert-tiny"
HEADS_WITH_PIPELINES = ("VocablessForTokenClassification", "VocablessForMaskedLM")

# Runs in its own process. A line of its input is a JSON list of jobs: the folder, the Auto class, the result file.
BARE = (
    WITHOUT_PACKAGE
    + r"""
from pathlib import Path
import torch, transformers
from safetensors.torch import save_file
transformers.utils.logging.disable_progress_bar()
for job in (job for line in sys.stdin for job in (*json.loads(line), None)):
    if job is None:
        assert not any(name.split(".")[0] == "vocabless" for name in sys.modules)
        print("done", flush=True)
        continue
    folder = job["folder"]
    config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    model = getattr(transformers, job["auto"]).from_pretrained(folder, trust_remote_code=True).eval()
    assert type(model).__name__ == job["name"], type(model)
    assert type(model).__module__.startswith("transformers_modules."), type(model)
    assert type(tokenizer).__module__.startswith("transformers_modules."), type(tokenizer)
    inputs = tokenizer(job["text"], padding=True, truncation=True, return_tensors="pt")
    batch = dict(inputs)
    if job["auto"] == "AutoModelForMultipleChoice":
        batch = {name: value.unsqueeze(1) for name, value in batch.items()}
    with torch.no_grad():
        output = model(**batch)[0]
    tensors = {"output": output, **dict([*model.named_parameters(), *model.named_buffers()])}
    tensors |= {"inputs." + name: value for name, value in inputs.items()}
    save_file({name: value.detach().clone() for name, value in tensors.items()}, job["result"])
    if job.get("again"):
        model.save_pretrained(job["again"])
        model.base_model.save_pretrained(job["again"] + "_base")
        tokenizer.save_pretrained(job["again"])
"""
)


def outputs_of(model: torch.nn.Module, inputs: dict, auto: str) -> dict[str, torch.Tensor]:
    batch = {name: value.unsqueeze(1) for name, value in inputs.items()} if "Choice" in auto else inputs
    with torch.no_grad():
        output = model.eval()(**batch)[0]
    tensors = {"output": output, **dict([*model.named_parameters(), *model.named_buffers()])}
    tensors |= {"inputs." + name: value for name, value in inputs.items()}
    return {name: value.detach().clone() for name, value in tensors.items()}


@contextmanager
def bare_process(folder: Path) -> Iterator[Callable[[list[dict]], None]]:
    """Gives a function that does jobs in one process without the package; it imports torch and transformers once."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(folder / "modules")}
    environment |= {"HF_HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)
    command, log = [sys.executable, "-I", "-c", BARE], folder / "stderr.txt"
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log.open("w"), "text": True}
    with streams["stderr"], subprocess.Popen(command, cwd=folder, env=environment, **streams) as process:

        def run(jobs: list[dict]) -> None:
            process.stdin.write(json.dumps(jobs) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n", log.read_text()[-3000:]

        yield run


@pytest.fixture(scope="module")
def run_bare(tmp_path_factory) -> Iterator[Callable[[list[dict]], None]]:
    with bare_process(tmp_path_factory.mktemp("bare")) as run:
        yield run


def assert_equal(expected: dict[str, torch.Tensor], file: str, tolerance: float = 0.0) -> None:
    """Compares all bits. A tolerance holds for the output alone."""
    actual = load_file(file)
    assert actual.keys() == expected.keys()
    unequal = [name for name, value in expected.items() if not torch.equal(actual[name], value)]
    if tolerance and unequal == ["output"]:
        torch.testing.assert_close(actual["output"], expected["output"], rtol=0, atol=tolerance)
    else:
        assert unequal == []


@pytest.fixture(scope="module")
def checkpoint_of(shrink, subwords, tmp_path_factory):
    """Saves a variant under a head; returns its folder and the tensors that it must give."""

    def make(name: str, auto: str = "AutoModel", **options: object) -> tuple[Path, dict[str, torch.Tensor]]:
        folder = tmp_path_factory.mktemp(name.replace("-", "_"))
        torch.manual_seed(1)
        config = shrink(load_config(name, **options))
        model = getattr(vocabless, HEADS[auto])(config)
        with torch.no_grad():  # biases too, which are initialised with zeros
            for parameter in model.parameters():
                parameter.normal_(std=0.2)
        tokenizer = load_tokenizer(name, subword=subwords.get(VARIANTS[name].splitter))
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        # Kernels round differently for tensors at other memory alignments, so compare with weights that were loaded.
        reloaded = type(model).from_pretrained(folder)
        assert all(torch.equal(value, reloaded.state_dict()[key]) for key, value in model.state_dict().items())
        inputs = dict(tokenizer(TEXT, padding=True, truncation=True, return_tensors="pt"))
        return folder, outputs_of(reloaded, inputs, auto)

    return make


@pytest.mark.parametrize("names", [QUICK, list_variants()], ids=["quick", "all"])
@pytest.mark.quick("quick")
def test_variants_load_without_the_package_bit_for_bit(names: list[str], checkpoint_of, run_bare, tmp_path) -> None:
    jobs, expected = [], []
    for index, name in enumerate(names):
        folder, tensors = checkpoint_of(name)
        expected.append(tensors)
        result = str(tmp_path / f"{index}.safetensors")
        jobs.append(
            {"folder": str(folder), "auto": "AutoModel", "name": "VocablessModel", "text": TEXT, "result": result}
        )
    run_bare(jobs)
    for name, tensors, job in zip(names, expected, jobs, strict=True):
        # Convolutions round differently for tensors at other memory alignments.
        assert_equal(tensors, job["result"], 1e-5 if VARIANTS[name].encoder == "canine" else 0.0)


def test_a_learned_table_and_the_mean_state_load_without_the_package(checkpoint_of, run_bare, tmp_path) -> None:
    auto = "AutoModelForSequenceClassification"
    options = {"front_end": "hash_embedding", "front_end_options": {"num_rows": 50, "mlp_size": 8}}
    folder, tensors = checkpoint_of("eelbert-word-tiny", auto, **options, classifier_pooling="mean")
    result = str(tmp_path / "result.safetensors")
    job = {"folder": str(folder), "auto": auto, "name": HEADS[auto], "text": TEXT, "result": result}
    run_bare([job])
    assert_equal(tensors, result)


def test_every_head_loads_without_the_package_and_again_after_saving_there(checkpoint_of, run_bare, tmp_path) -> None:
    jobs, expected = [], []
    for auto, name in HEADS.items():
        folder, tensors = checkpoint_of(HEAD_VARIANT, auto)
        expected.append(tensors)
        jobs.append({"folder": str(folder), "auto": auto, "name": name, "text": TEXT})
        jobs[-1] |= {"result": str(tmp_path / f"{auto}.safetensors"), "again": str(tmp_path / f"again_{auto}")}
    run_bare(jobs)
    for tensors, job in zip(expected, jobs, strict=True):
        assert_equal(tensors, job["result"])

    again = [{**job, "folder": job["again"], "again": None, "result": job["result"] + ".again"} for job in jobs]
    run_bare(again)
    for tensors, job in zip(expected, again, strict=True):
        assert_equal(tensors, job["result"])
    for job in jobs:
        assert json.loads(Path(job["again"], "config.json").read_text())["auto_map"] == AUTO_MAP
        assert code_of(job["again"]) == code_of(job["folder"])
        assert code_of(job["again"] + "_base").items() >= {(MODELING, code_of(job["folder"])[MODELING])}


def test_a_checkpoint_of_one_head_loads_with_every_other_head(checkpoint_of, run_bare, tmp_path) -> None:
    jobs, expected = [], []
    for saved in ("AutoModelForPreTraining", "AutoModel"):
        folder, tensors = checkpoint_of(HEAD_VARIANT, saved)
        body = {name.removeprefix("vocabless."): value for name, value in tensors.items() if name != "output"}
        for auto, name in HEADS.items():
            result = str(tmp_path / f"{saved}_{auto}.safetensors")
            jobs.append({"folder": str(folder), "auto": auto, "name": name, "text": TEXT, "result": result})
            expected.append({key: value for key, value in body.items() if key.startswith(("encoder.", "front_end."))})
    run_bare(jobs)
    for tensors, job in zip(expected, jobs, strict=True):
        actual = {name.removeprefix("vocabless."): value for name, value in load_file(job["result"]).items()}
        assert len(tensors) > 10
        assert [name for name, value in tensors.items() if not torch.equal(actual[name], value)] == []


def code_of(folder: str | Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in Path(folder).glob("*.py")}


def test_a_folder_holds_only_json_weights_and_code(checkpoint_of) -> None:
    for name in ("eelbert-tiny", "hashformer-lsh-proj-tiny", "ewe-bert-tiny"):
        folder, _ = checkpoint_of(name)
        assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".json", ".safetensors", ".py"}
        assert json.loads((folder / "config.json").read_text())["auto_map"] == AUTO_MAP


@pytest.mark.parametrize("auto", HEADS)
def test_a_checkpoint_has_three_files_of_code_and_those_of_its_pipelines(auto: str, checkpoint_of) -> None:
    folder, _ = checkpoint_of(HEAD_VARIANT, auto)
    has_pipelines = HEADS[auto] in HEADS_WITH_PIPELINES
    names = {CONFIGURATION, MODELING, TOKENIZATION} | ({PIPELINES} if has_pipelines else set())
    assert code_of(folder) == {name: joined(name, has_pipelines and name == MODELING) for name in names}
    assert bool(json.loads((folder / "config.json").read_text())["custom_pipelines"]) == has_pipelines


def test_a_configuration_saved_alone_carries_its_code(tmp_path) -> None:
    load_config("eelbert-tiny").save_pretrained(tmp_path)
    assert code_of(tmp_path).keys() == {CONFIGURATION, MODELING, PIPELINES}  # any head may follow


def test_code_is_written_in_place_of_a_link_and_not_through_it(tmp_path) -> None:
    (tmp_path / "shared.py").write_text("# shared")
    (tmp_path / MODELING).symlink_to("shared.py")
    write_code(tmp_path, [MODELING])
    assert (tmp_path / "shared.py").read_text() == "# shared" and not (tmp_path / MODELING).is_symlink()


@pytest.mark.parametrize("damage", ["missing", "truncated", "empty", "without a tensor", "of another shape"])
def test_a_damaged_checkpoint_never_loads_partly(damage: str, checkpoint_of) -> None:
    folder, _ = checkpoint_of("hashformer-md5-proj-tiny")
    file = folder / "model.safetensors"
    data, tensors = file.read_bytes(), load_file(file)
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        changed = copy.copy(tensors)
        changed["front_end.weight"] = changed["front_end.weight"][:, :-1].contiguous()
        if damage == "without a tensor":
            del changed["front_end.weight"]
        save_file(changed, file, metadata={"format": "pt"})
    if damage == "without a tensor":  # transformers initialises and reports it, as for a new head
        _, report = vocabless.VocablessModel.from_pretrained(folder, output_loading_info=True)
        assert list(report["missing_keys"]) == ["front_end.weight"]
        return
    with pytest.raises((OSError, SafetensorError, RuntimeError)):
        vocabless.VocablessModel.from_pretrained(folder)
