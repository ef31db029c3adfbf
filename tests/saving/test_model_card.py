"""Model cards: the example runs, the Hub can read the metadata, and each family has its paper."""

import re
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard
from transformers import RobertaConfig, RobertaForMaskedLM, RobertaModel

from vocabless.joined_code import PROGRAM
from vocabless.modeling.configuration_vocabless import AUTO_MAP
from vocabless.saving.card_heads import HEADS
from vocabless.saving.model_card import (
    CARD,
    REPOSITORY_PLACEHOLDER,
    card_for_repository,
    renew_card,
    write_card,
)
from vocabless.saving.record import RANDOM_WEIGHTS, CardFacts
from vocabless.variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent.parent
# The Hub's tasks for text, as its documentation lists them.
TASKS = {
    *("text-classification", "token-classification", "question-answering", "fill-mask", "feature-extraction"),
    *("sentence-similarity", "zero-shot-classification", "text-generation", "summarization"),
}


@pytest.mark.parametrize("head", HEADS)
def test_the_example_of_a_card_runs_and_its_metadata_is_the_hubs(head: str, save_model) -> None:
    model, folder = save_model("eelbert-word-tiny", head)
    write_card(folder, model, 32)
    card = ModelCard.load(folder / CARD)
    assert card.data.pipeline_tag in TASKS
    assert card.data.library_name == "transformers" and card.data.tags == ["vocabless", "eelbert-word-tiny"]
    assert card.data.get("license") is None and card.data.get("model-index") is None  # unknown training
    assert "The checkpoint has no record of its training." in card.text
    assert "uses no network, and no files but those of the model" in card.text
    (code,) = re.findall(r"```python\n(.*?)```", card_for_repository(folder / CARD, str(folder)), re.S)
    assert REPOSITORY_PLACEHOLDER not in code
    names: dict = {}
    with torch.no_grad():
        exec(code, names)
    assert type(names["model"]).__name__ == head and names["outputs"][0].isfinite().all()


def test_every_head_has_a_row_and_every_family_a_template() -> None:
    heads = {row.auto_class: f"modeling_vocabless.{name}" for name, row in HEADS.items()}
    assert heads == {name: path for name, path in AUTO_MAP.items() if name != "AutoConfig"}
    families = {f"{variant.family}.md" for variant in VARIANTS.values()}
    assert families <= {file.name for file in ROOT.glob("model_cards/*.md")}


@pytest.mark.parametrize("name", ["hashformer-md5-proj-tiny", "proformer", "eelbert-word-tiny", "ewe-bert-tiny"])
def test_a_family_has_a_card_with_its_paper(name: str, save_model) -> None:
    model, folder = save_model(name)
    write_card(folder, model, model.config.block_size, RANDOM_WEIGHTS)
    text = (folder / CARD).read_text(encoding="utf-8")
    assert not re.search(r"\{%|%\}|\{\{ |\n\n\n", text)
    (entry,) = re.findall(r"```bibtex\n(.*?)\n```", text, re.S)
    (title,) = re.findall(r"\n +title +=(.*),", entry)
    assert re.sub(r"[ {}]", "", title) in re.sub(r"\s", "", (ROOT / "docs" / "papers.md").read_text(encoding="utf-8"))
    assert "random weights" in text and f"{model.num_parameters():,} parameters" in text
    assert f"writes each unit as a block of {model.config.block_size} bytes." in text
    assert ModelCard.load(folder / CARD).data.license == "apache-2.0"


def test_a_sentence_model_has_a_widget_that_compares_texts(save_model) -> None:
    model, folder = save_model("eelbert-word-tiny")
    write_card(folder, model, 32, CardFacts(kind="pre-trained", is_sentence_model=True, steps=1, tokens=1))
    (widget,) = ModelCard.load(folder / CARD).data.widget
    assert widget["source_sentence"] and len(widget["sentences"]) == 3


