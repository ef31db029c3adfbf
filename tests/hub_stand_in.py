"""A stand-in for the Hub on the loopback: the requests of `huggingface_hub` that upload a model and load it by its id.

    with HubStandIn() as hub:
        subprocess.run(command, env={**os.environ, **hub.environment(home)}, timeout=60)

    python tests/hub_stand_in.py python -m vocabless.conversion hub checkpoints/hashgram-nano-sst2 you/mine --push

It keeps all files in memory. Any token that begins with `hf_` belongs to the user `you`. Weights are uploaded by LFS,
other files with the commit. The server stops at the end of the `with` block.
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
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml
from huggingface_hub import ModelCard

TOKEN = "hf_of_nobody"
USER = "you"
LFS_SUFFIXES = (".safetensors", ".bin")
CONNECTION_TIMEOUT_SECONDS = 20
Answer = tuple[int, Any, dict[str, str]]  # status, JSON or bytes, headers


@dataclass
class Repository:
    """A repository of a model or a Space.

    Attributes:
        commits: sha → path → content, newest commit last.
        messages: messages of the commits after the first.
        sdk: what a Space runs; None for a model.
    """

    commits: dict[str, dict[str, bytes]] = field(default_factory=lambda: {_sha("first"): {}})
    messages: list[str] = field(default_factory=list)
    sdk: str | None = None

    @property
    def head(self) -> str:
        return list(self.commits)[-1]

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[self.head]

    def commit(self, lines: list[dict[str, Any]], large: dict[str, bytes]) -> str:
        files = dict(self.files)
        for value in (line["value"] for line in lines if line["key"] == "file"):
            files[value["path"]] = base64.b64decode(value["content"])
        for value in (line["value"] for line in lines if line["key"] == "lfsFile"):
            files[value["path"]] = large[value["oid"]]
        self.messages.append(next(line["value"]["summary"] for line in lines if line["key"] == "header"))
        sha = _sha(f"{self.head} {sorted((path, _sha256(data)) for path, data in files.items())} {len(self.commits)}")
        self.commits[sha] = files
        return sha


class HubStandIn:
    """A server that runs within its `with` block.

    Attributes:
        repositories: id → repository; the id of a Space begins with `spaces/`.
        large: SHA-256 → content of a file that was uploaded by LFS.
        requests: "METHOD path" of each request, in order.
    """

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.large: dict[str, bytes] = {}
        self.requests: list[str] = []

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

    def environment(self, home: Path, token: str | None = TOKEN) -> dict[str, str]:
        """Returns the environment variables that make a process use this server, with its caches in `home`."""
        variables = {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
        variables |= {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "NO_PROXY": "127.0.0.1"}
        return variables | ({} if token is None else {"HF_TOKEN": token})

    def answer(self, method: str, path: str, body: bytes, authorization: str) -> Answer:
        """Returns the answer to a request."""
        if not authorization.startswith("Bearer hf_") and (method == "POST" or path == "/api/whoami-v2"):
            return 401, {"error": "Invalid username or password."}, {}
        for pattern, respond in ROUTES:
            match = re.fullmatch(pattern, f"{method} {path}")
            if match:
                groups = [unquote(group) for group in match.groups(default="")]
                if path.startswith("/api/spaces/"):
                    groups[0] = f"spaces/{groups[0]}"
                return respond(self, *groups, body)
        return 404, {"error": f"the stand-in has no route for {method} {path}"}, {}

    def whoami(self, body: bytes) -> Answer:
        return 200, {"type": "user", "name": USER, "auth": {"accessToken": {"role": "write"}}, "orgs": []}, {}

    def create(self, body: bytes) -> Answer:
        request = json.loads(body)
        repo_id = f"{request.get('organization') or USER}/{request['name']}"
        if not repo_id.startswith(f"{USER}/"):
            return 403, {"error": f"{USER} may not write to {repo_id}"}, {}
        if request.get("type") == "space":
            if not request.get("sdk"):
                return 400, {"error": "a Space needs an sdk"}, {}
            repo_id = f"spaces/{repo_id}"
        description = {"url": f"{self.url}/{repo_id}", "id": repo_id, "name": repo_id}
        if repo_id in self.repositories:
            return 409, {"error": "You already created this model repo", **description}, {}
        self.repositories[repo_id] = Repository(sdk=request.get("sdk"))
        return 200, description, {}

    def validate_yaml(self, body: bytes) -> Answer:
        try:
            metadata = yaml.safe_load(json.loads(body)["content"].split("---")[1])
        except yaml.YAMLError:
            metadata = None
        errors = [] if isinstance(metadata, dict) else [{"message": "the metadata is no mapping"}]
        return (400 if errors else 200), {"errors": errors, "warnings": []}, {}

    def preupload(self, repo_id: str, revision: str, body: bytes) -> Answer:
        paths = [file["path"] for file in json.loads(body)["files"]]
        modes = {path: "lfs" if path.endswith(LFS_SUFFIXES) else "regular" for path in paths}
        files = [{"path": path, "uploadMode": modes[path], "shouldIgnore": False} for path in paths]
        return self._respond(repo_id, revision, lambda _files, _sha: (200, {"files": files}, {}))

    def lfs_batch(self, repo_id: str, body: bytes) -> Answer:
        objects = []
        for entry in json.loads(body)["objects"]:
            upload = {"href": f"{self.url}/lfs/{entry['oid']}"}
            actions = {} if entry["oid"] in self.large else {"actions": {"upload": upload}}
            objects.append({"oid": entry["oid"], "size": entry["size"], **actions})
        return 200, {"transfer": "basic", "objects": objects}, {}

    def lfs_put(self, oid: str, body: bytes) -> Answer:
        if _sha256(body) != oid:
            return 400, {"error": "the content does not match its hash"}, {}
        self.large[oid] = body
        return 200, b"", {}

    def commit(self, repo_id: str, revision: str, body: bytes) -> Answer:
        lines = [json.loads(line) for line in body.splitlines() if line.strip()]
        if repo_id not in self.repositories:
            return _missing("RepoNotFound")
        sha = self.repositories[repo_id].commit(lines, self.large)
        return 200, {"success": True, "commitOid": sha, "commitUrl": f"{self.url}/{repo_id}/commit/{sha}"}, {}

    def info(self, repo_id: str, revision: str, body: bytes) -> Answer:
        def answer_for(files: dict[str, bytes], sha: str) -> Answer:
            siblings = [{"rfilename": path} for path in sorted(files)]
            body = {"id": repo_id, "modelId": repo_id, "sha": sha, "siblings": siblings, "tags": []}
            card = ModelCard(files["README.md"].decode()).data.to_dict() if "README.md" in files else {}
            return 200, body | {key: card[key] for key in ("pipeline_tag", "library_name") if key in card}, {}

        return self._respond(repo_id, revision or "main", answer_for)

    def tree(self, repo_id: str, revision: str, folder: str, body: bytes) -> Answer:
        def answer_for(files: dict[str, bytes], sha: str) -> Answer:
            within = {path: data for path, data in files.items() if path.startswith(folder and f"{folder}/")}
            rows = [{"type": "file", "path": path, **_file_info(path, data)} for path, data in sorted(within.items())]
            return (200, rows, {}) if rows or not folder else _missing("EntryNotFound")

        return self._respond(repo_id, revision, answer_for)

    def resolve(self, repo_id: str, revision: str, path: str, body: bytes) -> Answer:
        def answer_for(files: dict[str, bytes], sha: str) -> Answer:
            if path not in files:
                return *_missing("EntryNotFound")[:2], {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": sha}
            data = files[path]
            info = _file_info(path, data)
            large = info.get("lfs")
            headers = {"X-Repo-Commit": sha, "ETag": f'"{info["oid"]}"'}
            headers |= {"X-Linked-Etag": f'"{large["oid"]}"', "X-Linked-Size": str(len(data))} if large else {}
            return 200, data, headers

        return self._respond(repo_id, revision, answer_for)

    def _respond(self, repo_id: str, revision: str, answer_for: Callable[[dict[str, bytes], str], Answer]) -> Answer:
        repository = self.repositories.get(repo_id)
        if repository is None:
            return _missing("RepoNotFound")
        sha = repository.head if revision == "main" else revision
        return answer_for(repository.commits[sha], sha) if sha in repository.commits else _missing("RevisionNotFound")


class _Handler(BaseHTTPRequestHandler):
    hub: HubStandIn
    protocol_version = "HTTP/1.1"
    timeout = CONNECTION_TIMEOUT_SECONDS

    def respond(self) -> None:
        path = urlsplit(self.path).path
        self.hub.requests.append(f"{self.command} {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        method = "GET" if self.command == "HEAD" else self.command
        status, content, headers = self.hub.answer(method, path, body, self.headers.get("Authorization") or "")
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = respond

    def log_message(self, *arguments: object) -> None:
        pass


def _missing(code: str) -> Answer:
    return 404, {"error": code}, {"X-Error-Code": code, "X-Error-Message": code}


def _file_info(path: str, data: bytes) -> dict[str, Any]:
    """Returns the size, git's hash of the blob and, for a file of LFS, its SHA-256."""
    git = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    lfs = {"lfs": {"oid": _sha256(data), "size": len(data), "pointerSize": 134}}
    return {"size": len(data), "oid": git} | (lfs if path.endswith(LFS_SUFFIXES) else {})


