"""Documents are read as a reader sees them: nothing hidden, commented out or before the text."""

from pathlib import Path

import pytest

from vocabless.texts.corpora import find_files, load_text
from vocabless.texts.documents import MOST_HEADING, clean, read_file, read_page
from vocabless.texts.encodings import decoded

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
    ("---\ntags: a\nb: # c\n---\n", True),
    ("\ufeff\n--- \r\ntags: a\r\n...\r\n", True),
    ("---\n# a comment\n\na: b\n---\n", True),
    ("---\n{\na: b}\n---\n", True),
    ("+++\na = 1\n+++\n", True),
    ("---\n\nProse.\n\n---\n\n", False),
    ("---\na: b\n\n", False),
])  # fmt: skip
def test_data_before_the_text_is_left_out_and_text_between_rules_is_not(before, is_left_out, suffix) -> None:
    text = read_page(f"{before}The text.", suffix).text
    assert text.endswith("The text.") and (text == "The text.") == is_left_out


@pytest.mark.parametrize(("text", "title", "read"), [
    ("---\ntitle: Opening times\n---\nFrom nine.\n\n## Late\n\nBell.", "Opening times",
     [("Opening times", "From nine."), ("Late", "Bell.")]),
    ("---\nTitle: >-\n  Opening\n  times\n---\n# Hours\n\nFrom nine.", "Opening times",
     [("Opening times\nHours", "From nine.")]),
    ("+++\ntitle = \"Opening times\"\n+++\n# Opening times\n\nFrom nine.", "Opening times",
     [("Opening times", "From nine.")]),
    ("{\n\"title\": \"Opening times\"\n}\n\nFrom nine.", "Opening times", [("Opening times", "From nine.")]),
    ("Title: Opening times\nDate: 2020\n\nFrom nine.", "Opening times", [("Opening times", "From nine.")]),
    ("---\ntitle: Times: opening\n---\nFrom nine.", "Times: opening", [("Times: opening", "From nine.")]),  # no YAML
    ("---\ntitle: 2024\ndate: 2024-01-01\n---\nFrom nine.", "2024", [("2024", "From nine.")]),
    ("Note: this is text.\n\nFrom nine. Title: x", "", [("", "Note: this is text.\nFrom nine. Title: x")]),
    ("{ this } is text.", "", [("", "{ this } is text.")]),
])  # fmt: skip
def test_a_title_in_the_data_before_the_text_is_title_and_heading(text, title, read) -> None:
    assert read_page(text, ".md").title == title and sections(text, ".md") == read


@pytest.mark.parametrize(("data", "said"), [
    ("draft: true", "draft: true"), ("draft: yes", "draft: yes"), ("Draft: 'on'", "Draft: on"),
    ("published: false", "published: false"), ("publish: no", "publish: no"), ("search: exclude", "search: exclude"),
    ("search:\n  exclude: true", "search.exclude: true"), ("search.exclude: true", "search.exclude: true"),
    ("search: false", "search: false"), ("noindex: true", "noindex: true"), ("robots: noindex, nofollow",
     "noindex, nofollow"),
    ("search_exclude: true", "search_exclude: true"), ("excludeSearch: true", "excludeSearch: true"),
    ("status: draft", "status: draft"), ("head:\n- [meta, {name: robots, content: noindex}]", "head: noindex"),
    ("title: a: b\ndraft: true", "draft: true"),
    ("draft: false", ""), ("published: 2024-01-01", ""), ("search:\n  boost: 2", ""), ("status: new", ""),
    ("robots: index", ""), ("title: draft", ""),
])  # fmt: skip
def test_a_page_says_that_it_is_a_draft_or_that_no_search_shows_it(data, said) -> None:
    found = read_page(f"---\n{data}\n---\nText.", ".md").exclusion
    assert found.endswith(said) and bool(found) == bool(said)
    assert read_page(f"---\n{data}\n---\n<p>Text.", ".html").exclusion == found


def test_data_of_toml_and_json_and_an_element_of_html_say_so_too() -> None:
    for text in ("+++\n[search]\nexclude = true\n+++\nx", '{"search": {"exclude": true}}\nx', '{"draft": true}\n\nx'):
        assert read_page(text, ".md").exclusion
    assert read_page('<meta NAME="Robots" content="noarchive, NOINDEX"><p>x', ".html").exclusion == "robots: noindex"
    assert not read_page('<meta name="robots" content="index"><p>x', ".html").exclusion


@pytest.mark.parametrize("comment", [
    "%% x %%", "%% x\nx %%", "%%\nx\n\nx\n%%", "%%x%%", "%% `x` %%", "%%\n```\nx\n```\n%%", "{# x #}",
    "{{/* x */}}", "{/* x */}",
    "{% comment %}x\n\nx{% endcomment %}", "{%- comment -%} x {%- endcomment -%}",
    "{{< comment >}}x\n\nx{{< /comment >}}",
    "{::comment}\nx\n\nx\n{:/comment}", "{>>x<<}", "{--x--}", "% x", "[//]: # (x)", "<!-- x %% x -->", "![[x.png]]",
    "^x-1",
    "{{ page.x }}", "{% include x.html %}", '{{< x y="x" >}}', "{: .x #x }", "{#x .x}", "(x)=", "[[_TOC_]]",
    "[TOC]", "[^x]",
    "import X from '@x/x';", '--8<-- "x.md"', "{::options x='x' /}", "```{toctree}\nx\n```", "```{note}\n%% x %%\n```",
])  # fmt: skip
def test_comments_and_marks_of_programs_are_left_out(comment: str) -> None:
    assert read_page(f"Before.\n\n{comment}\n\nafter", ".md").text == "Before.\nafter"
    assert "x" not in read_page(f"- Before\n\n{comment}", ".md").text
    code = read_page(f"~~~\n{comment}\n~~~", ".md").text
    assert code.split() == comment.split()


