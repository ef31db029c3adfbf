"""Loading from the Hub without a network: huggingface_hub asks six times, which takes 24 seconds for each file."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies

from huggingface_hub import constants

SECONDS = 5  # of waiting for a connection


@contextmanager
def offline_without_hub(source: str) -> Iterator[None]:
    """Lets huggingface_hub read its cache alone in a `with` block that loads a Hub id, if the Hub cannot be reached."""
    was_offline = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = was_offline or not (os.path.isdir(source) or _is_reached(constants.ENDPOINT))
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = was_offline


@cache
def _is_reached(endpoint: str) -> bool:
    """Returns whether an address takes connections; if there is a proxy, it is asked for nothing, and True."""
    address = urlsplit(endpoint)
    try:
        if not getproxies():
            socket.create_connection((str(address.hostname), address.port or 443), SECONDS).close()
    except OSError:
        return False
    return True
