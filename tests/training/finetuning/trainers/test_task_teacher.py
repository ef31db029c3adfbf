"""Learning from a teacher: its loss beside plain Python, its logits beside those of its model, and its labels."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    TrainingArguments,
)

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.training.finetuning.tasks.arguments import GlueTrainingArguments
from vocabless.training.finetuning.tasks.data import Examples, TaskData, encode
from vocabless.training.finetuning.tasks.problems import MultiLabel, Regression, SingleLabel
from vocabless.training.finetuning.trainers.task_trainer import (
    IS_GOLD,
    TEACHER_LOGITS,
    TaskTrainer,
    distillation_loss,
)
from vocabless.training.finetuning.trainers.teacher import TaskTeacher, label_order, read_unlabelled, with_logits
from vocabless.training.output_cache import CACHE

LABELS = ["a", "b", "c"]
VARIANT = "eelbert-word-uno"
TEXTS = ["the quick brown fox", "lazy", "the fox jumps over the lazy dog and the dog jumps over the fox", "dog fox"]


def numbers(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape) * 2)


def slow_cross_entropy(row: list[float], teacher: list[float], temperature: float) -> float:
    ours, theirs = ([math.exp(value / temperature) for value in values] for values in (row, teacher))
    return -(temperature**2) * sum(t / sum(theirs) * math.log(o / sum(ours)) for t, o in zip(theirs, ours, strict=True))


def slow_binary(row: list[float], teacher: list[float], temperature: float) -> float:
    total = 0.0
    for value, taught in zip(row, teacher, strict=True):
        p, q = (1 / (1 + math.exp(-logit / temperature)) for logit in (taught, value))
        total -= p * math.log(q) + (1 - p) * math.log(1 - q)
    return temperature**2 * total / len(row)


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
@pytest.mark.parametrize(("problem", "slow", "targets"), [
    (SingleLabel(LABELS), slow_cross_entropy, torch.tensor([0, 2, 1, 0])),
    (MultiLabel(LABELS), slow_binary, (numbers(3, 4, 3) > 0).float()),
    (Regression(), lambda row, teacher, _: (row[0] - teacher[0]) ** 2, numbers(3, 4)),
])  # fmt: skip
def test_the_loss_mixes_labels_and_teacher_as_its_equations_say(problem, slow, targets, temperature: float) -> None:
    logits, teacher = numbers(1, 4, problem.config["num_labels"]), numbers(2, 4, problem.config["num_labels"])
    taught = [slow(row, other, temperature) for row, other in zip(logits.tolist(), teacher.tolist(), strict=True)]
    assert problem.teacher_losses(logits, teacher, temperature).tolist() == pytest.approx(taught)
    gold = problem.losses(logits, targets).tolist()
    weights = torch.tensor([0.25, 0.0, 0.25, 1.0])
    expected = sum(w * one + (1 - w) * other for w, one, other in zip(weights.tolist(), gold, taught, strict=True)) / 4
    loss = distillation_loss(problem, logits, targets, teacher, weights, temperature)
    assert loss.item() == pytest.approx(expected)


def test_a_value_worked_out_by_hand() -> None:
    """Logits (2, 0) against a teacher that is sure of class 1, and against one that does not know."""
    logits = torch.tensor([[2.0, 0.0]]).expand(2, 2)
    losses = SingleLabel(["a", "b"]).teacher_losses(logits, torch.tensor([[-50.0, 50.0], [0.0, 0.0]]), 1.0)
    assert losses.tolist() == pytest.approx([2.126928, 1.126928])  # log(1 + e²), and log(1 + e²) − 1


@pytest.mark.parametrize(
    ("problem", "labels"),
    [
        (SingleLabel(LABELS), list("abca")),
        (Regression(), [0.5, 1.0, 1.5, 2.0]),
        (MultiLabel(LABELS), [["a"], [], ["b", "c"], []]),
    ],
)
def test_accumulated_batches_give_the_gradient_of_one_large_batch_with_the_loss_of_all_rows(
    tmp_path, problem, labels
) -> None:
    logits = list(numbers(4, 4, problem.config["num_labels"]).float().numpy())
    train_set = []
    for is_gold, rows in ((True, slice(0, 2)), (False, slice(2, 4))):
        encoded = encode(Examples(TEXTS[rows], None, labels[rows]), problem, load_tokenizer(VARIANT), 8)
        train_set += with_logits(encoded, logits[rows], is_gold)
    weights = []
    for size in (4, 1):
        torch.manual_seed(0)
        config = load_config(VARIANT, **problem.config)
        config.classifier_dropout = config.encoder_config.hidden_dropout_prob = 0.0
        config.encoder_config.attention_probs_dropout_prob = 0.0
        model = VocablessForSequenceClassification(config)
        training = TrainingArguments(
            str(tmp_path), use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True, optim="sgd", max_steps=1,
            lr_scheduler_type="constant", learning_rate=1e-2, max_grad_norm=0, dataloader_pin_memory=False,
            per_device_train_batch_size=size, gradient_accumulation_steps=4 // size,
        )  # fmt: skip
        collator = DataCollatorWithPadding(load_tokenizer(VARIANT))
        trainer = TaskTrainer(problem, model, train_set, training, collator)
        if size == 4:
            batch = trainer.data_collator(train_set)
            loss = trainer.compute_loss(model.eval(), dict(batch)).item()
            own = model(**{name: batch[name] for name in ("input_ids", "attention_mask", "labels")})
            taught = batch["labels"], batch[TEACHER_LOGITS], 0.5 * batch[IS_GOLD]
            assert batch[IS_GOLD].tolist() == [True, True, False, False]
            assert loss == pytest.approx(distillation_loss(problem, own.logits, *taught, 2.0).item())
            assert problem.losses(own.logits, batch["labels"]).mean().item() == pytest.approx(own.loss.item())
        trainer.train()
        weights.append(torch.cat([each.flatten() for each in model.parameters()]))
    torch.testing.assert_close(*weights, rtol=0, atol=1e-6)


@pytest.fixture
def save_teacher(make_teacher, tmp_path, empty_cache):
    """Saves a BERT with random weights, a head and a WordPiece; returns its folder."""

    def save(labels: list[str], seed: int = 0) -> Path:
        folder = Path(make_teacher(tmp_path / "teacher"))
        options = {"id2label": dict(enumerate(labels)), "initializer_range": 0.5, "max_position_embeddings": 12}
        torch.manual_seed(seed)
        BertForSequenceClassification(BertConfig.from_pretrained(folder, **options)).save_pretrained(folder)
        return folder

    return save


def load(folder: Path, labels: list[str] = LABELS) -> TaskTeacher:
    training = GlueTrainingArguments(str(folder / "run"), per_device_eval_batch_size=2, use_cpu=True, report_to=[])
    return TaskTeacher(str(folder), SingleLabel(labels), training, False)


def test_logits_are_those_of_each_text_alone_in_the_order_of_the_tasks_labels(save_teacher) -> None:
    folder = save_teacher(LABELS)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    pairs = ["a dog", "the lazy dog", "fox", "over"]
    rows = load(folder, ["c", "a", "b"]).logits(Examples(TEXTS, pairs), "rows")
    for text, pair, row in zip(TEXTS, pairs, rows, strict=True):
        encoding = AutoTokenizer.from_pretrained(folder)(
            text, pair, truncation=True, max_length=12, return_tensors="pt"
        )
        np.testing.assert_allclose(row, model(**encoding).logits.detach().numpy()[0, [2, 0, 1]], rtol=0, atol=1e-5)


def test_logits_are_computed_once_for_the_weights_of_a_teacher(save_teacher, empty_cache, monkeypatch) -> None:
    batches, compute = [], TaskTeacher._compute
    monkeypatch.setattr(TaskTeacher, "_compute", lambda self, batch: batches.append(batch) or compute(self, batch))
    folder, examples = save_teacher(LABELS), Examples(TEXTS)
    first = load(folder).logits(examples, "rows")
    assert (load(folder, LABELS[::-1]).logits(examples, "other rows")[:, ::-1] == first).all()
    assert len(batches) == 2
    other = load(save_teacher(LABELS, seed=1)).logits(examples, "rows")  # in the same folder
    assert len(batches) == 4 and not np.allclose(first, other)
    load(folder).logits(Examples([*TEXTS[1:], "fox"]), "rows")
    assert len(batches) == 6 and len(list((empty_cache / CACHE).glob("*.arrow"))) == 3


@pytest.mark.parametrize(("teacher", "task", "order"), [
    (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "neutral", "contradiction"], [2, 1, 0]),
    (["LABEL_0", "LABEL_1"], ["negative", "positive"], [0, 1]),
    (["b", "B"], ["B", "b"], [1, 0]),
    (["score"], [], [0]),
])  # fmt: skip
def test_labels_are_matched_by_name_and_generic_ones_by_position(tmp_path, teacher, task, order) -> None:
    BertConfig(id2label=dict(enumerate(teacher))).save_pretrained(tmp_path)
    assert label_order(str(tmp_path), SingleLabel(task) if task else Regression(), False) == order


def test_unlabelled_texts_and_pairs_come_from_lines_and_columns_without_empty_ones(tmp_path) -> None:
    lines, table = tmp_path / "lines.txt", str(tmp_path / "table.parquet")
    lines.write_text("first line\n\nsecond line\n")
    Dataset.from_dict({"one": ["p", "", None, "q"], "two": ["r", "s", "t", "u"]}).to_parquet(table)
    single, pair = (
        TaskData("t", "T", SingleLabel(LABELS), Examples([]), {}, text_columns=c) for c in (("one",), ("two", "one"))
    )
    assert read_unlabelled([str(lines), table], single) == Examples(["first line", "second line", "p", "q"])
    assert read_unlabelled([table], pair) == Examples(["r", "u"], ["p", "q"])
    lines.write_text("\n \n")
    with pytest.raises(ValueError, match=r"--unlabelled .* holds no text; give files with text"):
        read_unlabelled([str(lines)], single)
