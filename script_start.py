"""What a script does before it imports torch, which takes seconds: it prepares for Ctrl-C, and says what it will do."""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def start_script(default_run: str = "") -> None:
    """Lets Ctrl-C end the script with one line; prints `default_run`, what a command without arguments does.

    The file for this is loaded by its path, since `import vocabless` imports torch. It stays in `sys.modules`: the
    package must find the handler that is set.
    """
    name = "vocabless.interrupts"
    spec = spec_from_file_location(name, Path(__file__).resolve().parent / "vocabless" / "interrupts.py")
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    sys.modules[name].exit_on_interrupt()
    if default_run and len(sys.argv) == 1 and os.environ.get("RANK", "0") == "0":
        print(default_run, flush=True)
