"""Exports a model as an ONNX graph, in fp32 and with 8-bit weights, for any batch size and sequence length.

The graph has one input, the blocks. It computes the attention mask and the token types from the blocks. It also
computes the hashes, so that it needs no table of words.
"""
# mypy: no-warn-return-any

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import bidirectional_mask_function, eager_mask

from vocabless.modeling.blocks import NUM_ELEMENTS, NUM_SPECIAL, attention_mask_of, token_type_ids_of
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.modeling.unit_front_end import UnitFrontEnd
from vocabless.saving.checkpoint_files import first_line
from vocabless.tokenization.block_coders import CLS, PAD, SEP, special_blocks

INPUT = "input_ids"
EXAMPLE_SHAPE = (3, 7)  # batch, sequence; the exporter would make a dimension of 0 or 1 a constant
QUANTIZED_OPS = ["MatMul", "Gemm", "Gather"]  # Gather reads the tables of positions, buckets and bytes
Proto = Any  # onnx.ModelProto; onnx is an optional requirement, so the functions that use it import it


def attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float, **kwargs: Any
) -> tuple[Tensor, None]:
    """Computes attention in few operations: query, key and value (B, heads, S, d) → (B, S, heads, d).

    `mask` is added to the scores. The other arguments are those of transformers, and have no effect.
    """
    scores = query @ key.transpose(2, 3) * scaling + mask
    return (scores.softmax(dim=-1) @ value).transpose(1, 2), None


def additive_mask(*args: Any, **kwargs: Any) -> Tensor:
    """Returns the mask that is added to the scores, (B, 1, 1, S): 0 for tokens, the smallest number for padding.

    transformers computes the same mask with a graph of twenty nodes. Its own mask is used only if a token does not see
    all others, as in the windows of ModernBERT.
    """
    if kwargs["mask_function"] is not bidirectional_mask_function:
        return eager_mask(*args, **kwargs)
    is_token, dtype = kwargs["attention_mask"], kwargs["dtype"]
    return torch.where(is_token[:, None, None, :], torch.zeros((), dtype=dtype), torch.finfo(dtype).min)


ATTENTION = "vocabless-onnx"
AttentionInterface.register(ATTENTION, attention)
AttentionMaskInterface.register(ATTENTION, additive_mask)


class BlocksOnly(nn.Module):
    """A model whose only input is the blocks, (B, S, K) int64, and whose output is a tuple.

    With `is_pair`, tokens after the first [SEP] get token type 1.
    """

    def __init__(self, model: PreTrainedModel, is_pair: bool) -> None:
        super().__init__()
        self.model = model
        self.is_pair = is_pair

    def forward(self, input_ids: Tensor) -> tuple[Tensor, ...]:
        """Returns the outputs of the head."""
        inputs = {"attention_mask": attention_mask_of(input_ids)}
        if self.is_pair:
            inputs["token_type_ids"] = token_type_ids_of(input_ids)
        front_end = cast(VocablessModel, self.model.base_model).front_end
        has_wide_part = getattr(getattr(self.model, "classifier", None), "wide", None) is not None
        if isinstance(front_end, UnitFrontEnd):
            inputs["inputs_embeds"], length = embed_distinct(front_end, input_ids)
            if has_wide_part:
                inputs[INPUT] = input_ids[..., :length]
        else:
            inputs[INPUT] = input_ids
        return tuple(outputs_of(self.model, inputs).values())


