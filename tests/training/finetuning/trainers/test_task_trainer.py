"""The loss of rows that count more than others."""

import pytest
import torch
from transformers import DataCollatorWithPadding, TrainingArguments

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.training.finetuning.tasks.data import WEIGHT
from vocabless.training.finetuning.tasks.problems import SingleLabel
from vocabless.training.finetuning.trainers.task_trainer import TaskTrainer

TEXTS = {"a red house": 0, "a blue river": 1, "no": 1}


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e-6])
def test_a_row_of_weight_three_has_the_loss_and_gradient_of_the_row_three_times(scale, tmp_path):
    torch.manual_seed(0)
    model = VocablessForSequenceClassification(load_config("ewe-bert-word-tiny", num_labels=2)).eval()
    tokenizer = load_tokenizer("ewe-bert-word-tiny")
    rows = [{"input_ids": tokenizer(text)["input_ids"], "label": label} for text, label in TEXTS.items()]
    weighted = [{**row, WEIGHT: scale * weight} for row, weight in zip(rows, (3.0, 1.0, 1.0), strict=True)]
    collate = DataCollatorWithPadding(tokenizer)
    training = TrainingArguments(str(tmp_path), report_to="none", use_cpu=True)
    trainer = TaskTrainer(SingleLabel(["cold", "warm"]), model, weighted, training, collate)
    losses, gradients = [], []
    for loss in (
        lambda: trainer.clean_loss(model, collate(weighted)),
        lambda: model(**collate([rows[0], rows[0], *rows])).loss,
    ):
        model.zero_grad()
        losses.append(loss())
        losses[-1].backward()
        gradients.append(model.classifier.dense.weight.grad.clone())
    torch.testing.assert_close(*losses)
    torch.testing.assert_close(*gradients)