def test_a_comment_that_is_not_closed_ends_with_the_text_or_its_paragraph() -> None:
    assert read_page("A\n\n%%\nx\n\nx", ".md").text == "A"
    assert read_page("A %% x\nx\n\nB", ".md").text == "A\nB"
    assert read_page("It is 5 %% of 9%.", ".md").text == "It is 5 %% of 9%."


@pytest.mark.parametrize(("text", "read"), [
    ("[[Prices of boats|the prices]] [[Oars]] [[a#^b1]] ==Wear *a* vest== ==[[c]]==",
     "the prices Oars a Wear a vest c"),
    ("a==b and c==d, x^2 [[1, 2], [3]] $\\frac{{a}}{{b}}$", "a==b and c==d, x^2 [[1, 2], [3]] $\\frac{{a}}{{b}}$"),
    ("> [!warning]- Weather\n> Stay. ^storm\n\n> [!NOTE]\n> Go.", "Weather\nStay.\nGo."),
    ("# A {#a .b}\nc **d**{: .e} [f](g){target=_blank}", "A\nc d f"),
    ('!!! note "Before"\n    Charge.\n\n??? tip\n    Rest.\n\n!!! note inline end\n    End.',
     "Before\nCharge.\nTip\nRest.\nNote\nEnd."),
    ("!!! Stop that now\n\n??? what", "!!! Stop that now\nWhat"),
    ('=== "A"\n\n    a\n\n=== "B"\n\n    b', "A\na\nB\nb"),
    (":::warning\na\n:::\n\n::: {.b}\nc\n:::\n\n:::note[Title *d*]\ne\n:::\n\n:::: x\n::: y\nf\n:::\n::::",
     "a\nc\nTitle d\ne\nf"),
    ("```{note} Title\n:class: x\n\na {ref}`b`\n```\n\n"
     "```{code-block} python\n:linenos:\nc()\n```\n\n:::{tip} d\ne\n:::",
     "Title\na b\nc()\nd\ne"),
    ("a[^1] b[^no]\n\n[^1]: c\n\nd^[e]", "a b\nd\nc\ne"),
    ("- [ ] a\n- [x] b", "a\nb"), ("a\n: b", "a\nb"), ("* TOC\n{:toc}\n\na", "a"),
    ("{++a++} {~~b~>c~~} {==d==}", "a c d"), ('{{< note >}}\n**a**\n{{< /note >}}\n{{% b %}}c{{% /b %}}', "a\nc"),
    ("`{{ a }}` ``[[b]] ==c== %% d %%`` {e} f_{g}", "{{ a }} [[b]] ==c== %% d %% {e} f_{g}"),
])  # fmt: skip
def test_markdown_of_notes_and_sites_is_what_their_reader_sees(text: str, read: str) -> None:
    assert read_page(text, ".md").text == read


@pytest.mark.parametrize("piece", [
    "%% ", "{{ ", "{% ", "` ", "==a ", "{# ", "{~~ ", "```\n", "{a=b ", "> [!x]\n", "[^1]", "a: b\n", "=== \"a\n",
    "   ",
])  # fmt: skip
@pytest.mark.timeout(60)
def test_damaged_marks_take_linear_time(piece: str) -> None:
    read_page(piece * 10_000, ".md")


@pytest.mark.parametrize(("name", "data", "read"), [
    ("a.html", b"<meta charset=windows-1252><p>caf\xe9 \x80", "café €"),
    ("a.html", b"<META http-equiv=x content='text/html; charset=iso-8859-1'><p>caf\xe9 \x93", "café “"),
    ("a.htm", b"<?xml version='1.0' encoding='iso-8859-2'?><html><p>\xb1", "ą"),
    ("a.html", "<meta charset=shift_jis><p>本".encode("shift_jis"), "本"),
    ("a.html", b"<!-- <meta charset=latin-1> --><p>\xd0\x96", "Ж"), ("a.html", b"<meta charset=none><p>\xd0\x96", "Ж"),
    ("a.html", b"<meta charset=utf-8><p>\xc6", "Ж"), ("a.html", b"<meta charset=utf-16><p>\xd0\x96", "Ж"),
    *(("a.txt", "Жa".encode(name), "Жa") for name in ("utf-8-sig", "utf-16", "utf-32", "utf-8", "cp1251")),
    ("a.md", b"\xfe\xff" + "Жa".encode("utf-16-be"), "Жa"), ("a.md", b"\0\0\xfe\xff" + "Жa".encode("utf-32-be"), "Жa"),
    ("a.md", b"<meta charset=latin-1>\xd0\x96", "Ж"),
])  # fmt: skip
def test_a_file_has_the_encoding_that_it_declares_or_utf_8_or_else_the_given_one(name, data, read, tmp_path) -> None:
    (tmp_path / name).write_bytes(data)
    assert read_file(str(tmp_path / name), "cp1251").text == read


def test_a_given_encoding_that_looks_like_ascii_is_read() -> None:
    for name in ("iso2022_jp", "utf-16-le"):
        assert decoded("本a".encode(name), name) == "本a"
    with pytest.raises(UnicodeDecodeError, match="position 0"):
        decoded(b"\xe9", "utf-8")


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
