"""The target folder of a conversion: new, empty or given with `--overwrite`; it is written whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.disk_errors import UNFINISHED, check_space
from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.model_card import CARD, hub_metadata
from vocabless.saving.record import provenance
from vocabless.saving.run_folder import nearest_folder
from vocabless.saving.uploads import ONNX_FILES, check_upload, upload
from vocabless.whole_folders import atomic_folder


def check_target(target: str | os.PathLike[str], overwrite: bool = False, sources: Iterable[str] = ()) -> Path:
    """Returns the path of a target folder, which does not exist yet, is empty or may be overwritten. Changes nothing.

    What a conversion that was killed has left there does not count. `sources` are files and folders that are read, or
    Hub ids: the target may hold none of their files.

    Raises:
        ValueError: the folder holds files or cannot be written, or the path is a file or a broken link.
    """
    folder = Path(target)
    nearest = nearest_folder(folder, "target")
    has_files = folder.is_dir() and any(not file.name.startswith(UNFINISHED) for file in folder.iterdir())
    shared = next((source for source in sources if has_files and _holds_files_of(folder, Path(source))), None)
    if shared is not None:
        raise ValueError(
            f"the target {str(target)!r} holds files of {shared!r}, which is read and must not be overwritten; give "
            "another target."
        )
    if has_files and not overwrite:
        raise ValueError(
            f"the target {str(target)!r} is not an empty folder; give another one, or --overwrite, which replaces "
            "files of the same names."
        )
    try:
        tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=nearest).cleanup()
    except OSError as error:
        reason = str(error.strerror).lower()  # "read-only file system", "permission denied"
        raise ValueError(f"nothing can be written into {str(nearest)!r}: {reason}; give another target.") from error
    return folder


def _holds_files_of(target: Path, source: Path) -> bool:
    """Returns whether a folder, or one that it links to, holds a file of a source.

    `ONNX_FILES` do not count, so that an exported graph can be replaced in the checkpoint that it belongs to.
    """
    folders = [path.resolve() for path in (target, *target.rglob("*")) if path.is_dir() and path.is_symlink()]
    read = (path for path in (source, *source.rglob("*")) if path.is_file() or path.is_symlink())
    files = (path.resolve() for path in read if path.relative_to(source).as_posix() not in ONNX_FILES)
    return any(file.is_relative_to(folder) for file in files for folder in (target.resolve(), *folders))


def write_target(arguments: Any, write: Callable[[Any, Path], str | None], repo_type: str = "model") -> str:
    """Writes files into the target folder of a conversion, or with --push uploads them to the Hub.

    Of the arguments of a verb, `target`, `overwrite`, what names files, and --push if the verb has it, are read.
    `write` writes the files into an existing, empty folder, and may return a report. That folder is a temporary one, so
    that a mistake leaves nothing in the target. Returns the report, and with --push the address.

    Raises:
        ValueError: see `check_target`, `check_space` and `check_upload`; or the upload failed.
    """
    target, is_pushed = Path(arguments.target), getattr(arguments, "push", False)
    if is_pushed:
        repo_id = check_upload(arguments.target, replace=arguments.exist_ok, repo_type=repo_type)
    else:
        others = (*getattr(arguments, "documents", ()), getattr(arguments, "subword", None))
        sources = [source for source in (arguments.source, *others) if source]
        check_target(target, arguments.overwrite, sources)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / target.resolve().name  # a card without other facts is named after it
        folder.mkdir()
        lines = [write(arguments, folder)]
        if is_pushed:
            message = getattr(arguments, "commit_message", "Add the page")
            lines.append(upload(folder, repo_id, message, private=arguments.private or None, repo_type=repo_type))
        else:
            new_files = [file.stat() for file in folder.rglob("*") if file.is_file()]
            check_space(target, sum(file.st_size for file in new_files), "its files")
            with atomic_folder(check_target(target, arguments.overwrite, sources)) as new:
                shutil.copytree(folder, new, dirs_exist_ok=True)
    return "\n".join(filter(None, lines))


def write_converted(
    folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: str, paragraphs: list[str]
) -> None:
    """Writes a converted checkpoint into an existing folder: weights, code, tokenizer and README.md.

    The title of the README.md is the name of the folder, and its text are the paragraphs. It names `source`, what was
    converted, as base model if that is a Hub id, and has the licence and the language of its card.
    """
    metadata = hub_metadata(model, **provenance(source, from_scratch=False))
    text = "\n\n".join([f"# {folder.name}", *paragraphs])
    save_checkpoint(model, tokenizer, folder)
    ModelCard(f"---\n{metadata.to_yaml()}\n---\n\n{text}\n").save(folder / CARD)
