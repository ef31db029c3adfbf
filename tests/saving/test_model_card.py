"""Cards: what they say comes from the variant, the model and the results, and the Hub can read it."""

import re
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard

import vocabless
from vocabless import load_config, load_tokenizer
from vocabless.conversion.hub import read_card_facts
from vocabless.saving.model_card import CARD, HEADS, PLACEHOLDER, RANDOM, named_card, write_card
from vocabless.saving.run_folder import RESULTS, write_json
from vocabless.training.finetuning import card as finetuning_card
from vocabless.training.finetuning.glue import GLUE
from vocabless.training.pretraining import card as pretraining_card
from vocabless.variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent.parent
VERSIONS = {"transformers": "5.23.0", "torch": "2.13.0"}
# The Hub's tasks for text, as its documentation lists them.
TASKS = {
    *("text-classification", "token-classification", "question-answering", "fill-mask", "feature-extraction"),
    *("multiple-choice", "sentence-similarity", "zero-shot-classification", "text-generation", "summarization"),
}


@pytest.fixture
def saved(shrink, tmp_path):
    """Saves a small model of a variant under a head; returns it and its folder."""

    def save(name: str, head: str = "VocablessModel", **options: object):
        folder = tmp_path / f"{name}-{head}"
        model = getattr(vocabless, head)(shrink(load_config(name, **options))).eval()
        model.save_pretrained(folder)
        load_tokenizer(name).save_pretrained(folder)
        return model, folder

    return save


def fine_tuned(task: str, floors: dict[str, float], **arguments: object) -> dict:
    given = {"train_file": None, "dataset_name": None, "dataset_config_name": None, "text_pair_column": None}
    given |= {"model_name_or_path": "hashformer-lsh-proj-tiny", "load_best_model_at_end": True, "learning_rate": 3e-5}
    given |= {"per_device_train_batch_size": 32, "max_seq_length": 128}
    measures = {name: (2 + place) / 7 for place, name in enumerate(floors)} | {"loss": 0.5, "runtime": 3.0}
    results = {"task": task, "seed": 42, "epochs": 3.0, "from_scratch": True, "arguments": given | arguments}
    return results | {"floors": floors, "measures": measures, "footnotes": [], "versions": VERSIONS}


@pytest.mark.parametrize("head", HEADS)
def test_the_example_of_a_card_runs_and_its_metadata_is_the_hubs(head: str, saved) -> None:
    model, folder = saved("eelbert-word-tiny", head)
    write_card(folder, model, 32)
    card = ModelCard.load(folder / CARD)
    assert card.data.pipeline_tag in TASKS
    assert card.data.library_name == "transformers" and card.data.tags == ["vocabless", "eelbert-word-tiny"]
    assert card.data.get("license") is None and card.data.get("model-index") is None  # nothing is known
    (code,) = re.findall(r"```python\n(.*?)```", named_card(folder / CARD, str(folder)), re.S)
    assert PLACEHOLDER not in code
    names: dict = {}
    with torch.no_grad():
        exec(code, names)
    assert type(names["model"]).__name__ == head and names["outputs"][0].isfinite().all()


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("hashformer-md5-proj-tiny", "hashformer.md"),
        ("proformer", "proformer.md"),
        ("eelbert-word-tiny", "eelbert.md"),
        ("ewe-bert-tiny", "elementwise.md"),
    ],
)
def test_a_family_has_a_card_with_its_paper(name: str, template: str, saved) -> None:
    assert f"{VARIANTS[name].family}.md" == template
    model, folder = saved(name)
    write_card(folder, model, model.config.block_size, RANDOM)
    text = (folder / CARD).read_text(encoding="utf-8")
    assert not re.search(r"\{%|%\}|\{\{ |\n\n\n", text)
    (entry,) = re.findall(r"```bibtex\n(.*?)\n```", text, re.S)
    assert entry in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "random weights" in text and f"{model.num_parameters():,} parameters" in text
    assert ModelCard.load(folder / CARD).data.license == "apache-2.0"


def test_every_variant_belongs_to_a_family() -> None:
    assert {f"{variant.family}.md" for variant in VARIANTS.values()} <= {
        file.name for file in ROOT.glob("model_cards/*.md")
    }


