"""`siamese` models: the encoder reads each text of a pair as if it came alone."""

import pytest
import torch
from torch import Tensor

from vocabless import VocablessForMultipleChoice, VocablessForSequenceClassification
from vocabless.modeling.head_layers import Inputs, split_pairs

CLS, SEP = 2, 3
# Units of the two texts of each pair; None is no second text.
PAIRS: list[tuple[list[int], list[int] | None]] = [
    ([11, 12, 13], [21]),
    ([14], [22, 23, 24]),
    ([15, 16], None),
    ([17], []),
]


def sequence(first: list[int], second: list[int] | None = None) -> list[int]:
    return [CLS, *first, SEP] if second is None else [CLS, *first, SEP, *second, SEP]


def pad(rows: list[list[int]], width: int, side: str = "right") -> Tensor:
    zeros = [[0] * (width - len(row)) for row in rows]
    return torch.tensor([row + z if side == "right" else z + row for row, z in zip(rows, zeros, strict=True)])


def type_ids(first: list[int], second: list[int] | None) -> list[int]:
    return [0] * (len(first) + 2) + ([] if second is None else [1] * (len(second) + 1))


IDS, TYPES = pad([sequence(*pair) for pair in PAIRS], 9), pad([type_ids(*pair) for pair in PAIRS], 9)
MASK = (IDS > 0).long()


@pytest.mark.parametrize("side", ["right", "left"])
def test_each_text_gets_a_sequence_of_its_own(side: str) -> None:
    ids = pad([sequence(*pair) for pair in PAIRS], 9, side)
    types = pad([type_ids(*pair) for pair in PAIRS], 9, side)
    sequences, mask, *_ = split_pairs(Inputs(ids.unsqueeze(-1), (ids > 0).long(), types))
    rows = [row[kept > 0].tolist() for row, kept in zip(sequences.squeeze(-1), mask, strict=True)]
    assert rows == [
        *(sequence(first) for first, _ in PAIRS),
        *([CLS] if second is None else sequence(second) for _, second in PAIRS),
    ]
    if side == "right":
        assert mask.tolist() == [[1] * len(row) + [0] * (mask.shape[1] - len(row)) for row in rows]
        assert mask.shape[1] == max(map(len, rows))
        one = split_pairs(Inputs(ids[:1, :7].unsqueeze(-1), None, types[:1, :7]))  # without a mask all are tokens
        assert one[0].squeeze(-1)[one[1] > 0].tolist() == [*sequence(PAIRS[0][0]), *sequence(PAIRS[0][1])]


def spell(ids: Tensor, block_size: int) -> Tensor:
    """Returns blocks: special tokens as they are, every other unit as three bytes of its own."""
    blocks = torch.zeros(*ids.shape, block_size, dtype=torch.int64)
    blocks[..., 0] = ids
    is_unit = ids > 5
    blocks[..., 1] = torch.where(is_unit, ids + 60, 0)
    blocks[..., 2] = torch.where(is_unit, ids + 90, 0)
    return blocks


# Not canine, whose convolutions read padding.
@pytest.mark.parametrize("encoder", ["bert", "roberta", "modernbert"])
def test_the_head_reads_the_means_of_the_two_texts(encoder: str, config_of) -> None:
    config = config_of(encoder, classifier_pooling="siamese", num_labels=3)
    model = VocablessForSequenceClassification(config).eval()
    blocks, mask = spell(IDS, config.block_size), MASK

    def mean(units: list[int]) -> Tensor:
        states = model.vocabless(spell(torch.tensor([units]), config.block_size)).last_hidden_state
        return states[0].mean(dim=0)

    with torch.no_grad():
        expected = []
        for first, second in PAIRS:
            u, v = mean(sequence(first)), mean([CLS] if second is None else sequence(second))
            hidden = torch.tanh(model.classifier.dense(torch.cat([u, v, (u - v).abs(), u * v])))
            expected.append(model.classifier.out_proj(hidden))
        logits = model(blocks, attention_mask=mask).logits
        torch.testing.assert_close(logits, torch.stack(expected), atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(model(blocks, attention_mask=mask, token_type_ids=TYPES).logits, logits)
        embeds = model.vocabless.front_end(blocks)
        again = model(inputs_embeds=embeds, attention_mask=mask, token_type_ids=TYPES).logits
        torch.testing.assert_close(again, logits, atol=1e-5, rtol=1e-4)


def test_choices_are_pairs_too_and_every_parameter_of_the_head_learns(config_of) -> None:
    config = config_of("bert", classifier_pooling="siamese")
    blocks, mask = spell(IDS, config.block_size), MASK
    model = VocablessForMultipleChoice(config)
    output = model(blocks.unflatten(0, (2, 2)), attention_mask=mask.unflatten(0, (2, 2)), labels=torch.tensor([0, 1]))
    assert output.logits.shape == (2, 2)
    output.loss.backward()
    assert all(
        parameter.grad.any() for name, parameter in model.classifier.named_parameters() if "out_proj.bias" != name
    )


def test_embeddings_without_token_types_are_refused(config_of) -> None:
    config = config_of("bert", classifier_pooling="siamese")
    model = VocablessForSequenceClassification(config)
    with pytest.raises(ValueError, match=r"give input_ids, or inputs_embeds with token_type_ids"):
        model(inputs_embeds=torch.zeros(1, 4, config.embedding_size))


@pytest.mark.parametrize(
    ("options", "hold_places"), [({}, True), ({"focus": False, "pool_ngrams": True}, True), ({"focus": False}, False)]
)
def test_embeddings_that_hold_places_are_refused(options: dict, hold_places: bool, config_of) -> None:
    """The second text is read from place 0, but its embeddings were made at its place in the pair."""
    shape = {"front_end": "elementwise", "block_size": 4, "front_end_options": {"max_tokens": 24, **options}}
    model = VocablessForSequenceClassification(config_of("bert", classifier_pooling="siamese", **shape)).eval()
    inputs, blocks = {"attention_mask": MASK, "token_type_ids": TYPES}, spell(IDS, 4)
    with torch.no_grad():
        logits, embeds = model(blocks, **inputs).logits, model.get_input_embeddings()(blocks)
        assert logits.shape == (4, 2)
        if hold_places:
            with pytest.raises(ValueError, match=r"hold the places of the whole pair; give input_ids"):
                model(inputs_embeds=embeds, **inputs)
        else:
            torch.testing.assert_close(model(inputs_embeds=embeds, **inputs).logits, logits)
