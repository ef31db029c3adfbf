"""Quoting another library's error in an error message of this project."""


def first_line(error: Exception) -> str:
    r"""Returns the first line of an error's message without its full stop; the name of its class if it has no message.

    >>> first_line(OSError("No such file.\nTry again."))
    'No such file'
    """
    return next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
