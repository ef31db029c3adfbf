"""Where a conversion writes: a folder of its own, with a README.md that says what it is and where it comes from."""

import os
from pathlib import Path

from huggingface_hub import ModelCard, ModelCardData


def new_folder(target: str | os.PathLike[str]) -> Path:
    """Returns a folder that is there and empty.

    Raises:
        ValueError: it holds files, or a file is in its place.
    """
    folder = Path(target)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ValueError(f"the target {str(target)!r} holds other files; give an empty or a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_readme(folder: Path, title: str, source: str, paragraphs: list[str]) -> None:
    """Writes README.md.

    Args:
        folder: of the checkpoint.
        title: its heading.
        source: what was converted; a Hub id becomes the card's base model.
        paragraphs: what a user must know.
    """
    base = None if os.path.exists(source) else source
    data = ModelCardData(library_name="transformers", base_model=base)
    text = "\n\n".join([f"# {title}", *paragraphs])
    ModelCard(f"---\n{data.to_yaml()}\n---\n\n{text}\n").save(folder / "README.md")
