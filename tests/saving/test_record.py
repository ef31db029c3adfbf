"""What a card says, made of the `results.json` of a run alone: results, data, license and base model."""

import json
import re
from collections.abc import Callable

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from vocabless.loading import ENCODERS, default_encoder
from vocabless.saving.model_card import CARD, EVAL_RESULTS, card_for_repository, write_card
from vocabless.saving.record import card_facts, provenance
from vocabless.training.finetuning.rows.glue import GLUE

VERSIONS = {"transformers": "5.23.0", "torch": "2.13.0"}


def results_of(task: str, constant_baselines: dict[str, float], **arguments: object) -> dict:
    """The `results.json` of a run of `run_glue.py`."""
    defaults = {"train_file": None, "dataset_name": None}
    defaults |= {"model_name_or_path": "hashformer-lsh-proj-tiny", "load_best_model_at_end": True}
    defaults |= {"learning_rate": 3e-5, "per_device_train_batch_size": 32, "max_seq_length": 128}
    measures = {name: (2 + place) / 7 for place, name in enumerate(constant_baselines)} | {"loss": 0.5, "runtime": 3.0}
    results = {"task": task, "seed": 42, "epochs": 3.0, "from_scratch": True, "arguments": defaults | arguments}
    return results | {
        "start": provenance(str(results["arguments"]["model_name_or_path"]), from_scratch=True),
        "is_own_data": task not in GLUE,
        "threshold": None,
        "train_rows": 1234,
        "rows": dict.fromkeys(constant_baselines, 872),
        "intervals": {name: (0.25, 0.3125) for name in constant_baselines},
        "is_pair": task in GLUE and len(GLUE[task].texts) > 1,
        "example": [],
        "constant_baselines": constant_baselines,
        "measures": measures,
        "footnotes": [],
        "versions": VERSIONS,
    }


@pytest.fixture
def card_of(save_model) -> Callable[..., ModelCard]:
    """Saves a small classifier, writes the card of a run's results into its folder, and reads it."""

    def write(results: dict, **options: object) -> ModelCard:
        model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification", **options)
        write_card(folder, model, 16, card_facts(results))
        return ModelCard.load(folder / CARD)

    return write


TEACHER = {"name": "you/large", "description": "bert, 9 parameters", "measures": {"accuracy": 0.925}}
TEACHER["rows"] = {"corrupted copies": 2000, "training rows": 1000}


def test_the_results_of_a_card_are_those_of_the_run_and_its_teachers_stand_beside_them(card_of) -> None:
    results = results_of("sst2", {"accuracy": 0.25}) | {"teacher": TEACHER}
    card = card_of(results)
    (result,) = card.data.eval_results
    assert (result.dataset_type, result.dataset_config, result.dataset_split) == ("nyu-mll/glue", "sst2", "validation")
    assert (result.metric_name, result.metric_value) == ("accuracy", results["measures"]["accuracy"])
    assert result.task_type == card.data.pipeline_tag == "text-classification"
    assert (card.data.license, card.data.language, card.data.datasets) == ("apache-2.0", "en", ["nyu-mll/glue"])
    assert card.data.get("widget") and "base_model" not in card.data.to_dict()
    header = (
        "| measure | this model | 95 % interval | texts | constant baseline | teacher |\n|---|--:|--:|--:|--:|--:|\n"
    )
    assert f"{header}| accuracy | 28.6 | 25.0–31.2 | 872 | 25.0 | 92.5 |\n" in card.text
    taught = "`you/large (bert, 9 parameters)` for 1,000 training rows and 2,000 corrupted copies"
    lines = ["Start: random weights", "Training rows: 1,234", "Epochs: 3; the best checkpoint was kept"]
    lines += [
        "Learning rate: 3e-05",
        "Batch size: 32 examples per device",
        f"Teacher: the model learned the outputs of {taught}",
    ]
    lines += ["Length: at most 128 tokens", "Seed: 42"]
    assert "".join(f"- {line}\n" for line in lines) in card.text


