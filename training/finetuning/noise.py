"""The scores of a finished run on misspelt copies of its validation texts, for `--noise`.

The misspellings depend on the texts, the probability and `NOISE_SEED`. So all models and all seeds of a run read the
same misspelt texts. The run itself does not change: a finished run is evaluated without training it again.
"""
# mypy: allow-untyped-calls

import copy

from transformers.trainer_utils import IntervalStrategy

from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.load_model import LoadedModel
from vocabless.training.finetuning.task_files import Examples
from vocabless.training.finetuning.tasks import Task
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.texts.misspellings import misspelt_copy
from vocabless.training.trainer import ResumableTrainer, logits_only

NOISE_SEED = 42  # fixed, as the rows that are held out


def misspelt_examples(examples: Examples, probability: float) -> Examples:
    """Returns a copy of the examples with misspelt texts and the same labels.

    Args:
        examples: both texts of a pair are misspelt; of a list of words, each word on its own.
        probability: that a word of at least three letters is misspelt.
    """
    pairs = examples.pairs and misspelt_copy(examples.pairs, probability, NOISE_SEED, position=1)
    return Examples(misspelt_copy(examples.texts, probability, NOISE_SEED), pairs, examples.labels)


def noisy_scores(
    task: Task, loaded: LoadedModel, arguments: GlueArguments, training: GlueTrainingArguments
) -> dict[str, float]:
    """Returns the loss and the metrics of a model on all validation splits, misspelt, with the splits' suffixes."""
    training = copy.copy(training)
    training.eval_strategy = IntervalStrategy.NO  # else the Trainer asks for validation data
    training.report_to = []  # dashboards show the training only
    trainer = ResumableTrainer(
        model=loaded.model,
        args=training,
        data_collator=task.problem.collator(loaded.tokenizer),
        compute_metrics=task.problem.compute_metrics,
        preprocess_logits_for_metrics=logits_only,
    )
    scores: dict[str, float] = {}
    for suffix, examples in task.validation.items():
        noisy = misspelt_examples(examples, arguments.noise)
        output = trainer.predict(EncodedExamples(noisy, task.problem, loaded.tokenizer, arguments.length))
        scores |= {f"{name.removeprefix('test_')}{suffix}": value for name, value in (output.metrics or {}).items()}
    return {name: scores[name] for name in ("loss", *task.constant_baselines())}
