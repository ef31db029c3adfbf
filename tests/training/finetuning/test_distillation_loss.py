"""The loss against a teacher, beside plain Python: of each kind of problem, and mixed with the labels."""

import math
import random

import numpy as np
import pytest
import torch

from vocabless import VocablessForSequenceClassification, load_config
from vocabless.training.finetuning.base_problem import IGNORED
from vocabless.training.finetuning.problems import MultiLabel, Regression, SingleLabel, Tagging

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
    loss = problem.distillation_loss(logits, targets, teacher, is_gold, 0.25, 2.0).item()
    assert loss == pytest.approx((0.25 * gold[0] + 0.75 * taught[0] + taught[1] + gold[2]) / 3)


def test_the_label_of_a_row_without_one_and_a_teacher_without_weight_change_nothing() -> None:
    problem = SingleLabel(LABELS)
    logits, teacher = numbers(6, 2, 3), numbers(7, 2, 3)
    is_gold = torch.tensor([False, False])
    losses = [
        problem.distillation_loss(logits, torch.tensor(targets), teacher, is_gold, 0.5, 1.0)
        for targets in ([0, 0], [1, 2])
    ]
    assert losses[0] == losses[1]
    targets = torch.tensor([2, 1])
    only_gold = problem.distillation_loss(logits, targets, teacher, ~is_gold, 1.0, 1.0)
    assert only_gold.item() == pytest.approx(problem.evaluation_loss(logits, targets).item())


def test_tags_are_learned_at_first_tokens() -> None:
    problem = Tagging(LABELS)
    logits = numbers(8, 2, 4, 3)
    targets = torch.tensor([[IGNORED, 1, IGNORED, 2], [0, IGNORED, IGNORED, IGNORED]])
    teacher, is_gold = numbers(9, 3, 3), torch.tensor([True, True, False])
    first = torch.stack([logits[0, 1], logits[0, 3], logits[1, 0]])
    expected = SingleLabel(LABELS).distillation_loss(first, torch.tensor([1, 2, 0]), teacher, is_gold, 0.5, 2.0)
    assert problem.distillation_loss(logits, targets, teacher, is_gold, 0.5, 2.0).item() == pytest.approx(
        expected.item()
    )


def test_a_missing_teacher_gives_finite_gradients() -> None:
    logits = numbers(10, 2, 3).requires_grad_()
    teacher = torch.full((2, 3), NAN, dtype=logits.dtype)
    loss = SingleLabel(LABELS).distillation_loss(
        logits, torch.tensor([0, 0]), teacher, torch.tensor([True, False]), 0.5, 2.0
    )
    loss.backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
    assert logits.grad[1].abs().sum() == 0
