"""A model as an ONNX graph: blocks in, the head's outputs out, for any batch and length; the same with 8-bit weights.

The graph has one input. Padding and the second text of a pair are read off the blocks, where the tokenizer put them;
hashes are computed in the graph, so that no table of words goes with it.
"""
# mypy: allow-untyped-calls, no-warn-return-any

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import bidirectional_mask_function, eager_mask

from vocabless.modeling.blocks import NUM_ELEMENTS, NUM_SPECIAL
from vocabless.modeling.modeling_vocabless import VocablessForMultipleChoice, VocablessModel
from vocabless.modeling.ngram_front_ends import Ngram, Random
from vocabless.saving.sources import first_words
from vocabless.tokenization.block_coders import CLS, SEP

INPUT = "input_ids"
EXAMPLE_SHAPE = (3, 7)  # neither 0 nor 1, which the exporter takes for constants
QUANTIZED_OPS = ["MatMul", "Gemm", "Gather"]  # Gather: tables of positions, buckets and bytes
Proto = Any  # onnx.ModelProto; onnx itself is imported where it is used, since it is an optional requirement


def attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float, **kwargs: Any
) -> tuple[Tensor, None]:
    """Attention in the fewest operations: (B, heads, S, d) three times to (B, S, heads, d)."""
    scores = query @ key.transpose(2, 3) * scaling + mask
    return (scores.softmax(dim=-1) @ value).transpose(1, 2), None


def additive_mask(*args: Any, **given: Any) -> Tensor:
    """Returns what is added to the scores: (B, 1, 1, S), 0 for tokens, the least number for padding.

    The library's way to the same makes a graph of twenty nodes; where not every token is seen from everywhere, as in
    ModernBERT's windows, it is taken.
    """
    if given["mask_function"] is not bidirectional_mask_function:
        return eager_mask(*args, **given)
    tokens, dtype = given["attention_mask"], given["dtype"]
    return torch.where(tokens[:, None, None, :], torch.zeros((), dtype=dtype), torch.finfo(dtype).min)


ATTENTION = "vocabless-onnx"
AttentionInterface.register(ATTENTION, attention)
AttentionMaskInterface.register(ATTENTION, additive_mask)


@contextmanager
def plain_attention(model: PreTrainedModel) -> Iterator[None]:
    """Lets the encoder of `model` attend by `attention` for a while."""
    encoder = cast(VocablessModel, model.base_model).encoder
    before = encoder.config._attn_implementation
    encoder.set_attn_implementation(ATTENTION)
    try:
        yield
    finally:
        encoder.set_attn_implementation(before)


class BlocksOnly(nn.Module):
    """A model whose only input is blocks, (B, S, K) or (B, choices, S, K) int64, and whose output is a tuple.

    Args:
        model: of the family, with any head.
        has_pairs: whether tokens behind the first [SEP] get token type 1, as the tokenizer gives them.
    """

    def __init__(self, model: PreTrainedModel, has_pairs: bool) -> None:
        super().__init__()
        self.model = model
        self.has_pairs = has_pairs

    def forward(self, input_ids: Tensor) -> tuple[Tensor, ...]:
        """Returns the outputs of the head."""
        given = {"attention_mask": attention_mask(input_ids)}
        if self.has_pairs:
            given["token_type_ids"] = token_type_ids(input_ids)
        base = cast(VocablessModel, self.model.base_model)
        if isinstance(base.front_end, Ngram):
            given["inputs_embeds"] = hashed(base.front_end, input_ids)
        else:
            given[INPUT] = input_ids
        return tuple(outputs_of(self.model, given).values())


