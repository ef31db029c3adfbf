"""Renews code and cards of the checkpoints that ship: `python -m vocabless.saving.shipped_code` in the root of a clone.

All folders in checkpoints/ have links to one copy of the code, checkpoints/code/, and its SHA-256 in their cards.
Beside each graph is a link to the program that runs it.
"""

from pathlib import Path

from vocabless.joined_code import CONFIGURATION, MODELING, PROGRAM, TOKENIZATION, write_code
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.model_card import write_card
from vocabless.saving.record import SHIPPED, read_card_facts

CODE = "code"  # folder of the copy
LINKED = (CONFIGURATION, MODELING, TOKENIZATION)  # no checkpoint that ships has a head with pipelines


def links_of(folder: Path) -> dict[str, str]:
    """Returns the links to code in the folder of a checkpoint: name → where it leads to."""
    links = {name: f"../{CODE}/{name}" for name in LINKED}
    if (folder / "onnx").is_dir():
        links[f"onnx/{PROGRAM}"] = f"../../{CODE}/{PROGRAM}"
    return links


def main() -> None:
    """Writes the copy, the links to it and the cards."""
    (SHIPPED / CODE).mkdir(exist_ok=True)
    write_code(SHIPPED / CODE, [*LINKED, PROGRAM])
    for folder in sorted(file.parent for file in SHIPPED.glob("*/config.json")):
        for file in folder.rglob("*.py"):
            file.unlink()
        for name, place in links_of(folder).items():
            (folder / name).symlink_to(place)
        model, tokenizer = load_checkpoint(str(folder))
        write_card(folder, model, tokenizer.block_size, read_card_facts(str(folder)))


if __name__ == "__main__":
    main()