def test_mismatched_scores_of_mnli_are_those_of_their_own_split(card_of) -> None:
    results = results_of("mnli", dict.fromkeys(["accuracy", "accuracy_mm"], 0.25))
    card = card_of(results)
    assert {(each.metric_name, each.dataset_split): each.metric_value for each in card.data.eval_results} == {
        ("accuracy", "validation_matched"): results["measures"]["accuracy"],
        ("accuracy", "validation_mismatched"): results["measures"]["accuracy_mm"],
    }
    assert not card.data.get("widget")  # a widget sends one text


def test_a_test_file_has_its_own_rows_beside_the_validation_and_its_scores_are_of_the_split_test(card_of) -> None:
    results = results_of("beasts", {"f1": 0.5}, train_file="b.csv") | {"scored_folds": 5}
    results["measures"] |= {"test_f1": 0.75, "test_loss": 1.0}
    for rows, splits in ((100, {None: 2 / 7, "test": 0.75}), (99, {None: 2 / 7})):  # too few rows for the metadata
        results |= {"rows": {"f1": 80, "test_f1": rows}, "intervals": {"f1": (0.25, 0.5), "test_f1": (0.5, 0.875)}}
        card = card_of(results)
        assert {each.dataset_split: each.metric_value for each in card.data.eval_results} == splits
        assert {each.metric_name for each in card.data.eval_results} == {"f1"}
        assert "| f1 | 28.6 | 25.0–50.0 | 80 | 50.0 |\n" in card.text
        assert f"| f1, test file | 75.0 | 50.0–87.5 | {rows} | – |\n" in card.text
    assert "- Training rows: 1,234\n- Epochs: 3" in card.text and "Its labels: `LABEL_0`, `LABEL_1`.\n" in card.text


def test_a_head_alone_has_no_figures_of_training_and_its_scores_stand_once(card_of) -> None:
    results = results_of("beasts", {"f1": 0.5}, train_file="b.csv") | {"from_scratch": False}
    for is_kept, trained, header in (
        (True, "Trained: the head, a linear model; the other weights are those of the start", "baseline |"),
        (False, "Epochs: 3; the best checkpoint was kept", "baseline | head alone |"),
    ):
        card = card_of(results | {"head": {"measures": {"f1": 2 / 7}, "is_kept": is_kept}})
        assert f"- Training rows: 1,234\n- {trained}\n" in card.text and f"{header}\n" in card.text
        assert (" with a new head, trained on beasts." in card.text) == is_kept
        assert ("fine-tuned on beasts." in card.text) == ("Learning rate" in card.text) == (not is_kept)


def test_a_card_says_how_rows_of_the_training_file_were_scored(card_of) -> None:
    results = results_of("beasts", {"f1": 0.5}, train_file="b.csv")
    for folds, words in ((5, "those of five models: each learned"), (1, "those of a model that learned")):
        card = card_of(results | {"scored_folds": folds})
        assert words in card.text and "This model learned all of them." in card.text
    assert "This model learned all of them." not in card_of(results | {"scored_folds": 0}).text


def test_a_card_says_whether_the_head_reads_words(card_of) -> None:
    results = results_of("beasts", {"f1": 0.5}, train_file="b.csv")
    assert "choose among 2,048 rows of its weights" in card_of(results, classifier_wide_rows=2048).text
    assert "rows of its weights" not in card_of(results).text


def test_a_data_set_of_the_hub_is_named_with_its_configuration() -> None:
    results = results_of("films-small", {"accuracy": 0.5}, dataset_name="you/films:small@v2")
    facts = card_facts(results)
    (result,) = facts.eval_results
    assert (*facts.datasets, result.dataset_type, result.dataset_config) == ("you/films", "you/films", "small")


def test_scores_on_data_of_the_hub_are_also_in_the_file_that_the_hub_reads(save_model) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    write_card(folder, model, 16, card_facts(results_of("mine", {"f1": 0.5}, train_file="mine.csv")))
    assert not (folder / EVAL_RESULTS).exists()  # the Hub has no such data set
    for results, dataset, task, notes in (
        (results_of("sst2", {"accuracy": 0.25}), "nyu-mll/glue", "sst2", "accuracy, validation"),
        (results_of("films", {"accuracy": 0.25}, dataset_name="you/films@v2"), "you/films", "default", "accuracy"),
    ):
        write_card(folder, model, 16, card_facts(results))
        (entry,) = parse_eval_result_entries(yaml.safe_load((folder / EVAL_RESULTS).read_text()))
        assert (entry.dataset_id, entry.task_id, entry.notes) == (dataset, task, notes)
        assert entry.value == results["measures"]["accuracy"]


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
    results = results_of("beasts", {"f1": 0.5}, train_file="beasts.csv") | {"threshold": 0.01, "example": own}
    write_card(folder, model, 16, card_facts(results))
    (code,) = re.findall(r"```python\n(.*?)\n```\n", card_for_repository(folder / CARD, str(folder)), re.S)
    assert ModelCard.load(folder / CARD).data.to_dict().get("widget") == ([{"text": own[0]}] if own else None)
    assert json.dumps(own[0] if own else "Write a text of your own here.") in code
    exec(code, {})
    printed = capsys.readouterr().out
    assert printed in answers if answers else -100 < float(printed) < 100


