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
    try:
        license_id = ModelCard.load(Path(str(cached_file(start, CARD)))).data.get("license")
    except (OSError, ValueError):  # no readable card
        license_id = None
    return {
        "license": license_id if isinstance(license_id, str) else None,  # a card can name several
        "base_model": None if os.path.isdir(start) else start,
    }
