"""The Trainer of all weights, which learns labels, rows that count more than others, or the logits of a teacher."""

from typing import Any, cast

from torch import Tensor
from transformers import PreTrainedModel, TrainingArguments

from vocabless.training.finetuning.tasks.data import WEIGHT, EncodedRows, weights_of
from vocabless.training.finetuning.tasks.problems import Problem
from vocabless.training.finetuning.trainers.adversarial import adversarial_loss
from vocabless.training.trainer import ResumableTrainer, logits_only

TEACHER_LOGITS, IS_GOLD = "teacher_logits", "is_gold"  # entries of rows that a teacher labelled
GOLD_WEIGHT = 0.5  # of the loss of the labels; the loss of the teacher has the rest
TEMPERATURE = 2.0  # divides both logits in the loss against the teacher; numbers have none


class TaskTrainer(ResumableTrainer):
    """A Trainer whose loss goes by the entries of the rows.

    The loss of a row with `WEIGHT` is multiplied by it over the mean weight of all rows; that of rows with
    `TEACHER_LOGITS` is `distillation_loss`. Rows without both, as in an evaluation, have the loss of the library.

    Args:
        problem: of the labels.
        model: to train.
        rows: to train on.
        training: arguments of the Trainer.
        collator: pads batches of rows.
        validation_rows: that choose the best epoch, if there are any.
        epsilon: of `adversarial_loss`; 0 is the loss as it is, and so is any where FSDP or DeepSpeed divides the model
            among processes: a step of theirs has one backward pass.
    """

    def __init__(
        self,
        problem: Problem,
        model: PreTrainedModel,
        rows: EncodedRows,
        training: TrainingArguments,
        collator: Any,
        validation_rows: EncodedRows | None = None,
        epsilon: float = 0.0,
    ) -> None:
        super().__init__(
            *(model, training, collator, rows, validation_rows),
            compute_metrics=problem.compute_metrics,
            preprocess_logits_for_metrics=logits_only,
        )
        weights = weights_of(rows)
        self._problem, self._mean_weight = problem, 1.0 if weights is None else float(weights.mean())
        self._epsilon = 0.0 if self.is_sharded else epsilon
        self._set_signature_columns_if_needed()
        cast(Any, self)._signature_columns += [WEIGHT, TEACHER_LOGITS, IS_GOLD]  # else removed: no model takes them

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Returns the loss of a batch, and the model's outputs if asked to."""
        if return_outputs or not (self._epsilon and model.training):
            return self.clean_loss(model, inputs, return_outputs, num_items_in_batch)
        layer = cast(Any, self.model).get_input_embeddings()
        return adversarial_loss(
            layer, lambda: self.clean_loss(model, dict(inputs), num_items_in_batch=num_items_in_batch), self._epsilon
        )

    def clean_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        """Returns the loss of a batch as it is, and the model's outputs if asked to."""
        if WEIGHT not in inputs and TEACHER_LOGITS not in inputs:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        known = {name: inputs[name] for name in ("labels", WEIGHT, TEACHER_LOGITS, IS_GOLD) if name in inputs}
        outputs = model(**{name: inputs[name] for name in inputs if name not in known})
        logits = outputs.logits.float()
        if TEACHER_LOGITS in known:
            weights = GOLD_WEIGHT * known[IS_GOLD]
            loss = distillation_loss(self._problem, logits, known["labels"], known[TEACHER_LOGITS], weights)
        else:
            losses = self._problem.losses(logits, known["labels"])
            loss = (losses * known[WEIGHT].to(losses.dtype)).mean() / self._mean_weight
        return (loss, outputs) if return_outputs else loss


def distillation_loss(
    problem: Problem,
    logits: Tensor,
    targets: Tensor,
    teacher_logits: Tensor,
    weights: Tensor,
    temperature: float = TEMPERATURE,
) -> Tensor:
    """Returns the mean over n rows of w·(loss of the label) + (1 − w)·(loss against the teacher).

    Logits are (n, labels); weights w, (n,) in 0–1, are 0 for a row without a label. For the temperature see `Problem`.
    """
    taught = problem.teacher_losses(logits, teacher_logits, temperature)
    return (weights * problem.losses(logits, targets) + (1 - weights) * taught).mean()
