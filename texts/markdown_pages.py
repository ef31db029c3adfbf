r"""Markdown, also of note programs and site generators → HTML of what a reader sees.

Plugins of markdown-it read admonitions, containers, definitions, footnotes, tasks and MyST. What has none is rewritten
before: comments are left out, and marks that only a program reads. Code stays as it is written.
"""

from collections.abc import Sequence
from typing import Any

import regex
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.tasklists import tasklists_plugin

_LINE = r"(?:(?!\n[ \t]*\n)(?s:.))"  # a character of a paragraph
_CODE = (
    r"^[ \t>]*+(?:(?:[-*+]|\d+[.)])[ \t]*+)?(?P<fence>`{3,}|~{3,})(?s:.*?)(?:^[ \t>]*(?P=fence)|\Z)"
    rf"|(?<!`)`(?:(?!`){_LINE}){{1,1000}}`(?!`)|(?<!`)``(?!`){_LINE}{{1,1000}}?(?<!`)``(?!`)"
    r"|<pre\b(?s:.*?)(?:</pre>|\Z)|<!--(?s:.*?)(?:-->|\Z)"
)
_COMMENTS = (
    r"^[ \t>]*%%(?s:.*?)(?:%%|\Z)",  # Obsidian: to the end of the text if it is open
    rf"%%{_LINE}*?%%|(?<!\S)(?<!\d )%%{_LINE}*",
    r"\{%-?\s*comment\b[^%]*%\}(?s:.*?)(?:\{%-?\s*endcomment\s*-?%\}|\Z)",  # Liquid
    r"\{\{[<%]\s*comment\b.*?[>%]\}\}(?s:.*?)(?:\{\{[<%]\s*/\s*comment\s*[>%]\}\}|\Z)",  # Hugo
    r"\{::comment\}(?s:.*?)(?:\{:/(?:comment)?\}|\Z)",  # kramdown
    r"\{\{-?\s*/\*(?s:.*?)\*/\s*-?\}\}|\{/\*(?s:.*?)\*/\}",  # Hugo, MDX
    r"\{#[\s-](?s:.{0,2000}?)#\}|\{>>(?s:.{0,2000}?)<<\}|\{--(?s:.{0,2000}?)--\}",  # Jinja, CriticMarkup
)
_ATTRIBUTE = r"(?:[#.][\w:-]+|[\w:-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"']+)|data-[\w-]+)"
_ATTRIBUTES = rf"\{{:?[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*\}}"
_MARKS = (
    (r"\{\+\+|\+\+\}|\{==|==\}|\{~~[^~\n]{0,1000}?~>|~~\}", ""),  # CriticMarkup
    (r"!\[\[[^\[\]\n]*\]\]|\[\[_?(?i:toc)_?\]\]|^[ \t]*(?:\[(?i:toc)\]|\$\{toc\}|@\[toc\].*)[ \t]*$", ""),
    (r"\[\[(?:[^\[\]\n|]*\|)?(?P<a>[^\[\]\n|]+?)(?:#\^[\w-]+)?\]\]", r"\g<a>"),  # a link of a wiki, by its alias
    (r"(?<![A-Za-z0-9=])==(?=[^\s=])(?P<a>[^=\n]+)(?<=\S)==(?![A-Za-z0-9=])", r"\g<a>"),
    (r"(?<!\S)\^[\w-]+[ \t]*$", ""),  # the name of a block
    (r"^(?P<a>(?:[ \t]*>)+[ \t]*)\[!\w[^\]\n]*\][-+]?[ \t]*(?P<b>.*)$", r"\g<a>\g<b>\n\g<a>"),  # a callout, its title
    (
        r"\{\{[%<][^{}]{0,2000}[%>]\}\}|(?<!\\[A-Za-z]*|[}^_$])\{\{[^{}]{0,2000}\}\}|\{%[^{}]{0,2000}%\}",
        "",
    ),  # Hugo, Jinja
    (r"^[ \t]*(?:[-*+]|\d+[.)])[ \t].*\n[ \t]*\{:toc[^{}\n]*\}", ""),
    (r"\{::[^{}\n]*\}|\{:/\w*\}|\{:[^{}\n]*\}", ""),  # kramdown
    (rf"(?<=[)\]*_`~]){_ATTRIBUTES}|(?<![ \t])[ \t]*{_ATTRIBUTES}[ \t]*#*[ \t]*$", ""),
    (r"\{[\w:+-]+\}(?=`)", ""),  # the role of a text in MyST
    (r"^import\s+(?:[\w*{][^\n\"']*\sfrom\s+)?[\"'][^\"'\n]+[\"'];?[ \t]*$|^[ \t]*-{1,2}8<-{1,2}.*$", ""),
    (r"^(?P<a>[ \t]*)===[!+]?[ \t]+(?P<b>\".*\")[ \t]*$", r"\g<a>!!! tab \g<b>"),
    (r"^(?P<a>[ \t]*(?:!!!|\?\?\?\+?)[ \t]*[\w-]+)(?:[ \t]+(?:inline|end|annotate))+", r"\g<a>"),
    (r"^(?P<a>[ \t]*)(?=!!!|\?\?\?)(?!(?:!!!|\?\?\?\+?)[ \t]*(?:[\w-]+|[\w -]+[ \t]\".*\")[ \t]*$)", r"\g<a>\\"),
)
_RULES = [
    (regex.compile(f"(?P<code>{_CODE})|(?:{pattern})", regex.M), text)
    for pattern, text in (("|".join(_COMMENTS), ""), *_MARKS, *_MARKS[2:4])  # links within marked text
]
_TITLE = regex.compile(r"\s*(?:\{[^}]*\}|[\w:-]*)(?:\[(?P<title>.*)\])?(?P<rest>[^{]*)")
_OPTIONS = regex.compile(r"\A(?:---\n(?s:.*?)\n---(?:\n|\Z)|(?:[ \t]*:[\w-]+:.*(?:\n|\Z))+)")
_CODE_OF_MYST = regex.compile(
    r"code|sourcecode|math|mermaid|raw|eval|literal|parsed|diagram|bibliography|list-table|csv"
)
_LISTS_OF_FILES = ("toctree", "tableofcontents", "contents", "include", "index")