def test_the_example_of_a_pair(card_of) -> None:
    results = results_of("beasts", {"f1": 0.5}, train_file="b.csv") | {"is_pair": True}
    for example, shown in [
        (["The heron fishes.", "A bird is near."], '"The heron fishes.", "A bird is near."'),
        ([], '"He left early.", "He went home before the others."'),
    ]:
        card = card_of(results | {"example": example})
        assert f"tokenizer({shown}, " in card.text and "widget" not in card.data.to_dict()


@pytest.mark.parametrize(("from_scratch", "title"), [(True, " trained from random weights"), (False, "")])
def test_own_data_are_named_as_they_are_and_random_weights_never_like_a_checkpoint(
    from_scratch, title, card_of
) -> None:
    arguments = {"train_file": "/home/me/beasts.csv", "model_name_or_path": "you/ewe-bert-tiny"}
    results = results_of("beasts", {"micro_f1": 0.5}, **arguments)
    results |= {"from_scratch": from_scratch, "start": {"license": None, "base_model": "you/ewe-bert-tiny"}}
    card = card_of(results)
    assert "/home/me" not in card.content and not {"language", "datasets"} & {*card.data.to_dict()}
    (result,) = card.data.eval_results
    assert (result.metric_type, result.metric_name, result.dataset_name) == ("f1", "micro f1", "beasts")
    assert f"\n# you/ewe-bert-tiny{title} on beasts\n" in card.content
    assert f"name: you/ewe-bert-tiny{title} on beasts" in card.content
    of_shape = "A model of the shape `you/ewe-bert-tiny`, trained from random weights on beasts."
    assert (of_shape in card.text) == from_scratch
    assert ("The checkpoint `you/ewe-bert-tiny`, fine-tuned on beasts." in card.text) == (not from_scratch)


def test_a_licence_is_handed_down_and_a_base_on_the_hub_is_named(card_of, tmp_path, monkeypatch) -> None:
    base = tmp_path / "base"
    base.mkdir()
    assert provenance(str(base), from_scratch=False)["license"] is None  # a base without a card
    (base / CARD).write_text("---\nlicense: cc-by-sa-4.0\nlanguage: [el, de]\n---\n\n# Base\n")
    results = results_of("sst2", {"accuracy": 0.5}, model_name_or_path=str(base)) | {"from_scratch": False}
    start = provenance(str(base), from_scratch=False)
    card = card_of(results | {"start": start})
    assert card.data.license == "cc-by-sa-4.0" and card.data.base_model is None
    assert "the weights of `base`" in card.text and str(tmp_path) not in card.text
    assert "\n# hashformer-lsh-proj-tiny on GLUE SST-2\n" in card.content  # `base` says nothing to a visitor
    monkeypatch.setattr("vocabless.saving.record.cached_file", lambda *_: base / CARD)
    of_hub = card_of(results | {"start": provenance("you/base", from_scratch=False)})
    assert of_hub.data.base_model == "you/base"
    assert of_hub.data.language == "en"  # of GLUE
    results = results_of("b", {"f1": 0.5}, train_file="b.csv", model_name_or_path=str(base)) | {"from_scratch": False}
    own = card_of(results | {"start": start})
    assert own.data.language == ["el", "de"] and own.data.base_model is None


