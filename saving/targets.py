"""Where a conversion writes: a folder of its own, with a README.md that says what it is and where it comes from."""
# mypy: allow-untyped-calls

import os
from pathlib import Path

from huggingface_hub import ModelCard
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.model_card import metadata


def free_folder(target: str | os.PathLike[str]) -> Path:
    """Returns a folder that is empty or not there yet.

    Raises:
        ValueError: it holds files, or a file is in its place.
    """
    folder = Path(target)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ValueError(f"the target {str(target)!r} holds other files; give an empty or a new folder.")
    return folder


def new_folder(target: str | os.PathLike[str]) -> Path:
    """Returns a folder that is there and empty.

    Raises:
        ValueError: it holds files, or a file is in its place.
    """
    folder = free_folder(target)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_checkpoint(
    folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: str, paragraphs: list[str]
) -> None:
    """Writes weights, code, tokenizer and README.md.

    Args:
        folder: see `free_folder`.
        model: of the family, or a stock one.
        tokenizer: its own.
        source: what was converted; a Hub id becomes the card's base model.
        paragraphs: what a user must know.
    """
    save_checkpoint(model, tokenizer, new_folder(folder))
    base = None if os.path.exists(source) else source
    data = metadata(model, base_model=base)
    text = "\n\n".join([f"# {folder.resolve().name}", *paragraphs])
    ModelCard(f"---\n{data.to_yaml()}\n---\n\n{text}\n").save(folder / "README.md")
