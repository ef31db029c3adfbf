"""`siamese` models: the encoder reads each text of a pair as if it came alone."""

import pytest
import torch
from front_end_blocks import make_config
from torch import Tensor

from vocabless import VocablessForSequenceClassification
from vocabless.modeling.head_layers import Inputs, split_pairs

CLS, SEP = 2, 3
# Units of the two texts of each pair; None is no second text.
PAIRS = (([11, 12, 13], [21]), ([14], [22, 23, 24]), ([15, 16], None), ([17], []))


def sequence(first: list[int], second: list[int] | None = None) -> list[int]:
    return [CLS, *first, SEP] if second is None else [CLS, *first, SEP, *second, SEP]


def second_of(pair: tuple[list[int], list[int] | None]) -> list[int]:
    return [CLS] if pair[1] is None else sequence(pair[1])


def pad(rows: list[list[int]], side: str = "right") -> Tensor:
    zeros = [[0] * (9 - len(row)) for row in rows]
    return torch.tensor([row + z if side == "right" else z + row for row, z in zip(rows, zeros, strict=True)])


ROWS = [sequence(*pair) for pair in PAIRS]
TYPE_ROWS = [[int(place > len(pair[0]) + 1) for place in range(len(sequence(*pair)))] for pair in PAIRS]
IDS, TYPES = pad(ROWS), pad(TYPE_ROWS)
MASK = (IDS > 0).long()


@pytest.mark.parametrize("side", ["right", "left"])
def test_each_text_gets_a_sequence_of_its_own(side: str) -> None:
    ids, types = pad(ROWS, side), pad(TYPE_ROWS, side)
    sequences, mask, *_ = split_pairs(Inputs(ids.unsqueeze(-1), (ids > 0).long(), types))
    rows = [row[kept > 0].tolist() for row, kept in zip(sequences.squeeze(-1), mask, strict=True)]
    assert rows == [*(sequence(first) for first, _ in PAIRS), *map(second_of, PAIRS)]
    if side == "right":
        width = max(map(len, rows))
        assert mask.tolist() == [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        one = split_pairs(Inputs(ids[:1, :7].unsqueeze(-1), None, types[:1, :7]))  # without a mask all are tokens
        assert one[0].squeeze(-1)[one[1] > 0].tolist() == [*sequence(PAIRS[0][0]), *second_of(PAIRS[0])]


def spell(ids: Tensor, block_size: int) -> Tensor:
    """Returns blocks: special tokens as they are, every other unit as three bytes of its own."""
    blocks = torch.zeros(*ids.shape, block_size, dtype=torch.int64)
    blocks[..., 0] = ids
    for place, shift in ((1, 60), (2, 90)):
        blocks[..., place] = torch.where(ids > 5, ids + shift, 0)
    return blocks


@pytest.mark.parametrize("encoder", ["bert", "roberta", "modernbert"])  # the convolutions of canine read padding
def test_the_head_reads_the_means_of_the_two_texts(encoder: str) -> None:
    config = make_config(encoder, classifier_pooling="siamese", num_labels=3)
    model = VocablessForSequenceClassification(config).eval()
    blocks = spell(IDS, config.block_size)

    def mean(units: list[int]) -> Tensor:
        states = model.vocabless(spell(torch.tensor([units]), config.block_size)).last_hidden_state
        return states[0].mean(dim=0)

    with torch.no_grad():
        means = [(mean(sequence(pair[0])), mean(second_of(pair))) for pair in PAIRS]
        read = torch.stack([torch.cat([u, v, (u - v).abs(), u * v]) for u, v in means])
        expected = model.classifier.out_proj(torch.tanh(model.classifier.dense(read)))
        for inputs in (
            {"input_ids": blocks}, {"input_ids": blocks, "token_type_ids": TYPES},
            {"inputs_embeds": model.vocabless.front_end(blocks), "token_type_ids": TYPES},
        ):  # fmt: skip
            torch.testing.assert_close(model(**inputs, attention_mask=MASK).logits, expected, atol=1e-5, rtol=1e-4)
    with pytest.raises(ValueError, match=r"give input_ids, or inputs_embeds with token_type_ids"):
        model(inputs_embeds=torch.zeros(1, 4, config.embedding_size))


@pytest.mark.parametrize(
    ("options", "hold_places"), [({}, True), ({"focus": False, "pool_ngrams": True}, True), ({"focus": False}, False)]
)
def test_embeddings_that_hold_places_are_refused(options: dict, hold_places: bool) -> None:
    """The second text is read from place 0, but its embeddings were made at its place in the pair."""
    options = {"front_end_options": {"max_tokens": 24, **options}, "classifier_pooling": "siamese"}
    model = VocablessForSequenceClassification(make_config("bert", "elementwise", **options)).eval()
    inputs, blocks = {"attention_mask": MASK, "token_type_ids": TYPES}, spell(IDS, 4)
    with torch.no_grad():
        logits, embeds = model(blocks, **inputs).logits, model.get_input_embeddings()(blocks)
        if hold_places:
            with pytest.raises(ValueError, match=r"hold the places of the whole pair; give input_ids"):
                model(inputs_embeds=embeds, **inputs)
        else:
            torch.testing.assert_close(model(inputs_embeds=embeds, **inputs).logits, logits)
