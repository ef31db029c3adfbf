"""Results that are uploaded name files and folders without their place."""

from pathlib import Path

import pytest

from vocabless.public_names import without_paths


@pytest.mark.parametrize(
    ("value", "public"),
    [
        ("runs/teacher", "teacher"),
        ("runs/texts.parquet", "texts.parquet"),
        ("runs/teachers/{task}", "{task}"),
        ("runs/texts/*.parquet", "*.parquet"),
        ("runs/*", "*"),
        (["../runs/{task}", 3, None], ["{task}", 3, None]),
        ("you/base", "you/base"),
        ('{"width": "3/4"}', '{"width": "3/4"}'),
        ("3/4 of the rows", "3/4 of the rows"),
    ],
)
def test_places_are_left_out(value: object, public: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "teacher").mkdir(parents=True)
    (tmp_path / "runs" / "texts.parquet").touch()
    monkeypatch.chdir(tmp_path)
    assert without_paths({"argument": value}) == {"argument": public}
