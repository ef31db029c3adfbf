"""Writes the README.md of a checkpoint folder, the model card that the Hub shows.

The card is made from the variant's row, the model and the results of its run. The templates are in model_cards/:
`checkpoint.md` for all checkpoints, and one template for each published family, which extends it.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, ModelCardData, constants, eval_result_entries_to_yaml
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_NAME

from vocabless.joined_code import FOLDERS, PROGRAM
from vocabless.public_names import DATASET_ID
from vocabless.saving.card_heads import (
    HEADS,
    MASK,
    NEUTRAL_EXAMPLE,
    PAIR_EXAMPLE,
    SENTENCE_WIDGET,
    Head,
    head_of,
    labels_of,
)
from vocabless.saving.record import UNKNOWN_TRAINING, CardFacts
from vocabless.saving.tables import markdown_table
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.variants import BASE_WIDTH, VARIANTS, default_learning_rate

CARD = constants.REPOCARD_NAME
EVAL_RESULTS = ".eval_results/results.yaml"  # what the Hub reads in place of the card's `model-index`
REPOSITORY_PLACEHOLDER = "FOLDER_OR_REPOSITORY"  # in a card's example, until an upload gives the repository's id
TEMPLATES = Path(__file__).parent.parent / "model_cards"
SIZES = re.compile(r"The weights take [\d.]+ MB(?:, `onnx/[\w.]+` [\d.]+ MB)*\.(?: Without torch: `[^`]*`\.)?")
CODE_TABLE = re.compile(r"^\| code \| SHA-256 \|\n(?:\|.*\n?)*", re.M)


def write_card(
    folder: Path,
    model: PreTrainedModel,
    block_size: int | None,
    facts: CardFacts = UNKNOWN_TRAINING,
    mask: str | None = None,
) -> None:
    """Writes README.md, with what is known about the training, into the folder of a checkpoint.

    `block_size` is K, the bytes in a block, None of a stock model, whose mask token is `mask`.
    """
    config: Any = model.config
    name = str((config.variant if block_size else facts.shape) or "")
    variant = VARIANTS.get(name)  # None: the checkpoint has no variant, or one that this version does not know
    title = facts.title or _title(facts, name or facts.start or folder.resolve().name)  # a local start says little
    template = _templates().get_template(f"{variant.family if variant else 'checkpoint'}.md")
    card = template.render(
        vars(facts) | {"measures": Markup(facts.measures or ""), "notes": Markup(facts.notes or "")},
        card_data=Markup(_metadata(model, facts, title).to_yaml()),
        title=title,
        variant=name,
        source=variant.source if variant else "",
        family="the vocabless family" if block_size else f"the stock architecture `{config.model_type}`",
        block_size=block_size,
        encoder=_encoder_config(config).model_type,
        append_embeddings=getattr(config, "append_embeddings", False),
        wide_rows=getattr(config, "classifier_wide_rows", None),
        reads_sentences=getattr(model, "reads_sentences", False),
        has_ngram_list=(folder / VocablessTokenizer.vocab_files_names["ngrams_file"]).is_file(),
        parameters=model.num_parameters(),
        embedding_parameters=sum(p.numel() for p in model.get_input_embeddings().parameters()),
        sizes=_sizes(folder),
        code=Markup(_code_table(folder)),
        usage=Markup(_usage(model, facts)),
        labels=None if config.problem_type == "regression" else labels_of(model),
        fine_tuning_rate=default_learning_rate(getattr(_encoder_config(config), "hidden_size", BASE_WIDTH)),
    )
    card = card.replace(MASK, mask or MASK)
    if block_size is None:
        card = card.replace(", trust_remote_code=True", "")
    (folder / CARD).write_text(card, encoding="utf-8")
    _write_eval_results(folder / EVAL_RESULTS, facts.eval_results)


def card_for_repository(card: Path, repo_id: str, revision: str | None = None) -> str:
    """Returns the text of a card whose examples load a repository, at the commit `revision` or the newest one."""
    pin = f', revision="{revision}"' if revision else ""
    return card.read_text(encoding="utf-8").replace(f'"{REPOSITORY_PLACEHOLDER}"', f'"{repo_id}"{pin}')


def renew_card(folder: Path) -> None:
    """Writes into the card of a folder what its files say: the SHA-256 of the code, and the sizes."""
    card = folder / CARD
    text = CODE_TABLE.sub(lambda _: _code_table(folder) + "\n", card.read_text(encoding="utf-8"))
    card.write_text(SIZES.sub(lambda _: _sizes(folder), text), encoding="utf-8")


def _encoder_config(config: Any) -> Any:
    return getattr(config, "encoder_config", config)


def _title(facts: CardFacts, name: str) -> str:
    title = facts.base_model or name
    if facts.from_scratch and facts.dataset:
        title += " trained from random weights"
    if facts.dataset:
        title += f" on {facts.dataset}"
    elif facts.start and facts.corpus:
        title += ", trained further"
    return title


def _sizes(folder: Path) -> str:
    """Returns the sizes of the weights and of the graphs in the same folder, and how to run one of these."""
    files = [folder / SAFE_WEIGHTS_NAME, *sorted(folder.glob("onnx/*.onnx"))]
    names = ["The weights take", *(f"`onnx/{file.name}`" for file in files[1:])]
    sizes = [f"{name} {file.stat().st_size / 1e6:.1f} MB" for name, file in zip(names, files, strict=True)]
    has_program = (folder / "onnx" / PROGRAM).is_file()
    return ", ".join(sizes) + "." + (f' Without torch: `python onnx/{PROGRAM} onnx "A text."`.' if has_program else "")


def hub_metadata(model: PreTrainedModel, more_tags: Sequence[str] = (), **fields: Any) -> ModelCardData:
    """Returns the metadata of a card, its YAML header.

    A known head adds its task, a model of this family its variant as a tag. Empty fields are left out.
    """
    usual: dict[str, Any] = {"library_name": "transformers"}
    if head := head_of(model):
        ours = ("vocabless", getattr(model.config, "variant", None)) if type(model).__name__ in HEADS else ()
        usual |= {"pipeline_tag": head.pipeline_tag, "tags": [tag for tag in (*ours, *more_tags) if tag] or None}
    return ModelCardData(**usual | {name: value for name, value in fields.items() if value})


@cache
def _templates() -> Environment:
    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, trim_blocks=True, keep_trailing_newline=True, finalize=_in_one_line)


def _write_eval_results(file: Path, results: Sequence[EvalResult]) -> None:
    """Writes the scores on data sets of the Hub into a file; a score on other data has no place there."""
    entries = [
        EvalResultEntry(
            dataset_id=result.dataset_type,
            task_id=result.dataset_config or "default",
            value=result.metric_value,
            notes=", ".join(filter(None, (result.metric_name, result.dataset_split))),
        )
        for result in results
        if DATASET_ID.fullmatch(result.dataset_type)
    ]
    if entries:
        file.parent.mkdir(exist_ok=True)
        text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
        file.write_text(text, encoding="utf-8")


def _in_one_line(value: Any) -> Any:
    """Returns what a template puts into the card: only `Markup`, which is made here, may have line breaks.

    A line break in the name of a file would end a heading or an item of a list.
    """
    return " ".join(value.splitlines()) if isinstance(value, str) and not isinstance(value, Markup) else value


def _code_table(folder: Path) -> str:
    files = filter(Path.is_file, (folder / name for name in sorted(FOLDERS)))
    rows = [(f"`{file.name}`", f"`{sha256(file.read_bytes()).hexdigest()}`") for file in files]
    return markdown_table(["code", "SHA-256"], rows, num_texts=2)


def _metadata(model: PreTrainedModel, facts: CardFacts, title: str) -> ModelCardData:
    texts = facts.example or (() if facts.is_own_data else (cast(Head, head_of(model)).text,))
    widgets: list[Any] = [SENTENCE_WIDGET] if facts.is_sentence_model else [{"text": text} for text in texts[:1]]
    of_vectors = {"library_name": "sentence-transformers", "pipeline_tag": "sentence-similarity"}
    return hub_metadata(
        model,
        ["sentence-transformers"] if facts.is_sentence_model else [],
        **(of_vectors if facts.is_sentence_model else {}),
        license=facts.license,
        language=facts.language,
        datasets=list(facts.datasets),
        base_model=facts.base_model,
        metrics=sorted({result.metric_type for result in facts.eval_results}),
        widget=widgets if widgets and not facts.is_pair else None,
        model_name=title if facts.eval_results else None,
        eval_results=list(facts.eval_results),
    )


def _usage(model: PreTrainedModel, facts: CardFacts) -> str:
    """Returns Python code that loads the model, calls it on an example and prints the answer of a classifier."""
    head = cast(Head, head_of(model))
    usual = NEUTRAL_EXAMPLE if facts.is_own_data else head.text
    texts = facts.example or (PAIR_EXAMPLE if facts.is_pair else (usual,))
    example = ", ".join(json.dumps(text, ensure_ascii=False) for text in texts)
    answer = head.answers.get(cast(Any, model.config).problem_type or "") or head.answers.get("", "")
    return f"""from transformers import {head.auto_class}, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{REPOSITORY_PLACEHOLDER}", trust_remote_code=True)
model = {head.auto_class}.from_pretrained("{REPOSITORY_PLACEHOLDER}", trust_remote_code=True)
inputs = tokenizer({example}, padding=True, return_tensors="pt")
outputs = model(**inputs)
{answer.format(threshold=0.5 if facts.threshold is None else facts.threshold)}""".rstrip()
