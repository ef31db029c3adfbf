from dataclasses import dataclass, field
from pathlib import Path

import pytest
from transformers import TrainingArguments

from vocabless.training.finetuning.arguments import FLAGS, GlueArguments
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.recipes import FOLDER, list_recipes, read_recipe
from vocabless.training.script_parser import ScriptParser

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Data:
    threshold: float = 0.5
    shuffle: bool = True
    columns: list[str] = field(default_factory=lambda: ["text"])


def parse(*argv):
    return ScriptParser((Data, TrainingArguments), (Data,)).parse(list(argv))


def test_a_recipe_gives_defaults_and_flags_override_it(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "threshold: 0.25\nshuffle: false\ncolumns: [a, b]\nlearning_rate: 3e-5\nlr_scheduler_type: cosine\n"
        "lr_scheduler_kwargs: {num_cycles: 2}\n"
    )
    data, training = parse("--recipe", str(file), "--threshold", "0.75")
    assert data == Data(threshold=0.75, shuffle=False, columns=["a", "b"])
    assert training.learning_rate == 3e-5
    assert training.lr_scheduler_type == "cosine" and training.lr_scheduler_kwargs == {"num_cycles": 2}


def test_without_a_recipe_the_defaults_stand():
    data, training = parse("--learning_rate", "1")
    assert data == Data()
    assert training.learning_rate == 1


def test_the_recipes_of_the_package_are_read_by_name():
    assert {"proformer", "elementwise-patents"} <= set(list_recipes())
    for name in list_recipes():
        assert read_recipe(name) == read_recipe(FOLDER / f"{name}.yaml")


@pytest.mark.parametrize(("name", "rate"), [("proformer", 3e-4), ("elementwise-patents", 2e-5)])
def test_the_recipes_for_fine_tuning_set_flags_of_its_script(name, rate):
    parser = ScriptParser((GlueArguments, GlueTrainingArguments), FLAGS)
    _, training = parser.parse(["--model_name_or_path", "bert-tiny", "--recipe", name])
    assert training.learning_rate == rate and training.lr_scheduler_type == "linear"


def test_an_unknown_flag_is_refused_and_similar_flags_are_named(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("learning_rat: 1\n")
    with pytest.raises(ValueError, match=r"sets unknown flags: learning_rat; did you mean .*learning_rate"):
        parse("--recipe", str(file))


@pytest.mark.parametrize(("text", "sentence"), [("- a", "not a mapping"), ("a: [", "not valid YAML")])
def test_a_file_that_is_not_a_recipe_is_refused(tmp_path, text, sentence):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=sentence) as raised:
        read_recipe(file)
    assert "\n" not in str(raised.value)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'adamw'.*elementwise-patents, .*proformer"):
        parse("--recipe", "adamw")


def test_a_value_of_the_wrong_type_fails_as_on_the_command_line(tmp_path, capsys):
    file = tmp_path / "mine.yaml"
    file.write_text("threshold: high\n")
    with pytest.raises(SystemExit):
        parse("--recipe", str(file))
    assert "--threshold: invalid float value: 'high'" in capsys.readouterr().err


def test_the_wheel_contains_the_recipes():
    wheel = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    files = {Path(file.distribution_path).as_posix() for file in wheel.recurse_included_files()}
    assert {f"vocabless/training/recipes/{name}.yaml" for name in list_recipes()} <= files
