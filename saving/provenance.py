"""What a run records of the checkpoint that it begins from, while the checkpoint's place is known."""

import os
from pathlib import Path

from huggingface_hub import ModelCard
from transformers.utils.hub import cached_file

from vocabless.saving.card_facts import OWN_LICENSE
from vocabless.saving.model_card import CARD


def provenance(start: str, from_scratch: bool) -> dict[str, str | None]:
    """Returns `license` and `base_model` of the card. Only a Hub id is a base model, since a folder has a place.

    Args:
        start: folder or Hub id of a checkpoint, or the name of random weights.
        from_scratch: whether the weights are random.
    """
    if from_scratch:
        return {"license": OWN_LICENSE, "base_model": None}
    return {"license": _license_of(start), "base_model": None if os.path.isdir(start) else start}


def _license_of(start: str) -> str | None:
    """Returns the license that the card of a checkpoint names; None if it has no readable card or names none."""
    try:
        card = ModelCard.load(Path(str(cached_file(start, CARD))))
    except (OSError, ValueError):
        return None
    license_id = card.data.get("license")
    return license_id if isinstance(license_id, str) else None  # a card can name several
