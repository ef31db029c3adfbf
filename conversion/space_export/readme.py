"""The README.md of a Space: its settings as YAML, and a text that says what the page is."""

from pathlib import Path

from huggingface_hub import SpaceCardData

from vocabless.conversion.space_export.graph_json import BROWSER
from vocabless.conversion.space_export.page import PAGE, substitute

TEMPLATE = "space_readme.md"
EMOJI, COLOURS = "🔤", ("blue", "green")
TAGS: dict[str, list[str]] = {"tags": ["token-classification"], "odd_word": []}  # task of a page → the Hub's name of it
USUAL_TAGS = ["text-classification"]


def write_readme(folder: Path, title: str, model_id: str | None, license_name: str | None, task: str) -> None:
    """Writes README.md.

    Args:
        folder: an existing folder.
        title: title of the page.
        model_id: Hub id of the model; None if it has none.
        license_name: license of the weights by the Hub's name; None if it is not known.
        task: of the page, see `manifest.task_of`.
    """
    data = SpaceCardData(
        title=title,
        emoji=EMOJI,
        colorFrom=COLOURS[0],
        colorTo=COLOURS[1],
        sdk="static",
        app_file=PAGE,
        pinned=False,
        license=license_name,
        tags=["vocabless", *TAGS.get(task, USUAL_TAGS)],
        models=[model_id] if model_id else None,
    )
    origin = f"[{model_id}](https://huggingface.co/{model_id})" if model_id else "a vocabless model"
    parts = {"title": " ".join(title.splitlines()), "model": origin}  # a heading has one line
    text = substitute((BROWSER / TEMPLATE).read_text(encoding="utf-8"), parts)
    (folder / "README.md").write_text(f"---\n{data.to_yaml()}\n---\n\n{text}", encoding="utf-8")
