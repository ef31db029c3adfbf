"""What the command says at once, before it imports torch: the help of a verb, an unknown flag, a missing file.

The help is what the parser of the verb prints, kept in files: `python -m tests.help_pages` writes them.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from vocabless.public_names import has_path_shape

HELP = Path(__file__).with_name("help")
OF_TRAINER = ("finetune", "pretrain")  # verbs that take all flags of transformers' TrainingArguments
PATHS = ("data_dir", "parallel")  # flags whose values can only be files or folders, beside those of …_file
SOURCES = ("corpus", "model", "model_name_or_path", "recipe", "teacher", "unlabelled")  # … or other names
_FILE = re.compile(r"\.(csv|tsv|jsonl?|parquet|txt|md|html?|gz|ya?ml)$")


def read_help(verb: str) -> str:
    """Returns the help of a verb, 100 columns wide."""
    return (HELP / f"{verb}.txt").read_text(encoding="utf-8")


def check(verb: str, argv: Sequence[str]) -> None:
    """Raises ValueError for an unknown flag of a verb, and for a file or folder that does not exist."""
    known = {*re.findall(r"^  (?:-\w, )?--(\w+)", read_help(verb), re.M)}
    if verb in OF_TRAINER:
        known |= trainer_flags()
    flags = [word.partition("=")[0] for word in argv if word.startswith("--") and word != "--"]
    unknown = [flag for flag in flags if flag[2:].replace("-", "_").removeprefix("no_") not in known]
    if unknown:
        raise ValueError(f"unknown flag {', '.join(unknown)}; {hint(unknown, known, '--')}")
    flag = {"finetune": "train_file", "pretrain": "corpus"}.get(verb, "")  # of words in front of all flags
    in_front = next((place for place, word in enumerate(argv) if word.startswith("--")), len(argv))
    for place, word in enumerate(argv):
        if word.startswith("--"):
            flag, _, word = word.removeprefix("--").partition("=")
        is_source = flag in SOURCES or (not flag and place < in_front - (verb != "predict"))  # the last one is TARGET
        is_path = is_source and (has_path_shape(word) or _FILE.search(word) is not None)
        is_path = is_path or flag in PATHS or flag.endswith("_file")
        if word and is_path and "*" not in word and not Path(word).exists():
            raise ValueError(f"{f'--{flag} ' if flag else ''}{word!r} does not exist; check the path.")
        if word and flag and verb not in OF_TRAINER:
            flag = "target"  # a flag of these verbs has one value; DOCUMENTS or TARGET may follow


def trainer_flags() -> set[str]:
    """Returns the names of the fields of TrainingArguments: read, not imported, which takes seconds."""
    package = find_spec("transformers")
    if package is None or package.origin is None:
        return set()
    text = Path(package.origin).with_name("training_args.py").read_text(encoding="utf-8")
    return {*re.findall(r"^    (\w+): .*= ", text, re.M)}


def hint(unknown: Sequence[str], known: Iterable[str], prefix: str = "") -> str:
    """Returns the remedy for unknown flags: the similar ones, or where to find the list."""
    words = [flag.lstrip("-").replace("-", "_") for flag in unknown]
    similar = [match for word in words for match in difflib.get_close_matches(word, sorted(known), 3, 0.6)]
    if similar:
        return f"did you mean {' or '.join(prefix + flag for flag in dict.fromkeys(similar))}?"
    return "see --help for the flags."
