"""Documents are read as a reader sees them: nothing hidden, commented out or before the text."""

from pathlib import Path

import pytest

from vocabless.texts.corpora import find_files, load_text
from vocabless.texts.documents import MOST_HEADING, clean, read_page

LONG = "w " * MOST_HEADING


def sections(text: str, suffix: str) -> list[tuple[str, str]]:
    return [tuple(section) for section in read_page(text, suffix).sections]


@pytest.mark.parametrize("text", [
    "<p hidden>x</p>", "<div hidden><p>x<div>x</div></p>x</div>",
    "<p style='top:0; DISPLAY : None !important'>x</p>",
    "<i style='visibility:hidden'>x</i>", "<i aria-hidden=TRUE>x</i>", "<dialog>x</dialog>",
    "<div role=navigation>x</div>", "<div role=contentinfo>x</div>",
    "<!-- x -->", "<!--[if IE]>x<![endif]-->", "<?php x ?>", "<a href='#x'>¶</a>",
    *(f"<{name}>x</{name}>" for name in "script style template iframe nav footer textarea object rp".split()),
    "<svg><title>x</title></svg>", "<meta name=x content=x>", "<img src=x title=x>", "<input value=x>",
])  # fmt: skip
def test_what_a_reader_does_not_see_is_left_out_of_html_and_of_markdown(text: str) -> None:
    assert sections(f"<p>Before </p>{text}after", ".html") == [("", "Before\nafter")]
    assert sections(f"Before\n\n{text}\n\nafter", ".md") == [("", "Before\nafter")]
    assert read_page(f"Before {text} after", ".md").text.split() == ["Before", "after"]


