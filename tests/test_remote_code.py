"""A saved folder loads where this package is not installed, bit for bit; so do the trained weights that ship."""

import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers.utils import SAFE_WEIGHTS_NAME

import vocabless
from vocabless import VocablessTokenizer, list_variants, load_config
from vocabless.joined_code import CONFIGURATION, MODELING, PIPELINES, PROGRAM, TOKENIZATION, joined, write_code
from vocabless.loading import ENCODERS
from vocabless.modeling.configuration_vocabless import AUTO_MAP
from vocabless.saving.checkpoint import WITHOUT_PACKAGE, load_checkpoint
from vocabless.saving.model_card import CARD, write_card
from vocabless.saving.record import read_card_facts
from vocabless.saving.shipped_code import CODE, LINKED, SHIPPED, links_of
from vocabless.variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
TEXT = ["The quick brown fox, at 25 °C. It jumps over two dogs!", "naïve 日本語 😀"]
HEADS = {auto: path.split(".")[1] for auto, path in AUTO_MAP.items() if auto != "AutoConfig"}
HEAD_VARIANT = "eelbert-tiny"
HEADS_WITH_PIPELINES = ("VocablessForTokenClassification", "VocablessForMaskedLM")
CHECKPOINTS = sorted(file.parent for file in ROOT.glob("checkpoints/*/config.json"))
CLASSIFIERS = [folder for folder in CHECKPOINTS if folder.name.endswith("-sst2")]
WITH_GRAPH = [folder for folder in CHECKPOINTS if (folder / "onnx").is_dir()]
MOST_MEGABYTES, GRAPH_MEGABYTES = 48, {"hashgram-nano": 0.53, "hashgram-uno": 1.26, "hashgram-tiny": 2.6}
RENEW = "run `python -m vocabless.saving.shipped_code` in the root of the repository"
needs_weights = pytest.mark.skipif(not CHECKPOINTS, reason="this archive has no trained weights; clone the repository")
SENTENCES = {
    "A film as bright as a summer morning.": 1,
    "A borring mess, far too long.": 0,
    "one of the best movies of the year": 1,
    "the plot makes no sense and the acting is terrible": 0,
}


def outputs_of(model: torch.nn.Module, inputs: dict, auto: str) -> dict[str, torch.Tensor]:
    """Returns the first output, by one thread, and the tensors of the model and of its inputs.

    With more threads, a product of large matrices can be divided in another way, and so rounded.
    """
    batch = {name: value.unsqueeze(1) for name, value in inputs.items()} if "Choice" in auto else inputs
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        output = model.eval()(**batch)[0]
    torch.set_num_threads(num_threads)
    tensors = {"output": output, **dict([*model.named_parameters(), *model.named_buffers()])}
    tensors |= {"inputs." + name: value for name, value in inputs.items()}
    return {name: value.detach().clone() for name, value in tensors.items()}


# Loads a folder in a process without the package, saves its outputs in a file, and may save the folder again.
LOAD = f"""{inspect.getsource(outputs_of)}
from safetensors.torch import save_file
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = getattr(transformers, auto).from_pretrained(folder, trust_remote_code=True)
assert type(model).__name__ == head, type(model)
assert all(type(each).__module__.startswith("transformers_modules.") for each in (model, model.config, tokenizer))
save_file(outputs_of(model, tokenizer(text, padding=True, truncation=True, return_tensors="pt"), auto), file)
if again:
    model.save_pretrained(again)
    model.base_model.save_pretrained(again + "_base")
    tokenizer.save_pretrained(again)
"""


@pytest.fixture
def load_bare(run_bare, tmp_path) -> Callable[..., dict[str, torch.Tensor]]:
    """Loads a folder in a process without the package, and may save it again there; returns `outputs_of` it."""

    def load(folder: Path | str, auto: str = "AutoModel", again: str = "", text: list[str] = TEXT) -> dict:
        file = tmp_path / "outputs.safetensors"
        run_bare(LOAD, folder=folder, auto=auto, head=HEADS[auto], text=text, file=file, again=again)
        return load_file(file)

    return load


@pytest.fixture
def saved_of(random_checkpoint) -> Callable[..., tuple[Path, dict[str, torch.Tensor]]]:
    """Saves a variant under a head; returns its folder and the tensors that it must give."""

    def save(name: str, auto: str = "AutoModel", **options: object) -> tuple[Path, dict[str, torch.Tensor]]:
        folder = random_checkpoint(name, HEADS[auto], **options)
        inputs = VocablessTokenizer.from_pretrained(folder)(TEXT, padding=True, truncation=True, return_tensors="pt")
        return folder, outputs_of(getattr(vocabless, HEADS[auto]).from_pretrained(folder), inputs, auto)

    return save


