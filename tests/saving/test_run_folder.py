import pytest

from vocabless.saving.run_folder import RESULTS, claim, write_json


def test_a_new_folder_is_taken_and_an_interrupted_run_is_continued(tmp_path):
    claim(tmp_path / "run", {"seed": 1, "corpus": ("a",)})
    (tmp_path / "run" / "checkpoint-2").mkdir()
    claim(tmp_path / "run", {"seed": 1, "corpus": ("a",)})


def test_a_run_with_other_arguments_is_refused_and_they_are_named(tmp_path):
    claim(tmp_path, {"seed": 1, "variant": "a"})
    (tmp_path / "checkpoint-2").mkdir()
    with pytest.raises(ValueError, match=r"differs in seed \(1 in the folder, 2 now\)"):
        claim(tmp_path, {"seed": 2, "variant": "a"})


def test_a_finished_run_is_not_overwritten(tmp_path):
    claim(tmp_path, {"seed": 1})
    write_json(tmp_path / RESULTS, {"done": True})
    with pytest.raises(ValueError, match="is finished"):
        claim(tmp_path, {"seed": 1})


def test_a_finished_run_is_accepted_if_allowed_and_no_file_changes(tmp_path):
    claim(tmp_path, {"seed": 1})
    write_json(tmp_path / RESULTS, {"done": True})
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in tmp_path.iterdir()}
    claim(tmp_path, {"seed": 1}, allow_finished=True)
    with pytest.raises(ValueError, match=r"differs in seed \(1 in the folder, 2 now\)"):
        claim(tmp_path, {"seed": 2}, allow_finished=True)
    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in tmp_path.iterdir()} == before


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        claim(tmp_path, {})
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_command_that_failed_at_its_start_does_not_keep_the_folder(tmp_path):
    claim(tmp_path, {"corpus": "misspelt"})
    claim(tmp_path, {"corpus": "right"})
    (tmp_path / "checkpoint-2").mkdir()
    claim(tmp_path, {"corpus": "right"})