def outputs_of(model: PreTrainedModel, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the outputs of the head by name, hidden states and attentions aside."""
    return dict(model(**inputs, output_hidden_states=False, output_attentions=False))


def output_names(model: PreTrainedModel) -> list[str]:
    """Returns the names of the head's outputs, in the order of the graph."""
    with torch.no_grad():
        return list(outputs_of(model, {INPUT: example_blocks(model)}))


def attention_mask(blocks: Tensor) -> Tensor:
    """Returns which are tokens rather than padding, (…, S) bool: no token's block begins with 0.

    >>> attention_mask(torch.tensor([[[2, 0], [102, 120], [3, 0], [0, 0]]])).tolist()
    [[True, True, True, False]]
    """
    return blocks[..., 0] > 0


def token_type_ids(blocks: Tensor) -> Tensor:
    """Returns 1 for tokens behind the first [SEP], else 0, (…, S) int64.

    >>> token_type_ids(torch.tensor([[[2, 0], [102, 120], [3, 0], [102, 0], [3, 0], [0, 0]]])).tolist()
    [[0, 0, 0, 1, 1, 0]]
    """
    ends = (blocks[..., 0] == SEP).long()
    return ((ends.cumsum(dim=-1) > ends) & attention_mask(blocks)).long()


def hashed(front_end: Ngram, blocks: Tensor) -> Tensor:
    """Returns what `front_end(blocks)` returns, of blocks (…, K); each distinct unit is hashed once in the graph too.

    A traced model hashes every token to the end of its block, which takes longer than the encoder.
    """
    units, inverse = front_end.spell_special_tokens(blocks).flatten(0, -2).unique(dim=0, return_inverse=True)
    sizes, block_size = front_end.ngram_sizes, front_end.block_size
    if not isinstance(front_end, Random) and sizes <= block_size:
        longest = (units.amax(dim=0) > 0).sum().clamp(min=sizes).item()
        torch._check(sizes <= longest)
        torch._check(longest <= block_size)
        units = units[:, :longest]
    return front_end.hash_units(units).index_select(0, inverse).unflatten(0, blocks.shape[:-1])


def export(model: PreTrainedModel, has_pairs: bool) -> Proto:
    """Returns the model as ONNX, every dimension but K dynamic, without what only debugging needs.

    Raises:
        ValueError: the encoder has no graph that is the same for every batch and length.
    """
    example = example_blocks(model)
    axes = {0: "batch", example.ndim - 2: "sequence"} | ({1: "choices"} if example.ndim == 4 else {})
    wrapped, names = BlocksOnly(model, has_pairs).eval(), output_names(model)
    kind = cast(Any, model.config).encoder_config.model_type
    limits = {"sequence": cast(VocablessModel, model.base_model).max_tokens}
    dynamic = {INPUT: {axis: torch.export.Dim(name, max=limits.get(name)) for axis, name in axes.items()}}
    try:
        with _quiet(), plain_attention(model):
            # In two steps: `torch.onnx.export` alone would make constants of dimensions that it cannot keep dynamic.
            traced = torch.export.export(wrapped, (example,), dynamic_shapes=dynamic, strict=False)
            program = torch.onnx.export(
                traced,
                dynamo=True,
                input_names=[INPUT],
                output_names=names,
                verbose=False,
            )
    except RuntimeError as error:
        raise ValueError(
            f"the encoder {kind!r} has no ONNX graph that is the same for every batch and length "
            f"({first_words(error)}); choose a model over another encoder, such as bert or roberta."
        ) from error
    return without_notes(cast(Any, program).model_proto)


def example_blocks(model: PreTrainedModel) -> Tensor:
    """Returns blocks of the rank that the head takes, some of them special or padding."""
    size = cast(Any, model.config).block_size
    blocks = torch.randint(
        NUM_SPECIAL, NUM_ELEMENTS, (*EXAMPLE_SHAPE, size), generator=torch.Generator().manual_seed(0)
    )
    for position, special in ((0, CLS), (-2, SEP), (-1, 0)):
        blocks[:, position] = torch.tensor([special] + [0] * (size - 1))
    return blocks.unsqueeze(0).repeat(2, 1, 1, 1) if isinstance(model, VocablessForMultipleChoice) else blocks


def without_notes(proto: Proto) -> Proto:
    """Returns the graph without stack traces, documentation and inferred shapes, which can outweigh a small model."""
    for part in (proto, proto.graph):
        del part.metadata_props[:]
        part.doc_string = ""
    del proto.graph.value_info[:]
    for part in (*proto.graph.node, *proto.graph.initializer, *proto.graph.input, *proto.graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    return proto


def quantize(proto: Proto, file: str | os.PathLike[str]) -> None:
    """Writes the graph with 8-bit weights; activations are quantised as they come, sums stay exact.

    Weights are signed and use 7 bits: signed ones are quickest where there is VNNI, and where there is none, sums of
    two products of 8 bits would saturate.

    Args:
        proto: what `export` returns; its inferred shapes, which `without_notes` took away, would be wrong afterwards.
        file: to write.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _quiet():
        quantize_dynamic(
            proto, file, op_types_to_quantize=QUANTIZED_OPS, weight_type=QuantType.QInt8, reduce_range=True
        )
    onnx.save(without_notes(onnx.load(file)), file)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the exporters' notes on their own work from the user's screen."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def session_of(file: str | os.PathLike[str], num_threads: int) -> Any:
    """Returns an onnxruntime session on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.log_severity_level = 3  # errors
    return onnxruntime.InferenceSession(os.fspath(file), options, providers=["CPUExecutionProvider"])


def run_session(session: Any, blocks: Tensor) -> Sequence[Tensor]:
    """Returns the outputs of a session, in the order of the graph."""
    return [torch.from_numpy(output) for output in session.run(None, {INPUT: blocks.numpy()})]