@pytest.mark.parametrize(("text", "read"), [
    ("<p>One  <b>two</b><br>b<p>three", "One two\nb\nthree"),
    ("un&shy;be&shy;liev&shy;able a<wbr>b c\u200bd &lt;b&gt; &amp;shy;", "unbelievable ab cd <b> &shy;"),
    ("<table><tr><th>A<th>B<tr><td> 1 <td>\n2</table>after", "A\tB\n1\t2\nafter"),
    ("<ul><li>a<ul><li>b<li>c</ul><li>d</ul>", "a\nb\nc\nd"),
    ("<pre>\n<b>a</b>\n\n  b</pre><pre>x<br>y<div>z</div></pre>t  u", "a\n\n  b\nx\ny\nz\nt u"),
    ("<details><summary>a</summary><p>b</details><dialog open>c</dialog>", "a\nb\nc"),
    ("<img alt='A chart' src=x> shows <ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "A chart shows 漢"),
    ("<p>مرحبا <b>بالعالم</b>\u200f!<p>ខ\u200bក", "مرحبا بالعالم\u200f!\nខ\u200bក"),
    ("a<!-- b --!>c<!-- unclosed <p>b", "ac"),
    ("a <script>if (a < b) '<p>'</script>b", "a b"),
    ("<?xml version='1.0' encoding='latin-1'?><html><body>é", "é"),
    (f"<h1>{LONG}</h1>b", f"{LONG.strip()}\nb"),
])  # fmt: skip
def test_html_is_text_in_lines(text: str, read: str) -> None:
    assert sections(text, ".html") == [("", read)]


@pytest.mark.parametrize(("text", "read"), [
    ("One\ntwo [c](d.md).\n- *e*\n  1. f\n", "One two c.\ne\nf"),
    ('[a](https://a.b/c "T") [d](https://a.b/e_(f)) [g][h] ![i](j.png "k")\n\n[h]: l.md "m"', "a d g i"),
    ("[//]: # (a comment)\na<br>b &copy; \\*  \nc", "a\nb © *\nc"),
    ("<div hidden>\n\n# a *b*\n\n</div>\n\nc <!-- d\n-->\n\n<!--\n\ne\n-->\n", "c"),
    ("A.\n```bash\n# a\nb\n\n  c <!-- d -->\n```\nE.", "A.\n# a\nb\n\n  c <!-- d -->\nE."),
    ("~~~\n# a\n", "# a"),
    ("- a\n\n  ```\n  # b\n    c\n  ```\n", "a\n# b\n  c"),
    ("x\n\n    # a\n      b\n", "x\n# a\n  b"),
    ("| a | b |\n|---|--:|\n| `1` | ~~2~~ |\n", "a\tb\n1\t2"),
    ("> " * 60 + "a\n\n" + "- " * 40 + "b", "a\nb"),
])  # fmt: skip
def test_markdown_is_its_html(text: str, read: str) -> None:
    assert sections(text, ".md") == [("", read)]


@pytest.mark.parametrize("suffix", [".md", ".html"])
@pytest.mark.parametrize(("before", "is_left_out"), [
    ("---\ntitle: a\nb: # c\n---\n", True),
    ("\ufeff\n--- \r\ntitle: a\r\n...\r\n", True),
    ("---\n# a comment\n\na: b\n---\n", True),
    ("---\n{\na: b}\n---\n", True),
    ("+++\na = 1\n+++\n", True),
    ("---\n\nProse.\n\n---\n\n", False),
    ("---\na: b\n\n", False),
])  # fmt: skip
def test_data_before_the_text_is_left_out_and_text_between_rules_is_not(before, is_left_out, suffix) -> None:
    text = read_page(f"{before}The text.", suffix).text
    assert text.endswith("The text.") and (text == "The text.") == is_left_out


@pytest.mark.parametrize(("text", "suffix", "title", "read"), [
    ("<title> A\nb </title><h1>C</h1>d", ".html", "A b", [("C", "d")]),
    ("<title></title><svg><title>a</title></svg><h3 hidden>b</h3>", ".html", "", []),
    ("<title></title><h2>C<br>d <a href='#c'>#</a></h2>e", ".html", "C d", [("C d", "e")]),
    ("A\nb\n===\nc\n\nD *e*\n---\nf\n# G #", ".md", "A b", [("A b", "c"), ("D e", "f"), ("G", "")]),
    ("a\n# B\n## C\n### D\ne\n## F\n## G\nh", ".md", "B", [("", "a"), ("B\nC\nD", "e"), ("F", ""), ("G", "h")]),
    ("# a", ".txt", "", [("", "# a")]),
    ("\ufeff \n", ".txt", "", []),
    ("<!-- a -->", ".html", "", []),
])  # fmt: skip
def test_the_title_is_that_of_the_page_or_its_first_heading(text, suffix, title, read) -> None:
    assert read_page(text, suffix).title == title and sections(text, suffix) == read
    assert read_page(text, suffix).text == "\n".join(part for section in read for part in section if part)


def test_what_a_page_cannot_hold_is_no_text() -> None:
    assert clean("a\x00b\ud800\x85\u2060c\u00ad\ufeff d") == "a b  c d"
    with pytest.raises(ValueError, match="nested too deep"):
        read_page("<b>" * 3000 + "a", ".html")


@pytest.mark.parametrize("piece", ["<a ", "<", "<!--", "&", "<p>", "<script>", "</", "<![CDATA[", "<p a='", "x<br>"])
@pytest.mark.timeout(60)
def test_damaged_html_takes_linear_time(piece: str) -> None:
    read_page(piece * 50_000, ".html")


@pytest.mark.parametrize("streaming", [False, True])
def test_pages_are_a_corpus(streaming: bool, tmp_path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "a.md").write_text("\ufeff---\na: b\n---\n# Caf\u00e9\r\nOne *two*.<!-- c -->", encoding="utf-8")
    (tmp_path / "in" / "b.html").write_text("<title>T</title><p hidden>x</p><pre>d\n  e")
    (tmp_path / "c.md").write_text("<!-- x -->")
    (tmp_path / "d.png").write_text("x")
    assert [Path(file).name for file in find_files(str(tmp_path))] == ["a.md", "c.md", "b.html"]
    assert [row["text"] for row in load_text(str(tmp_path), streaming=streaming)] == ["Caf\u00e9\nOne two.", "d\n  e"]
    (tmp_path / "deep.html").write_text("<b>" * 3000)
    with pytest.raises(ValueError, match=r"deep\.html' cannot be read: its elements are nested too deep"):
        list(load_text(str(tmp_path / "deep.html"), streaming=streaming))
    (tmp_path / "e.txt").write_text("x")
    with pytest.raises(ValueError, match="mixes the formats pages, text; give each its own --corpus"):
        find_files(str(tmp_path))
