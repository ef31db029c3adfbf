"""Learning from a teacher: its loss beside plain Python, batches of its logits, and texts without labels."""

import math
import random

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import TrainingArguments

from vocabless import VocablessForSequenceClassification, VocablessForTokenClassification, load_config, load_tokenizer
from vocabless.training.finetuning.base_problem import IGNORED
from vocabless.training.finetuning.distillation import (
    DistillingTrainer,
    collate,
    distillation_loss,
    read_unlabelled,
)
from vocabless.training.finetuning.problems import MultiLabel, Regression, SingleLabel, Tagging
from vocabless.training.finetuning.task_files import IS_GOLD, TEACHER_LOGITS, EncodedExamples, Examples
from vocabless.training.finetuning.tasks import Task

LABELS = ["a", "b", "c"]
ROWS = 40
NAN = math.nan


def numbers(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape) * 2)


def softmax(row: list[float], temperature: float) -> list[float]:
    exponentials = [math.exp(value / temperature) for value in row]
    return [value / sum(exponentials) for value in exponentials]


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def slow_cross_entropy(row: list[float], teacher: list[float], temperature: float) -> float:
    pairs = zip(softmax(teacher, temperature), softmax(row, temperature), strict=True)
    return -(temperature**2) * sum(p * math.log(q) for p, q in pairs)


def slow_binary(row: list[float], teacher: list[float], temperature: float) -> float:
    total = 0.0
    for value, taught in zip(row, teacher, strict=True):
        p, q = sigmoid(taught / temperature), sigmoid(value / temperature)
        total -= p * math.log(q) + (1 - p) * math.log(1 - q)
    return temperature**2 * total / len(row)


def slow_square(row: list[float], teacher: list[float], temperature: float) -> float:
    return (row[0] - teacher[0]) ** 2


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
@pytest.mark.parametrize(
    ("problem", "slow", "width"),
    [
        (SingleLabel(LABELS), slow_cross_entropy, 3),
        (Tagging(LABELS), slow_cross_entropy, 3),
        (MultiLabel(LABELS), slow_binary, 3),
        (Regression(), slow_square, 1),
    ],
)
def test_the_loss_against_a_teacher_is_that_of_its_equation(problem, slow, width: int, temperature: float) -> None:
    logits, teacher = numbers(1, ROWS, width), numbers(2, ROWS, width)
    expected = [slow(row, taught, temperature) for row, taught in zip(logits.tolist(), teacher.tolist(), strict=True)]
    assert problem.teacher_losses(logits, teacher, temperature).tolist() == pytest.approx(expected)


def test_a_value_worked_out_by_hand() -> None:
    """Logits (2, 0) against a teacher that is sure of class 1, and against one that does not know."""
    logits = torch.tensor([[2.0, 0.0]]).expand(2, 2)
    losses = SingleLabel(["a", "b"]).teacher_losses(logits, torch.tensor([[-50.0, 50.0], [0.0, 0.0]]), 1.0)
    assert losses.tolist() == pytest.approx([2.126928, 1.126928])  # log(1 + e²), and log(1 + e²) − 1


@pytest.mark.parametrize("problem", [SingleLabel(LABELS), MultiLabel(LABELS), Regression()])
def test_the_loss_of_the_labels_is_that_of_the_models_head(problem) -> None:
    chance = random.Random(3)
    label = {
        SingleLabel: lambda: chance.choice(LABELS),
        MultiLabel: lambda: chance.sample(LABELS, 2),
        Regression: chance.random,
    }[type(problem)]
    targets = torch.tensor(np.stack([problem.target(label()) for _ in range(6)]))
    targets = targets.float() if targets.is_floating_point() else targets
    config = load_config("eelbert-word-uno", **problem.config)
    model = VocablessForSequenceClassification(config).eval()
    inputs = torch.randint(5, 261, (6, 4, config.block_size))
    output = model(input_ids=inputs, labels=targets)
    assert problem.losses(output.logits, targets).mean().item() == pytest.approx(output.loss.item(), rel=1e-5)


