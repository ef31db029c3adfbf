"""Replaces the word embeddings of an encoder with the front end of a variant.

    vocabless encoder google-bert/bert-base-uncased words/ --variant hashformer-lsh-proj-base
    vocabless pretrain --recipe distill --model_name_or_path words/ --teacher google-bert/bert-base-uncased …

The weights of the encoder are copied bit for bit. The front end is new, so the model is useless without training: the
second command gives it the original's sentence vectors.

The variant gives the splitter, the coder and the front end; the shape of the encoder stays. The elementwise front end
needs one attention head for each byte, so its block size becomes the number of heads of the encoder.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedConfig, set_seed

from vocabless import VocablessModel, VocablessTokenizer, load_config, load_tokenizer
from vocabless.modeling.stock_encoders import arguments_of
from vocabless.public_names import without_path, without_paths
from vocabless.saving.run_folder import RESULTS, versions, write_json
from vocabless.saving.stock_models import load_stock_encoder
from vocabless.saving.targets import write_converted
from vocabless.variants import Variant, find_variant


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument("--variant", required=True, help="see vocabless.list_variants(); its size is ignored")
    parser.add_argument("--seed", type=int, default=0, help="seed of the new weights; default 0")


def write(arguments: Namespace, folder: Path) -> str:
    """Converts into an existing, empty folder; returns a report on the kept and dropped tensors and the next step."""
    source, variant = arguments.source, find_variant(arguments.variant)
    stock, unused = load_stock_encoder(source)
    set_seed(arguments.seed)
    model = build(stock.config, variant)
    tensors = stock.state_dict()
    kept = {name: tensors[name] for name in model.encoder.state_dict()}
    model.encoder.load_state_dict(kept)
    tokenizer = _load_tokenizer(model, source, variant)
    dropped = ", ".join([*sorted(set(tensors) - set(kept)), *unused]) or "none"
    name, original = without_path(str(Path(arguments.target))), without_path(source)
    command = f"vocabless pretrain --recipe distill --model_name_or_path {name} --teacher {original}"
    advice = f"The front end is untrained: train the model before you use it, `{command}`."
    report = [f"{len(kept)} tensors kept, dropped: {dropped}.", advice]
    description = f"The encoder of `{original}` with the tokenizer and the front end of `{variant.name}`."
    write_converted(folder, model, tokenizer, source, [description, *report])
    write_json(folder / RESULTS, {"arguments": without_paths(vars(arguments)), "versions": versions()})
    return "\n".join(report)


def build(config: PreTrainedConfig, variant: Variant) -> VocablessModel:
    """Returns a model with random weights: the front end of a variant and the encoder of `config`.

    Raises:
        ValueError: the encoder takes no `inputs_embeds` or is a decoder, or the front end does not fit the encoder.
    """
    settings: dict[str, Any] = {"encoder_config": config, "position_embeddings": True, "variant": None}
    if variant.front_end[0] == "elementwise":
        settings["block_size"] = config.num_attention_heads
    model: VocablessModel = VocablessModel(load_config(variant, **settings)).eval()
    embeddings = torch.randn(1, 8, model.config.embedding_size, generator=torch.Generator().manual_seed(0))
    other = torch.cat([embeddings[:, :-1], -embeddings[:, -1:]], dim=1)
    with torch.no_grad():
        first, second = (model.encoder(inputs_embeds=inputs).last_hidden_state[:, 0] for inputs in (embeddings, other))
    if torch.equal(first, second):  # it does not depend on the last token
        raise ValueError(
            f"{config.model_type!r} is a decoder: its first token sees no other one, and heads read the first token; "
            "give an encoder, such as google-bert/bert-base-uncased."
        )
    return model


def _load_tokenizer(model: VocablessModel, source: str, variant: Variant) -> VocablessTokenizer:
    """Returns the tokenizer of a variant with the length, the inputs and the block size of the model."""
    encoder, block_size = model.encoder, model.config.block_size
    has_types = "token_type_ids" in arguments_of(encoder) and getattr(encoder.config, "type_vocab_size", 0) > 1
    settings: dict[str, Any] = {
        "model_max_length": model.max_tokens,
        "model_input_names": ["input_ids", *(["token_type_ids"] if has_types else []), "attention_mask"],
    }
    if block_size != variant.block_size:
        settings["coder_options"] = {**variant.coder[1], "block_size": block_size}
        if variant.splitter == "bytes":
            settings["splitter_options"] = {"window": block_size}
    return load_tokenizer(variant, subword=source if variant.reads_subwords else None, **settings)
