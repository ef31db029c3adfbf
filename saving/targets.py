"""The target folder of a conversion: new, empty or given with `--overwrite`; it is written whole or not at all."""
# mypy: allow-untyped-calls

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.saving.checkpoint import UNFINISHED, save_checkpoint, written_whole
from vocabless.saving.model_card import CARD, hub_metadata
from vocabless.saving.run_folder import write_json


def check_target(target: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Returns the path of a target folder, which does not exist yet, is empty or may be overwritten. Creates nothing.

    What a conversion that was killed has left there does not count.

    Raises:
        ValueError: the folder holds files, or the path is a file or a broken link.
        PermissionError: the folder may not be written.
    """
    folder = Path(target)
    if os.path.lexists(folder) and not folder.is_dir():
        raise ValueError(f"the target {str(target)!r} exists and is not a folder; give a folder.")
    has_files = folder.is_dir() and any(not file.name.startswith(UNFINISHED) for file in folder.iterdir())
    if has_files and not overwrite:
        raise ValueError(
            f"the target {str(target)!r} is not an empty folder; give another one, or --overwrite, which replaces "
            "files of the same names."
        )
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(nearest))
    return folder


@contextmanager
def new_target(target: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """Yields a temporary folder. When the block ends without an error, its files are moved into the checked target.

    With `overwrite`, they replace files of the same names; other files stay.
    """
    folder = check_target(target, overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    with written_whole(folder) as temporary:
        yield temporary


def copy_to_target(folder: Path, target: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Copies what a folder holds into the target, see `new_target`."""
    with new_target(target, overwrite) as temporary:
        shutil.copytree(folder, temporary, dirs_exist_ok=True)


def write_converted(
    target: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    source: str,
    paragraphs: list[str],
    records: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Writes a converted checkpoint: weights, code, tokenizer, README.md and records.

    Args:
        target: see `check_target`.
        model: a model of this family, or a stock model.
        tokenizer: the model's tokenizer.
        source: what was converted, a folder or a Hub id. The card names a Hub id as base model.
        paragraphs: text of the README.md.
        records: name of a JSON file → its content.
        overwrite: see `new_target`.
    """
    metadata = hub_metadata(model, base_model=None if os.path.exists(source) else source)
    text = "\n\n".join([f"# {target.resolve().name}", *paragraphs])
    with new_target(target, overwrite) as folder:
        save_checkpoint(model, tokenizer, folder)
        for name, content in (records or {}).items():
            write_json(folder / name, content)
        ModelCard(f"---\n{metadata.to_yaml()}\n---\n\n{text}\n").save(folder / CARD)
