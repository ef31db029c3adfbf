"""What the card of a pre-trained checkpoint says, read from the results of its run."""
# mypy: allow-untyped-calls

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vocabless.saving.model_card import LICENCE, run_facts
from vocabless.training.pretraining.objectives import OBJECTIVES
from vocabless.training.pretraining.results import compare
from vocabless.training.texts.corpora import HUB_ID


def card_facts(results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts that `write_card` takes, from the `results.json` of `run_pretraining.py`."""
    arguments = results["arguments"]
    corpora = arguments["corpus"] or ["pydocs"]
    table = [f"| {name.replace('_', ' ')} | {before:.4f} | {after:.4f} |" for name, before, after in compare(results)]
    return {
        **run_facts(results),
        "kind": "pre-trained",
        "license": LICENCE,
        "language": "en" if corpora == ["pydocs"] else None,
        "datasets": [HUB_ID.fullmatch(corpus)["path"] for corpus in corpora if _is_on_hub(corpus)],
        "objective": OBJECTIVES[results["objective"]].card_text,
        "corpus": ", ".join(corpus if _is_on_hub(corpus) else Path(corpus).name for corpus in corpora),
        "steps": f"{arguments['max_steps']:,}",
        "tokens": f"{results['tokens_seen']:,}",
        "measures": "\n".join(["| held out | before | after |", "|---|--:|--:|", *table]),
    }


def _is_on_hub(corpus: str) -> bool:
    return HUB_ID.fullmatch(corpus) is not None and not os.path.exists(corpus)
