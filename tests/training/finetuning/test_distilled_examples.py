"""Examples with a teacher's logits keep them through padding and the Trainer."""

import numpy as np
import pytest
import torch
from transformers import TrainingArguments

from vocabless import (
    VocablessForSequenceClassification,
    VocablessForTokenClassification,
    load_config,
    load_tokenizer,
)
from vocabless.training.finetuning.base_problem import IGNORED
from vocabless.training.finetuning.distilled_examples import (
    IS_GOLD,
    TEACHER_LOGITS,
    DistillationCollator,
    DistilledExamples,
    DistillingTrainer,
)
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.problems import MultiLabel, Regression, SingleLabel, Tagging
from vocabless.training.finetuning.tasks import Examples

VARIANT = "eelbert-word-uno"
TEXTS = ["red", "red green", "red green blue", "small dog"]


def examples_of(problem, labels, logits, texts=TEXTS, length=8) -> DistilledExamples:
    encoded = EncodedExamples(Examples(texts, None, labels), problem, load_tokenizer(VARIANT), length)
    return DistilledExamples(encoded, logits, problem, labels is not None)


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
    with_labels, without = examples_of(problem, labels, logits), examples_of(problem, None, logits)
    collate = DistillationCollator(problem.collator(load_tokenizer(VARIANT)))
    batch = collate([with_labels[0], without[1], with_labels[2], without[3]])
    assert batch[TEACHER_LOGITS].tolist() == [[row] * width for row in range(4)]
    assert batch[IS_GOLD].tolist() == [True, False, True, False]
    assert batch["labels"][::2].tolist() == targets[::2]
    assert batch["input_ids"].shape[:2] == (4, 5)


def test_tags_keep_the_logits_of_the_words_that_the_student_reads() -> None:
    problem = Tagging(["O", "B-a"])
    words = [["red", "green", "blue"], ["dog"]]
    logits = [np.arange(6, dtype=np.float32).reshape(3, 2), np.full((1, 2), 9, np.float32)]
    labelled = examples_of(problem, [["O", "B-a", "O"], ["B-a"]], logits, words, length=4)  # two words and two marks
    unlabelled = examples_of(problem, None, logits, words, length=4)
    batch = DistillationCollator(problem.collator(load_tokenizer(VARIANT)))([labelled[0], unlabelled[0], labelled[1]])
    assert batch[TEACHER_LOGITS].tolist() == [[0, 1], [2, 3], [0, 1], [2, 3], [9, 9]]
    assert batch[IS_GOLD].tolist() == [True, True, False, False, True]
    assert (batch["labels"] != IGNORED).sum() == len(batch[IS_GOLD])


def test_an_evaluation_batch_is_that_of_the_problems_collator() -> None:
    problem = SingleLabel(["a", "b"])
    encoded = EncodedExamples(Examples(TEXTS, None, ["a"] * 4), problem, load_tokenizer(VARIANT), 8)
    batch = DistillationCollator(problem.collator(load_tokenizer(VARIANT)))([encoded[0], encoded[1]])
    assert TEACHER_LOGITS not in batch and batch["labels"].tolist() == [0, 0]


def trainer_of(problem, model, train_set, folder, **options) -> DistillingTrainer:
    training = TrainingArguments(
        str(folder), use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True, lr_scheduler_type="constant",
        learning_rate=1e-2, optim="sgd", max_grad_norm=0, dataloader_pin_memory=False, **options,
    )  # fmt: skip
    collate = problem.collator(load_tokenizer(VARIANT))
    return DistillingTrainer(
        problem, 0.5, 2.0, model=model, args=training, train_dataset=train_set, data_collator=collate,
        compute_metrics=problem.compute_metrics,
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
    expected = problem.distillation_loss(
        outputs.logits, batch["labels"], batch[TEACHER_LOGITS], batch[IS_GOLD], 0.5, 2.0
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
        train_set = examples_of(problem, None, [np.array([[1.0, -1.0]] * rows, np.float32)] * 2, texts)
        options = {"per_device_train_batch_size": size, "gradient_accumulation_steps": steps, "max_steps": 1}
        trainer_of(problem, model, train_set, tmp_path / str(size), **options).train()
        weights.append(
            torch.cat([weight.flatten() for weight in model.state_dict().values() if weight.is_floating_point()])
        )
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=1e-6)
