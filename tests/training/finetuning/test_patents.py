from vocabless.training.finetuning.patents import label_positions


def test_the_first_code_of_a_claim_differs_from_the_later_ones():
    assert label_positions(["A01B", "C07D"]) == ["First-A01B", "Later-C07D"]
    assert label_positions(["A01B", "A01B"]) == ["First-A01B"]
    assert label_positions([]) == []
