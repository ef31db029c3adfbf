"""Where the Hub cannot be reached, a name that is no folder is refused at once, and nothing stays offline."""

import time

import pytest
from huggingface_hub import constants

from vocabless import hub_connection
from vocabless.hub_connection import offline_without_hub
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.training.load import load_checkpoint_config


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(hub_connection.socket, "create_connection", refuse)
    monkeypatch.setattr(hub_connection, "getproxies", dict)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    hub_connection._is_reached.cache_clear()
    yield
    hub_connection._is_reached.cache_clear()


@pytest.mark.parametrize("load", [load_checkpoint, load_checkpoint_config])
def test_an_unknown_name_is_refused_at_once(load, no_network) -> None:
    started = time.monotonic()
    with pytest.raises(ValueError, match="'hashgram-tiny-sentenc'"):
        load("hashgram-tiny-sentenc")
    assert time.monotonic() - started < 5
    assert not constants.HF_HUB_OFFLINE


def test_a_name_that_is_nearly_one_of_an_encoder_of_the_package_is_told(no_network) -> None:
    with pytest.raises(ValueError, match="did you mean hashgram-tiny-sentence "):
        load_checkpoint_config("hashgram-tiny-sentenc")


def test_a_folder_and_a_proxy_need_no_connection(tmp_path, no_network, monkeypatch) -> None:
    with offline_without_hub(str(tmp_path)):
        assert not constants.HF_HUB_OFFLINE
    monkeypatch.setattr(hub_connection, "getproxies", lambda: {"https": "http://proxy:8080"})
    with offline_without_hub("you/base"):
        assert not constants.HF_HUB_OFFLINE
