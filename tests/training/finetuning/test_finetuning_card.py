"""What the card of a fine-tuned checkpoint says: results, data, license and base model of the run."""

import json
import re

import pytest
from huggingface_hub import ModelCard

from vocabless.saving.model_card import CARD, card_for_repository, write_card
from vocabless.training.finetuning.card import card_facts
from vocabless.training.finetuning.glue import GLUE

VERSIONS = {"transformers": "5.23.0", "torch": "2.13.0"}


def results_of(task: str, constant_baselines: dict[str, float], **arguments: object) -> dict:
    """The `results.json` of a run of `run_glue.py`."""
    defaults = {"train_file": None, "dataset_name": None, "text_pair_column": None}
    defaults |= {"model_name_or_path": "hashformer-lsh-proj-tiny", "load_best_model_at_end": True}
    defaults |= {"learning_rate": 3e-5, "per_device_train_batch_size": 32, "max_seq_length": 128}
    measures = {name: (2 + place) / 7 for place, name in enumerate(constant_baselines)} | {"loss": 0.5, "runtime": 3.0}
    results = {"task": task, "seed": 42, "epochs": 3.0, "from_scratch": True, "arguments": defaults | arguments}
    return results | {
        "rows": dict.fromkeys(constant_baselines, 872),
        "intervals": {name: (0.25, 0.3125) for name in constant_baselines},
        "is_cross_validated": False,
        "is_pair": task in GLUE and len(GLUE[task].texts) > 1,
        "example": [],
        "constant_baselines": constant_baselines,
        "measures": measures,
        "footnotes": [],
        "versions": VERSIONS,
    }


@pytest.mark.parametrize("task", GLUE)
def test_the_results_of_a_card_are_those_of_the_run(task: str, save_model) -> None:
    metrics = [*GLUE[task].metrics, *(["accuracy_mm"] if task == "mnli" else [])]
    results = results_of(task, dict.fromkeys(metrics, 0.25))
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    write_card(folder, model, 16, card_facts(results))
    card = ModelCard.load(folder / CARD)
    assert {(r.metric_name, r.dataset_split): r.metric_value for r in card.data.eval_results} == {
        (name.removesuffix("_mm").replace("_", " "), list(GLUE[task].splits)[2 if "_mm" in name else 1]): value
        for name, value in results["measures"].items()
        if name in metrics
    }
    for result in card.data.eval_results:
        assert (result.dataset_type, result.dataset_config) == ("nyu-mll/glue", task)
        assert result.task_type == card.data.pipeline_tag == "text-classification"
    assert (card.data.license, card.data.language, card.data.datasets) == ("apache-2.0", "en", ["nyu-mll/glue"])
    assert bool(card.data.get("widget")) == (len(GLUE[task].texts) == 1)  # a widget sends one text
    assert (
        "| measure | this model | 95 % interval | texts | constant baseline |\n" in card.text
        and "floor" not in card.text
    )
    assert f"| {metrics[0].replace('_', ' ')} | 28.6 | 25.0–31.2 | 872 | 25.0 |" in card.text
    assert "- Start: random weights\n- Epochs: 3; the best checkpoint was kept\n" in card.text
    assert "- Batch size: 32 examples per device\n- Length: at most 128 tokens\n- Seed: 42\n" in card.text
    assert "base_model" not in card.data.to_dict()


def test_a_teacher_is_named_with_what_it_labelled_and_its_own_score(save_model) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    teacher = {"name": "you/large", "description": "bert, 9 parameters", "measures": {"accuracy": 0.925}}
    teacher["rows"] = {"corrupted copies": 2000, "training rows": 1000}
    write_card(folder, model, 16, card_facts(results_of("sst2", {"accuracy": 0.5}) | {"teacher": teacher}))
    card = ModelCard.load(folder / CARD)
    assert (
        "| measure | this model | 95 % interval | texts | constant baseline | teacher |\n|---|--:|--:|--:|--:|--:|\n"
        in card.text
    )
    assert "| accuracy | 28.6 | 25.0–31.2 | 872 | 50.0 | 92.5 |\n" in card.text
    line = "`you/large (bert, 9 parameters)` for 1,000 training rows and 2,000 corrupted copies"
    assert f"- Teacher: the model learned the outputs of {line}\n- Length:" in card.text


def test_your_own_data_is_named_as_it_is(save_model) -> None:
    results = results_of("beasts", {"micro_f1": 0.0}, train_file="/home/me/beasts.csv", model_name_or_path="you/base")
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    write_card(folder, model, 16, card_facts(results))
    text = (folder / CARD).read_text(encoding="utf-8")
    data = ModelCard.load(folder / CARD).data
    assert "/home/me" not in text and "language" not in data.to_dict() and "datasets" not in data.to_dict()
    (result,) = data.eval_results
    assert (result.metric_type, result.metric_name, result.dataset_name) == ("f1", "micro f1", "beasts")


