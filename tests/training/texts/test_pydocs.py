from vocabless.training.texts.pydocs import _docstrings, _source_files, prose_paragraphs, read_pydocs


def test_docstrings_are_read_from_source_without_importing(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        '"""Module."""\nraise SystemExit\nclass A:\n    """Class."""\n    def f(self):\n        "Function."\n'
    )
    assert _docstrings(file) == ["Module.", "Class.", "Function."]


def test_a_file_that_is_no_python_gives_nothing(tmp_path):
    file = tmp_path / "template.py"
    file.write_text("{{ not python")
    assert _docstrings(file) == []


def test_code_and_headings_are_no_prose():
    text = "Parameters ---------- of every kind that a function of this sort can take.\n\n>>> print(1)\n\nShort one."
    assert list(prose_paragraphs(text)) == []


def test_an_absent_package_is_passed_over():
    assert _source_files("no_such_package_anywhere") == []


def test_the_corpus_is_the_same_on_every_call_and_repeats_no_paragraph():
    first, second = (read_pydocs(workers, packages=("accelerate", "evaluate")) for workers in (1, 2))
    assert first == second
    paragraphs = [paragraph for _, document in first for paragraph in document.split("\n")]
    assert len(paragraphs) == len(set(paragraphs)) > 500
    assert {package for package, _ in first} == {"python", "accelerate", "evaluate"}
