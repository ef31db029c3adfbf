"""Uploads checkpoint folders to the Hub, and checks before any work that an upload will be possible.

Errors of huggingface_hub become a `ValueError` of one sentence.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, RepositoryNotFoundError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]
from transformers.trainer_utils import HubStrategy
from transformers.utils import CONFIG_NAME, GENERATION_CONFIG_NAME, SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME

from vocabless.joined_code import PROGRAM
from vocabless.saving.checkpoint_files import first_line
from vocabless.saving.model_card import CARD, EVAL_RESULTS, REPOSITORY_PLACEHOLDER, card_for_repository
from vocabless.saving.run_folder import RESULTS
from vocabless.saving.sentence_modules import SENTENCE_FILES
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

# Base class of the errors of huggingface_hub's HTTP client, which is httpx or httpx2, depending on the version.
CLIENT_ERROR = cast(type[Exception], HfHubHTTPError.__mro__[1])
# What the verb `onnx` adds to a checkpoint.
ONNX_FILES = (
    "onnx/model.onnx",
    "onnx/model_int8.onnx",
    "onnx/inference.json",
    f"onnx/{PROGRAM}",
    *(f"onnx/{name}" for name in VocablessTokenizer.vocab_files_names.values()),
)
PIN_MESSAGE = "Load this revision in the examples of the card"
# All that is uploaded of a folder, as patterns: what a run or a conversion writes for others. Tables, predictions and
# arguments of a run stay here, because they hold the user's data and paths.
UPLOADED_FILES = (
    *(CARD, EVAL_RESULTS, RESULTS, CONFIG_NAME, GENERATION_CONFIG_NAME, "*.py"),
    *(SAFE_WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME, "model-*-of-*.safetensors"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json"),
    *VocablessTokenizer.vocab_files_names.values(),
    *(*SENTENCE_FILES, *ONNX_FILES),
)


def check_upload(repo_id: str, token: str | None = None, replace: bool = True, repo_type: str = "model") -> str:
    """Asks the Hub whether an upload to a repository is possible; returns the repository's id with its owner.

    Args:
        repo_id: `owner/name`, or `name` for a repository of the token's user.
        token: None is that of `hf auth login` or of the environment variable HF_TOKEN.
        replace: whether the repository may already hold files.
        repo_type: `model` or `space`.

    Raises:
        ValueError: the id is not valid, the token is missing, the Hub cannot be reached, or the repository holds files.
    """
    api = HfApi(token=token)
    with _readable_errors(api, repo_id, repo_type):
        validate_repo_id(repo_id)
        user = api.whoami()["name"]
        full_id = repo_id if "/" in repo_id else f"{user}/{repo_id}"
        try:
            files = set(api.list_repo_files(full_id, repo_type=repo_type))
        except RepositoryNotFoundError:
            files = set()
    if not replace and files - {".gitattributes"}:
        kind = "repository" if repo_type == "model" else "Space"
        raise ValueError(
            f"the {kind} {full_id!r} already exists and holds {len(files)} files; give another name, or add "
            "--exist_ok to commit a new version of the files."
        )
    return full_id


def upload(
    folder: Path,
    repo_id: str,
    message: str,
    token: str | None = None,
    private: bool | None = None,
    branch: str = "main",
    repo_type: str = "model",
) -> str:
    """Commits a folder to a repository, which is created if needed, like the branch; returns its address and commit.

    A second commit lets the examples in a model card load the first one: without a revision, transformers prints four
    lines for each file of code that it downloads.

    All files of a page are uploaded; of a checkpoint `UPLOADED_FILES`, and nothing else. `private` is of a new
    repository; None is the account's default. See `check_upload` for the other arguments.

    Raises:
        ValueError: the upload failed.
    """
    api, card = HfApi(token=token), folder / CARD
    names = _uploaded_files(folder, ("*",) if repo_type == "space" else UPLOADED_FILES)

    def commit(names: Sequence[str], message: str, revision: str | None = None) -> str:
        """Commits files, and the card with examples that load a revision; returns the commit."""
        files: dict[str, Any] = {name: folder / name for name in names}
        if CARD in files:
            files[CARD] = card_for_repository(card, repo_id, revision).encode()
        operations = [CommitOperationAdd(*each) for each in files.items()]
        options: Any = {"commit_message": message, "revision": branch, "repo_type": repo_type}
        return str(api.create_commit(repo_id, operations, **options).oid)

    with _readable_errors(api, repo_id, repo_type):
        sdk = "static" if repo_type == "space" else None
        url = api.create_repo(repo_id, repo_type=repo_type, space_sdk=sdk, private=private, exist_ok=True)
        if branch != "main":
            api.create_branch(repo_id, branch=branch, exist_ok=True)
        revision = commit(names, message)
    if CARD in names and REPOSITORY_PLACEHOLDER in card.read_text(encoding="utf-8"):
        with _readable_errors(api, repo_id, repo_type, flags="--push --exist_ok"):
            commit([CARD], PIN_MESSAGE, revision)
    return f"{url} at the revision {revision}"


def check_run_upload(training: Any, name: str, runs: Sequence[str] = ("",)) -> list[str]:
    """Checks the repositories that the runs of a script will be uploaded to; returns their ids, see `check_upload`.

    The id of one run is `--hub_model_id`. The ids of several runs are `--hub_model_id`, or the `name` of the output
    folder, a hyphen and the run's name; "" stands for the output folder itself.

    Raises:
        ValueError: see `check_upload`; or `--hub_strategy` is not `end`.
    """
    strategy = HubStrategy(training.hub_strategy).value
    if strategy != "end":
        raise ValueError(f"--hub_strategy {strategy} would upload unfinished runs; leave it out.")
    if training.hub_model_id and len(runs) == 1:
        runs = [""]
    ids = ["-".join(filter(None, (training.hub_model_id or name, run))) for run in runs]
    return [check_upload(repo_id, training.hub_token) for repo_id in ids]


def upload_run(folder: Path, repo_id: str, training: Any) -> str:
    """Commits the folder of a finished run, see `upload`."""
    branch = training.hub_revision or "main"
    return upload(folder, repo_id, "Add a finished run", training.hub_token, training.hub_private_repo, branch)


def _uploaded_files(folder: Path, patterns: Sequence[str] = UPLOADED_FILES) -> list[str]:
    """Returns the names of the files to upload, relative to the folder."""
    files = (file for pattern in patterns for file in folder.glob(pattern))
    return sorted({file.relative_to(folder).as_posix() for file in files if file.is_file()})


@contextmanager
def _readable_errors(api: HfApi, repo_id: str, repo_type: str, flags: str = "--push") -> Iterator[None]:
    """Turns the errors of huggingface_hub into a `ValueError` of one sentence that says what failed and what to do.

    `flags` are those of the verb of `vocabless.conversion` that uploads again.
    """
    try:
        yield
    except (CLIENT_ERROR, OSError, RuntimeError, ValueError) as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(error, HFValidationError):
            problem = f"{repo_id!r} is not a valid repository id ({first_line(error)}); give name or owner/name."
        elif isinstance(error, LocalTokenNotFoundError) or status == 401:
            problem = f"there is no valid token for uploads to {repo_id!r}; run `hf auth login`, or set HF_TOKEN."
        elif status == 403:
            problem = f"your token may not write to {repo_id!r}; use a token with write access, or your own repository."
        elif isinstance(error, ValueError):
            reason = " ".join(str(error).split())
            problem = f"the Hub rejected the files for {repo_id!r} ({reason}); correct them and upload again."
        else:
            problem = (
                f"the upload to {repo_id!r} at {api.endpoint} failed ({first_line(error)}); your files are unchanged: "
                "check the network and HF_HUB_OFFLINE, then run "
                f"vocabless {'hub' if repo_type == 'model' else repo_type} FOLDER {repo_id} {flags}."
            )
        raise ValueError(problem) from error
