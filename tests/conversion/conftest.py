"""A stand-in for the Hub."""

import pytest
from hub_stand_in import HubStandIn
from huggingface_hub import constants


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The stand-in for the Hub, used by this process."""
    with HubStandIn() as stand_in:
        for name, value in stand_in.environment(tmp_path / "home").items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(constants, "ENDPOINT", stand_in.url)
        template = stand_in.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
        # transformers keeps one client, which remembers the address. Version 5.0 has none.
        monkeypatch.setattr("transformers.utils.hub._hf_api", None, raising=False)
        yield stand_in