# Names, as `datasets` does, results that a tokenizer, before and after a call, a configuration or a model is part of.
FINGERPRINTS = """
from datasets.fingerprint import Hasher
result = {}
for folder in folders:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    model = transformers.AutoModel.from_pretrained(folder, trust_remote_code=True)
    before = [Hasher.hash(tokenizer), Hasher.hash(model), Hasher.hash(model.config)]
    tokenizer("What a call reads stays in its cache.")
    result[folder] = [*before, Hasher.hash(tokenizer)]
"""


def unequal(expected: dict[str, torch.Tensor], actual: dict[str, torch.Tensor]) -> list[str]:
    """Returns the names of the tensors that differ in any bit."""
    assert actual.keys() == expected.keys() and len(expected) > 10
    return [name for name, value in expected.items() if not torch.equal(actual[name], value)]


@pytest.mark.parametrize("name", list_variants())
@pytest.mark.quick(*{row.front_end[0]: name for name, row in reversed(VARIANTS.items())}.values())  # one of each
def test_a_variant_loads_without_the_package_bit_for_bit(name: str, saved_of, load_bare) -> None:
    folder, expected = saved_of(name)
    actual = load_bare(folder)
    if VARIANTS[name].encoder == "canine":  # convolutions round differently for tensors at other memory alignments
        torch.testing.assert_close(actual["output"], expected["output"], rtol=0, atol=1e-5)
        actual["output"] = expected["output"]
    assert unequal(expected, actual) == []


@needs_weights
@pytest.mark.slow
@pytest.mark.parametrize("has_package", [False, True])
def test_datasets_finds_what_it_computed_in_another_process(has_package: bool, run_bare, tmp_path: Path) -> None:
    """Without the package, the other process is that of `run_bare`: it may have loaded other checkpoints, too, and its
    sets are in a random order."""
    pytest.importorskip("datasets")
    folders = [str(CLASSIFIERS[0]), *(str(folder) for folder in CHECKPOINTS if folder.name in ENCODERS.values())]
    program = f"import json, sys, transformers\nfolders = sys.argv[1:]\n{FINGERPRINTS}\nprint(json.dumps(result))"
    command = [sys.executable, "-c", ("" if has_package else WITHOUT_PACKAGE) + program, *folders]

    def names_in_a_new_process(seed: str) -> dict[str, list[str]]:
        environment = os.environ | {"HF_MODULES_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": seed}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    names = names_in_a_new_process("1")  # the seed of the order of sets
    assert names == (names_in_a_new_process("2") if has_package else run_bare(FINGERPRINTS, folders=folders))
    assert all(before_call == after_call for before_call, *_, after_call in names.values())
    assert len({tokenizer for tokenizer, *_ in names.values()}) == len(folders)


def code_of(folder: str | Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in Path(folder).glob("*.py")}


@pytest.mark.parametrize("auto", HEADS)
def test_a_head_has_its_code_and_loads_without_the_package_and_again_after_saving_there(
    auto, saved_of, load_bare, tmp_path
) -> None:
    is_classifier = auto == "AutoModelForSequenceClassification"
    more = {
        "classifier_reads_sentences": "odds",
        "classifier_activation": "rms_norm",
        "classifier_reject_score": 1.0,
    }
    options = {"classifier_wide_rows": 64} | more if is_classifier else {}
    folder, expected = saved_of(HEAD_VARIANT, auto, **options)
    again = str(tmp_path / "again")
    assert unequal(expected, load_bare(folder, auto, again)) == []
    assert unequal(expected, load_bare(again, auto)) == []
    config, has_pipelines = json.loads((folder / "config.json").read_text()), HEADS[auto] in HEADS_WITH_PIPELINES
    assert config["auto_map"] == json.loads(Path(again, "config.json").read_text())["auto_map"] == AUTO_MAP
    assert bool(config["custom_pipelines"]) == has_pipelines
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors", ".py"}
    names = {CONFIGURATION, MODELING, TOKENIZATION} | ({PIPELINES} if has_pipelines else set())
    code = {name: joined(name, has_pipelines and name == MODELING) for name in names}
    assert code_of(folder) == code_of(again) == code
    assert code_of(again + "_base").items() >= {(MODELING, code[MODELING])}


@pytest.mark.parametrize(("saved", "auto"), [
    ("AutoModelForPreTraining", "AutoModelForTokenClassification"), ("AutoModel", "AutoModelForMaskedLM"),
])  # fmt: skip
def test_a_checkpoint_of_one_head_loads_with_another_head(saved: str, auto: str, saved_of, load_bare) -> None:
    folder, tensors = saved_of(HEAD_VARIANT, saved)
    of_encoder = re.compile(r"(?:vocabless\.)?((?:encoder|front_end)\..*)")
    expected, actual = (
        {found[1]: tensor for name, tensor in each.items() if (found := of_encoder.fullmatch(name))}
        for each in (tensors, load_bare(folder, auto))
    )
    assert unequal(expected, actual) == []


