"""A process that has transformers but not this package, as the people who load a checkpoint have it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vocabless.saving.checkpoint import WITHOUT_PACKAGE

# A line of its input is a program and its variables. It answers with the variable `result`. What is printed is logged.
SERVE = (
    WITHOUT_PACKAGE
    + """
import gc, os
gc.set_threshold(100_000, 50, 100)
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import torch, transformers
transformers.utils.logging.disable_progress_bar()
for line in sys.stdin:
    program, variables = json.loads(line)
    names = {"torch": torch, "transformers": transformers, "result": None} | variables
    exec(program, names)
    assert not any(name.split(".")[0] == "vocabless" for name in sys.modules)
    print(json.dumps(names["result"], default=float), file=answers, flush=True)
"""
)


@contextmanager
def bare_process(folder: Path) -> Iterator[Callable[..., Any]]:
    """Gives a function that runs a program with variables in one such process, and returns its variable `result`."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(folder / "modules")}
    environment |= {"HF_HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)
    command, log = [sys.executable, "-I", "-c", SERVE], folder / "stderr.txt"
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log.open("w"), "text": True}
    with streams["stderr"], subprocess.Popen(command, cwd=folder, env=environment, **streams) as process:

        def run(program: str, **variables: object) -> Any:
            process.stdin.write(json.dumps([program, variables], default=str) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, log.read_text()[-3000:]
            return json.loads(answer)

        yield run
