"""Converts the published HashFormers weights, `klein9692/hashformer-{md5,lsh}-{emb,pool,add,proj}`.

    vocabless hashformer klein9692/hashformer-md5-proj converted/
    vocabless hashformer downloaded/ converted/ --coder lsh --subword roberta/tokenizer.json

Checkpoints that the authors' code fine-tuned keep their classifier and their labels. Every tensor is either mapped or
reported as dropped. The authors' tensors differ from ours in three ways; each
conversion is exact:
- Special tokens have another order: <s> <pad> </s> <unk> <mask>.
- The authors add the embedding of 128 zero bits to the row of a special token. Here the sum is stored in the row. The
  embedding is the padding row of the codebook for Pool, ΣW₂/√128 for Add and zero for Proj.
- The codebook of Pool has the padding row first.

The models give the same logits for the same text. The authors' LSH reads the tokens of RoBERTa's BPE, so an LSH model
gets RoBERTa's tokenizer.json as its `subword.json`, see `tokenization/piece_coders.py`.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from vocabless import (
    VocablessForPreTraining,
    VocablessForSequenceClassification,
    VocablessModel,
    VocablessTokenizer,
    load_config,
    load_tokenizer,
)
from vocabless.loading import find_subword
from vocabless.public_names import without_path
from vocabless.saving.checkpoint_files import check_tensor_names, first_line, read_config_and_tensors, shortened
from vocabless.saving.targets import write_converted
from vocabless.tokenization.components import read_subword
from vocabless.tokenization.piece_coders import NUM_BUCKETS
from vocabless.variants import SUBWORD_TOKENIZERS

CODERS = ("md5", "lsh")
ROBERTA = SUBWORD_TOKENIZERS["bpe"]
SAMPLE, SAMPLE_IDS = "Hello world!", [31414, 232, 328]  # a text and its ids in RoBERTa's BPE
SPECIAL_ORDER = (1, 3, 0, 2, 4)  # the authors' rows of [PAD], [UNK], [CLS], [SEP], [MASK]
NUM_SPECIAL = len(SPECIAL_ORDER)
EMBEDDINGS = "roberta.embeddings."
SPECIAL = "special_token_embeddings.weight"
# Our prefix of a tensor's name → the authors' prefix. All other names are the same.
PREFIXES = {
    "encoder.embeddings.position_embeddings.": f"{EMBEDDINGS}position_embeddings.",
    "encoder.embeddings.token_type_embeddings.": f"{EMBEDDINGS}token_type_embeddings.",
    "encoder.embeddings.LayerNorm.": f"{EMBEDDINGS}LayerNorm.",
    "encoder.encoder.": "roberta.encoder.",
}
# The authors' prefix of a tensor that is dropped → the reason.
DROPPED = {
    f"{EMBEDDINGS}position_ids": "the numbers 0, 1, 2, …",
    "roberta.pooler.": "the authors' heads do not use it",
}
# A tensor of a head of the authors → our model with this head, whose tensors have the same names.
HEADS = {"dense.weight": VocablessForPreTraining, "classifier.out_proj.weight": VocablessForSequenceClassification}
# The entries of the authors' config.json that give the shape of the encoder.
SHAPE = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act", "hidden_dropout_prob",
    "attention_probs_dropout_prob", "max_position_embeddings", "type_vocab_size", "initializer_range", "layer_norm_eps",
)  # fmt: skip
NOTES = {
    "md5": "The tokenizer writes the authors' blocks: HMAC-MD5 of lower-cased words with the key `en`.",
    "lsh": "The tokenizer writes the authors' blocks: an LSH of the tokens of RoBERTa's BPE, in `subword.json`. It "
    "needs this package or the code in this folder: a web page or `onnx_model.py` cannot compute this hash.",
}
PAIR_NOTE = "A pair of texts has one separator between the texts; the authors use two."

Model = VocablessModel | VocablessForPreTraining | VocablessForSequenceClassification


class Converted(NamedTuple):
    """A converted checkpoint: the model with its head, if it has one, and what became of the authors' tensors."""

    model: Model
    tokenizer: VocablessTokenizer
    num_mapped: int  # of the authors' tensors
    dropped: dict[str, str]  # name of each other tensor → the reason


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument("--coder", choices=CODERS, help="hash of the words; default: the one in the name of SOURCE")
    parser.add_argument(
        "--subword", help=f"for lsh: RoBERTa's tokenizer: a tokenizer.json, a folder or a Hub id; default: {ROBERTA}"
    )


