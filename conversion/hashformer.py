"""Converts the published HashFormers weights, `klein9692/hashformer-{md5,lsh}-{emb,pool,add,proj}`.

Every tensor is mapped or named as dropped. Theirs and ours differ in three ways, all of them exact:
- special tokens stand in another order: <s> <pad> </s> <unk> <mask>;
- the authors add the embedding of 128 zero bits to a special token's row (Pool: the padding row of the codebook, Add:
  ΣW₂/√128, Proj: nothing, zero bits have no correlation); here it is folded into the row;
- Pool's codebook has the padding row first.

MD5 models are the same from text to logits. The authors' LSH reads RoBERTa's BPE pieces and ours character n-grams, so
an LSH model is exact for the authors' blocks, while the tokenizer beside it writes blocks that it was not trained on.
"""
# mypy: allow-untyped-calls

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from vocabless import (
    VocablessForPreTraining,
    VocablessModel,
    VocablessTokenizer,
    load_config,
    load_tokenizer,
)
from vocabless.saving.sources import check_names, read_checkpoint
from vocabless.saving.targets import free_folder, write_checkpoint

CODERS = ("md5", "lsh")
ORDER = (1, 3, 0, 2, 4)  # the authors' rows of [PAD], [UNK], [CLS], [SEP], [MASK]
NUM_SPECIAL = len(ORDER)
EMBEDDINGS = "roberta.embeddings."
SPECIAL = "special_token_embeddings.weight"
BODY = {  # their prefix → ours
    f"{EMBEDDINGS}position_embeddings.": "encoder.embeddings.position_embeddings.",
    f"{EMBEDDINGS}token_type_embeddings.": "encoder.embeddings.token_type_embeddings.",
    f"{EMBEDDINGS}LayerNorm.": "encoder.embeddings.LayerNorm.",
    "roberta.encoder.": "encoder.encoder.",
}
DROPPED = {
    f"{EMBEDDINGS}position_ids": "the numbers 0, 1, 2, …",
    "roberta.pooler.": "shuffle-random pre-training does not use it",
}
SHAPE = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act", "hidden_dropout_prob",
    "attention_probs_dropout_prob", "max_position_embeddings", "type_vocab_size", "initializer_range", "layer_norm_eps",
)  # fmt: skip
NOTES = {
    "md5": "The tokenizer writes the authors' blocks: HMAC-MD5 with the key `en` of lower-cased words.",
    "lsh": "The authors' LSH reads the pieces of RoBERTa's BPE, this tokenizer's reads character n-grams: it writes "
    "other blocks than those that the model was trained on, so train the model further before relying on it. Given "
    "the authors' own blocks, the model gives the authors' own outputs.",
}
PAIRS = "A pair of texts has one separator between them, where the authors put two."


@dataclass(frozen=True)
class Kind:
    """One of the authors' four embeddings.

    Attributes:
        tensors: its names under `roberta.embeddings.`, which `fold` takes in this order; the first tells the kind.
        fold: returns our front end's tensors.
    """

    tensors: tuple[str, ...]
    fold: Callable[..., dict[str, Tensor]]


@dataclass(frozen=True)
class Converted:
    """A converted checkpoint.

    Attributes:
        model: with the shuffle-random head, if the source has it.
        tokenizer: the family's.
        mapped: how many tensors were taken.
        dropped: name of each tensor that was not, and why.
    """

    model: VocablessModel | VocablessForPreTraining
    tokenizer: VocablessTokenizer
    mapped: int
    dropped: dict[str, str]


def add_arguments(parser: ArgumentParser) -> None:
    """Declares what the verb takes."""
    parser.add_argument(
        "source", help="Hub id, or a folder with config.json and pytorch_model.bin or model.safetensors"
    )
    parser.add_argument("target", metavar="TARGET", help="new or empty folder")
    parser.add_argument("--coder", choices=CODERS, help="hash of the words; default: the one that SOURCE names")


def run(arguments: Namespace) -> str:
    """Converts; returns what was mapped and what was dropped."""
    folder = free_folder(arguments.target)
    coder = arguments.coder or _coder_named(arguments.source)
    config, tensors = read_checkpoint(arguments.source)
    converted = convert(config, tensors, coder, arguments.source)
    report = [_report(converted), NOTES[coder], PAIRS]
    made = f"`{arguments.source}`, published weights of HashFormers, as a checkpoint of the vocabless family."
    write_checkpoint(folder, converted.model, converted.tokenizer, arguments.source, [made, *report])
    return "\n".join(report)


def convert(config: dict[str, Any], tensors: dict[str, Tensor], coder: str, source: str = "") -> Converted:
    """Returns a checkpoint of the authors as one of this family.

    Args:
        config: their configuration.
        tensors: their state dict.
        coder: `md5` or `lsh`, which their tensors do not tell.
        source: its name, for errors.

    Raises:
        ValueError: tensors are missing, unexpected or of another shape than the configuration says.
    """
    if not any(name.startswith("roberta.") for name in tensors):  # saved without a head
        tensors = {f"roberta.{name}": tensor for name, tensor in tensors.items()}
    kind = _kind_of(tensors, source)
    front_end = [EMBEDDINGS + name for name in KINDS[kind].tensors]
    model, tokenizer = _build(kind, coder, config, tensors)
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    names = {ours: _their_name(ours) for ours in expected if "front_end." not in ours}
    dropped = {name: why for name in tensors for start, why in DROPPED.items() if name.startswith(start)}
    needed = {*names.values(), *front_end}
    check_names(source, sorted(needed - set(tensors)), sorted(set(tensors) - needed - set(dropped)))

    folded = _fold(KINDS[kind], {name: tensors[name].float() for name in front_end}, source)
    place = "front_end." if isinstance(model, VocablessModel) else "vocabless.front_end."
    mapped = {place + name: tensor for name, tensor in folded.items()}
    for ours, theirs in tqdm(names.items(), desc="Mapping tensors", unit="tensor"):
        mapped[ours] = tensors[theirs].float()
    _check_shapes(mapped, expected, names, source)
    model.load_state_dict(mapped)
    return Converted(model, tokenizer, len(needed), dropped)


