"""Replaces the word embeddings of an encoder with the front end of a variant.

    python -m vocabless.conversion encoder google-bert/bert-base-uncased words/ --variant hashformer-lsh-proj-base
    python -m vocabless.conversion encoder mine/ words/ --variant eelbert-word-tiny --distill texts/ --train_encoder

The weights of the encoder are copied bit for bit. The front end is new, so the model is useless without training:
--distill trains it on plain text to give each word the hidden states that the original gives it.

The variant gives the splitter, the coder and the front end; the shape of the encoder stays. The elementwise front end
needs one attention head for each byte, so its block size becomes the number of heads of the encoder.
"""

import tempfile
from argparse import ArgumentParser, Namespace
from typing import Any

import torch
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel, set_seed

from vocabless import VocablessModel, VocablessTokenizer, load_config, load_tokenizer
from vocabless.modeling.stock_encoders import arguments_of
from vocabless.saving.public_names import public_arguments, public_name
from vocabless.saving.run_folder import RESULTS, versions
from vocabless.saving.stock_models import load_stock_config, load_stock_model, load_stock_tokenizer
from vocabless.saving.targets import check_target, write_converted
from vocabless.training.pretraining.arguments import PretrainingArguments, PretrainingTrainingArguments
from vocabless.training.pretraining.word_states import WordStates
from vocabless.training.run import train
from vocabless.variants import Variant, find_variant

LEARNING_RATE_OF_FRONT_END = 5e-3
LEARNING_RATE_OF_ENCODER = 5e-4  # of the whole model, with --train_encoder
AGREEMENT = (
    "Mean cosine with the original's states over {words:,} held-out words: {before:.3f} before and {after:.3f} after "
    "{steps:,} steps. The mean state of the original alone has {mean_state_baseline:.3f}."
)
UNTRAINED = "The front end is untrained: train the model before you use it, or convert again with `--distill`."


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument(
        "source", metavar="SOURCE", help="folder or Hub id of an encoder that takes inputs_embeds: BERT, RoBERTa, …"
    )
    parser.add_argument("--variant", required=True, help="see vocabless.list_variants(); its size is ignored")
    parser.add_argument("--seed", type=int, default=0, help="seed of the new weights and of the training; default 0")
    group = parser.add_argument_group("distillation")
    group.add_argument(
        "--distill",
        metavar="TEXT",
        help="text to train on: pydocs, a file, folder or glob, or a Hub data set; default: no training",
    )
    group.add_argument("--text_column", default="text", help="column of the text, in files with columns; default text")
    group.add_argument("--train_encoder", action="store_true", help="train the encoder too, not only the front end")
    group.add_argument("--max_steps", type=int, default=1000, help="steps of the optimizer; default 1000")
    group.add_argument(
        "--learning_rate",
        type=float,
        help=f"peak learning rate of AdamW; default {LEARNING_RATE_OF_FRONT_END}, with --train_encoder "
        f"{LEARNING_RATE_OF_ENCODER}",
    )
    group.add_argument("--per_device_train_batch_size", type=int, default=16, help="passages per step; default 16")
    group.add_argument("--max_seq_length", type=int, default=64, help="tokens of a passage; default 64")


def run(arguments: Namespace) -> str:
    """Converts, and distils with --distill; returns a report on the kept and dropped tensors and the training."""
    folder = check_target(arguments.target, arguments.overwrite)
    source, variant = arguments.source, find_variant(arguments.variant)
    if arguments.learning_rate is None:
        is_whole = arguments.train_encoder
        arguments.learning_rate = LEARNING_RATE_OF_ENCODER if is_whole else LEARNING_RATE_OF_FRONT_END
    set_seed(arguments.seed)
    model = build(load_stock_config(source), variant)
    original, unused = load_stock_model(source, AutoModel)
    tensors = original.state_dict()
    kept = {name: tensors[name] for name in model.encoder.state_dict()}
    model.encoder.load_state_dict(kept)
    tokenizer = _load_tokenizer(model, source, variant)
    dropped = ", ".join([*sorted(set(tensors) - set(kept)), *unused]) or "none"
    report = [f"{len(kept)} tensors kept, dropped: {dropped}.", UNTRAINED]
    results: dict[str, Any] = {"arguments": public_arguments(vars(arguments)), "versions": versions()}
    if arguments.distill is not None:
        results["cosine"] = _distill(arguments, model, tokenizer, original)
        report[1] = AGREEMENT.format(**results["cosine"])
    description = f"The encoder of `{public_name(source)}` with the tokenizer and the front end of `{variant.name}`."
    write_converted(folder, model, tokenizer, source, [description, *report], {RESULTS: results}, arguments.overwrite)
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
    if not _sees_both_sides(model):
        raise ValueError(
            f"{config.model_type!r} is a decoder: its first token sees no other one, and heads read the first token; "
            "give an encoder, such as google-bert/bert-base-uncased."
        )
    return model


def _sees_both_sides(model: VocablessModel) -> bool:
    """Returns whether the first token's state depends on the last token."""
    embeddings = torch.randn(1, 8, model.config.embedding_size, generator=torch.Generator().manual_seed(0))
    other = torch.cat([embeddings[:, :-1], -embeddings[:, -1:]], dim=1)
    with torch.no_grad():
        first, second = (model.encoder(inputs_embeds=each).last_hidden_state[:, 0] for each in (embeddings, other))
    return not torch.equal(first, second)


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


def _distill(
    arguments: Namespace, model: VocablessModel, tokenizer: VocablessTokenizer, original: PreTrainedModel
) -> dict[str, float]:
    """Trains the model; returns its mean cosines with the original's states on held-out text, see docs/conversion.md.

    Raises:
        ValueError: the model has nothing to train, the text is too short, or an argument is out of range.
    """
    task = WordStates(model, tokenizer, original, load_stock_tokenizer(arguments.source), arguments.train_encoder)
    task.arguments = PretrainingArguments(
        corpus=[arguments.distill],
        text_column=arguments.text_column,
        validation_split_percentage=5,
        max_seq_length=arguments.max_seq_length,
        max_eval_samples=128,
    )
    with tempfile.TemporaryDirectory() as folder:
        task.training = PretrainingTrainingArguments(
            folder,
            max_steps=arguments.max_steps,
            learning_rate=arguments.learning_rate,
            per_device_train_batch_size=arguments.per_device_train_batch_size,
            per_device_eval_batch_size=arguments.per_device_train_batch_size,
            warmup_steps=arguments.max_steps // 20,
            weight_decay=0,
            logging_steps=max(1, arguments.max_steps // 20),
            seed=arguments.seed,
            save_strategy="no",
            report_to=[],
        )
        task.training.include_num_input_tokens_seen = "no"
        trained = train(task)
    model.requires_grad_(True).eval().cpu()
    before, after = task.results(trained)["before"], trained.measures
    return {
        "before": before["eval_cosine"],
        "after": after["eval_cosine"],
        "mean_state_baseline": after["eval_mean_state_baseline"],
        "words": int(after["eval_words"]),
        "steps": arguments.max_steps,
    }
