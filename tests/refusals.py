"""How a test reads what a command says when it refuses to work."""

from collections.abc import Callable

import pytest


def refusal(command: Callable[[list[str]], None], *arguments: object) -> str:
    """Returns the one sentence with which a command ends."""
    with pytest.raises(SystemExit) as stopped:
        command([str(argument) for argument in arguments])
    assert isinstance(stopped.value.code, str) and "\n" not in stopped.value.code
    return stopped.value.code
