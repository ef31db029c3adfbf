"""Pipelines of a saved folder: stock ones, and those copied with a checkpoint, with and without the package."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import pipeline

import vocabless

ROOT = Path(__file__).resolve().parent.parent
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


def outputs(pipe, *texts, **options):
    with torch.no_grad():
        return pipe.model(**pipe.tokenizer(*texts, return_tensors="pt", **options))


def predict_labels(pipe, labels: list[int]) -> None:
    """Makes the model predict these labels for the tokens of a text."""
    scores = torch.nn.functional.one_hot(torch.tensor([[0, *labels, 0]]), 3).float() * 9
    pipe.model.forward = lambda **inputs: {"logits": scores}


@pytest.mark.parametrize("name", NAMES)
def test_texts_and_pairs_are_classified_as_the_model_does(name: str, pipe_of) -> None:
    pipe = pipe_of(name, "text-classification")
    for inputs, texts in ((TEXT, [TEXT]), ({"text": TEXT, "text_pair": "a dog"}, [TEXT, "a dog"])):
        expected = outputs(pipe, *texts).logits[0].softmax(-1)
        predictions = pipe([inputs, {"text": "short"}], batch_size=2, top_k=None)[0]
        assert {one["label"]: one["score"] for one in predictions} == pytest.approx(
            dict(zip(LABELS[HEADS["text-classification"]], expected.tolist(), strict=True)), abs=1e-5
        )
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
    assert [one["word"] for one in entities] == [TEXT[one["start"] : one["end"]] for one in entities]
    predict_labels(pipe, [1] + [2] * (len(pipe.tokenizer.tokenize(TEXT)) - 1))
    (whole,) = pipe(TEXT, aggregation_strategy="average")
    assert (whole["entity_group"], whole["word"], whole["start"], whole["end"]) == ("PER", TEXT, 0, len(TEXT))


@pytest.mark.parametrize(("strategy", "words"), [("simple", ["fox"]), ("first", ["foxes"]), ("average", [])])
def test_pieces_of_a_word_get_one_label(strategy: str, words: list[str], pipe_of) -> None:
    pipe = pipe_of("eelbert-tiny", "ner", aggregation_strategy=strategy)
    assert pipe.tokenizer.tokenize("the  foxes") == ["the", "fox", "##e", "##s"]
    predict_labels(pipe, [0, 1, 0, 0])
    assert [one["word"] for one in pipe("the  foxes")] == words


def test_a_comma_is_not_part_of_the_word_before_it(pipe_of) -> None:
    pipe = pipe_of("ewe-bert-word-tiny", "ner", aggregation_strategy="first")
    predict_labels(pipe, [1, 0, 1])
    assert [one["word"] for one in pipe("Ann,Bob")] == ["Ann", "Bob"]


def test_words_of_a_split_text_are_labelled_at_their_place_in_the_joined_text(pipe_of) -> None:
    pipe = pipe_of("eelbert-word-tiny", "token-classification", aggregation_strategy="first", ignore_labels=[])
    words = ["Zoë", "U.S.", "李小龍"]
    entities = pipe([words, ["one"]], is_split_into_words=True, delimiter="  ", batch_size=2)
    assert entities[0][-1]["end"] == len("  ".join(words))
    predict_labels(pipe, [1, 1, 2, 2, 2, 1])
    entities = pipe([words], is_split_into_words=True, delimiter="  ")[0]
    assert [(one["word"], one["start"], one["end"]) for one in entities] == [
        ("Zoë", 0, 3), ("U.S.", 5, 9), ("李小龍", 11, 14),
    ]  # fmt: skip


@pytest.mark.skipif(not (ROOT / "checkpoints").is_dir(), reason="this archive has no trained weights")
def test_the_example_of_the_page_trains_a_tagger_that_the_pipeline_loads(tmp_path, monkeypatch) -> None:
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    code = page.split("\n## Train a tagger\n")[1].split("```python\n")[1].split("```")[0]
    (tmp_path / "checkpoints").symlink_to(ROOT / "checkpoints")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(code, names)
    labels = names["trainer"].train_dataset[0]["labels"]  # [CLS], five words, [SEP]
    assert labels == [-100, 1, 0, 1, 2, 0, -100]
    tagger = pipeline("ner", model="runs/tagger", trust_remote_code=True, aggregation_strategy="first", device="cpu")
    found = [(one["entity_group"], one["word"]) for one in tagger("Ada met Zoë Müller .")]
    assert found == [("PER", "Ada"), ("PER", "Zoë Müller")]


def test_a_long_text_is_labelled_in_windows(pipe_of) -> None:
    pipe = pipe_of("eelbert-word-tiny", "ner", aggregation_strategy="first", stride=8)
    pipe.model.forward = lambda input_ids, **inputs: {"logits": torch.eye(3)[[1]].expand(*input_ids.shape[:2], 3)}
    words = [f"w{number}" for number in range(300)]
    assert [one["word"] for one in pipe("  ".join(words))] == words


@pytest.mark.parametrize("name", NAMES)
def test_a_mask_is_filled_with_tokens_of_the_target_vocabulary(name: str, pipe_of) -> None:
    pipe = pipe_of(name, "fill-mask")
    text = "Zoë  und der [MASK], 李小龍"
    tokenizer, vocabulary = pipe.tokenizer, pipe.tokenizer.target_tokenizer
    ids = tokenizer("Zoë und der x, 李小龍", return_tensors="pt")
    place = ids.char_to_token("Zoë und der x, 李小龍".index("x"))
    ids["input_ids"][0, place] = torch.tensor([4] + [0] * (tokenizer.block_size - 1))
    with torch.no_grad():
        scores = pipe.model(**ids).logits[0, place].softmax(-1)
    predictions = pipe([text, "the [MASK]"], top_k=3, batch_size=2)[0]
    assert [one["token"] for one in predictions] == scores.topk(3).indices.tolist()
    assert [one["score"] for one in predictions] == pytest.approx(scores.topk(3).values.tolist(), abs=1e-5)
    assert [one["token_str"] for one in predictions] == [vocabulary.id_to_token(one["token"]) for one in predictions]

    (fox, piece) = sorted(pipe(text, targets=["fox", "##o"]), key=lambda one: one["token_str"], reverse=True)
    assert fox["score"] == pytest.approx(scores[vocabulary.token_to_id("fox")].item(), abs=1e-5)
    assert fox["sequence"] == "Zoë  und der fox, 李小龍"
    assert piece["sequence"] == "Zoë  und dero, 李小龍"


def test_a_mask_replaces_a_word_and_the_space_before_it(pipe_of) -> None:
    pipe = pipe_of("hashformer-md5-proj-bpe-base", "fill-mask")
    blocks = pipe.preprocess("the quick [MASK] fox")["input_ids"][0]
    expected = pipe.tokenizer("the quick brown fox", return_tensors="pt")["input_ids"][0]
    brown = pipe.tokenizer.tokenize("the quick brown fox").index("Ġbrown") + 1
    expected[brown] = torch.tensor([4] + [0] * 15)
    assert torch.equal(blocks, expected)
    (filled,) = pipe("the quick [MASK] fox", targets=["Ġbrown"])
    assert (filled["token_str"], filled["sequence"]) == (" brown", "the quick brown fox")


def test_several_masks_are_filled_independently(pipe_of) -> None:
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


def test_every_task_works_without_the_package(folder_of, pipe_of, run_bare) -> None:
    program = (
        "result = transformers.pipeline(task, model=folder, trust_remote_code=True, device='cpu')(text, **options)"
    )
    for name, task, text, options in (
        ("eelbert-tiny", "text-classification", TEXT, {}),
        ("eelbert-tiny", "zero-shot-classification", TEXT, {"candidate_labels": ["sport", "music"]}),
        ("eelbert-word-tiny", "feature-extraction", TEXT, {}),
        ("eelbert-tiny", "token-classification", TEXT, {"ignore_labels": []}),
        ("eelbert-word-tiny", "ner", TEXT, {"aggregation_strategy": "first", "ignore_labels": []}),
        ("eelbert-tiny", "fill-mask", "the [MASK] fox", {}),
    ):
        result = run_bare(program, task=task, folder=folder_of(name, task), text=text, options=options)
        expected = json.loads(json.dumps(pipe_of(name, task)(text, **options), default=float))
        assert _rounded(result) == _rounded(expected), (name, task)


PAGE = Path(vocabless.__file__).resolve().parent.parent / "docs" / "pipelines.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="no documentation beside the package")
@pytest.mark.parametrize(
    ("section", "needs"), [("Pipelines", None), ("sentence-transformers", "sentence_transformers"), ("PEFT", "peft")]
)
def test_the_examples_of_the_documentation_run(
    section: str, needs: str | None, folder_of, tmp_path, monkeypatch
) -> None:
    if needs:
        pytest.importorskip(needs)
    (tmp_path / "runs").mkdir()
    for run, task in (
        ("classifier", "text-classification"), ("nli", "zero-shot-classification"), ("encoder", "feature-extraction"),
        ("tagger", "ner"), ("masked", "fill-mask"),
    ):  # fmt: skip
        (tmp_path / "runs" / run).symlink_to(folder_of("eelbert-word-tiny", task))
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert blocks
    exec("\n".join(blocks), {})


def _rounded(value):
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 3) if isinstance(value, float) else value
