"""A Hub that does not answer is named within seconds, and only if it is needed."""

import socket
import time
from collections.abc import Iterator

import pytest
from hub_stand_in import HubStandIn
from huggingface_hub import constants

from vocabless.training.distillation.reachable import check_reachable
from vocabless.training.distillation.sentence_teacher import SentenceTeacher


@pytest.fixture(autouse=True)
def online(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 1)


def use(monkeypatch, url: str) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")


@pytest.fixture(params=["silent", "refusing"])
def dead_hub(request, monkeypatch) -> Iterator[None]:
    """A server that takes connections and says nothing, or a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        use(monkeypatch, f"http://127.0.0.1:{server.getsockname()[1]}")
        if request.param == "refusing":
            server.close()
        yield


def test_a_hub_that_does_not_answer_is_named_within_seconds(dead_hub) -> None:
    sentence = r"the teacher 'you/large' cannot be loaded: http://127.* does not answer within 1 s \(.*\); check"
    start = time.monotonic()
    with pytest.raises(ValueError, match=sentence):
        SentenceTeacher("you/large", 16)
    assert time.monotonic() - start < 5


def test_a_folder_a_cached_teacher_and_offline_mode_need_no_hub(dead_hub, tmp_path, monkeypatch) -> None:
    check_reachable(str(tmp_path))
    commit = tmp_path / "hub" / "models--you--large" / "snapshots" / ("0" * 40)
    commit.mkdir(parents=True)
    (commit / "config.json").touch()
    check_reachable("you/large", "0" * 40)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    check_reachable("you/other")


def test_any_answer_of_the_hub_passes(monkeypatch) -> None:
    with HubStandIn() as hub:
        use(monkeypatch, hub.url)
        check_reachable("you/missing")
        check_reachable("no such id")
    assert [request for request in hub.requests if "you/missing" in request]
