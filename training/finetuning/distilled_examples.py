"""Training examples with a teacher's logits, their batches, and the Trainer that learns from both."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from vocabless.training.distillation.task_teacher import Logits
from vocabless.training.finetuning.base_problem import Problem
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.trainer import ResumableTrainer

TEACHER_LOGITS, IS_GOLD = "teacher_logits", "is_gold"  # further entries of examples and batches


class DistilledExamples(Dataset[dict[str, Any]]):
    """Encoded examples with the logits of a teacher. Examples without labels get placeholders.

    Args:
        encoded: examples for the student.
        logits: the teacher's logits of each example, see `TaskTeacher.logits`.
        problem: the kind of problem.
        is_gold: whether the examples have labels.
    """

    def __init__(self, encoded: EncodedExamples, logits: Sequence[Logits], problem: Problem, is_gold: bool) -> None:
        self._encoded, self._logits, self._problem, self._is_gold = encoded, logits, problem, is_gold

    def __len__(self) -> int:
        return len(self._encoded)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Returns the entries of an encoded example, `TEACHER_LOGITS` (P, labels) and `IS_GOLD`.

        P is 1; per word, it is the number of words that have a token in the student's sequence.
        """
        example, logits = self._encoded[index], self._logits[index]
        if self._problem.per_word:
            logits = logits[self._encoded.scored_words[index]]
        elif not self._is_gold:
            example["label"] = self._problem.placeholder
        return {**example, TEACHER_LOGITS: logits, IS_GOLD: self._is_gold}


class DistillationCollator:
    """Pads a batch with another collator, and joins the teacher's logits of all its examples.

    Args:
        collate: the collator of the problem.
    """

    def __init__(self, collate: Any) -> None:
        self._collate = collate

    def __call__(self, examples: Sequence[dict[str, Any]]) -> Any:
        """Returns the padded batch; with a teacher, also `TEACHER_LOGITS` (P, labels) and `IS_GOLD` (P,)."""
        if TEACHER_LOGITS not in examples[0]:  # of an evaluation
            return self._collate(examples)
        logits = [torch.as_tensor(example[TEACHER_LOGITS]) for example in examples]
        flags = [torch.full((len(rows),), e[IS_GOLD]) for rows, e in zip(logits, examples, strict=True)]
        own = (TEACHER_LOGITS, IS_GOLD)
        batch = self._collate([{k: value for k, value in example.items() if k not in own} for example in examples])
        batch[TEACHER_LOGITS], batch[IS_GOLD] = torch.cat(logits), torch.cat(flags)
        return batch


class DistillingTrainer(ResumableTrainer):
    """A Trainer that learns labels and a teacher's logits. It evaluates on the labels alone.

    Args:
        problem: computes the loss.
        gold_weight: see `Problem.distillation_loss`.
        temperature: see `Problem.teacher_losses`.
        options: arguments of `ResumableTrainer`.
    """

    def __init__(self, problem: Problem, gold_weight: float, temperature: float, **options: Any) -> None:
        super().__init__(**options)
        self._problem, self._gold_weight, self._temperature = problem, gold_weight, temperature
        self.data_collator = DistillationCollator(self.data_collator)
        self.model_accepts_loss_kwargs = False  # else `training_step` would not average over accumulated batches

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Returns the loss of a batch, and the model's outputs if asked to."""
        if TEACHER_LOGITS not in inputs:  # of an evaluation
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        inputs = dict(inputs)
        targets, teacher_logits, is_gold = (inputs.pop(name) for name in ("labels", TEACHER_LOGITS, IS_GOLD))
        outputs = model(**inputs)
        logits: Tensor = outputs.logits.float()
        loss = self._problem.distillation_loss(
            logits, targets, teacher_logits, is_gold, self._gold_weight, self._temperature
        )
        return (loss, outputs) if return_outputs else loss

    def _set_signature_columns_if_needed(self) -> None:
        """Keeps the teacher's entries, which the Trainer would remove because no model takes them."""
        super()._set_signature_columns_if_needed()
        columns: Any = self._signature_columns or []
        self._signature_columns = [*dict.fromkeys([*columns, TEACHER_LOGITS, IS_GOLD])]  # type: ignore[assignment]
