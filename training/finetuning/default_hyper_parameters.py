"""The hyper-parameters that a user leaves open: learning rate by width, epochs by rows, patience by epochs.

HashFormers (Table 5) fine-tunes encoders of base size on GLUE, at 3e-5 for at most 5 epochs. A narrower encoder learns
next to nothing at this rate, and a small data set has few steps in 5 epochs. The rates give the paper's value for
base size, and the epochs for all of its tasks but the small RTE and MRPC. docs/measurements.md shows what was measured.
"""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import TrainingArguments

BASE_WIDTH, BASE_LEARNING_RATE = 768, 3e-5  # HashFormers, Table 5
NARROWEST = 64  # width of nano; no narrower encoder was measured
EPOCHS, PATIENCE = 5, 2  # at most, for data sets with enough rows
MIN_STEPS = 600  # optimizer steps
BATCH_SIZE, BATCH_SIZE_AFTER_HEAD = 32, 16
MAX_EPOCHS, EXAMPLES = 20, 10_000  # after a first head


def default_learning_rate(width: int) -> float:
    """Returns the peak learning rate for an encoder: 3e-5 · (768 / width)^1.5, rounded to two digits.

    Args:
        width: the encoder's hidden size; a value below `NARROWEST` counts as `NARROWEST`.

    Example:
        >>> [default_learning_rate(width) for width in (768, 512, 256, 128, 64)]
        [3e-05, 5.5e-05, 0.00016, 0.00044, 0.0012]
    """
    return float(f"{BASE_LEARNING_RATE * (BASE_WIDTH / max(width, NARROWEST)) ** 1.5:.1e}")


def default_epochs(rows: int, training: "TrainingArguments") -> float:
    """Returns the number of epochs: `EPOCHS`, or as many as make `MIN_STEPS` optimizer steps.

    Args:
        rows: of the training data.
        training: has the batch size, over all devices and accumulated steps.
    """
    batch = training.train_batch_size * training.gradient_accumulation_steps * training.world_size
    return float(max(EPOCHS, math.ceil(MIN_STEPS / math.ceil(rows / batch))))


def default_epochs_after_head(rows: int) -> float:
    """Returns the number of epochs after a first head: 20 for at most 500 rows, 5 for 2 000 and more.

    Example:
        >>> [default_epochs_after_head(rows) for rows in (100, 1000, 67_349)]
        [20.0, 10.0, 5.0]
    """
    return float(max(EPOCHS, min(MAX_EPOCHS, EXAMPLES // rows)))


def default_patience(epochs: float) -> int:
    """Returns the evaluations without an improvement after which a run stops: 2 in 5 epochs, as a share of all.

    The learning rate and the warm-up stretch with the epochs, so a longer run may stay longer at its first score.

    Example:
        >>> [default_patience(epochs) for epochs in (3, 5, 10, 12)]
        [2, 2, 4, 4]
    """
    return max(PATIENCE, int(PATIENCE * epochs / EPOCHS))