def outputs_of(model: PreTrainedModel, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the outputs of the head by name, without hidden states and attentions.

    They are of the whole texts: who runs a graph reads the sentences of a text with it, too, see `OnnxClassifier`.
    """
    config: Any = model.config
    reads_sentences, config.classifier_reads_sentences = config.classifier_reads_sentences, False
    try:
        return dict(model(**inputs, output_hidden_states=False, output_attentions=False))
    finally:
        config.classifier_reads_sentences = reads_sentences


def output_names(model: PreTrainedModel) -> list[str]:
    """Returns the names of the head's outputs, in the order of the graph."""
    with torch.no_grad():
        return list(outputs_of(model, {INPUT: example_blocks(model)}))


def embed_distinct(front_end: UnitFrontEnd, blocks: Tensor) -> tuple[Tensor, int]:
    """Returns what `front_end(blocks)` returns for (…, K) int64, and the length of the longest unit in elements.

    The graph embeds each distinct unit once. A traced front end would embed every token up to the end of its block,
    which takes longer than the encoder. The length is at least `traced_length`; K if units are not cut.
    """
    units = front_end.replace_special_tokens(blocks).flatten(0, -2)
    if front_end.traced_length is not None:
        units = cut_blocks(units, front_end.traced_length)
    units, inverse = units.unique(dim=0, return_inverse=True)
    embeddings = front_end.embed_units(units).index_select(0, inverse).unflatten(0, blocks.shape[:-1])
    return embeddings, units.shape[-1]


def cut_blocks(blocks: Tensor, shortest: int) -> Tensor:
    """Returns blocks (…, K) without the places after the longest unit, but with at least so many."""
    block_size = blocks.shape[-1]
    if shortest > block_size:
        return blocks
    longest = (blocks.flatten(0, -2).amax(dim=0) > 0).sum().clamp(min=shortest).item()
    torch._check(shortest <= longest)  # tells the exporter the range of the length
    torch._check(longest <= block_size)
    return blocks[..., :longest]


def export(model: PreTrainedModel, is_pair: bool) -> Proto:
    """Returns a model with any head as ONNX, without debugging information. All dimensions but K are dynamic.

    Raises:
        ValueError: the graph of the encoder depends on the batch size or the sequence length.
    """
    example, names = example_blocks(model), output_names(model)
    wrapped = BlocksOnly(model, is_pair).eval()
    base = cast(VocablessModel, model.base_model)
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=base.max_tokens)}
    own_attention = base.encoder.config._attn_implementation
    base.encoder.set_attn_implementation(ATTENTION)
    try:
        with _no_warnings(), tqdm(total=2, desc="Graph", leave=False) as bar:
            # In two steps: `torch.onnx.export` alone would make constants of dimensions that it cannot keep dynamic.
            traced = torch.export.export(wrapped, (example,), dynamic_shapes={INPUT: axes}, strict=False)
            bar.update()
            program = torch.onnx.export(traced, dynamo=True, input_names=[INPUT], output_names=names, verbose=False)
    except RuntimeError as error:
        raise ValueError(
            f"the ONNX graph of the encoder {base.encoder.config.model_type!r} depends on the batch size or the "
            f"sequence length ({first_line(error)}); choose a model with another encoder, such as bert or roberta."
        ) from error
    finally:
        base.encoder.set_attn_implementation(own_attention)
    return remove_debug_info(cast(Any, program).model_proto)


def example_blocks(model: PreTrainedModel) -> Tensor:
    """Returns random blocks with special tokens and padding, (B, S, K)."""
    block_size = cast(Any, model.config).block_size
    generator = torch.Generator().manual_seed(0)
    blocks = torch.randint(NUM_SPECIAL, NUM_ELEMENTS, (*EXAMPLE_SHAPE, block_size), generator=generator)
    special = torch.from_numpy(special_blocks(block_size)).long()
    blocks[:, 0], blocks[:, -2], blocks[:, -1] = special[CLS], special[SEP], special[PAD]
    return blocks


def remove_debug_info(proto: Proto) -> Proto:
    """Removes stack traces, documentation and inferred shapes, often larger than a small model; returns `proto`."""
    graph = proto.graph
    del graph.value_info[:]
    for part in (proto, graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    return proto


def quantize(proto: Proto, file: str | os.PathLike[str]) -> None:
    """Writes the graph of `export` to a file with 8-bit weights. Activations are quantised at run time; sums are exact.

    Weights are signed, which is the fastest form on processors with VNNI, and use 7 of the 8 bits: on processors
    without VNNI, the sum of two products of 8-bit numbers would saturate. Each column of a matrix has a scale.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _no_warnings():
        quantize_dynamic(
            proto,
            file,
            op_types_to_quantize=QUANTIZED_OPS,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
        )
    onnx.save(remove_debug_info(onnx.load(file)), file)


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Hides the log lines and warnings of the exporters within a `with` block."""
    disabled_level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled_level)


def session_of(graph: os.PathLike[str] | bytes, num_threads: int) -> Any:
    """Returns an onnxruntime session of a file or its bytes on the CPU, with so many threads for an operation."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def run_session(session: Any, blocks: Tensor) -> Sequence[Tensor]:
    """Returns the outputs of a session for some blocks, in the order of the graph."""
    return [torch.from_numpy(output) for output in session.run(None, {INPUT: blocks.numpy()})]
