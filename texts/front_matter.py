"""The data before a page: YAML, TOML or JSON → its title, and whether it says that nobody shall find the page."""

import json
import sys
from typing import Any

import regex
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_ENDS = {"---": ("---", "..."), "+++": ("+++",)}
# A block of lines `name: value` without a mark; one is the title.
_LINES = regex.compile(r"(?:[A-Za-z][\w -]*:.*(?:\n[ \t]+\S.*)*(?:\n|\Z))+(?=\n|\Z)")
_LINE = regex.compile(r"^([\w.-]+)[ \t]*[:=][ \t]*(.*?)[ \t]*$", regex.M)
_YES, _NO = ("true", "yes", "on", "y", "1"), ("false", "no", "off", "n", "0", "exclude", "never", "none")
# Names without marks, in lower case. A program that makes sites leaves a page out, or its search does.
_IF_TRUE = frozenset(
    "draft private unlisted hidden noindex nosearch searchexclude searchexcluded excludesearch excludefromsearch "
    "searchhidden hidefromsearch hiddenfromsearch robotsnoindex searchnoindex searchhide".split()
)
_IF_FALSE = frozenset("published publish search searchable searchindex pagefind indexed".split())
_OF_ROBOTS = frozenset("robots googlebot head meta".split())


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    r"""Returns the data before a text, and the text. A line of `---` can also be a rule; then there are no data.

    Data that are damaged are read line by line, as names and values.

    >>> split_front_matter("---\ntitle: Boats\n---\nA text.")
    ({'title': 'Boats'}, 'A text.')
    """
    body = text.lstrip()
    if body.startswith("{"):
        try:
            data, end = json.JSONDecoder().raw_decode(body)
        except (ValueError, RecursionError):
            return {}, text
        return (data, body[end:].lstrip("\n")) if body[end : end + 1] in ("", "\n") else ({}, text)
    lines = body.split("\n")
    mark = lines[0].rstrip()
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() in _ENDS.get(mark, ())), 0)
    if not end:
        block = _LINES.match(body)
        data = _read(block[0], "---") if block else {}
        return (data, body[block.end() :]) if block and title_of(data) else ({}, text)
    first = next((line for line in lines[1:end] if line.strip() and not line.startswith("#")), ":")
    if mark == "---" and ":" not in first and not first.startswith("{"):
        return {}, text
    return _read("\n".join(lines[1:end]), mark), "\n".join(lines[end + 1 :])


def title_of(data: dict[str, Any]) -> str:
    """Returns the title that data name, or ""."""
    titles = [value for name, value in data.items() if str(name).lower() == "title" and isinstance(value, str)]
    return " ".join(titles[0].split()) if titles else ""


def exclusion_of(data: dict[str, Any], above: str = "") -> str:
    """Returns the name and the value by which data say that the page is a draft, or that no search shows it; or ""."""
    for name, value in data.items():
        path = f"{above}.{name}" if above else str(name)
        short, said = regex.sub(r"[\W_]", "", path.lower()), str(value).strip().lower()
        if isinstance(value, dict) and (found := exclusion_of(value, path)):
            return found
        if (
            (short in _IF_TRUE and said in _YES)
            or (short in _IF_FALSE and said in _NO)
            or (short in ("status", "visibility") and said in ("draft", "hidden", "private"))
            or (short in _OF_ROBOTS and "noindex" in said)
        ):
            return f"{path}: {value}" if len(said) < 40 else f"{path}: noindex"
    return ""


def _read(text: str, mark: str) -> dict[str, Any]:
    try:
        data = tomllib.loads(text) if mark == "+++" else yaml.load(text, yaml.BaseLoader)  # all values are strings
    except (ValueError, yaml.YAMLError, RecursionError):
        data = None
    return data if isinstance(data, dict) else {name: value.strip("\"'") for name, value in _LINE.findall(text)}