@pytest.mark.parametrize("task", GLUE)
def test_the_results_of_a_card_are_those_of_the_run(task: str, saved) -> None:
    metrics = [*GLUE[task].metrics, *(["accuracy_mm"] if task == "mnli" else [])]
    results = fine_tuned(task, dict.fromkeys(metrics, 0.25))
    model, folder = saved("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    write_card(folder, model, 16, finetuning_card.card_facts(results))
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
    assert f"| {metrics[0].replace('_', ' ')} | 28.6 | 25.0 |" in card.text
    assert (
        "From random weights; epochs: 3, of which the best is kept;" in card.text
        and "base_model" not in card.data.to_dict()
    )


def test_your_own_data_is_named_as_it_is(saved) -> None:
    results = fine_tuned("beasts", {"entity_f1": 0.0}, train_file="/home/me/beasts.csv", model_name_or_path="you/base")
    model, folder = saved("hashformer-lsh-proj-tiny", "VocablessForTokenClassification")
    write_card(folder, model, 16, finetuning_card.card_facts(results))
    text = (folder / CARD).read_text(encoding="utf-8")
    data = ModelCard.load(folder / CARD).data
    assert "/home/me" not in text and "language" not in data.to_dict() and "datasets" not in data.to_dict()
    (result,) = data.eval_results
    assert (result.metric_type, result.metric_name, result.dataset_name) == ("f1", "entity f1", "beasts")


def test_a_licence_is_handed_down_and_a_base_on_the_hub_is_named(saved, tmp_path, monkeypatch) -> None:
    model, folder = saved("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    base = tmp_path / "base"
    base.mkdir()
    (base / CARD).write_text("---\nlicense: cc-by-sa-4.0\n---\n\n# Base\n")
    results = fine_tuned("sst2", {"accuracy": 0.5}, model_name_or_path=str(base)) | {"from_scratch": False}
    write_card(folder, model, 16, finetuning_card.card_facts(results))
    card = ModelCard.load(folder / CARD)
    assert card.data.license == "cc-by-sa-4.0" and card.data.base_model is None
    assert "the weights of `base`" in card.text and str(tmp_path) not in card.text
    monkeypatch.setattr("vocabless.training.finetuning.card.cached_file", lambda *given: base / CARD)
    results["arguments"]["model_name_or_path"] = "you/base"
    write_card(folder, model, 16, finetuning_card.card_facts(results))
    assert ModelCard.load(folder / CARD).data.base_model == "you/base"


def test_a_pre_trained_model_names_corpus_and_measures(saved, tmp_path) -> None:
    model, folder = saved("hashformer-lsh-proj-tiny", "VocablessForPreTraining")
    corpus = ["wikimedia/wikipedia:20231101.en", str(tmp_path / "mine.txt")]
    arguments = {"corpus": corpus, "max_steps": 2000, "max_seq_length": 64, "seed": 7, "learning_rate": 1e-3}
    results = {"objective": "shuffle-random", "arguments": arguments, "tokens_seen": 1_234_567, "versions": VERSIONS}
    results |= {"before": {"eval_loss": 1.25}, "after": {"eval_loss": 0.5}}
    write_card(folder, model, 16, pretraining_card.card_facts(results))
    card = ModelCard.load(folder / CARD)
    assert card.data.datasets == ["wikimedia/wikipedia"] and "language" not in card.data.to_dict()
    assert "wikimedia/wikipedia:20231101.en, mine.txt" in card.text and str(tmp_path) not in card.text
    assert "2,000 steps, 1,234,567 tokens" in card.text and "| loss | 1.2500 | 0.5000 |" in card.text


def test_records_of_another_kind_tell_nothing(saved) -> None:
    model, folder = saved("hashformer-lsh-proj-tiny")
    write_json(folder / RESULTS, {"arguments": {}, "versions": VERSIONS, "cosine": {"after": 0.5}})
    write_card(folder, model, 16, read_card_facts(folder))
    assert "No record of it came with the checkpoint." in (folder / CARD).read_text(encoding="utf-8")
