"""Words and subwords are aligned by the characters that they have in common."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from vocabless import load_tokenizer
from vocabless.training.distillation.alignment import align, alignment_weights

SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=2, max_size=6)


def test_a_hand_worked_example() -> None:
    words = torch.tensor([[[0, 0], [0, 3], [4, 9], [9, 10], [0, 0]]])
    subwords = torch.tensor([[[0, 0], [0, 3], [4, 6], [6, 10], [0, 0], [0, 0]]])
    assert alignment_weights(words, subwords)[0].tolist() == [
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 0.5, 0.5, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]


@given(SPANS, SPANS)
def test_weights_are_equal_for_all_subwords_with_a_common_character(words: list, subwords: list) -> None:
    words, subwords = ([(0, 0), *((start, start + length) for start, length in spans)] for spans in (words, subwords))
    weights = alignment_weights(torch.tensor([words]), torch.tensor([subwords]))[0]
    for index, (start, end) in enumerate(words):
        common = [bool(set(range(start, end)) & set(range(*span))) for span in subwords]
        common[0] = common[0] or index == 0  # the first tokens are aligned
        expected = [is_common / max(1, sum(common)) for is_common in common]
        torch.testing.assert_close(weights[index], torch.tensor(expected, dtype=torch.float32))


def test_texts_become_the_inputs_of_both_models_with_their_alignment(subwords) -> None:
    words = load_tokenizer("hashformer-md5-proj-tiny")
    pieces = PreTrainedTokenizerFast(tokenizer_file=subwords["wordpiece"], pad_token="[PAD]", unk_token="[UNK]")
    batch = align(["the lazy fox jumps over", "dogs"], words, pieces, max_words=6, max_subwords=64)
    assert batch["words"]["input_ids"].shape == (2, 6, 16)
    tokens = [pieces.convert_ids_to_tokens(ids) for ids in batch["subwords"]["input_ids"].tolist()]
    # This WordPiece tokenizer writes no [CLS], so the first subword is aligned with [CLS] as well as with its word.
    for row, text in enumerate((["the", "lazy", "fox", "jumps"], ["dogs"])):
        for position, word in enumerate(text, start=1):
            of_word = batch["weights"][row, position].nonzero().flatten().tolist()
            assert "".join(tokens[row][index].removeprefix("##") for index in of_word) == word
    assert not batch["weights"][1, 2:].any()  # [SEP] and padding
