"""The one way to fine-tune: candidates, what held-out rows say of them, and the choice of the simplest good one.

`vocabless finetune` and `VocablessClassifier` both call `fit`, so scores and the saved model have one definition:

1. A linear head is fitted to the vectors of a trained encoder of ours, and to the words if that lowers the held-out
   loss (`WideLayer`). Training does not change this wide part. If the score can hardly become better and no number of
   epochs is given, this is all.
2. All weights are trained: copies of the model without a fold of the rows, which is scored; or, if validation rows are
   apart, a copy on all rows. The mean of the weights before and after training is a candidate, too, see `mean_model`.
3. `simplest` chooses. If folds were scored, a copy of the model is trained on all rows now, unless the head is chosen.
4. The logits of trained weights are divided by the temperature that suits the held-out rows, as those of the head are.

A score on held-out rows is that of the model as it is saved, see `Candidate`. The first head is written into the loaded
model; all training is of copies.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

from transformers import PreTrainedModel

from vocabless.training.finetuning.candidates import (
    HEAD,
    Candidate,
    head_alone,
    is_head_enough,
    simplest,
    with_models,
)
from vocabless.training.finetuning.head.first_head import fit_head
from vocabless.training.finetuning.prepared import Log, Prepared, prepare
from vocabless.training.finetuning.tasks.arguments import GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.tasks.data import TaskData
from vocabless.training.finetuning.tuning import Teach, Tuned, tune, tune_on_folds
from vocabless.training.load import Loaded


@dataclass(frozen=True)
class Fitted:
    """A fine-tuned model, and how it came about."""

    model: PreTrainedModel
    data: TaskData  # with the validation rows of the scores, and the limit of several labels
    prepared: Prepared  # with what was chosen in the arguments
    chosen: Candidate  # the model on validation rows, or others like it on folds
    head: Candidate | None  # the head alone, on the same rows; None without a first head
    tuned: Tuned  # how weights were trained; without a Trainer, if none were


def fit(
    data: TaskData,
    loaded: Loaded,
    arguments: GlueArguments,
    training: GlueTrainingArguments,
    log: Log = lambda line: None,
    teach: Teach | None = None,
) -> Fitted:
    """Fine-tunes a model, see the module's first lines.

    Args:
        data: training and validation rows.
        loaded: model and tokenizer. The model gets the fitted head; its other weights are not changed.
        arguments: of the script.
        training: the Trainer's. What is None in both is chosen here. A killed run continues from its folder.
        log: takes lines for the user, such as the score of the head before training begins.
        teach: makes rows that are learned from a teacher.

    Raises:
        ValueError: no epoch is asked for and no head can be fitted, the length is beyond the model's, the loss is not
            finite, or the model cannot turn texts away, see `check_rejection`.
    """
    cast(Any, loaded.model).to(training.device)
    prepared = prepare(data, loaded, arguments, training, log)

    # 1. The head.
    head = alone = None
    if prepared.has_first_head:
        head = fit_head(prepared.model, prepared.rows, prepared.folds, prepared.collator, data, prepared.rejects)
        alone = head_alone(prepared, head)
    candidates = [] if alone is None else [alone]
    is_enough = head is not None and alone is not None and is_head_enough(prepared, head, alone)

    # 2. Training without folds.
    if data.is_cross_validated and not is_enough:
        data, candidates = tune_on_folds(prepared, head)
        if alone is not None and simplest(candidates).name == HEAD:
            is_enough, data, candidates = True, prepared.data, [alone]

    # 3. Training on all rows.
    tuned = Tuned({}) if is_enough else tune(prepared, teach)
    if not (data.is_cross_validated or is_enough):
        candidates = with_models(prepared, alone, tuned.models)

    # 4. The model that is saved.
    chosen = simplest(candidates, prepared.deciding_metric)
    model = ({HEAD: prepared.model} | tuned.models)[chosen.name]
    chosen.write_into(model, prepared)
    return Fitted(
        model=model,
        data=replace(data, problem=data.problem.with_threshold(chosen.threshold)),
        prepared=prepared,
        chosen=chosen,
        head=candidates[0] if prepared.has_first_head else None,
        tuned=tuned,
    )