def test_a_card_of_a_stock_model_has_its_mask_and_no_word_of_our_code(tmp_path: Path) -> None:
    config = RobertaConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    for model_class, tag in ((RobertaForMaskedLM, "fill-mask"), (RobertaModel, "feature-extraction")):
        model = model_class(config)
        model.save_pretrained(tmp_path)
        facts = CardFacts(
            kind="pre-trained", shape="roberta-base", steps=1, tokens=1, is_sentence_model=tag != "fill-mask"
        )
        write_card(tmp_path, model, None, facts, "<mask>")
        card = ModelCard.load(tmp_path / CARD)
        assert "`roberta-base` of the stock architecture `roberta`, pre-trained by" in card.text
        assert not re.search("trust_remote_code|vocabless|hash|SHA|bytes|\\[MASK]|\n\n\n", card.content)
        assert card.data.tags == (None if tag == "fill-mask" else ["sentence-transformers"])
        if tag == "fill-mask":
            assert card.data.pipeline_tag == tag and card.data.widget == [{"text": "The fox <mask> over the dog."}]


def test_a_card_says_whether_a_list_of_ngrams_is_stored(save_model) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny")
    for is_stored in (False, True):
        if is_stored:
            (folder / "ngrams.json").write_text('["a"]')
        write_card(folder, model, 16, RANDOM_WEIGHTS)
        text = (folder / CARD).read_text(encoding="utf-8")
        assert ("stores no list of n-grams" in text, "those of `ngrams.json`" in text) == (not is_stored, is_stored)


def test_the_rate_to_fine_tune_with_stands_under_the_code(save_model) -> None:
    model, folder = save_model("eelbert-word-tiny")
    for width, sentence in (
        (128, "learning_rate=0.00044, …)`: `Trainer`'s default, 5e-05, is too low for its width."),
        (768, "learning_rate=3e-05, …)`."),
    ):
        model.config.encoder_config.hidden_size = width
        write_card(folder, model, 32, RANDOM_WEIGHTS)
        text = (folder / CARD).read_text(encoding="utf-8")
        assert f"```\n\nFine-tune it with `TrainingArguments({sentence}\n\n" in text
    write_card(folder, model, 32, CardFacts(kind="fine-tuned", epochs=1.0))
    assert "TrainingArguments" not in (folder / CARD).read_text(encoding="utf-8")


def test_the_sizes_are_those_of_the_weights_and_of_the_graphs_beside_them(save_model) -> None:
    model, folder = save_model("eelbert-word-uno")
    write_card(folder, model, 32)
    card, weights = folder / CARD, (folder / "model.safetensors").stat().st_size / 1e6
    assert f" The weights take {weights:.1f} MB.\n" in card.read_text(encoding="utf-8")
    (folder / "onnx").mkdir()
    for name in ("model.onnx", "model_int8.onnx", PROGRAM):
        (folder / "onnx" / name).write_bytes(bytes(1_500_000 if name == "model.onnx" else 400_000))
    card.write_text(card.read_text(encoding="utf-8").replace(" MB.\n", " MB. Mine.\n"), encoding="utf-8")
    for _ in range(2):
        renew_card(folder)
        graphs = "`onnx/model.onnx` 1.5 MB, `onnx/model_int8.onnx` 0.4 MB"
        program = 'Without torch: `python onnx/onnx_model.py onnx "A text."`'
        assert f"take {weights:.1f} MB, {graphs}. {program}. Mine.\n" in card.read_text(encoding="utf-8")


def test_names_of_a_user_are_one_line_of_the_card(save_model) -> None:
    model, folder = save_model("eelbert-word-tiny", "VocablessForSequenceClassification", variant="my-variant")
    write_card(folder, model, 32)
    card = ModelCard.load(folder / CARD)
    assert "# my-variant\n\n`my-variant` of the vocabless family." in card.text
    assert card.data.tags == ["vocabless", "my-variant"]
    name, shown = "a\n\n# b\r\u2028| c", "a  # b  | c"
    names = dict.fromkeys(("dataset", "start", "overrides", "teacher", "teacher_rows"), name)
    write_card(folder, model, 32, CardFacts(kind="fine-tuned", epochs=1.0, measures="| m |\n|---|", **names))
    lines = ModelCard.load(folder / CARD).text.splitlines()
    assert {f"# my-variant on {shown}", f"- Start: the weights of `{shown}`"} <= {*lines}
    assert not [line for line in lines if re.match(r"(# b|\| c)\b", line)]
