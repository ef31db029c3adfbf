"""Prints the `--help` of a script before the script imports torch, which takes seconds.

The flags are in files that do not need torch, but importing any file of the package `vocabless` first imports the
package itself, which does. So the help is printed from an empty package of the same name.
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def exit_with_help(flags: str, description: str | None) -> None:
    """Prints the help and ends the process, if the command line asks for `--help`.

    Args:
        flags: module whose `FLAGS` are the dataclasses of the script's own flags.
        description: first part of the help.
    """
    if not {"-h", "--help"} & set(sys.argv[1:]):
        return
    package = ModuleType("vocabless")
    package.__path__ = [str(Path(__file__).resolve().parent / "vocabless")]
    sys.modules["vocabless"] = package
    types = import_module(flags).FLAGS
    import_module("vocabless.training.script_parser").ScriptParser(types, types, description).print_help()
    sys.exit()