def write(arguments: Namespace, folder: Path) -> str:
    """Converts into an existing, empty folder; returns a report on the mapped and the dropped tensors."""
    source = arguments.source
    coders = [arguments.coder] if arguments.coder else [coder for coder in CODERS if coder in source.lower()]
    if len(coders) != 1:
        raise ValueError(f"the name {source!r} does not show the hash; give --coder {' or --coder '.join(CODERS)}.")
    if coders == ["md5"] and arguments.subword is not None:
        raise ValueError(f"the hash md5 has no use for --subword {arguments.subword}; leave it out.")
    subword = arguments.subword or ROBERTA
    model, tokenizer, num_mapped, dropped = convert(*read_config_and_tensors(source), coders[0], source, subword)
    report = [f"{num_mapped} tensors mapped, {len(dropped)} dropped"]
    for reason in dict.fromkeys(dropped.values()):
        report.append(f"dropped ({reason}): {', '.join(name for name in dropped if dropped[name] == reason)}")
    report = ["\n".join(report), NOTES[coders[0]], PAIR_NOTE]
    description = (
        f"`{without_path(source)}`, a HashFormer of the authors' code, as a checkpoint of the vocabless family."
    )
    write_converted(folder, model, tokenizer, source, [description, *report])
    return "\n".join(report)


def convert(
    config: dict[str, Any], tensors: dict[str, Tensor], coder: str, source: str = "", subword: str = ROBERTA
) -> Converted:
    """Returns one of the authors' checkpoints, its configuration and tensors, as a checkpoint of this family.

    The tensors do not show which `coder` was used, `md5` or `lsh`. `source` is the name in error messages. `subword` is
    RoBERTa's tokenizer, for `lsh`, see `find_subword`.

    Raises:
        ValueError: it is a model with a vocabulary; tensors are missing or unexpected, or their shapes do not match
            the configuration; or `subword` is not found or another tokenizer.
    """
    if not any(name.startswith("roberta.") for name in tensors):  # the checkpoint was saved without a head
        tensors = {f"roberta.{name}": tensor for name, tensor in tensors.items()}
    kind = _kind_of(config, tensors, source)
    model, tokenizer = _build(kind, coder, config, tensors, subword)
    front_end_names = [EMBEDDINGS + name for name in FRONT_ENDS[kind][0]]
    their_names = {name: _their_name(name) for name in model.state_dict() if "front_end." not in name}  # ours → theirs
    dropped = {name: why for name in tensors for prefix, why in DROPPED.items() if name.startswith(prefix)}
    needed = {*their_names.values(), *front_end_names}
    check_tensor_names(source, sorted(needed - set(tensors)), sorted(set(tensors) - needed - set(dropped)))

    prefix = "" if isinstance(model, VocablessModel) else "vocabless."
    mapped = {name: tensors[their_name].float() for name, their_name in their_names.items()}
    try:
        front_end = FRONT_ENDS[kind][1](*(tensors[name].float() for name in front_end_names))
        model.load_state_dict(mapped | {f"{prefix}front_end.{name}": tensor for name, tensor in front_end.items()})
    except (RuntimeError, IndexError) as error:
        raise ValueError(
            f"the shapes of the tensors of {source!r} do not match its config.json ({first_line(error)}); give the "
            "configuration of these weights."
        ) from error
    return Converted(model, tokenizer, len(needed), dropped)


def _kind_of(config: dict[str, Any], tensors: dict[str, Tensor], source: str) -> str:
    """Returns which of the authors' embeddings the tensors hold, a key of `FRONT_ENDS`.

    A stock model has the tensors of Emb without their head. Its `vocab_size` is that of its table; the authors' is not.
    """
    first_names = {kind: EMBEDDINGS + names[0] for kind, (names, _) in FRONT_ENDS.items()}
    kinds = [kind for kind, name in first_names.items() if name in tensors]
    if len(kinds) != 1:
        raise ValueError(
            f"{source!r} is not a HashFormer: it must have exactly one of {', '.join(first_names.values())}, but has "
            f"{len(kinds)}; give a checkpoint of the authors."
        )
    rows, kind = len(tensors[first_names[kinds[0]]]), config.get("model_type")
    is_stock = kind != "roberta" or (config.get("vocab_size") == rows and "dense.weight" not in tensors)
    if kinds == ["emb"] and is_stock:
        raise ValueError(
            f"{source!r} is not a HashFormer but a model of the type {shortened(repr(kind))} with a vocabulary of "
            f"{rows} tokens; give a checkpoint of the authors, or use the verb encoder."
        )
    return kinds[0]


