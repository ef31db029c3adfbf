"""The verb space: what it writes, what it refuses, and the Space on a stand-in for the Hub."""

import json
import os
import re
from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants
from refusals import refusal

from vocabless import VocablessClassifier
from vocabless.conversion import space
from vocabless.conversion.__main__ import main
from vocabless.conversion.onnx import reads_token_types
from vocabless.conversion.space_export import graph_json, page
from vocabless.conversion.space_export.manifest import task_of
from vocabless.conversion.space_export.page import write_readme
from vocabless.conversion.space_export.script import join_modules
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.record import CardFacts

onnx, _, _ = (
    pytest.importorskip(package, reason="the extra [onnx] is not installed")
    for package in ("onnx", "onnxruntime", "onnxscript")
)

CLASSIFIER = "VocablessForSequenceClassification"
EVIL = "<img src=x onerror=alert(1)></script>"


@pytest.fixture(scope="module")
def checkpoint(random_checkpoint) -> str:
    """A small classifier, a label of which looks like HTML; other files export the same graph."""
    options = {"id2label": {0: EVIL, 1: "good", 2: "so-so"}, "problem_type": "single_label_classification"}
    return str(random_checkpoint("ewe-bert-word-tiny", CLASSIFIER, **options))


def manifest_of(folder: Path) -> dict:
    text = (folder / "index.html").read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="manifest">(.*?)</script>', text, re.S)[1])


def front_matter(text: str) -> dict:
    return yaml.safe_load(text.split("---")[1])


@pytest.mark.parametrize(("task", "tag"), [("multi_label", "text-classification"), ("tags", "token-classification")])
def test_a_space_has_the_tag_of_its_task_and_nothing_in_its_title_is_expanded(task, tag, tmp_path) -> None:
    write_readme(tmp_path, "A {{model}}\n# {{title}}", "you/mine", None, task)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert front_matter(text)["tags"] == ["vocabless", tag]
    assert "\n# A {{model}} # {{title}}\n" in text and text.count("(https://huggingface.co/you/mine)") == 1
    text = page.join_page("page", {"title": "{{weights}} {{model}}"}, {"weights": ""})
    assert "<title>{{weights}} {{model}}</title>" in text


@pytest.mark.parametrize(("num_labels", "task"), [(1, "regression"), (2, "single_label")])
def test_the_number_of_labels_tells_the_task_where_no_problem_is_named(num_labels, task, save_model) -> None:
    assert task_of(save_model("eelbert-word-uno", CLASSIFIER, num_labels=num_labels)[0]) == task


def test_a_folder_gets_one_page_that_names_no_other_address_and_a_readme(checkpoint, convert, tmp_path, capsys) -> None:
    target = tmp_path / "page"
    title = f"Reviews {EVIL}"
    convert(["space", checkpoint, str(target), "--title", title, "--example", "A <b> text", "--model_id", "me/mine"])
    assert {file.name for file in target.iterdir()} == {"index.html", "README.md"}
    text = (target / "index.html").read_text(encoding="utf-8")
    assert EVIL not in text
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    manifest = manifest_of(target)
    assert (manifest["title"], manifest["labels"], manifest["task"]) == (title, [EVIL, "good", "so-so"], "single_label")
    assert (manifest["examples"], manifest["is_pair"]) == (["A <b> text"], False)
    assert manifest["model_card"] == f"{constants.ENDPOINT}/me/mine"
    readme = front_matter((target / "README.md").read_text(encoding="utf-8"))
    assert (readme["sdk"], readme["app_file"], readme["title"]) == ("static", "index.html", title)
    assert readme["models"] == ["me/mine"]
    printed = capsys.readouterr().out
    length = manifest["tokenizer"]["max_tokens"]
    assert f"\nTexts are read up to {length} tokens, as by the pipeline; the end of a longer text" in printed
    assert "index.html: " in printed and f"The page is in {target}." in printed
    assert "mean difference" in printed and "choices" not in printed  # they would be those on sentences of ours


def test_what_vocabless_classifier_saves_becomes_a_page(
    checkpoint, save_model, export_once, tmp_path, monkeypatch
) -> None:
    _, encoder = save_model("ewe-bert-word-tiny")
    model, tokenizer = load_checkpoint(checkpoint)  # of the same shape
    graph = export_once(model.float(), reads_token_types(model, tokenizer))
    monkeypatch.setattr(space, "export", lambda *_: graph)
    texts = [f"{colour} {thing}" for colour in ("red", "blue", "pink") for thing in ("house", "river", "stone", "cat")]
    classifier = VocablessClassifier(str(encoder), epochs=0).fit(texts, ["warm"] * 4 + ["cold"] * 4 + ["mild"] * 4)
    classifier.save_pretrained(tmp_path / "saved")
    main(["space", str(tmp_path / "saved"), str(tmp_path / "page")])
    manifest = manifest_of(tmp_path / "page")
    assert (manifest["labels"], manifest["task"]) == (["cold", "mild", "warm"], "single_label")


