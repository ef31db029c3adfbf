"""The target folder of a conversion: it must be new or empty, and it gets a README.md that names the source."""
# mypy: allow-untyped-calls

import os
from pathlib import Path

from huggingface_hub import ModelCard
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.model_card import CARD, hub_metadata


def check_target(target: str | os.PathLike[str]) -> Path:
    """Returns the path of a target folder, which does not exist yet or is empty. Creates nothing.

    Raises:
        ValueError: the folder holds files, or the path is a file.
    """
    folder = Path(target)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ValueError(f"the target {str(target)!r} exists and is not an empty folder; give an empty or a new one.")
    return folder


def write_converted(
    target: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: str, paragraphs: list[str]
) -> None:
    """Writes a converted checkpoint: weights, code, tokenizer and README.md.

    Args:
        target: a new or empty folder.
        model: a model of this family, or a stock model.
        tokenizer: the model's tokenizer.
        source: what was converted, a folder or a Hub id. The card names a Hub id as base model.
        paragraphs: text of the README.md.

    Raises:
        ValueError: the target is not empty.
    """
    folder = check_target(target)
    folder.mkdir(parents=True, exist_ok=True)
    save_checkpoint(model, tokenizer, folder)
    metadata = hub_metadata(model, base_model=None if os.path.exists(source) else source)
    text = "\n\n".join([f"# {folder.resolve().name}", *paragraphs])
    ModelCard(f"---\n{metadata.to_yaml()}\n---\n\n{text}\n").save(folder / CARD)
