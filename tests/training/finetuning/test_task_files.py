from vocabless.training.finetuning.task_files import align_labels


def test_the_first_token_of_a_word_gets_the_words_label():
    # word 1 has two tokens; word 2 has none
    assert align_labels([None, 0, 1, 1, 3, None], [5, 6, 7, 8]) == ([-100, 5, 6, -100, 8, -100], [0, 1, 3])


def test_without_a_target_the_first_tokens_are_marked_for_prediction():
    assert align_labels([None, 0, 0, 1], None) == ([-100, 0, -100, 0], [0, 1])


def test_a_word_whose_tokens_are_not_adjacent_gets_one_label():
    assert align_labels([0, 1, 0], [4, 5]) == ([4, 5, -100], [0, 1])
