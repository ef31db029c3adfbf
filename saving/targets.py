"""The target folder of a conversion: new, empty or given with `--overwrite`; it is written whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.saving.checkpoint import UNFINISHED, save_checkpoint, written_whole
from vocabless.saving.model_card import CARD, hub_metadata
from vocabless.saving.run_folder import write_json
from vocabless.saving.uploads import check_upload, upload, upload_space


def check_target(target: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Returns the path of a target folder, which does not exist yet, is empty or may be overwritten. Creates nothing.

    What a conversion that was killed has left there does not count.

    Raises:
        ValueError: the folder holds files or may not be written, or the path is a file or a broken link.
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
        raise ValueError(
            f"the folder {str(nearest)!r} may not be written; change its permissions, or give another target."
        )
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


def write_or_push(arguments: Any, write: Callable[[Any, Path], str | None], message: str, repo_type: str) -> str:
    """Writes files into the target folder of a conversion, or with --push uploads them to the Hub.

    The files are written into a temporary folder first, so that a mistake leaves nothing in the target.

    Args:
        arguments: of the verb: its `target`, `overwrite`, `push`, `exist_ok` and `private` are read.
        write: writes the files for the arguments into an existing, empty folder, and may return a report.
        message: of the commit.
        repo_type: see `check_upload`.

    Returns:
        The report, and with --push the address.

    Raises:
        ValueError: see `check_target` and `check_upload`; or the upload failed.
    """
    target, private = arguments.target, arguments.private or None
    if arguments.push:
        repo_id = check_upload(target, replace=arguments.exist_ok, repo_type=repo_type)
    else:
        check_target(target, arguments.overwrite)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / Path(target).resolve().name  # a card without other facts is named after it
        folder.mkdir()
        lines = [write(arguments, folder)]
        if arguments.push and repo_type == "space":
            lines.append(upload_space(folder, repo_id, message, private))
        elif arguments.push:
            lines.append(upload(folder, repo_id, message, private=private))
        else:
            with new_target(target, arguments.overwrite) as new:
                shutil.copytree(folder, new, dirs_exist_ok=True)
    return "\n".join(filter(None, lines))


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
