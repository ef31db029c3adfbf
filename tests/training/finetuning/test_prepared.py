"""What is checked before a model is fitted."""

from types import SimpleNamespace

import pytest
from transformers import BertConfig, PreTrainedConfig

from vocabless import VocablessForSequenceClassification, load_config
from vocabless.training.finetuning.prepared import check_rejection, encoder_width
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.problems import Regression, SingleLabel

ROWS = Examples(["a"] * 30, labels=["x"] * 30)
DATA = TaskData("t", "t", SingleLabel(["x", "y"]), ROWS, {"": ROWS})


@pytest.mark.parametrize(("changes", "share", "label", "sentence"), [
    ({"problem": Regression()}, 0.05, "z", "reject is 0.05, but the model gives numbers; leave it out"),
    ({}, 0.05, "y", "reject_label is 'y', which is a label of the training rows; give another name"),
    ({}, 0.01, "z", "reject is 0.01, which 30 training rows cannot hold; give at least 99 rows, or a larger"),
    ({"validation": {}}, 0.05, "z", "reject is 0.05, which 30 training rows cannot hold"),
])  # fmt: skip
def test_what_cannot_turn_texts_away_is_named(changes, share, label, sentence):
    model = VocablessForSequenceClassification(load_config("ewe-bert-word-tiny"))
    with pytest.raises(ValueError, match=sentence):
        check_rejection(TaskData(**{**vars(DATA), **changes}), model, share, label)


def test_a_stock_model_is_named():
    with pytest.raises(ValueError, match="but the model is not of vocabless; leave it out"):
        check_rejection(DATA, SimpleNamespace(classifier=None), 0.05, "z")


def test_the_width_that_the_learning_rate_goes_by_is_that_of_the_encoder():
    configs = load_config("eelbert-word-mini"), BertConfig(hidden_size=512), PreTrainedConfig()
    assert [encoder_width(config) for config in configs] == [256, 512, 768]
