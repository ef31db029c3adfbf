"""Bytes of a file → its text, in the encoding that it declares."""

import codecs

import regex

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_DECLARED_WITHIN = 4096  # bytes
_DECLARATION = regex.compile(
    rb"\A\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([\w.:-]+)|<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([\w.:-]+)", regex.I
)
_COMMENT = regex.compile(rb"<!--.*?-->", regex.S)
# What browsers read in place of an encoding: the larger one that is written under its name.
_LARGER = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949",
    "utf-16": "utf-8", "utf-16-le": "utf-8", "utf-16-be": "utf-8",
}  # fmt: skip


def decoded(data: bytes, encoding: str, may_declare: bool = False) -> str:
    r"""Returns the text of a file by its byte order mark, or its declaration, or as UTF-8, or in the given encoding.

    A declaration is that of XML or `<meta charset=…>`, in a file that `may_declare`. Raises UnicodeDecodeError if the
    text is in none of these encodings.

    >>> decoded(b'<meta charset="latin1">caf\xe9', "utf-8", may_declare=True)[-4:]
    'café'
    """
    if mark := marked(data):
        return data.decode(mark)
    # Bytes that are ASCII alone, or have a NUL, can be another encoding than UTF-8: ISO-2022-JP, UTF-16.
    is_utf8 = not data.isascii() and b"\0" not in data
    for name in (_declared(data) if may_declare else None, "utf-8" if is_utf8 else None):
        try:
            if name:
                return data.decode(name)
        except (UnicodeError, LookupError):
            continue
    return data.decode(encoding)


def marked(data: bytes) -> str | None:
    """Returns the encoding that the byte order mark at the beginning of a file names; None without a mark."""
    return next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)


def _declared(data: bytes) -> str | None:
    found = _DECLARATION.search(_COMMENT.sub(b"", data[:_DECLARED_WITHIN]))
    if found is None:
        return None
    label = (found[1] or found[2]).decode("ascii", "replace").lower()
    try:
        name = codecs.lookup({"x-sjis": "cp932", "windows-874": "cp874"}.get(label, label)).name
    except LookupError:
        return None
    return _LARGER.get(name, name)
