"""Fine-tuning on rows that count more than others: `sample_weight` and `class_weight` of scikit-learn."""

from typing import Any, cast

from vocabless.training.finetuning.tasks.data import WEIGHT, EncodedRows, weights_of
from vocabless.training.finetuning.tasks.problems import Problem
from vocabless.training.finetuning.trainers.adversarial import AdversarialTrainer


class WeightedTrainer(AdversarialTrainer):
    """A Trainer of rows with weights: the loss of a row is multiplied by its weight over the mean weight of all."""

    def __init__(self, problem: Problem, epsilon: float, **options: Any) -> None:
        super().__init__(problem, epsilon, **options)
        weights = weights_of(cast(EncodedRows, self.train_dataset))
        assert weights is not None
        self._mean_weight = float(weights.mean())
        self._set_signature_columns_if_needed()
        cast(Any, self)._signature_columns += [WEIGHT]  # else removed: no model takes it

    def clean_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        """Returns the loss of a batch as it is, and the model's outputs if asked to."""
        inputs = dict(inputs)
        targets, weights = inputs.pop("labels"), inputs.pop(WEIGHT)
        outputs = model(**inputs)
        losses = self._problem.losses(outputs.logits.float(), targets)
        loss = (losses * weights.to(losses.dtype)).mean() / self._mean_weight
        return (loss, outputs) if return_outputs else loss