def _check_shapes(
    mapped: dict[str, Tensor], expected: dict[str, torch.Size], names: dict[str, str], source: str
) -> None:
    for ours, shape in expected.items():
        if mapped[ours].shape != shape:
            raise ValueError(
                f"{names.get(ours, ours)} of {source!r} makes {tuple(mapped[ours].shape)}, but its config.json asks "
                f"for {tuple(shape)}; give the configuration that belongs to these weights."
            )


def _coder_named(source: str) -> str:
    named = [coder for coder in CODERS if coder in source.lower()]
    if len(named) != 1:
        raise ValueError(
            f"{source!r} does not say which hash it was trained on; give --coder {' or --coder '.join(CODERS)}."
        )
    return named[0]


def _kind_of(tensors: dict[str, Tensor], source: str) -> str:
    found = [name for name, kind in KINDS.items() if EMBEDDINGS + kind.tensors[0] in tensors]
    if len(found) != 1:
        known = ", ".join(EMBEDDINGS + kind.tensors[0] for kind in KINDS.values())
        raise ValueError(
            f"{source!r} is no HashFormer: of {known} it has {len(found)}, not one; give a checkpoint of its authors."
        )
    return found[0]


def _build(
    kind: str, coder: str, config: dict[str, Any], tensors: dict[str, Tensor]
) -> tuple[VocablessModel | VocablessForPreTraining, VocablessTokenizer]:
    """Returns a model, with random weights, and a tokenizer for tensors of that kind."""
    encoder = {name: config[name] for name in SHAPE if name in config}
    encoder |= {"model_type": "roberta", "pad_token_id": 1}  # positions are counted from 2
    row, reads, writes = f"hashformer-{coder}-{kind}-base", {}, {}
    if kind == "emb":
        buckets = len(tensors[f"{EMBEDDINGS}word_embeddings.weight"]) - NUM_SPECIAL
        row = f"hashformer-{coder}-{'emb1k' if buckets == 1_033 else 'emb50k'}-base"
        reads = {"num_buckets": buckets}
        writes = {"num_hyperplanes": buckets} if coder == "lsh" else {}
    tokenizer = load_tokenizer(row, coder_options=writes)
    model_config = load_config(row, encoder_config=encoder, front_end_options=reads, block_size=tokenizer.block_size)
    model = VocablessForPreTraining(model_config) if "dense.weight" in tensors else VocablessModel(model_config)
    tokenizer.model_max_length = model.base_model.max_tokens
    return model.eval(), tokenizer


def _their_name(ours: str) -> str:
    ours = ours.removeprefix("vocabless.")
    theirs = next((start for start, place in BODY.items() if ours.startswith(place)), "")
    return theirs + ours.removeprefix(BODY.get(theirs, ""))


def _fold(kind: Kind, tensors: dict[str, Tensor], source: str) -> dict[str, Tensor]:
    try:
        return kind.fold(*tensors.values())
    except (RuntimeError, IndexError) as error:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
        raise ValueError(f"the shapes in {source!r} do not belong together: {shapes}; fetch it again.") from error


def _rows(special: Tensor, constant: Tensor | float = 0.0) -> Tensor:
    """Returns the rows of token kinds, (6, D): a special token's with the constant that the authors add to it."""
    return torch.cat([special[list(ORDER)] + constant, special[NUM_SPECIAL:]])


def _emb(words: Tensor) -> dict[str, Tensor]:
    return {"embeddings.weight": _rows(words)}


def _pool(components: Tensor, weights: Tensor, special: Tensor) -> dict[str, Tensor]:
    rows = _rows(special, components[0])  # the 13 weights of a column sum to one
    return {"token_kinds.weight": rows, "codebook.weight": components[1:].clone(), "weights": weights}


def _add(ones: Tensor, zeros: Tensor, special: Tensor) -> dict[str, Tensor]:
    rows = _rows(special, zeros.sum(dim=1) / zeros.shape[1] ** 0.5)
    return {"token_kinds.weight": rows, "bit_vectors": torch.stack([zeros.T, ones.T], dim=1)}


def _proj(weight: Tensor, special: Tensor) -> dict[str, Tensor]:
    return {"token_kinds.weight": _rows(special), "weight": weight}


def _report(converted: Converted) -> str:
    reasons: dict[str, list[str]] = {}
    for name, reason in converted.dropped.items():
        reasons.setdefault(reason, []).append(name)
    lines = [f"dropped ({reason}): {', '.join(names)}" for reason, names in reasons.items()] or ["none dropped"]
    return "\n".join([f"{converted.mapped} tensors mapped, {len(converted.dropped)} dropped", *lines])


KINDS = {
    "emb": Kind(("word_embeddings.weight",), _emb),
    "pool": Kind(("component_embeddings.weight", "adaptive_weights", SPECIAL), _pool),
    "add": Kind(("proj_mat_1.weight", "proj_mat_2.weight", SPECIAL), _add),
    "proj": Kind(("proj_mat.weight", SPECIAL), _proj),
}
