"""A stand-in for the Hub on the loopback: the requests of `huggingface_hub` that upload a model and load it by its id.

    with HubStandIn() as hub:
        subprocess.run(command, env={**os.environ, **hub.environment(home)}, timeout=60)

    python tests/hub_stand_in.py vocabless hub checkpoints/hashgram-nano-sst2 you/mine --push

It keeps all files in memory; they come with the commit, none by LFS. Any token that begins with `hf_` belongs to the
user `you`. The server stops at the end of the `with` block.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

TOKEN = "hf_of_nobody"
USER = "you"
CONNECTION_TIMEOUT_SECONDS = 20
# Kind, id, what is asked for, revision and path.
OF_REPOSITORY = re.compile(
    r"/(?:api/(models|spaces)/)?([\w.-]+/[\w.-]+?)(?:/(preupload|commit|revision|tree|resolve)/([\w.-]+)/?(.*))?"
)
Answer = tuple[int, Any, dict[str, str]]  # status, JSON or bytes, headers


@dataclass
class Repository:
    """A repository of a model or a Space.

    Attributes:
        commits: sha → path → content, newest commit last.
        messages: messages of the commits after the first.
        sdk: what a Space runs; None for a model.
    """

    commits: dict[str, dict[str, bytes]] = field(default_factory=lambda: {_sha(b"first"): {}})
    messages: list[str] = field(default_factory=list)
    sdk: str | None = None

    @property
    def head(self) -> str:
        return list(self.commits)[-1]

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[self.head]

    def commit(self, body: bytes) -> str:
        values = [(line["key"], line["value"]) for line in map(json.loads, body.splitlines())]
        new = {value["path"]: base64.b64decode(value["content"]) for key, value in values if key == "file"}
        self.messages += [value["summary"] for key, value in values if key == "header"]
        sha = _sha(f"{self.head} {sorted(new.items())} {len(self.commits)}".encode())
        self.commits[sha] = self.files | new
        return sha


class HubStandIn:
    """A server that runs within its `with` block.

    Attributes:
        repositories: id → repository; the id of a Space begins with `spaces/`.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}

    def __enter__(self) -> "HubStandIn":
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads, self._server.block_on_close = True, False
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def environment(self, home: Path) -> dict[str, str]:
        """Returns the environment variables that make a process use this server, with its caches in `home`."""
        variables = {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
        variables |= {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "NO_PROXY": "127.0.0.1"}
        return variables | {"HF_TOKEN": TOKEN}

    def answer(self, method: str, path: str, body: bytes, authorization: str) -> Answer:
        """Returns the answer to a request."""
        if not authorization.startswith("Bearer hf_") and (method == "POST" or path == "/api/whoami-v2"):
            return 401, {"error": "Invalid username or password."}, {}
        if path == "/api/whoami-v2":
            return 200, {"type": "user", "name": USER, "auth": {"accessToken": {"role": "write"}}, "orgs": []}, {}
        if path == "/api/repos/create":
            return self._create(**json.loads(body))
        if path == "/api/validate-yaml":
            return _validate(json.loads(body)["content"].split("---")[1])
        return self._of_repository(path, body)

    def _create(self, name: str, organization: str = USER, type: str = "model", sdk: str = "", **_: object) -> Answer:
        if (organization or USER) != USER:
            return 403, {"error": f"{USER} may not write to {organization}/{name}"}, {}
        repo_id = f"{'spaces/' if type == 'space' else ''}{USER}/{name}"
        description = {"url": f"{self.url}/{repo_id}", "id": repo_id, "name": repo_id}
        if repo_id in self.repositories:
            return 409, {"error": "You already created this model repo", **description}, {}
        self.repositories[repo_id] = Repository(sdk=sdk or None)
        return 200, description, {}

    def _of_repository(self, path: str, body: bytes) -> Answer:
        found = OF_REPOSITORY.fullmatch(path)
        kind, repo_id, what, revision, name = (
            (unquote(part) for part in found.groups(default="")) if found else [""] * 5
        )
        repository = self.repositories.get(f"spaces/{repo_id}" if kind == "spaces" else repo_id)
        if repository is None:
            return _missing("RepoNotFound")
        sha = repository.head if revision in ("", "main") else revision
        if sha not in repository.commits:
            return _missing("RevisionNotFound")
        files = repository.commits[sha]
        if what == "preupload":
            paths = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths]
            return 200, {"files": modes}, {}
        if what == "commit":
            sha = repository.commit(body)
            return 200, {"success": True, "commitOid": sha, "commitUrl": f"{self.url}/{repo_id}/commit/{sha}"}, {}
        if what == "tree":
            within = {path: files[path] for path in sorted(files) if path.startswith(name and f"{name}/")}
            rows = [{"type": "file", "path": path, "size": len(d), "oid": _oid(d)} for path, d in within.items()]
            return (200, rows, {}) if rows or not name else _missing("EntryNotFound")
        if what == "resolve":
            if name not in files:
                return _missing("EntryNotFound", {"X-Repo-Commit": sha})
            return 200, files[name], {"X-Repo-Commit": sha, "ETag": f'"{_oid(files[name])}"'}
        siblings = [{"rfilename": path} for path in sorted(files)]
        return 200, {"id": repo_id, "modelId": repo_id, "sha": sha, "siblings": siblings, "tags": []}, {}


class _Handler(BaseHTTPRequestHandler):
    hub: HubStandIn
    protocol_version = "HTTP/1.1"
    timeout = CONNECTION_TIMEOUT_SECONDS

    def respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, authorization = urlsplit(self.path).path, self.headers.get("Authorization") or ""
        status, content, headers = self.hub.answer(self.command, path, body, authorization)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = respond

    def log_message(self, *arguments: object) -> None:
        pass


def _validate(metadata: str) -> Answer:
    try:
        is_mapping = isinstance(yaml.safe_load(metadata), dict)
    except yaml.YAMLError:
        is_mapping = False
    errors = [] if is_mapping else [{"message": "the metadata is no mapping"}]
    return (400 if errors else 200), {"errors": errors, "warnings": []}, {}


def _missing(code: str, headers: dict[str, str] | None = None) -> Answer:
    return 404, {"error": code}, {"X-Error-Code": code, "X-Error-Message": code, **(headers or {})}


def _sha(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _oid(data: bytes) -> str:
    """Returns git's hash of a file."""
    return _sha(b"blob %d\0" % len(data) + data)


def main(command: list[str]) -> int:
    """Runs a command with a stand-in for the Hub, lists what it uploaded, and returns its exit status."""
    with HubStandIn() as hub, tempfile.TemporaryDirectory() as home:
        status = subprocess.run(command, env={**os.environ, **hub.environment(Path(home))}).returncode
    for name, repository in hub.repositories.items():
        print(f"The stand-in holds {name}: {', '.join(sorted(repository.files))}.")  # noqa: T201
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
