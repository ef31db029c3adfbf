"""Joins the JavaScript modules of a page into one script: each module becomes a function that returns its exports."""

import re
from pathlib import Path

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";$', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)
ANY_MODULE_WORD = re.compile(r"^(?:import|export)\b.*$", re.M)
UNSAFE = re.compile(r"</script|<!--", re.I)  # would end the script element of the page, or change how it is read


def join_modules(folder: Path, entry: str) -> str:
    """Returns a script that runs a module of the folder and all that it imports, each once and after its imports.

    The modules may import names, `import { a, b as c } from "./file.js";`, and export functions, classes and constants
    where they are defined. Names of different modules stay apart. Comments in front of a module are kept.

    Raises:
        ValueError: a module has an import or an export of another form, or text that HTML would misread.
    """
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        if name in modules:
            return
        text = (folder / name).read_text(encoding="utf-8")
        modules[name] = ""  # its place is taken by the next line, after the modules that it imports
        for imported in IMPORT.finditer(text):
            add(imported[2])
        del modules[name]
        modules[name] = _as_function(name, text)

    add(entry)
    return "const modules = {};\n\n" + "\n".join(modules.values())


def as_module(folder: Path, entry: str) -> str:
    """Returns what `join_modules` returns as one module, with the exports of `entry`. Errors: see there."""
    names = EXPORT.findall((folder / entry).read_text(encoding="utf-8"))
    return f'{join_modules(folder, entry)}\nexport const {{ {", ".join(names)} }} = modules["{entry}"];\n'


def _as_function(name: str, text: str) -> str:
    """Returns the text of a module as a call that puts its exports into `modules`."""
    exports = EXPORT.findall(text)
    body = EXPORT.sub("", text)

    def imported(match: re.Match[str]) -> str:
        names = ", ".join(part.strip().replace(" as ", ": ") for part in match[1].split(",") if part.strip())
        return f'const {{ {names} }} = modules["{match[2]}"];'

    body = IMPORT.sub(imported, body)
    other = ANY_MODULE_WORD.search(body) or UNSAFE.search(body)
    if other:
        raise ValueError(f"the page cannot hold {other[0]!r} of browser/{name}; write it in another way.")
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(exports)} }};\n}})();\n'