def _sha(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_ID, _REVISION = r"([\w.-]+/[\w.-]+?)", r"([\w.-]+)"
ROUTES: tuple[tuple[str, Callable[..., Answer]], ...] = (
    (r"GET /api/whoami-v2", HubStandIn.whoami),
    (r"POST /api/repos/create", HubStandIn.create),
    (r"POST /api/validate-yaml", HubStandIn.validate_yaml),
    (rf"POST /api/(?:models|spaces)/{_ID}/preupload/{_REVISION}", HubStandIn.preupload),
    (rf"POST /{_ID}\.git/info/lfs/objects/batch", HubStandIn.lfs_batch),
    (r"PUT /lfs/(\w+)", HubStandIn.lfs_put),
    (rf"POST /api/(?:models|spaces)/{_ID}/commit/{_REVISION}", HubStandIn.commit),
    (rf"GET /api/(?:models|spaces)/{_ID}(?:/revision/{_REVISION})?", HubStandIn.info),
    (rf"GET /api/(?:models|spaces)/{_ID}/tree/{_REVISION}/?(.*)", HubStandIn.tree),
    (rf"GET /{_ID}/resolve/{_REVISION}/(.+)", HubStandIn.resolve),
)


def main(command: list[str]) -> int:
    """Runs a command with a stand-in for the Hub, lists what it uploaded, and returns its exit status."""
    with HubStandIn() as hub, tempfile.TemporaryDirectory() as home:
        status = subprocess.run(command, env={**os.environ, **hub.environment(Path(home))}).returncode
    for name, repository in hub.repositories.items():
        print(f"The stand-in holds {name}: {', '.join(sorted(repository.files))}.")  # noqa: T201
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