def to_html(text: str) -> str:
    r"""Returns the HTML of a Markdown text, without comments and without what only a program reads.

    >>> to_html("# Boats {#boats}\n\nSee [[Prices|the prices]]. %% unpaid %%\n")
    '<h1>Boats</h1>\n<p>See the prices.</p>\n'
    """
    return str(_MARKDOWN.render(without_marks(text)))


def without_marks(text: str) -> str:
    """Returns a Markdown text without comments and marks that CommonMark and the plugins do not know."""
    for pattern, replacement in _RULES:
        text = pattern.sub(lambda found, new=replacement: found[0] if found["code"] else found.expand(new), text)
    return text


def _container(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    """Returns the HTML of the beginning or the end of a container, with the title behind its name."""
    if tokens[place].nesting != 1:
        return "</div>\n"
    found = _TITLE.match(tokens[place].info)
    title = f"{found['title'] or ''}{found['rest']}".strip() if found else ""
    return f"<div>\n<p>{_MARKDOWN.renderInline(title)}</p>\n"


def _fence(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    """Returns the HTML of a block of code, or of a directive of MyST, whose content is Markdown."""
    token = tokens[place]
    directive = regex.match(r"\{([\w:-]+)\}(.*)", token.info.strip())
    if directive is None or _CODE_OF_MYST.match(directive[1]):
        content = _OPTIONS.sub("", token.content) if directive else token.content
        return f"<pre>\n{escapeHtml(content)}</pre>\n"
    if directive[1] in _LISTS_OF_FILES:
        return ""
    content = _OPTIONS.sub("", token.content)
    return f"<div>\n<p>{_MARKDOWN.renderInline(directive[2].strip())}</p>\n{to_html(content)}</div>\n"


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable(["table", "strikethrough"])
    for plugin in (admon_plugin, deflist_plugin, myst_block_plugin, tasklists_plugin):
        parser.use(plugin)
    parser.use(footnote_plugin, always_match_refs=True)
    parser.use(container_plugin, "any", validate=lambda *_: True, render=_container)
    for rule in ("footnote_ref", "myst_target", "myst_line_comment"):
        parser.add_render_rule(rule, lambda *_: "")
    parser.add_render_rule("fence", _fence)
    return parser


_MARKDOWN = _parser()
