"""Renews the code of the checkpoints that ship: `python -m vocabless.saving.shipped_code`, in the root of a clone.

All folders in checkpoints/ have links to one copy of the code, checkpoints/code/, and its SHA-256 in their cards.
"""

from pathlib import Path

from vocabless.joined_code import CONFIGURATION, MODELING, TOKENIZATION, write_code
from vocabless.saving.model_card import renew_code_table

SHIPPED = Path("checkpoints")
CODE = "code"  # folder of the copy
LINKED = (CONFIGURATION, MODELING, TOKENIZATION)  # no checkpoint that ships has a head with pipelines


def main() -> None:
    """Writes the copy, the links to it and the tables in the cards."""
    (SHIPPED / CODE).mkdir(exist_ok=True)
    write_code(SHIPPED / CODE, LINKED)
    for folder in sorted(file.parent for file in SHIPPED.glob("*/config.json")):
        for file in folder.glob("*.py"):
            file.unlink()
        for name in LINKED:
            (folder / name).symlink_to(Path("..", CODE, name))
        renew_code_table(folder)


if __name__ == "__main__":
    main()