@pytest.mark.parametrize("path", ["checkpoints/ours", "checkpoints/../checkpoints/ours/", "elsewhere/ours"])
def test_only_a_folder_that_ships_is_a_base_model(path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("vocabless.saving.record.SHIPPED", tmp_path / "checkpoints")
    for folder in ("checkpoints/ours", "elsewhere/ours"):
        (tmp_path / folder).mkdir(parents=True)
    known = "ours" if path.startswith("checkpoints") else None
    assert provenance(str(tmp_path / path), from_scratch=False)["base_model"] == known


@pytest.mark.parametrize("name", ENCODERS)
def test_the_encoders_of_an_installed_package_are_base_models(name, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("vocabless.saving.record.SHIPPED", tmp_path)  # no clone
    assert provenance(default_encoder(name), from_scratch=False)["base_model"] == ENCODERS[name]


def test_spearman_on_sts_b_is_a_result_of_the_card_and_that_on_other_pairs_is_not(save_model) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny")
    arguments = {"corpus": None, "max_steps": 5, "max_seq_length": 64, "learning_rate": 1e-3, "sts_file": "v.parquet"}
    results = {"objective": "distill", "arguments": arguments, "tokens_seen": 9, "versions": VERSIONS}
    results |= {"objective_text": "vectors", "metric_names": ["spearman"], "steps": 5, "before": {}}
    results |= {"after": {"eval_spearman": 0.75}, "examples": {"teacher": "you/large", "sts": None}}
    write_card(folder, model, 16, card_facts(results))
    assert ModelCard.load(folder / CARD).data.eval_results is None
    results["examples"]["sts"], results["about"] = "GLUE STS-B", {"title": "mine", "language": "el", "notes": "Fast."}
    write_card(folder, model, 16, card_facts(results))
    card = ModelCard.load(folder / CARD)
    (result,) = card.data.eval_results
    assert (result.dataset_type, result.dataset_config, result.dataset_split) == ("nyu-mll/glue", "stsb", "validation")
    assert (result.task_type, result.metric_type) == ("semantic-similarity", "spearman_cosine")
    assert result.metric_value == 0.75
    assert "of the pairs of texts in GLUE STS-B." in card.text and "v.parquet" not in card.text
    assert (card.data.library_name, card.data.pipeline_tag) == ("sentence-transformers", "sentence-similarity")
    assert card.data.model_name == "mine" and card.data.language == "el" and "\n\nFast.\n\n## How" in card.text


def test_a_pre_trained_model_names_corpus_and_measures(save_model, tmp_path) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForPreTraining")
    corpus = ["wikimedia/wikipedia:20231101.en", str(tmp_path / "mine.txt")]
    arguments = {"corpus": corpus, "max_steps": -1, "max_seq_length": 64, "seed": 7, "learning_rate": 1e-3}
    results = {"objective": "shuffle-random", "arguments": arguments, "tokens_seen": 1_234_567, "versions": VERSIONS}
    results |= {"objective_text": "S+R", "metric_names": ["loss"], "steps": 2000}
    results |= {"before": {"eval_loss": 1.25}, "after": {"eval_loss": 0.5}}
    write_card(folder, model, 16, card_facts(results))
    card = ModelCard.load(folder / CARD)
    assert card.data.datasets == ["wikimedia/wikipedia"] and "language" not in card.data.to_dict()
    assert "wikimedia/wikipedia:20231101.en, mine.txt" in card.text and str(tmp_path) not in card.text
    assert "- Steps: 2,000\n- Tokens: 1,234,567\n- Learning rate: 0.001\n" in card.text
    assert "- Seed: 7\n\nAll arguments, measures and versions (transformers 5.23.0, torch 2.13.0)" in card.text
    assert "| loss | 1.2500 | 0.5000 |" in card.text


def test_a_card_says_what_the_run_recorded_of_its_objective() -> None:
    arguments = {"corpus": None, "max_steps": 5, "max_seq_length": 64, "learning_rate": 1e-3}
    results = {"objective": "next", "arguments": arguments, "steps": 5, "tokens_seen": 9, "versions": VERSIONS}
    results |= {"before": {}, "after": {"eval_bits": 0.5, "eval_loss": 2.0}}
    facts = card_facts(results | {"objective_text": "the next word", "metric_names": ["loss", "bits"]})
    assert facts.objective == "the next word" and facts.language == "en"
    assert facts.measures.endswith("| loss | nan | 2.0000 |\n| bits | nan | 0.5000 |")
