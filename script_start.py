"""What a script does before it imports torch, which takes seconds: it prints `--help`, and prepares for Ctrl-C.

The files for this do not need torch, but importing any file of the package `vocabless` first imports the package
itself, which does. So they are imported from an empty package of the same name.
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def start_script(flags: str, description: str | None) -> None:
    """Lets Ctrl-C end the script with one line; prints the help and ends, if the command line asks for `--help`.

    Args:
        flags: module whose `FLAGS` are the dataclasses of the script's own flags.
        description: first part of the help.
    """
    package = ModuleType("vocabless")
    package.__path__ = [str(Path(__file__).resolve().parent / "vocabless")]
    sys.modules["vocabless"] = package
    import_module("vocabless.interrupts").exit_on_interrupt()
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        types = import_module(flags).FLAGS
        import_module("vocabless.training.script_parser").ScriptParser(types, types, description).print_help()
        sys.exit()
    del sys.modules["vocabless"]  # `vocabless.interrupts` stays: the package must find the handler that is set
