"""A teacher's logits are those of the model, and its cache is used for the same teacher and texts alone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from tokenizers.normalizers import Lowercase
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    PreTrainedTokenizerFast,
)

from vocabless.training.finetuning import task_teacher
from vocabless.training.finetuning.problems import SingleLabel, Tagging
from vocabless.training.finetuning.task_teacher import TaskTeacher, load_teacher, word_logits

TEXTS = ["the quick brown fox", "lazy", "the fox jumps over the lazy dog and the dog jumps over the fox", "dog fox"]
LABELS = ["a", "b", "c"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache" / "vocabless-teachers"


@pytest.fixture
def save_teacher(tmp_path: Path, subwords: dict[str, str]) -> Callable[..., Path]:
    """Saves a BERT with random weights, a head and a WordPiece; returns its folder."""

    def save(labels: list[str], per_word: bool = False, seed: int = 0, **options: Any) -> Path:
        folder = tmp_path / f"teacher-{seed}"
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=subwords["wordpiece"], unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
            sep_token="[SEP]", mask_token="[MASK]", model_max_length=12,
        )  # fmt: skip
        options = {"id2label": dict(enumerate(labels)), "label2id": {n: i for i, n in enumerate(labels)}} | options
        config = BertConfig(
            vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=16, initializer_range=0.5, **options,
        )  # fmt: skip
        torch.manual_seed(seed)
        (BertForTokenClassification if per_word else BertForSequenceClassification)(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return save


def load(folder, problem=None, **options) -> TaskTeacher:
    return load_teacher(str(folder), problem or SingleLabel(LABELS), torch.device("cpu"), 2, options.get("bf16", False))


@pytest.fixture
def batches(monkeypatch) -> list[int]:
    """The sizes of the batches that a teacher has labelled."""
    sizes: list[int] = []
    label = TaskTeacher._label
    monkeypatch.setattr(
        TaskTeacher, "_label", lambda self, batch: sizes.append(len(batch["text"])) or label(self, batch)
    )
    return sizes


def test_logits_are_those_of_each_text_alone_in_the_order_of_the_tasks_labels(save_teacher, cache) -> None:
    folder = save_teacher(LABELS)
    model, tokenizer = (c.from_pretrained(folder) for c in (AutoModelForSequenceClassification, AutoTokenizer))
    pairs = ["a dog", "the lazy dog", "fox", "over"]
    rows = load(folder, SingleLabel(["c", "a", "b"])).logits(TEXTS, pairs, "rows")
    for text, pair, row in zip(TEXTS, pairs, rows, strict=True):
        inputs = tokenizer(text, pair, truncation=True, max_length=12, return_tensors="pt")
        expected = model.eval()(**inputs).logits.detach().numpy()[:, [2, 0, 1]]
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-5)
        assert row.dtype == np.float32 and row.shape == (1, 3)


def test_a_second_call_reads_the_cache_and_gives_the_same_logits(save_teacher, cache, batches) -> None:
    folder = save_teacher(LABELS)
    first = load(folder).logits(TEXTS, None, "rows")
    assert batches == [2, 2] and len(list(cache.iterdir())) == 1
    again = load(shutil.copytree(folder, folder.parent / "elsewhere")).logits(TEXTS, None, "other rows")
    assert batches == [2, 2]  # the folder of the teacher and the title do not matter
    assert all((one == two).all() for one, two in zip(first, again, strict=True))


def test_another_order_of_labels_reads_the_same_cache(save_teacher, cache, batches) -> None:
    folder = save_teacher(LABELS)
    first = load(folder).logits(TEXTS, None, "rows")
    turned = load(folder, SingleLabel(LABELS[::-1])).logits(TEXTS, None, "rows")
    assert len(batches) == 2
    assert all((one[:, ::-1] == two).all() for one, two in zip(first, turned, strict=True))


def test_another_teacher_text_tokenizer_or_precision_is_computed_anew(save_teacher, cache, batches) -> None:
    folder = save_teacher(LABELS)
    first = load(folder).logits(TEXTS, None, "rows")
    other = load(save_teacher(LABELS, seed=1)).logits(TEXTS, None, "rows")
    assert len(batches) == 4 and not np.allclose(first, other)
    load(folder).logits(["another text", *TEXTS[1:]], None, "rows")
    load(folder).logits(TEXTS, TEXTS, "rows")
    load(folder, bf16=True).logits(TEXTS, None, "rows")
    assert len(batches) == 10
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.backend_tokenizer.normalizer = Lowercase()
    tokenizer.save_pretrained(folder)
    load(folder).logits(TEXTS, None, "rows")
    assert len(batches) == 12 and len(list(cache.iterdir())) == 6


@pytest.mark.parametrize("changes", [{"num_attention_heads": 4}, {"hidden_act": "relu"}, {"layer_norm_eps": 0.1}])
def test_equal_weights_with_another_configuration_are_another_teacher(save_teacher, changes) -> None:
    folder = save_teacher(LABELS)
    first = load(folder).fingerprint
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    assert load(folder).fingerprint != first


def test_damaged_logits_are_named_and_made_again(save_teacher, cache, batches, caplog) -> None:
    teacher = load(save_teacher(LABELS))
    first = teacher.logits(TEXTS, None, "rows")
    [file] = cache.iterdir()
    file.write_bytes(file.read_bytes().replace(first[0].tobytes(), bytes(first[0].nbytes)))
    again = teacher.logits(TEXTS, None, "rows")
    assert all((one == two).all() for one, two in zip(first, again, strict=True))
    assert len(batches) == 4 and f"{file} are damaged" in caplog.text


@pytest.mark.parametrize("per_word", [False, True])
def test_logits_that_are_no_numbers_name_teacher_and_text(save_teacher, cache, per_word) -> None:
    folder = save_teacher(LABELS, per_word=per_word)
    teacher = load(folder, Tagging(LABELS) if per_word else None)
    teacher._model.classifier.bias.data[1] = float("nan")
    texts = [text.split() for text in TEXTS] if per_word else TEXTS
    message = rf"teacher '.*{folder.name}' gives the text that begins 'the fox jumps over .* the output nan"
    with pytest.raises(ValueError, match=message):
        teacher.logits(texts, None, "rows")
    assert not list(cache.iterdir())


def test_a_killed_run_keeps_its_finished_parts(save_teacher, cache, batches, monkeypatch) -> None:
    monkeypatch.setattr(task_teacher, "ROWS_PER_PART", 2)
    teacher = load(save_teacher(LABELS))
    label = TaskTeacher._label

    def killed(self, batch):
        if len(batches) == 1:
            raise KeyboardInterrupt
        return label(self, batch)

    with monkeypatch.context() as patched:
        patched.setattr(TaskTeacher, "_label", killed)
        with pytest.raises(KeyboardInterrupt):
            teacher.logits(TEXTS, None, "rows")
    assert len(list(cache.glob("*.arrow"))) == 1
    parts = teacher.logits(TEXTS, None, "rows")
    assert batches == [2, 2]
    monkeypatch.setattr(task_teacher, "ROWS_PER_PART", 10)
    np.testing.assert_allclose(np.concatenate(parts), np.concatenate(teacher.logits(TEXTS, None, "rows")), atol=1e-5)


def test_a_word_has_the_logits_of_its_first_token_and_a_cut_word_has_none(save_teacher, cache) -> None:
    teacher = load(save_teacher(LABELS, per_word=True), Tagging(LABELS))
    words = [["the", "quick"], ["dog"] * 20, ["fox", "zebra", "fox"]]
    rows = teacher.logits(words, None, "rows")
    assert [row.shape for row in rows] == [(2, 3), (20, 3), (3, 3)]
    assert np.isfinite(rows[0]).all() and np.isfinite(rows[2]).all()
    assert np.isnan(rows[1]).any(axis=-1).tolist() == [False] * 12 + [True] * 8  # its limit is 12 tokens


def test_word_logits_of_tokens() -> None:
    logits = np.arange(10, dtype=np.float32).reshape(5, 2)
    rows = word_logits(logits, [None, 0, 0, 2, None], 4)
    assert rows[[0, 2]].tolist() == [[2, 3], [6, 7]] and np.isnan(rows[[1, 3]]).all()


def test_a_teacher_without_a_tokenizer_is_refused(save_teacher) -> None:
    folder = save_teacher(LABELS)
    for file in folder.glob("token*"):
        file.unlink()
    with pytest.raises(ValueError, match="has no tokenizer; save it beside the model"):
        load(folder)


def test_a_teacher_without_weights_of_a_head_is_refused(save_teacher) -> None:
    folder = save_teacher(LABELS)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    model.config.architectures = None
    BertForQuestionAnswering(model.config).save_pretrained(folder)
    text = (folder / "config.json").read_text().replace("BertForQuestionAnswering", "BertForSequenceClassification")
    (folder / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"holds no weights for .*fine-tune it first"):
        load(folder)


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_teacher_that_is_not_there_is_refused(tmp_path, monkeypatch, name: str) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match=r"the teacher '.*' cannot be loaded \(.*\); give a folder or Hub id"):
        load(tmp_path / name)