def test_labels_and_teacher_are_mixed_where_there_are_both() -> None:
    problem = SingleLabel(LABELS)
    logits, teacher = numbers(4, 4, 3), numbers(5, 4, 3)
    teacher[2:] = NAN  # the teacher has no logits for the last two rows
    targets, is_gold = torch.tensor([1, 0, 2, 0]), torch.tensor([True, False, True, False])
    gold = problem.losses(logits, targets).tolist()
    taught = problem.teacher_losses(logits, teacher, 2.0).tolist()
    loss = distillation_loss(problem, logits, targets, teacher, is_gold, 0.25, 2.0).item()
    assert loss == pytest.approx((0.25 * gold[0] + 0.75 * taught[0] + taught[1] + gold[2]) / 3)


def test_the_label_of_a_row_without_one_and_a_teacher_without_weight_change_nothing() -> None:
    problem = SingleLabel(LABELS)
    logits, teacher = numbers(6, 2, 3), numbers(7, 2, 3)
    is_gold = torch.tensor([False, False])
    losses = [
        distillation_loss(problem, logits, torch.tensor(targets), teacher, is_gold, 0.5, 1.0)
        for targets in ([0, 0], [1, 2])
    ]
    assert losses[0] == losses[1]
    targets = torch.tensor([2, 1])
    only_gold = distillation_loss(problem, logits, targets, teacher, ~is_gold, 1.0, 1.0)
    assert only_gold.item() == pytest.approx(problem.evaluation_loss(logits, targets).item())


def test_tags_are_learned_at_first_tokens() -> None:
    problem = Tagging(LABELS)
    logits = numbers(8, 2, 4, 3)
    targets = torch.tensor([[IGNORED, 1, IGNORED, 2], [0, IGNORED, IGNORED, IGNORED]])
    teacher, is_gold = numbers(9, 3, 3), torch.tensor([True, True, False])
    first = torch.stack([logits[0, 1], logits[0, 3], logits[1, 0]])
    expected = distillation_loss(SingleLabel(LABELS), first, torch.tensor([1, 2, 0]), teacher, is_gold, 0.5, 2.0)
    assert distillation_loss(problem, logits, targets, teacher, is_gold, 0.5, 2.0).item() == pytest.approx(
        expected.item()
    )


def test_a_missing_teacher_gives_finite_gradients() -> None:
    logits = numbers(10, 2, 3).requires_grad_()
    teacher = torch.full((2, 3), NAN, dtype=logits.dtype)
    loss = distillation_loss(
        SingleLabel(LABELS), logits, torch.tensor([0, 0]), teacher, torch.tensor([True, False]), 0.5, 2.0
    )
    loss.backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
    assert logits.grad[1].abs().sum() == 0


VARIANT = "eelbert-word-uno"
TEXTS = ["red", "red green", "red green blue", "small dog"]


def examples_of(problem, labels, logits, texts=TEXTS, length=8, is_gold=True) -> EncodedExamples:
    examples = Examples(texts, labels=labels, logits=logits, is_gold=is_gold)
    return EncodedExamples(examples, problem, load_tokenizer(VARIANT), length)


@pytest.mark.parametrize(
    ("problem", "labels", "targets"),
    [
        (SingleLabel(["a", "b"]), ["b", "a", "b", "b"], [1, 0, 1, 1]),
        (Regression(), [0.5, 1.0, 1.5, 2.0], [0.5, 1, 1.5, 2]),
        (MultiLabel(["a", "b"]), [["a"], ["b"], [], ["a", "b"]], [[1, 0], [0, 1], [0, 0], [1, 1]]),
    ],
)
def test_a_batch_of_labelled_and_unlabelled_texts(problem, labels, targets) -> None:
    width = problem.config["num_labels"]
    logits = [np.full((1, width), row, np.float32) for row in range(4)]
    with_labels, without = (examples_of(problem, labels, logits, is_gold=is_gold) for is_gold in (True, False))
    batch = collate(problem.collator(load_tokenizer(VARIANT)), [with_labels[0], without[1], with_labels[2], without[3]])
    assert batch[TEACHER_LOGITS].tolist() == [[row] * width for row in range(4)]
    assert batch[IS_GOLD].tolist() == [True, False, True, False]
    assert batch["labels"][::2].tolist() == targets[::2]
    assert batch["input_ids"].shape[:2] == (4, 5)


