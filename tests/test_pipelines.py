"""Pipelines of a saved folder: stock ones, and those copied with a checkpoint, with and without the package."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForTokenClassification,
    FillMaskPipeline,
    TokenClassificationPipeline,
    pipeline,
)

import vocabless

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "pipelines.md"
needs_page = pytest.mark.skipif(not PAGE.is_file(), reason="no documentation beside the package")
NAMES = ["hashformer-lsh-proj-tiny", "eelbert-word-tiny", "eelbert-tiny", "ewe-bert-word-tiny"]
HEADS = {
    "text-classification": "VocablessForSequenceClassification",
    "zero-shot-classification": "VocablessForSequenceClassification",
    "feature-extraction": "VocablessModel",
    "token-classification": "VocablessForTokenClassification",
    "ner": "VocablessForTokenClassification",
    "fill-mask": "VocablessForMaskedLM",
}
LABELS = {
    "VocablessForSequenceClassification": ["contradiction", "Entailment", "neutral"],
    "VocablessForTokenClassification": ["O", "B-PER", "I-PER"],
}
TEXT = "Zoë  met 李小龍 in São Paulo 😀, e\u0301tat; the lazy foxes"
UNITS = ["Zoë", "met", "李小龍", "in", "São", "Paulo", "😀,", "e\u0301tat", ";", "the", "lazy", "foxes"]


@pytest.fixture
def folder_of(random_checkpoint) -> Callable[[str, str], str]:
    """Saves a small variant with the head for a task."""

    def save(name: str, task: str) -> str:
        labels = dict(enumerate(LABELS.get(HEADS[task], ["LABEL_0", "LABEL_1"])))
        label_maps = {"id2label": labels, "label2id": {label: index for index, label in labels.items()}}
        return str(random_checkpoint(name, HEADS[task], **label_maps))

    return save


@pytest.fixture
def pipe_of(folder_of):
    def make(name: str, task: str, **options):
        return pipeline(task, model=folder_of(name, task), trust_remote_code=True, device="cpu", **options)

    return make


def predict_labels(pipe, labels: list[int]) -> None:
    """Makes the model predict these labels for the tokens of a text."""
    scores = torch.nn.functional.one_hot(torch.tensor([[0, *labels, 0]]), 3).float() * 9
    pipe.model.forward = lambda **inputs: {"logits": scores}


def places(entities) -> list[tuple[str, int, int]]:
    return [(one["word"], one["start"], one["end"]) for one in entities]


@pytest.mark.parametrize("name", NAMES)
def test_texts_and_pairs_are_classified_as_the_model_does(name: str, pipe_of) -> None:
    pipe = pipe_of(name, "text-classification")
    for inputs, texts in ((TEXT, [TEXT]), ({"text": TEXT, "text_pair": "a dog"}, [TEXT, "a dog"])):
        with torch.no_grad():
            scores = pipe.model(**pipe.tokenizer(*texts, return_tensors="pt")).logits[0].softmax(-1).tolist()
        predictions = pipe([inputs, {"text": "short"}], batch_size=2, top_k=None)[0]
        expected = dict(zip(LABELS[HEADS["text-classification"]], scores, strict=True))
        assert {one["label"]: one["score"] for one in predictions} == pytest.approx(expected, abs=1e-5)
    assert len(pipe("the fox " * 500, truncation=True)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_tokens_are_labelled_with_their_characters(name: str, pipe_of) -> None:
    pipe = pipe_of(name, "token-classification", ignore_labels=[])
    entities = pipe([TEXT, "short"], batch_size=2)[0]
    if name == "eelbert-tiny":
        assert [TEXT[one["start"] : one["end"]] for one in entities][:2] == ["Zoë", "met"]
        entities = pipe(TEXT, aggregation_strategy="first")
    else:
        assert [one["word"] for one in entities] == UNITS
    assert all(word == TEXT[start:end] for word, start, end in places(entities))
    predict_labels(pipe, [1] + [2] * (len(pipe.tokenizer.tokenize(TEXT)) - 1))
    (whole,) = pipe(TEXT, aggregation_strategy="average")
    assert whole["entity_group"] == "PER" and places([whole]) == [(TEXT, 0, len(TEXT))]


@pytest.mark.parametrize(("name", "strategy", "text", "labels", "words"), [
    ("eelbert-tiny", "simple", "the  foxes", [0, 1, 0, 0], ["fox"]),  # "the", "fox", "##e", "##s"
    ("eelbert-tiny", "first", "the  foxes", [0, 1, 0, 0], ["foxes"]),
    ("eelbert-tiny", "average", "the  foxes", [0, 1, 0, 0], []),
    ("ewe-bert-word-tiny", "first", "Ann,Bob", [1, 0, 1], ["Ann", "Bob"]),
])  # fmt: skip
def test_pieces_of_a_word_get_one_label_and_a_comma_is_no_piece(name, strategy, text, labels, words, pipe_of) -> None:
    pipe = pipe_of(name, "ner", aggregation_strategy=strategy)
    predict_labels(pipe, labels)
    assert [one["word"] for one in pipe(text)] == words


def test_split_texts_are_labelled_at_their_place_in_the_joined_text_and_long_ones_in_windows(pipe_of) -> None:
    pipe = pipe_of("eelbert-word-tiny", "token-classification", aggregation_strategy="first", ignore_labels=[])
    words = ["Zoë", "U.S.", "李小龍"]
    entities = pipe([words, ["one"]], is_split_into_words=True, delimiter="  ", batch_size=2)
    assert entities[0][-1]["end"] == len("  ".join(words))
    predict_labels(pipe, [1, 1, 2, 2, 2, 1])
    entities = pipe([words], is_split_into_words=True, delimiter="  ")[0]
    assert places(entities) == [("Zoë", 0, 3), ("U.S.", 5, 9), ("李小龍", 11, 14)]

    pipe = pipe_of("eelbert-word-tiny", "ner", aggregation_strategy="first", stride=8)
    pipe.model.forward = lambda input_ids, **inputs: {"logits": torch.eye(3)[[1]].expand(*input_ids.shape[:2], 3)}
    words = [f"w{number}" for number in range(300)]
    assert [one["word"] for one in pipe("  ".join(words))] == words


@pytest.mark.parametrize("name", NAMES)
def test_a_mask_is_filled_with_tokens_of_the_target_vocabulary(name: str, pipe_of) -> None:
    pipe = pipe_of(name, "fill-mask")
    text, spelt = "Zoë  und der [MASK], 李小龍", "Zoë und der x, 李小龍"
    vocabulary = pipe.tokenizer.target_tokenizer
    ids = pipe.tokenizer(spelt, return_tensors="pt")
    place = ids.char_to_token(spelt.index("x"))
    ids["input_ids"][0, place] = torch.tensor([4] + [0] * (pipe.tokenizer.block_size - 1))
    with torch.no_grad():
        scores = pipe.model(**ids).logits[0, place].softmax(-1)
    predictions, best = pipe([text, "the [MASK]"], top_k=3, batch_size=2)[0], scores.topk(3)
    assert [one["token"] for one in predictions] == best.indices.tolist()
    assert [one["score"] for one in predictions] == pytest.approx(best.values.tolist(), abs=1e-5)
    assert [one["token_str"] for one in predictions] == [vocabulary.id_to_token(one["token"]) for one in predictions]

    (fox, piece) = sorted(pipe(text, targets=["fox", "##o"]), key=lambda one: one["token_str"], reverse=True)
    assert fox["score"] == pytest.approx(scores[vocabulary.token_to_id("fox")].item(), abs=1e-5)
    assert (fox["sequence"], piece["sequence"]) == ("Zoë  und der fox, 李小龍", "Zoë  und dero, 李小龍")


def test_a_mask_replaces_a_word_with_the_space_before_it_and_several_are_filled_independently(pipe_of) -> None:
    pipe = pipe_of("hashformer-md5-proj-bpe-base", "fill-mask")
    expected = pipe.tokenizer("the quick brown fox", return_tensors="pt")["input_ids"][0]
    brown = pipe.tokenizer.tokenize("the quick brown fox").index("Ġbrown") + 1
    expected[brown] = torch.tensor([4] + [0] * 15)
    assert torch.equal(pipe.preprocess("the quick [MASK] fox")["input_ids"][0], expected)
    (filled,) = pipe("the quick [MASK] fox", targets=["Ġbrown"])
    assert (filled["token_str"], filled["sequence"]) == (" brown", "the quick brown fox")
    first, second = pipe_of("eelbert-tiny", "fill-mask")("[MASK] and [MASK]", targets="fox")
    assert (first[0]["sequence"], second[0]["sequence"]) == ("fox and [MASK]", "[MASK] and fox")


def test_a_text_that_cannot_be_filled_is_refused(pipe_of) -> None:
    pipe = pipe_of("eelbert-word-tiny", "fill-mask")
    with pytest.raises(Exception, match="No mask_token"):
        pipe("no mask")
    with pytest.raises(ValueError, match=r"targets is \[''\]; give texts that each have a token"):
        pipe("a [MASK]", targets=[""])
    pipe.model.config.target_vocab_size = 7
    with pytest.raises(ValueError, match=r"a vocabulary of 7 tokens, which the tokenizer does not have"):
        pipe("a [MASK]")


OBJECTS = """
import transformers
auto = getattr(transformers, head.replace("Vocabless", "AutoModel")) if "For" in head else transformers.AutoModel
model = auto.from_pretrained(folder, trust_remote_code=True)
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
result = transformers.pipeline(task, model=model, tokenizer=tokenizer, device="cpu")(text, **options)
"""


@pytest.mark.parametrize("task", HEADS)
def test_a_model_that_is_loaded_gives_what_its_folder_gives_with_and_without_the_package(
    task, folder_of, pipe_of, run_bare
) -> None:
    folder = folder_of("eelbert-tiny", task)
    text = "the [MASK] fox" if task == "fill-mask" else TEXT
    options = {"candidate_labels": ["sport", "music"]} if task == "zero-shot-classification" else {}
    expected = _rounded(pipeline(task, model=folder, trust_remote_code=True, device="cpu")(text, **options))
    model = getattr(vocabless, HEADS[task]).from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert _rounded(pipeline(task, model=model, tokenizer=tokenizer, device="cpu")(text, **options)) == expected
    names = {"task": task, "folder": folder, "text": text, "options": options, "head": HEADS[task]}
    assert _rounded(run_bare(OBJECTS, **names)) == expected


def test_other_models_have_the_stock_pipelines(folder_of) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder_of("eelbert-tiny", "ner"))
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    for task, model, kind in (
        ("ner", BertForTokenClassification, TokenClassificationPipeline),
        ("fill-mask", BertForMaskedLM, FillMaskPipeline),
    ):
        assert type(pipeline(task, model=model(BertConfig(**size)), tokenizer=tokenizer, device="cpu")) is kind


RUN = "result = transformers.pipeline(task, model=folder, trust_remote_code=True, device='cpu')(text, **options)"


@pytest.mark.parametrize(("name", "task", "text", "options"), [
    ("eelbert-tiny", "text-classification", TEXT, {}), ("eelbert-word-tiny", "feature-extraction", TEXT, {}),
    ("eelbert-tiny", "zero-shot-classification", TEXT, {"candidate_labels": ["sport", "music"]}),
    ("eelbert-tiny", "token-classification", TEXT, {"ignore_labels": []}),
    ("eelbert-word-tiny", "ner", TEXT, {"aggregation_strategy": "first", "ignore_labels": []}),
    ("eelbert-tiny", "fill-mask", "the [MASK] fox", {}),
])  # fmt: skip
def test_every_task_works_without_the_package(name, task, text, options, folder_of, pipe_of, run_bare) -> None:
    result = run_bare(RUN, task=task, folder=folder_of(name, task), text=text, options=options)
    assert _rounded(result) == _rounded(pipe_of(name, task)(text, **options))


def _rounded(value: Any) -> Any:
    return json.loads(json.dumps(value, default=float), parse_float=lambda number: round(float(number), 3))


def run_examples(section: str, page: Path = PAGE) -> dict[str, Any]:
    """Runs the Python code of a section of a page; returns its names."""
    text = page.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    names: dict[str, Any] = {}
    exec("\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)), names)
    assert names
    return names


@needs_page
@pytest.mark.parametrize(
    ("section", "needs"), [("Pipelines", "torch"), ("sentence-transformers", "sentence_transformers"), ("PEFT", "peft")]
)
def test_the_examples_of_the_page_run(section: str, needs: str, folder_of, tmp_path, monkeypatch) -> None:
    pytest.importorskip(needs)
    tasks = ["text-classification", "zero-shot-classification", "feature-extraction", "ner", "fill-mask"]
    (tmp_path / "runs").mkdir()
    for run, task in zip(("classifier", "nli", "encoder", "tagger", "masked"), tasks, strict=True):
        (tmp_path / "runs" / run).symlink_to(folder_of("eelbert-word-tiny", task))
    monkeypatch.chdir(tmp_path)
    run_examples(section)


@needs_page
@pytest.mark.skipif(not (ROOT / "checkpoints").is_dir(), reason="this archive has no trained weights")
def test_the_example_of_the_page_trains_a_tagger_that_the_pipeline_loads(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    labels = run_examples("Train a tagger")["trainer"].train_dataset[0]["labels"]
    assert labels == [-100, 1, 0, 1, 2, 0, -100]  # [CLS], five words, [SEP]
    tagger = pipeline("ner", model="runs/tagger", trust_remote_code=True, aggregation_strategy="first", device="cpu")
    found = [(one["entity_group"], one["word"]) for one in tagger("Ada met Zoë Müller .")]
    assert found == [("PER", "Ada"), ("PER", "Zoë Müller")]


@needs_page
@pytest.mark.skipif(not (ROOT / "checkpoints").is_dir(), reason="this archive has no trained weights")
def test_the_example_with_the_trainer_trains_a_classifier_that_the_pipeline_loads(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [("The bill of day {} is wrong", "money"), ("The screen of day {} stays black", "fault")]
    lines = [f"{text.format(day)},{label}\n" for day in range(20) for text, label in rows]
    (tmp_path / "tickets.csv").write_text("text,label\n" + "".join(lines))
    run_examples("With the library's Trainer", PAGE.with_name("finetuning.md"))
    classify = pipeline("text-classification", model="runs/tickets", device="cpu")
    assert [each["label"] for each in classify(["A wrogn bill", "A black screne"])] == ["money", "fault"]
