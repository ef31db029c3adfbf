"""What the model card of a pre-trained checkpoint says, read from the results of its run."""
# mypy: allow-untyped-calls

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vocabless.saving.card_facts import OWN_LICENSE, CardFacts, run_facts
from vocabless.training.design_flags import design_text
from vocabless.training.pretraining.objectives import OBJECTIVES
from vocabless.training.pretraining.results import compare
from vocabless.training.texts.corpora import EMBEDDED, HUB_ID


def card_facts(results: Mapping[str, Any]) -> CardFacts:
    """Returns what the card says, from the `results.json` of a run of `run_pretraining.py`."""
    arguments = results["arguments"]
    corpora = arguments["corpus"] or [EMBEDDED]
    teacher = results.get("examples", {})  # of `distill`
    return CardFacts(
        kind="pre-trained",
        **run_facts(results),
        license=_license(results),
        start=arguments.get("model_name_or_path"),
        design=design_text(str(arguments.get("variant")), arguments),
        base_model=results.get("start", {}).get("base_model"),
        language="en" if corpora == [EMBEDDED] else None,
        datasets=[HUB_ID.fullmatch(corpus)["path"] for corpus in corpora if _is_on_hub(corpus)],
        objective=OBJECTIVES[results["objective"]].card_text,
        corpus=", ".join(corpus if _is_on_hub(corpus) else Path(corpus).name for corpus in corpora),
        steps=int(results.get("steps", arguments["max_steps"])),  # runs of earlier versions do not record their steps
        tokens=int(results["tokens_seen"]),
        measures=_table(results),
        teacher=teacher.get("teacher"),
        teacher_license=teacher.get("teacher_license"),
        is_sentence_model=bool(teacher),
    )


def _license(results: Mapping[str, Any]) -> str | None:
    """Returns the license of the weights: that of the teacher and of the checkpoint begun from, if they agree."""
    sources = [(results.get("examples"), "teacher_license"), (results.get("start"), "license")]
    licenses = {facts.get(key) for facts, key in sources if facts} or {OWN_LICENSE}
    return licenses.pop() if len(licenses) == 1 else None


def _table(results: Mapping[str, Any]) -> str:
    """Returns a Markdown table of the measures before and after training."""
    lines = ["| measure on held-out text | before | after |", "|---|--:|--:|"]
    for measure, before, after in compare(results):
        lines.append(f"| {measure.replace('_', ' ')} | {before:.4f} | {after:.4f} |")
    return "\n".join(lines)


def _is_on_hub(corpus: str) -> bool:
    return HUB_ID.fullmatch(corpus) is not None and not os.path.exists(corpus)
