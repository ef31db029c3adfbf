"""The README.md of a checkpoint folder, filled from the variant's row and the run's results."""

from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from vocabless.training.pretraining import compared
from vocabless.variants import Variant

TEMPLATE = Path(__file__).parent.parent / "model_cards" / "checkpoint.md"
OBJECTIVE_NAMES = {
    "shuffle-random": "telling shuffled and replaced words from intact ones (S+R)",
    "mlm": "masked-word prediction",
}


def write_card(folder: Path, row: Variant, objective: str, results: dict[str, Any]) -> None:
    """Writes README.md.

    Args:
        folder: the checkpoint.
        row: its variant.
        objective: a key of `OBJECTIVE_NAMES`.
        results: of the run, as `run_pretraining.py` writes them.
    """
    arguments = results["arguments"]
    card = ModelCard.from_template(
        ModelCardData(library_name="transformers", tags=["vocabless", row.name], pipeline_tag="feature-extraction"),
        template_path=str(TEMPLATE),
        title=row.name,
        variant=row.name,
        source=row.source,
        objective=OBJECTIVE_NAMES[objective],
        corpus=", ".join(Path(source).name for source in arguments["corpus"]),
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