def test_a_large_page_of_a_run_has_its_title_and_its_weights_beside_it(
    checkpoint, convert, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(
        space, "read_card_facts", lambda _: CardFacts(kind="fine-tuned", dataset="spam", is_own_data=True)
    )
    monkeypatch.setattr(page, "MAX_PAGE_BYTES", 150_000)
    convert(["space", checkpoint, str(tmp_path / "page"), "--pairs", "--fp32"])
    weights = (tmp_path / "page" / "weights.js").read_text(encoding="ascii")
    assert re.fullmatch(r'globalThis\.vocablessWeights = "[\w+/=]+";\n', weights)
    assert re.search(r'id="weights">\s*</script>', (tmp_path / "page" / "index.html").read_text(encoding="utf-8"))
    manifest = manifest_of(tmp_path / "page")
    assert manifest["title"] == "spam" and manifest["is_pair"] and manifest["examples"] == []


def test_what_a_page_cannot_run_is_refused(checkpoint, convert, tmp_path, monkeypatch) -> None:
    assert "which is read and must not be overwritten" in refusal(convert, "space", checkpoint, checkpoint)
    monkeypatch.setattr(page, "MAX_WEIGHT_BYTES", 10_000)
    assert "a page may have 0 MB" in refusal(convert, "space", checkpoint, tmp_path / "a")
    monkeypatch.setattr(graph_json, "operators", lambda: frozenset({"Add", "MatMul"}))
    said = refusal(convert, "space", checkpoint, tmp_path / "a")
    assert re.search(r"the page has no operator And, .*Softmax.*, which", said) and not (tmp_path / "a").exists()
    node = onnx.helper.make_node("CumSum", ["x", "axis"], ["y"], reverse=1)
    proto = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="the operator CumSum only with reverse=0, but the model's graph has 1"):
        graph_json.check_operators(proto)


def test_a_space_is_made_on_the_hub(checkpoint, convert, hub) -> None:
    convert(["space", checkpoint, "my-page", "--push"])
    space = hub.repositories["spaces/you/my-page"]
    assert space.sdk == "static" and space.messages == ["Add the page"]
    assert set(space.files) == {"index.html", "README.md"}
    assert front_matter(space.files["README.md"].decode())["sdk"] == "static"
    assert "the Space 'you/my-page' already exists" in refusal(convert, "space", checkpoint, "my-page", "--push")
    assert not os.path.exists("my-page")


def test_modules_are_joined_in_the_order_of_their_imports_and_their_names_stay_apart(tmp_path) -> None:
    (tmp_path / "a.js").write_text(
        'import { x as y } from "./b.js";\nimport { z } from "./c.js";\nconst own = y + z;\n'
    )
    (tmp_path / "b.js").write_text('import { z } from "./c.js";\nconst own = 1;\nexport const x = own + z;\n')
    (tmp_path / "c.js").write_text("export const z = 1;\nexport async function f() {}\n")
    script = join_modules(tmp_path, "a.js")
    assert re.findall(r'^modules\["(\w)', script, re.M) == ["c", "b", "a"]
    assert 'const { x: y } = modules["b.js"];' in script and "return { z, f };" in script
    assert "export" not in script and "import" not in script
    for line in ("export default 1;", 'import "./b.js";', 'const a = "</SCRIPT>";', "// <!-- no"):
        (tmp_path / "a.js").write_text(f"{line}\n")
        with pytest.raises(ValueError, match="the page cannot hold"):
            join_modules(tmp_path, "a.js")


@pytest.mark.parametrize(("facts", "is_pair", "examples"), [
    ({"example": ["Buy now."], "is_own_data": True}, False, [["Buy now."]]), ({"example": ["Buy now."]}, True, None),
    ({"is_own_data": True}, False, []), ({"is_own_data": True}, True, []), ({}, False, None),
])  # fmt: skip
def test_a_page_shows_the_example_of_the_run_and_no_film_reviews_for_own_data(facts, is_pair, examples) -> None:
    assert space.run_examples(CardFacts(kind="fine-tuned", **facts), is_pair) == examples