def test_a_data_set_of_the_hub_is_named_with_its_configuration() -> None:
    results = results_of("films-small", {"accuracy": 0.5}, dataset_name="you/films:small@v2")
    facts = card_facts(results)
    (result,) = facts.eval_results
    assert (*facts.datasets, result.dataset_type, result.dataset_config) == ("you/films", "you/films", "small")


PROBLEMS = {  # kind of problem → its labels, and what the example of the card prints
    "single_label_classification": (["bird", "fish"], {"bird\n", "fish\n"}),
    "multi_label_classification": (["bird", "fish"], {"['bird', 'fish']\n"}),
    "regression": ([""], None),
}


@pytest.mark.parametrize("own", [[], ['It sings "loud" ``` in\nthe tree.']])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_card_of_own_data_shows_the_given_text_alone_and_prints_a_label(problem, own, save_model, capsys) -> None:
    labels, answers = PROBLEMS[problem]
    options = {"problem_type": problem, "num_labels": len(labels), "id2label": dict(enumerate(labels))}
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification", **options)
    results = results_of("beasts", {"f1": 0.5}, train_file="beasts.csv", threshold=0.01) | {"example": own}
    write_card(folder, model, 16, card_facts(results))
    (code,) = re.findall(r"```python\n(.*?)\n```\n", card_for_repository(folder / CARD, str(folder)), re.S)
    assert ModelCard.load(folder / CARD).data.to_dict().get("widget") == ([{"text": own[0]}] if own else None)
    assert json.dumps(own[0] if own else "Write a text of your own here.") in code
    exec(code, {})
    printed = capsys.readouterr().out
    assert printed in answers if answers else -100 < float(printed) < 100


def test_the_example_of_a_pair(save_model) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    results = results_of("beasts", {"f1": 0.5}, train_file="b.csv") | {"is_pair": True}
    for example, shown in [
        (["The heron fishes.", "A bird is near."], '"The heron fishes.", "A bird is near."'),
        ([], '"He left early.", "He went home before the others."'),
    ]:
        write_card(folder, model, 16, card_facts(results | {"example": example}))
        assert f"tokenizer({shown}, " in (folder / CARD).read_text()
        assert "widget" not in ModelCard.load(folder / CARD).data.to_dict()


@pytest.mark.parametrize(("from_scratch", "title"), [(True, " trained from random weights"), (False, "")])
def test_random_weights_are_never_called_like_a_checkpoint(from_scratch, title, save_model) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    results = results_of("beasts", {"f1": 0.5}, train_file="beasts.csv", model_name_or_path="you/ewe-bert-tiny")
    results |= {"from_scratch": from_scratch, "start": {"license": None, "base_model": "you/ewe-bert-tiny"}}
    write_card(folder, model, 16, card_facts(results))
    text = (folder / CARD).read_text(encoding="utf-8")
    assert f"\n# you/ewe-bert-tiny{title} on beasts\n" in text
    assert f"name: you/ewe-bert-tiny{title} on beasts" in text
    assert ("A model of the shape `you/ewe-bert-tiny`, trained from random weights on beasts." in text) == from_scratch
    assert ("The checkpoint `you/ewe-bert-tiny`, fine-tuned on beasts." in text) == (not from_scratch)


def test_a_licence_is_handed_down_and_a_base_on_the_hub_is_named(save_model, tmp_path, monkeypatch) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    base = tmp_path / "base"
    base.mkdir()
    (base / CARD).write_text("---\nlicense: cc-by-sa-4.0\n---\n\n# Base\n")
    results = results_of("sst2", {"accuracy": 0.5}, model_name_or_path=str(base)) | {"from_scratch": False}
    write_card(folder, model, 16, card_facts(results))
    card = ModelCard.load(folder / CARD)
    assert card.data.license == "cc-by-sa-4.0" and card.data.base_model is None
    assert "the weights of `base`" in card.text and str(tmp_path) not in card.text
    assert "\n# hashformer-lsh-proj-tiny on GLUE SST-2\n" in card.content  # `base` says nothing to a visitor
    monkeypatch.setattr("vocabless.saving.model_card.cached_file", lambda *_: base / CARD)
    results["arguments"]["model_name_or_path"] = "you/base"
    write_card(folder, model, 16, card_facts(results))
    assert ModelCard.load(folder / CARD).data.base_model == "you/base"


def test_a_base_without_a_card_hands_down_no_licence(save_model, tmp_path) -> None:
    (tmp_path / "base").mkdir()
    start = str(tmp_path / "base")
    results = results_of("sst2", {"accuracy": 0.5}, model_name_or_path=start) | {"from_scratch": False}
    assert card_facts(results).license is None
