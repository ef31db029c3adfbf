"""Takes the vocabulary away from an encoder: its layers stay, a variant's front end replaces its word table.

    python -m vocabless.conversion encoder google-bert/bert-base-uncased words/ --variant hashformer-lsh-proj-base
    python -m vocabless.conversion encoder mine/ words/ --variant eelbert-word-tiny --distill texts/ --train_encoder

The encoder's weights are the original's to the bit. The front end is new, so that the model understands nothing at
first; with --distill it learns from plain text to give each word the state that the original gives it. Of the variant
only splitter, coder and front end are taken, the encoder's shape stays; where bytes have heads of their own, a block
has as many bytes as the encoder has heads.
"""
# mypy: allow-untyped-calls

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, dataclass
from typing import Any

from transformers import AutoModel, PreTrainedConfig, PreTrainedModel, set_seed

from vocabless import VocablessModel, VocablessTokenizer, load_config, load_tokenizer
from vocabless.modeling.stock_encoders import arguments_of
from vocabless.saving.run_folder import RESULTS, versions, write_json
from vocabless.saving.stock_models import load_stock_config, load_stock_model, load_stock_tokenizer
from vocabless.saving.targets import free_folder, write_checkpoint
from vocabless.training.distillation.recovery import Agreement, Distillation, distill
from vocabless.variants import find_variant

LEARNING_RATES = {False: 5e-3, True: 5e-4}  # of the front end alone, of the encoder too
UNTRAINED = "The front end is untrained: train the model before relying on it, or convert it with `--distill`."


@dataclass(frozen=True)
class Swapped:
    """An encoder without its vocabulary.

    Attributes:
        model: whose front end is new.
        tokenizer: the variant's.
        kept: how many of the original's tensors it has, bit-equal.
        dropped: names of those that it has not.
    """

    model: VocablessModel
    tokenizer: VocablessTokenizer
    kept: int
    dropped: list[str]


def add_arguments(parser: ArgumentParser) -> None:
    """Declares what the verb takes."""
    parser.add_argument(
        "source", metavar="SOURCE", help="folder or Hub id of an encoder that takes inputs_embeds: BERT, RoBERTa, …"
    )
    parser.add_argument("target", metavar="TARGET", help="new or empty folder")
    parser.add_argument("--variant", required=True, help="see vocabless.list_variants(); its size does not matter")
    parser.add_argument("--seed", type=int, default=0, help="of the new front end and of training; default 0")
    group = parser.add_argument_group("distillation")
    group.add_argument("--distill", metavar="TEXT", help="pydocs, a file, folder, glob or Hub data set; default: none")
    group.add_argument("--text_column", default="text", help="that holds the text, in files with columns; default text")
    group.add_argument("--train_encoder", action="store_true", help="train the encoder too, not the front end alone")
    group.add_argument("--max_steps", type=int, default=1000, help="of the optimizer; default 1000")
    group.add_argument("--learning_rate", type=float, help="peak of AdamW's; default 5e-3, 5e-4 with --train_encoder")
    group.add_argument("--per_device_train_batch_size", type=int, default=16, help="passages; default 16")
    group.add_argument("--max_seq_length", type=int, default=64, help="tokens of a passage; default 64")


def run(arguments: Namespace) -> str:
    """Converts, and distils if asked to; returns what was kept, what was dropped, what was learned."""
    folder = free_folder(arguments.target)
    find_variant(arguments.variant)
    if arguments.learning_rate is None:
        arguments.learning_rate = LEARNING_RATES[arguments.train_encoder]
    empty = build(load_stock_config(arguments.source), arguments.variant, arguments.seed)
    original, unexpected = load_stock_model(arguments.source, AutoModel)
    swapped = swap(empty, original, arguments.source, arguments.variant)
    agreement = _distill(arguments, swapped, original) if arguments.distill is not None else None
    report = _report(swapped, unexpected, agreement)
    made = f"The encoder of `{arguments.source}` with the tokenizer and the front end of `{arguments.variant}`."
    write_checkpoint(folder, swapped.model, swapped.tokenizer, arguments.source, [made, *report])
    results = {"arguments": vars(arguments), "versions": versions()}
    write_json(folder / RESULTS, results | ({} if agreement is None else {"cosine": asdict(agreement)}))
    return "\n".join(report)


def build(config: PreTrainedConfig, variant: str, seed: int = 0) -> VocablessModel:
    """Returns a model with random weights: the encoder of `config` behind the front end of a variant.

    Raises:
        ValueError: the encoder takes no `inputs_embeds`, or the front end does not fit it.
    """
    set_seed(seed)
    given: dict[str, Any] = {"encoder_config": config, "position_embeddings": True}
    if find_variant(variant).front_end[0] == "elementwise":
        given["block_size"] = config.num_attention_heads
    model: VocablessModel = VocablessModel(load_config(variant, variant=None, **given)).eval()
    return model


def swap(model: VocablessModel, original: PreTrainedModel, source: str, variant: str) -> Swapped:
    """Gives `model` the weights of an encoder.

    Args:
        model: see `build`.
        original: the encoder.
        source: where it came from: a variant over subwords takes its tokenizer for them.
        variant: whose tokenizer is taken.
    """
    tensors = original.state_dict()
    kept = {name: tensors[name] for name in model.encoder.state_dict()}
    model.encoder.load_state_dict(kept)
    row, size = find_variant(variant), model.config.block_size
    takes = arguments_of(model.encoder)
    has_types = "token_type_ids" in takes and getattr(original.config, "type_vocab_size", 0) > 1
    given: dict[str, Any] = {
        "model_max_length": model.max_tokens,
        "model_input_names": ["input_ids", *(["token_type_ids"] if has_types else []), "attention_mask"],
    }
    if size != row.block_size:
        given["coder_options"] = {**row.coder[1], "block_size": size}
        given |= {"splitter_options": {"window": size}} if row.splitter == "bytes" else {}
    tokenizer = load_tokenizer(variant, subword=source if row.reads_subwords else None, **given)
    return Swapped(model, tokenizer, len(kept), sorted(set(tensors) - set(kept)))


def _distill(arguments: Namespace, swapped: Swapped, original: PreTrainedModel) -> Agreement:
    settings = Distillation(
        arguments.distill,
        arguments.text_column,
        arguments.train_encoder,
        arguments.max_steps,
        arguments.learning_rate,
        arguments.per_device_train_batch_size,
        arguments.max_seq_length,
        arguments.seed,
    )
    teacher = load_stock_tokenizer(arguments.source)
    return distill(swapped.model, swapped.tokenizer, original, teacher, settings)


def _report(swapped: Swapped, unexpected: list[str], agreement: Agreement | None) -> list[str]:
    lines = [f"{swapped.kept} tensors kept, dropped: {', '.join([*swapped.dropped, *unexpected]) or 'none'}."]
    if agreement is None:
        return [*lines, UNTRAINED]
    return [*lines, str(agreement)]
