"""A saved folder loads where this package is not installed, and gives the same numbers bit for bit."""

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from test_variants import QUICK

import vocabless
from vocabless import VocablessTokenizer, list_variants, load_config
from vocabless.joined_code import CONFIGURATION, MODELING, PIPELINES, TOKENIZATION, joined, write_code
from vocabless.modeling.configuration_vocabless import AUTO_MAP
from vocabless.variants import VARIANTS

TEXT = ["The quick brown fox, at 25 °C.", "naïve 日本語 😀"]
HEADS = {auto: path.split(".")[1] for auto, path in AUTO_MAP.items() if auto != "AutoConfig"}
HEAD_VARIANT = "eelbert-tiny"
HEADS_WITH_PIPELINES = ("VocablessForTokenClassification", "VocablessForMaskedLM")


def outputs_of(model: torch.nn.Module, inputs: dict, auto: str) -> dict[str, torch.Tensor]:
    """Returns the first output, and the tensors of the model and of its inputs."""
    batch = {name: value.unsqueeze(1) for name, value in inputs.items()} if "Choice" in auto else inputs
    with torch.no_grad():
        output = model.eval()(**batch)[0]
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

    def load(folder: Path | str, auto: str = "AutoModel", again: str = "") -> dict[str, torch.Tensor]:
        file = tmp_path / "outputs.safetensors"
        run_bare(LOAD, folder=folder, auto=auto, head=HEADS[auto], text=TEXT, file=file, again=again)
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


def unequal(expected: dict[str, torch.Tensor], actual: dict[str, torch.Tensor]) -> list[str]:
    """Returns the names of the tensors that differ in any bit."""
    assert actual.keys() == expected.keys() and len(expected) > 10
    return [name for name, value in expected.items() if not torch.equal(actual[name], value)]


@pytest.mark.parametrize("name", list_variants())
@pytest.mark.quick(*QUICK)
def test_a_variant_loads_without_the_package_bit_for_bit(name: str, saved_of, load_bare) -> None:
    folder, expected = saved_of(name)
    actual = load_bare(folder)
    if VARIANTS[name].encoder == "canine":  # convolutions round differently for tensors at other memory alignments
        torch.testing.assert_close(actual["output"], expected["output"], rtol=0, atol=1e-5)
        actual["output"] = expected["output"]
    assert unequal(expected, actual) == []


@pytest.mark.parametrize("auto", HEADS)
def test_a_head_loads_without_the_package_and_again_after_saving_there(auto, saved_of, load_bare, tmp_path) -> None:
    folder, expected = saved_of(HEAD_VARIANT, auto)
    again = str(tmp_path / "again")
    assert unequal(expected, load_bare(folder, auto, again)) == []
    assert unequal(expected, load_bare(again, auto)) == []
    assert json.loads(Path(again, "config.json").read_text())["auto_map"] == AUTO_MAP
    assert code_of(again) == code_of(folder)
    assert code_of(again + "_base").items() >= {(MODELING, code_of(folder)[MODELING])}


@pytest.mark.parametrize(
    ("saved", "auto"),
    [("AutoModelForPreTraining", "AutoModelForTokenClassification"), ("AutoModel", "AutoModelForMaskedLM")],
)
def test_a_checkpoint_of_one_head_loads_with_another_head(saved: str, auto: str, saved_of, load_bare) -> None:
    folder, tensors = saved_of(HEAD_VARIANT, saved)
    of_encoder = re.compile(r"(?:vocabless\.)?((?:encoder|front_end)\..*)")
    expected, actual = (
        {found[1]: tensor for name, tensor in each.items() if (found := of_encoder.fullmatch(name))}
        for each in (tensors, load_bare(folder, auto))
    )
    assert unequal(expected, actual) == []


def code_of(folder: str | Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in Path(folder).glob("*.py")}


@pytest.mark.parametrize("auto", HEADS)
def test_a_checkpoint_holds_json_weights_and_the_code_of_its_head(auto: str, random_checkpoint) -> None:
    folder = random_checkpoint(HEAD_VARIANT, HEADS[auto])
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors", ".py"}
    config = json.loads((folder / "config.json").read_text())
    has_pipelines = HEADS[auto] in HEADS_WITH_PIPELINES
    assert (config["auto_map"], bool(config["custom_pipelines"])) == (AUTO_MAP, has_pipelines)
    names = {CONFIGURATION, MODELING, TOKENIZATION} | ({PIPELINES} if has_pipelines else set())
    assert code_of(folder) == {name: joined(name, has_pipelines and name == MODELING) for name in names}


def test_a_configuration_saved_alone_carries_its_code(tmp_path) -> None:
    load_config("eelbert-tiny").save_pretrained(tmp_path)
    assert code_of(tmp_path).keys() == {CONFIGURATION, MODELING, PIPELINES}  # any head may follow


def test_code_is_written_in_place_of_a_link_and_not_through_it(tmp_path) -> None:
    (tmp_path / "shared.py").write_text("# shared")
    (tmp_path / MODELING).symlink_to("shared.py")
    write_code(tmp_path, [MODELING])
    assert (tmp_path / "shared.py").read_text() == "# shared" and not (tmp_path / MODELING).is_symlink()
