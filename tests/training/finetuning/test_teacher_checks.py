"""Which teachers fit which problems, and how their labels are matched."""

import pytest
from transformers import BertConfig

from vocabless.training.finetuning.problems import MultiLabel, Regression, SingleLabel, Tagging
from vocabless.training.finetuning.task_teacher import check_head, label_order

CLASSIFIER, TAGGER = "BertForSequenceClassification", "BertForTokenClassification"


def config_of(labels: list[str], architecture: str = CLASSIFIER, problem_type: str | None = None) -> BertConfig:
    return BertConfig(
        architectures=[architecture],
        id2label=dict(enumerate(labels)),
        problem_type=problem_type,
        num_labels=len(labels),
    )


@pytest.mark.parametrize(
    ("teacher", "task", "order"),
    [
        (["a", "b", "c"], ["a", "b", "c"], [0, 1, 2]),
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "neutral", "contradiction"], [2, 1, 0]),
        (["LABEL_0", "LABEL_1"], ["negative", "positive"], [0, 1]),
        (["negative", "positive"], ["0", "1"], [0, 1]),
        (["1", "0"], ["0", "1"], [1, 0]),
        (["b", "B"], ["B", "b"], [1, 0]),
    ],
)
def test_labels_are_matched_by_name_and_generic_ones_by_position(
    teacher: list[str], task: list[str], order: list[int]
) -> None:
    assert label_order("t", config_of(teacher), SingleLabel(task)) == order


def test_a_regression_has_one_output_of_any_name() -> None:
    assert label_order("t", config_of(["score"]), Regression()) == [0]


@pytest.mark.parametrize(
    ("teacher", "problem", "sentence"),
    [
        (["a", "b"], SingleLabel(["a", "c"]), "'t' knows the labels a, b, but the task has a, c; give"),
        (["a", "b"], SingleLabel(["a", "b", "c"]), "has 2 outputs .a, b., but the task has 3 .a, b, c."),
        (["a", "b"], Regression(), "has 2 outputs .a, b., but the task has 1 .a number."),
        ([f"l{n}" for n in range(11)], SingleLabel(["a", "b"]), "l7 and 3 more"),
    ],
)
def test_other_labels_are_refused_and_both_sets_named(teacher: list[str], problem, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        label_order("t", config_of(teacher), problem)


@pytest.mark.parametrize(
    ("config", "problem", "sentence"),
    [
        (config_of(["a", "b"], TAGGER), SingleLabel(["a", "b"]), "is a BertForTokenClassification and cannot teach"),
        (config_of(["a", "b"]), Tagging(["a", "b"]), "ends in ForTokenClassification"),
        (config_of(["a", "b"], "BertForQuestionAnswering"), SingleLabel(["a", "b"]), "is a BertForQuestionAnswering"),
        (config_of(["a", "b"], "BertForMaskedLM"), SingleLabel(["a", "b"]), "is a BertForMaskedLM"),
        (config_of(["a", "b"], "BertModel"), SingleLabel(["a", "b"]), "is a BertModel"),
        (
            config_of(["a", "b"], problem_type="multi_label_classification"),
            SingleLabel(["a", "b"]),
            "does multi_label_classification, but the task is single_label_classification",
        ),
        (config_of(["a"]), MultiLabel(["a"]), "does regression, but the task is multi_label"),
    ],
)
def test_another_kind_of_head_is_refused(config: BertConfig, problem, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_head("t", config, problem)


def test_a_head_that_does_not_say_its_kind_passes() -> None:
    check_head("t", BertConfig(num_labels=2), MultiLabel(["a", "b"]))
    check_head("t", config_of(["a"]), Regression())
    check_head("t", config_of(["a", "b"], TAGGER), Tagging(["a", "b"]))