def test_tags_keep_the_logits_of_the_words_that_the_student_reads() -> None:
    problem = Tagging(["O", "B-a"])
    words = [["red", "green", "blue"], ["dog"]]
    logits = [np.arange(6, dtype=np.float32).reshape(3, 2), np.full((1, 2), 9, np.float32)]
    labelled = examples_of(problem, [["O", "B-a", "O"], ["B-a"]], logits, words, length=4)  # two words and two marks
    unlabelled = examples_of(problem, None, logits, words, length=4, is_gold=False)
    batch = collate(problem.collator(load_tokenizer(VARIANT)), [labelled[0], unlabelled[0], labelled[1]])
    assert batch[TEACHER_LOGITS].tolist() == [[0, 1], [2, 3], [0, 1], [2, 3], [9, 9]]
    assert batch[IS_GOLD].tolist() == [True, True, False, False, True]
    assert (batch["labels"] != IGNORED).sum() == len(batch[IS_GOLD])


def test_an_evaluation_batch_is_that_of_the_problems_collator() -> None:
    problem = SingleLabel(["a", "b"])
    encoded = EncodedExamples(Examples(TEXTS, None, ["a"] * 4), problem, load_tokenizer(VARIANT), 8)
    batch = collate(problem.collator(load_tokenizer(VARIANT)), [encoded[0], encoded[1]])
    assert TEACHER_LOGITS not in batch and batch["labels"].tolist() == [0, 0]


def trainer_of(problem, model, train_set, folder, **options) -> DistillingTrainer:
    training = TrainingArguments(
        str(folder), use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True, lr_scheduler_type="constant",
        learning_rate=1e-2, optim="sgd", max_grad_norm=0, dataloader_pin_memory=False, **options,
    )  # fmt: skip
    return DistillingTrainer(
        problem, 0.5, 2.0, model=model, args=training, train_dataset=train_set,
        data_collator=problem.collator(load_tokenizer(VARIANT)), compute_metrics=problem.compute_metrics,
    )  # fmt: skip


def test_training_has_the_loss_of_the_problem_and_evaluation_that_of_the_labels(tmp_path) -> None:
    problem = SingleLabel(["a", "b"])
    torch.manual_seed(0)
    model = VocablessForSequenceClassification(load_config(VARIANT, **problem.config)).eval()
    logits = [np.array([[row, -1.0]], np.float32) for row in range(4)]
    train_set = examples_of(problem, ["a", "b", "a", "b"], logits)
    trainer = trainer_of(problem, model, train_set, tmp_path, per_device_train_batch_size=4)
    batch = next(iter(trainer.get_train_dataloader()))
    loss = trainer.compute_loss(model, dict(batch))
    outputs = model(**{n: v for n, v in batch.items() if n not in (TEACHER_LOGITS, IS_GOLD, "labels")})
    expected = distillation_loss(
        problem, outputs.logits, batch["labels"], batch[TEACHER_LOGITS], batch[IS_GOLD], 0.5, 2.0
    )
    assert loss.item() == pytest.approx(expected.item())
    encoded = EncodedExamples(Examples(TEXTS, None, list("abab")), problem, load_tokenizer(VARIANT), 8)
    metrics = trainer.evaluate(encoded)
    gold = problem.evaluation_loss(outputs.logits[batch["labels"].argsort()].double(), batch["labels"].sort().values)
    assert metrics["eval_loss"] == pytest.approx(gold.item(), rel=1e-4)


