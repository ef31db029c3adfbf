"""The package is imported at once; its classes are registered where they or the Auto classes are imported."""

import subprocess
import sys
from pathlib import Path

import pytest

import vocabless

ROOT = Path(__file__).resolve().parent.parent
NANO = "checkpoints/hashgram-nano-sst2"
LOAD = f"print(type(AutoModelForSequenceClassification.from_pretrained({NANO!r})).__module__)"
OURS = "vocabless.modeling.modeling_vocabless"


def printed_by(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_an_import_and_the_help_of_the_command_need_neither_torch_nor_transformers_nor_numpy() -> None:
    seen = "print({'torch', 'transformers', 'numpy'} & {*sys.modules})"
    assert printed_by(f"import sys, vocabless; {seen}") == "set()"
    code = f"import sys; from vocabless.__main__ import main; main(['--help']); {seen}"
    assert printed_by(code).splitlines()[-1] == "set()"


@pytest.mark.slow  # by default, each process of these tests has ours first; one of test_predict.py, in the middle
@pytest.mark.parametrize("imports", [
    pytest.param("import vocabless; {auto}", id="ours-first"),
    pytest.param("{auto}; import vocabless", id="theirs-first"),
    pytest.param("import vocabless; from transformers import pipeline; {auto}", id="in-the-middle-of-an-import"),
    pytest.param("import vocabless.modeling.head_layers; {auto}", id="in-the-middle-of-ours"),
    pytest.param("import vocabless, sentence_transformers; {auto}", id="in-the-middle-of-another"),
])  # fmt: skip
def test_the_auto_classes_know_ours_in_whatever_order_they_are_imported(imports) -> None:
    auto = "from transformers import AutoModelForSequenceClassification"
    assert printed_by(f"{imports.format(auto=auto)}; {LOAD}") == OURS


@pytest.mark.slow
def test_a_tokenizer_of_ours_alone_writes_its_code() -> None:
    code = f"""
import pathlib, tempfile
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
with tempfile.TemporaryDirectory() as folder:
    VocablessTokenizer.from_pretrained({NANO!r}).save_pretrained(folder)
    print(pathlib.Path(folder, "tokenization_vocabless.py").is_file())
"""
    assert printed_by(code) == "True"


def test_editors_see_all_public_names_and_others_are_refused() -> None:
    assert {*vocabless.__all__} <= {*dir(vocabless)}
    with pytest.raises(AttributeError, match="has no attribute 'VocablessForNothing'"):
        vocabless.VocablessForNothing  # noqa: B018
