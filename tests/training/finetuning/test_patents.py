from vocabless.training.finetuning.base_problem import Problem
from vocabless.training.finetuning.patents import label_positions
from vocabless.training.finetuning.problems import MultiLabel

# Elementwise 4.1: two patents with the same set of codes, their labels, and their encodings over the four labels.
PAPER = {
    ("A01B", "G06Q", "A01B"): (["First-A01B", "Later-G06Q", "Later-A01B"], [1, 0, 1, 1]),
    ("G06Q", "A01B"): (["First-G06Q", "Later-A01B"], [0, 1, 1, 0]),
}
LABELS = ["First-A01B", "First-G06Q", "Later-A01B", "Later-G06Q"]


def test_the_papers_two_patents_get_its_labels_and_encodings():
    problem: Problem = MultiLabel(LABELS)
    for codes, (labels, encoding) in PAPER.items():
        assert label_positions(codes) == labels
        assert problem.target(labels).tolist() == encoding


def test_a_label_is_given_once():
    assert label_positions(["A01B", "C07D", "C07D", "C07D"]) == ["First-A01B", "Later-C07D"]
    assert label_positions(["A01B"]) == ["First-A01B"]
    assert label_positions([]) == []
