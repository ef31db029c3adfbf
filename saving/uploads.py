"""Checkpoint folders on their way to the Hub: what is looked at before any work, and what goes there.

huggingface_hub says what went wrong in many ways; here each is one sentence.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, RepositoryNotFoundError
from transformers.trainer_utils import HubStrategy

from vocabless.saving.model_card import CARD, named_card
from vocabless.saving.sources import first_words

# What the HTTP client raises that huggingface_hub is built on: httpx or httpx2, by its version.
CLIENT_ERROR = cast(type[Exception], HfHubHTTPError.__mro__[1])
GOES = (".json", ".md", ".py", ".safetensors")  # of the folder itself: no pickle, no prediction


def check_upload(repo_id: str, token: str | None = None, replace: bool = True) -> str:
    """Returns the id with its owner, after it has asked the Hub for all that would make an upload fail.

    Args:
        repo_id: `name`, in the token's own name, or `owner/name`.
        token: None is that of `hf auth login` or HF_TOKEN.
        replace: whether the repository may hold files already.

    Raises:
        ValueError: no such id can be, no token, no network, or a repository that holds files.
    """
    api = HfApi(token=token)
    with _in_one_sentence(api, repo_id):
        name = api.whoami()["name"]
        full_id = repo_id if "/" in repo_id else f"{name}/{repo_id}"
        try:
            files = set(api.list_repo_files(full_id))
        except RepositoryNotFoundError:
            files = set()
    if not replace and files - {".gitattributes"}:
        raise ValueError(
            f"the repository {full_id!r} is there already and holds {len(files)} files; give another name, or "
            "--exist_ok to commit a new version of them."
        )
    return full_id


def upload(
    folder: Path,
    repo_id: str,
    message: str,
    token: str | None = None,
    private: bool | None = None,
    branch: str = "main",
) -> str:
    """Commits a checkpoint folder to a repository, which is made if it is not there; returns its address.

    Its card, if it has one, is given the repository's name there.

    Args:
        folder: weights, code, tokenizer, card and records go; folders in it, predictions and pickles stay.
        repo_id: see `check_upload`.
        message: of the commit.
        token: see `check_upload`.
        private: whether a new repository is; None is the account's default.
        branch: to commit to.

    Raises:
        ValueError: the Hub did not take it.
    """
    operations = [
        CommitOperationAdd(file.name, named_card(file, repo_id).encode() if file.name == CARD else file)
        for file in sorted(folder.iterdir())
        if file.suffix in GOES and file.is_file()
    ]
    api = HfApi(token=token)
    with _in_one_sentence(api, repo_id):
        url = api.create_repo(repo_id, private=private, exist_ok=True)
        if branch != "main":
            api.create_branch(repo_id, branch=branch, exist_ok=True)
        api.create_commit(repo_id, operations, commit_message=message, revision=branch)
    return str(url)


def check_run_upload(training: Any, name: str, runs: Sequence[str] = ("",)) -> list[str]:
    """Returns the ids of the repositories that the runs of a script go to, see `check_upload`.

    One run goes to `--hub_model_id` itself; several go to repositories whose names begin so, or with `name`.

    Args:
        training: the script's `TrainingArguments`.
        name: of the output folder.
        runs: the names of the runs in it; "" is the folder itself.

    Raises:
        ValueError: what `check_upload` refuses; a `--hub_strategy` other than end.
    """
    strategy = HubStrategy(training.hub_strategy).value
    if strategy != "end":
        raise ValueError(f"--hub_strategy {strategy} would push unfinished runs; leave it out.")
    if training.hub_model_id and len(runs) == 1:
        ids = [training.hub_model_id]
    else:
        ids = ["-".join(filter(None, (training.hub_model_id or name, run))) for run in runs]
    return [check_upload(repo_id, training.hub_token) for repo_id in ids]


def upload_run(folder: Path, repo_id: str, training: Any) -> str:
    """Commits the folder of a finished run, see `upload`."""
    branch = training.hub_revision or "main"
    return upload(folder, repo_id, "Add a finished run", training.hub_token, training.hub_private_repo, branch)


@contextmanager
def _in_one_sentence(api: HfApi, repo_id: str) -> Iterator[None]:
    try:
        yield
    except (CLIENT_ERROR, OSError, RuntimeError, ValueError) as error:
        raise ValueError(_sentence(api, repo_id, error)) from error


def _sentence(api: HfApi, repo_id: str, error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, HFValidationError):
        return f"{repo_id!r} is no repository id ({first_words(error)}); give name or owner/name."
    if isinstance(error, LocalTokenNotFoundError) or status == 401:
        return f"there is no valid token to write to {repo_id!r} with; log in by `hf auth login`, or set HF_TOKEN."
    if status == 403:
        return f"your token may not write to {repo_id!r}; take one with write access, or a repository of your own."
    if isinstance(error, ValueError):
        return f"the Hub refuses what {repo_id!r} would hold ({' '.join(str(error).split())}); mend it and push again."
    return (
        f"the Hub at {api.endpoint} did not take {repo_id!r} ({first_words(error)}); nothing here is lost: check the "
        f"network and HF_HUB_OFFLINE, then python -m vocabless.conversion hub FOLDER {repo_id} --push."
    )