def _build(
    kind: str, coder: str, config: dict[str, Any], tensors: dict[str, Tensor], subword: str
) -> tuple[Model, VocablessTokenizer]:
    """Returns a model with random weights, and its tokenizer, for the authors' configuration and tensors."""
    encoder_config = {name: config[name] for name in SHAPE if name in config}
    encoder_config |= {"model_type": "roberta", "pad_token_id": 1}  # RoBERTa counts positions from pad_token_id + 1
    variant = f"hashformer-{coder}-{kind}-base"
    settings: dict[str, Any] = _labels(config, tensors)
    if kind == "emb":
        num_buckets = len(tensors[f"{EMBEDDINGS}word_embeddings.weight"]) - NUM_SPECIAL
        if coder == "lsh" and num_buckets != NUM_BUCKETS:
            raise ValueError(
                f"the table has {num_buckets:,} buckets, but the authors' LSH chooses one of {NUM_BUCKETS:,}; give "
                "--coder md5, if that is the hash of these weights."
            )
        variant = f"hashformer-{coder}-{'emb1k' if num_buckets == 1_033 else 'emb50k'}-base"
        settings["front_end_options"] = {"num_buckets": num_buckets}
    if coder == "lsh":
        pieces = "lsh-index-pieces" if kind == "emb" else "lsh-pieces"
        tokenizer = load_tokenizer(variant, coder=pieces, coder_options={}, subword_file=_roberta_file(subword))
        settings["variant"] = None  # whose tokenizer has the coder `lsh` or `lsh-index`
    else:
        tokenizer = load_tokenizer(variant)
    model_config = load_config(variant, encoder_config=encoder_config, block_size=tokenizer.block_size, **settings)
    model = next((head for name, head in HEADS.items() if name in tensors), VocablessModel)(model_config)
    tokenizer.model_max_length = model.base_model.max_tokens
    return model.eval(), tokenizer


def _roberta_file(source: str) -> str:
    """Returns the path of RoBERTa's tokenizer.json, see `find_subword`; raises ValueError if it is another tokenizer.

    The hash reads the ids, so with another vocabulary all blocks would be wrong without a sign.
    """
    file = find_subword(source)
    if (ids := read_subword(file).encode(SAMPLE, add_special_tokens=False).ids) != SAMPLE_IDS:
        raise ValueError(
            f"{source!r} is not RoBERTa's tokenizer: it gives {SAMPLE!r} the ids {ids}, not {SAMPLE_IDS}; give the "
            f"tokenizer.json of {ROBERTA}."
        )
    return file


def _labels(config: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Returns the labels of the authors' classifier, as arguments of our configuration; none without a classifier."""
    output = tensors.get("classifier.out_proj.weight")
    if output is None:
        return {}
    names = {name: config[name] for name in ("id2label", "label2id", "problem_type") if config.get(name)}
    if len(names.get("id2label", ())) != len(output):  # transformers 3 writes no names that it has not been given
        names = {name: value for name, value in names.items() if name == "problem_type"} | {"num_labels": len(output)}
    if len(output) == 1:
        names.setdefault("problem_type", "regression")
    return names


def _their_name(name: str) -> str:
    """Returns the authors' name of one of our tensors.

    >>> _their_name("vocabless.encoder.encoder.layer.0.output.dense.bias")
    'roberta.encoder.layer.0.output.dense.bias'
    """
    name = name.removeprefix("vocabless.")
    ours = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
    return PREFIXES.get(ours, "") + name.removeprefix(ours)


def _token_kinds(special: Tensor, zero_bits: Tensor | float = 0.0) -> Tensor:
    """Returns the rows of the special tokens in our order, then the authors' other rows unchanged, (6, D).

    `special` are the authors' rows, (6, D): five special tokens and the row of all ordinary tokens. For Emb, the rows
    of the special tokens and of the buckets. `zero_bits`, (D,), is what the authors add to the special tokens.
    """
    return torch.cat([special[list(SPECIAL_ORDER)] + zero_bits, special[NUM_SPECIAL:]])


def _convert_pool(components: Tensor, weights: Tensor, special: Tensor) -> dict[str, Tensor]:
    token_kinds = _token_kinds(special, components[0])  # 13 times the padding row, with weights that sum to 1
    return {"token_kinds.weight": token_kinds, "codebook.weight": components[1:].clone(), "weights": weights}


def _convert_add(ones: Tensor, zeros: Tensor, special: Tensor) -> dict[str, Tensor]:
    token_kinds = _token_kinds(special, zeros.sum(dim=1) / zeros.shape[1] ** 0.5)
    return {"token_kinds.weight": token_kinds, "bit_vectors": torch.stack([zeros.T, ones.T], dim=1)}


# One of the authors' embeddings → the names of its tensors under `roberta.embeddings.`, the first of which no other
# embedding has, and what makes our tensors of them, by name.
FRONT_ENDS: dict[str, tuple[tuple[str, ...], Callable[..., dict[str, Tensor]]]] = {
    "emb": (("word_embeddings.weight",), lambda words: {"embeddings.weight": _token_kinds(words)}),
    "pool": (("component_embeddings.weight", "adaptive_weights", SPECIAL), _convert_pool),
    "add": (("proj_mat_1.weight", "proj_mat_2.weight", SPECIAL), _convert_add),
    "proj": (
        ("proj_mat.weight", SPECIAL),
        lambda weight, special: {"token_kinds.weight": _token_kinds(special), "weight": weight},
    ),
}