def test_a_configuration_carries_its_code_which_is_not_written_through_a_link(tmp_path) -> None:
    (tmp_path / "shared.py").write_text("# shared")
    (tmp_path / MODELING).symlink_to("shared.py")
    write_code(tmp_path, [MODELING])
    assert (tmp_path / "shared.py").read_text() == "# shared" and not (tmp_path / MODELING).is_symlink()
    load_config("eelbert-tiny").save_pretrained(tmp_path / "alone")
    assert code_of(tmp_path / "alone").keys() == {CONFIGURATION, MODELING, PIPELINES}  # any head may follow


def name_of(folder: Path) -> str:
    return folder.name


@needs_weights
def test_all_checkpoints_together_are_small_and_their_one_copy_of_the_code_is_that_of_this_version() -> None:
    files = [file for file in (ROOT / "checkpoints").rglob("*") if file.is_file() and not file.is_symlink()]
    assert len(CHECKPOINTS) >= 4
    assert sum(file.stat().st_size for file in files) <= MOST_MEGABYTES * 2**20
    for name in (*LINKED, PROGRAM):
        assert (ROOT / SHIPPED / CODE / name).read_text(encoding="utf-8") == joined(name), RENEW


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=name_of)
def test_the_card_of_a_checkpoint_is_what_its_record_gives_and_its_times_are_measured(folder: Path, tmp_path) -> None:
    for name in (SAFE_WEIGHTS_NAME, "onnx", *LINKED):
        (tmp_path / name).symlink_to(folder / name)
    model, tokenizer = load_checkpoint(str(folder))
    facts = read_card_facts(str(folder))
    assert facts.kind in ("pre-trained", "fine-tuned")
    write_card(tmp_path, model, tokenizer.block_size, facts)
    assert (tmp_path / CARD).read_text(encoding="utf-8") == (folder / CARD).read_text(encoding="utf-8"), RENEW
    measured = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    for time in re.findall(r"takes ([\d.]+) ms", facts.notes or ""):
        assert re.search(rf"(?<![\d.]){re.escape(time)}(?![\d.]*\d)", measured)


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=name_of)
def test_a_checkpoint_loads_with_its_code_alone_which_are_links_to_the_copy(folder: Path, load_bare) -> None:
    links = {file.relative_to(folder).as_posix(): os.readlink(file) for file in folder.rglob("*.py")}
    assert links == links_of(folder) and {*LINKED} <= {*links}, RENEW
    assert all((folder / name).resolve() == ROOT / SHIPPED / CODE / Path(name).name for name in links)
    model, tokenizer = load_checkpoint(str(folder))
    (auto,) = [auto for auto, name in HEADS.items() if name == type(model).__name__]
    inputs = tokenizer([*SENTENCES], padding=True, return_tensors="pt")
    assert unequal(outputs_of(model, inputs, auto), load_bare(folder, auto, text=[*SENTENCES])) == []


@pytest.mark.parametrize("folder", CHECKPOINTS, ids=name_of)
def test_a_checkpoint_has_a_card_with_digests_and_no_path_of_a_machine(folder: Path) -> None:
    card = (folder / CARD).read_text(encoding="utf-8")
    digests = re.findall(r"^\| `(\w+\.py)` \| `(\w{64})` \|$", card, re.M)
    assert digests == [(name, hashlib.sha256((folder / name).read_bytes()).hexdigest()) for name in LINKED], RENEW
    assert "Teacher" in card and {*re.findall("^(?:# |- name: )(.*)$", card, re.M)} == {folder.name}
    assert not (folder / "run.json").exists()
    for file in [*folder.rglob("*.json"), *folder.rglob("*.md")]:
        assert not re.search(r'"(/|~/|[A-Z]:\\)[\w.-]+/', file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("folder", WITH_GRAPH, ids=name_of)
def test_the_graph_is_small_and_agrees(folder: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (file,) = (folder / "onnx").glob("*.onnx")
    limit = next((limit for name, limit in GRAPH_MEGABYTES.items() if folder.name.startswith(name)), 1.0)
    assert file.stat().st_size <= limit * 1e6
    model, tokenizer = load_checkpoint(str(folder))
    session = onnxruntime.InferenceSession(str(file))
    names = {node.name for node in session.get_inputs()}
    for sentence in SENTENCES:
        inputs = tokenizer(sentence, return_tensors="pt")
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