@pytest.mark.parametrize("head", [VocablessForSequenceClassification, VocablessForTokenClassification])
def test_accumulated_batches_give_the_gradient_of_one_large_batch(tmp_path, head) -> None:
    per_word = head is VocablessForTokenClassification
    problem = (Tagging if per_word else SingleLabel)(["a", "b"])
    texts = [["red", "dog"], ["small", "cat"]] if per_word else ["red dog", "small cat"]
    rows = 2 if per_word else 1
    weights = []
    for size, steps in ((2, 1), (1, 2)):
        torch.manual_seed(0)
        config = load_config(VARIANT, **problem.config)
        config.classifier_dropout = config.encoder_config.hidden_dropout_prob = 0.0
        config.encoder_config.attention_probs_dropout_prob = 0.0
        model = head(config)
        labels = None if per_word else ["a", "b"]
        teacher = [np.array([[1.0, -1.0]] * rows, np.float32)] * 2
        train_set = examples_of(problem, labels, teacher, texts, is_gold=False)
        options = {"per_device_train_batch_size": size, "gradient_accumulation_steps": steps, "max_steps": 1}
        trainer_of(problem, model, train_set, tmp_path / str(size), **options).train()
        weights.append(
            torch.cat([weight.flatten() for weight in model.state_dict().values() if weight.is_floating_point()])
        )
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=1e-6)


def task_of(*columns: str, problem: type = SingleLabel) -> Task:
    return Task("t", "T", problem(["a", "b"]), Examples([]), {}, text_columns=columns)


@pytest.fixture
def files(tmp_path) -> dict[str, str]:
    tables = {
        "more.parquet": {"sentence": ["one text", "", None, "another"], "label": ["z", "z", "z", "z"]},
        "pairs.jsonl": {"a": ["p", "q"], "b": ["r", "s"]},
        "words.parquet": {"tokens": [["one", "two"], []]},
        "other.csv": {"body": ["text"]},
        "empty.jsonl": {"sentence": [" ", ""]},
    }
    for name, columns in tables.items():
        table = Dataset.from_dict(columns)
        write = {"parquet": table.to_parquet, "jsonl": table.to_json, "csv": table.to_csv}[name.partition(".")[2]]
        write(str(tmp_path / name))
    (tmp_path / "lines.txt").write_text("first line\n\nsecond line\n")
    return {name: str(tmp_path / name) for name in [*tables, "lines.txt"]}


def test_lines_and_columns_of_single_texts_are_joined_without_empty_ones(files) -> None:
    examples = read_unlabelled([files["lines.txt"], files["more.parquet"]], task_of("sentence"))
    assert examples == Examples(["first line", "second line", "one text", "another"])


def test_pairs_and_lists_of_words_come_from_the_tasks_columns(files) -> None:
    assert read_unlabelled([files["pairs.jsonl"]], task_of("b", "a")) == Examples(["r", "s"], ["p", "q"])
    assert read_unlabelled([files["words.parquet"]], task_of("tokens", problem=Tagging)) == Examples([["one", "two"]])


@pytest.mark.parametrize(
    ("name", "task", "sentence"),
    [
        ("other.csv", task_of("sentence"), "no column 'sentence' in .*other.csv; its columns are body"),
        ("pairs.jsonl", task_of("a", "c"), "has no column c; its columns are a, b"),
        ("lines.txt", task_of("a", "b"), "has an unknown format"),
        ("more.parquet", task_of("sentence", problem=Tagging), "holds no lists of words"),
        ("other.csv", task_of("body", problem=Tagging), "holds no lists of words"),
        ("empty.jsonl", task_of("sentence"), "--unlabelled .* holds no text; give files with text"),
        ("none.txt", task_of("sentence"), "none.txt' does not exist"),
    ],
)
def test_a_file_that_does_not_fit_the_task_is_refused(files, name: str, task: Task, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_unlabelled([files.get(name, name)], task)
