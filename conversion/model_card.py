"""The README.md of a checkpoint folder, filled from the variant's row and the run's results."""

from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from vocabless.training.pretraining import compared

TEMPLATE = Path(__file__).parent.parent / "model_cards" / "checkpoint.md"
OBJECTIVE_NAMES = {
    "shuffle-random": "telling shuffled and replaced words from intact ones (S+R)",
    "mlm": "masked-word prediction",
}


def write_card(folder: Path, name: str, source: str, objective: str, results: dict[str, Any]) -> None:
    """Writes README.md.

    Args:
        folder: the checkpoint.
        name: of its variant.
        source: paper and section.
        objective: a key of `OBJECTIVE_NAMES`.
        results: of the run, as `run_pretraining.py` writes them.
    """
    arguments = results["arguments"]
    card = ModelCard.from_template(
        ModelCardData(library_name="transformers", tags=["vocabless", name], pipeline_tag="feature-extraction"),
        template_path=str(TEMPLATE),
        title=name,
        variant=name,
        source=source,
        objective=OBJECTIVE_NAMES[objective],
        corpus=", ".join(Path(corpus).name for corpus in arguments["corpus"] or ["pydocs"]),
        parameters=f"{results['parameters']:,}",
        steps=f"{arguments['max_steps']:,}",
        tokens=f"{results['tokens_seen']:,}",
        length=arguments["max_seq_length"],
        measures="\n".join(
            f"| {name} | {before:.4f} | {after:.4f} |"
            for name, before, after in compared(results["before"], results["after"])
        ),
    )
    card.save(folder / "README.md")
