"""Properties that every row of the table of front ends must have, and the options that are refused."""

import math

import pytest
import torch
from front_end_blocks import EXAMPLES, SPECIALS, build, digests, special, units

from vocabless.modeling.blocks import NUM_SPECIAL
from vocabless.modeling.front_ends import FRONT_ENDS, build_front_end
from vocabless.overrides import default_options

WIDTH = 64
# Front end → number of parameters, a Python expression of K, D, `ceil` and the names of the options.
NUM_PARAMETERS = {
    "bucket": "(num_buckets + 5) * D",
    "pool": "(2**codeword_bits + ceil(num_bits / codeword_bits) + 6) * D",
    "add": "(2 * num_bits + 6) * D",
    "projection": "(num_bits + 6) * D",
    "linear": "num_bits * D",
    "ngram": "0",
    "random_normal": "0",
    "hash_embedding": "(num_rows + 7) * D",
    "elementwise": "(261 + focus * max_tokens * K) * D // K + pool_ngrams * (D // K + 1)",
}
PARAMETERS = [
    pytest.param(name, block_size, options, id="-".join([name, *(f"{key}={options[key]}" for key in options)]))
    for name in FRONT_ENDS
    for block_size, options in EXAMPLES[name]
]

COMPILED = ("hash_embedding", "elementwise", "ngram", "pool")  # by default, one example of each
all_examples = pytest.mark.parametrize(("name", "block_size", "options"), PARAMETERS)


def example_blocks(block_size: int) -> torch.Tensor:
    """(400, 1, K): one ordinary token in each sequence, with and without padding in its block."""
    return torch.tensor(digests(block_size, 200) + units(block_size, 200)).unsqueeze(1)


@all_examples
def test_the_number_of_parameters_is_the_formula_of_the_row(name: str, block_size: int, options: dict) -> None:
    for width in (WIDTH, 3 * WIDTH):
        values = {"K": block_size, "D": width, "ceil": math.ceil, **default_options(FRONT_ENDS[name]), **options}
        front_end = build_front_end(name, block_size, width, options)
        got = sum(parameter.numel() for parameter in front_end.parameters())
        assert got == eval(NUM_PARAMETERS[name], values)


@all_examples
def test_special_tokens_differ_from_each_other_and_from_every_ordinary_token(
    name: str, block_size: int, options: dict
) -> None:
    front_end = build_front_end(name, block_size, WIDTH, options)
    front_end.init_weights(0.02)
    own = front_end(torch.tensor([special(index, block_size) for index in SPECIALS]).unsqueeze(1))[:, 0]
    distances = torch.cdist(own, torch.cat([own, front_end(example_blocks(block_size))[:, 0]]))
    distances[range(NUM_SPECIAL), range(NUM_SPECIAL)] = 1
    assert distances.min() > 1e-3


@all_examples
def test_equal_tokens_have_equal_embeddings_and_others_differ(name: str, block_size: int, options: dict) -> None:
    """Position matters only to a front end with `max_tokens`, and neighbours only to one that pools across tokens."""
    front_end, blocks = build(name, block_size, WIDTH, **options), example_blocks(block_size)
    alone = front_end(blocks)[:, 0]
    assert torch.allclose(front_end(blocks.flip(0)).flip(0)[:, 0], alone, atol=1e-6)
    length = front_end.max_tokens or len(blocks)
    is_alone = front_end.max_tokens is None and not options.get("pool_ngrams")
    sequence = blocks[:length].flatten(0, 1).unsqueeze(0)
    together = front_end(sequence)[0]
    reversed_order = front_end(sequence.flip(1)).flip(1)[0]
    assert torch.allclose(together, alone[:length], atol=1e-6) == is_alone
    assert torch.allclose(reversed_order, together, atol=1e-6) == is_alone
    assert (alone[20:30] - alone[30:40]).abs().sum(dim=-1).min() > 1e-3


@all_examples
def test_bfloat16_and_autocast_stay_near_float32(name: str, block_size: int, options: dict) -> None:
    front_end, blocks = build(name, block_size, WIDTH, **options), example_blocks(block_size)
    exact = front_end(blocks)
    assert exact.dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under_autocast = front_end(blocks)
    limit = 0.02 * exact.abs().max()
    assert (under_autocast.float() - exact).abs().max() < limit
    assert (front_end.bfloat16()(blocks).float() - exact).abs().max() < limit


@all_examples
def test_an_empty_batch_and_an_empty_sequence_keep_their_shape(name: str, block_size: int, options: dict) -> None:
    front_end = build(name, block_size, WIDTH, **options)
    for shape in ((0, 3), (2, 0), (2, 3)):
        assert front_end(torch.zeros(*shape, block_size, dtype=torch.int64)).shape == (*shape, WIDTH)


@all_examples
@pytest.mark.quick(*{e.values[0]: e.id for e in reversed(PARAMETERS) if e.values[0] in COMPILED}.values())
def test_the_compiled_front_end_agrees(name: str, block_size: int, options: dict) -> None:
    front_end = build(name, block_size, WIDTH, **options)
    torch._dynamo.reset()
    compiled = torch.compile(front_end, fullgraph=True, dynamic=True, backend="eager")
    blocks = example_blocks(block_size)
    with torch.no_grad():
        for sequences in (blocks[:40].view(10, 4, -1), blocks[-54:].view(9, 6, -1)):
            assert torch.allclose(compiled(sequences), front_end(sequences), atol=1e-5)


@pytest.mark.parametrize(("name", "block_size", "options", "message"), [
    ("bucket", 16, {"num_buckets": 2.5}, r"num_buckets=2\.5; give an integer from 1 to"),
    ("bucket", 16, {"buckets": 3}, r"'bucket' has no option 'buckets'; its options are num_buckets\."),
    ("add", 16, {"num_bits": 129}, r"num_bits=129 does not fit blocks of 16 bytes; give 121 to 128 bits, or .*=17"),
    ("ngram", 5, {}, r"block_size=5 is too small; give at least 6"),
    ("random_normal", 32, {"std": 0}, r"std=0; give a number above 0"),
    ("hash_embedding", 16, {"min_ngram": 4, "max_ngram": 3}, r"min_ngram=4 and max_ngram=3; give min_ngram ≤"),
    ("hash_embedding", 16, {"max_ngram": 9, "characters": True}, r"max_ngram=9; give an integer from 1 to 8"),
    ("elementwise", 5, {}, r"block_size=5 does not divide the embedding width 64; give for instance 4"),
    ("hash", 16, {}, r"unknown front_end 'hash'; choose one of bucket, pool, add, projection, linear, ngram"),
])  # fmt: skip
def test_a_wrong_option_is_refused_in_one_sentence(name: str, block_size: int, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        build_front_end(name, block_size, 64, options)
    assert "\n" not in str(error.value)
