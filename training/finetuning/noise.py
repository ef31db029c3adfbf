"""The evaluation of a finished run on misspelt copies of its validation texts, for `--noise`.

The misspellings depend on the texts, the probability and `NOISE_SEED`. So all models and all seeds of a run read the
same misspelt texts. The run itself does not change: a finished run is evaluated without training it again.
"""
# mypy: allow-untyped-calls

import copy
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.trainer_utils import IntervalStrategy

from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.finished_run import load_finished, renew
from vocabless.training.finetuning.tasks import Examples, Task
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.task import Results
from vocabless.training.texts.misspellings import misspelt_copy
from vocabless.training.trainer import ResumableTrainer, logits_only

NOISE_SEED = 42  # fixed, as the rows that are held out


def misspelt_examples(examples: Examples, probability: float, seed: int) -> Examples:
    """Returns a copy of the examples with misspelt texts and the same labels.

    Args:
        examples: both texts of a pair are misspelt; of a list of words, each word on its own.
        probability: that a word of at least three letters is misspelt.
        seed: of the misspellings.
    """
    pairs = examples.pairs and misspelt_copy(examples.pairs, probability, seed, position=1)
    return Examples(misspelt_copy(examples.texts, probability, seed), pairs, examples.labels)


def add_noisy_measures(
    results: Results, task: Task, arguments: GlueArguments, training: GlueTrainingArguments, folder: Path
) -> Results:
    """Returns the results of a finished run with `noisy`, its measures on misspelt texts.

    They are read from the results if they were measured with the same probability before. Otherwise the run's
    checkpoint is loaded and evaluated, and its `results.json` and model card are written anew.

    Args:
        results: content of the run's `results.json`.
        task: its validation examples are misspelt.
        arguments: `noise` is the probability; 0 changes nothing.
        training: of the run.
        folder: of the run.
    """
    settings = {"probability": arguments.noise, "seed": NOISE_SEED}
    if arguments.noise == 0 or settings.items() <= results.get("noisy", {}).items():
        return results
    model, tokenizer, _ = load_finished(arguments, task, folder)
    trainer = _make_evaluator(task, model, tokenizer, copy.copy(training))
    measures = _measure(trainer, task, tokenizer, arguments)
    noisy = settings | {"measures": {name: measures[name] for name in ("loss", *results["constant_baselines"])}}
    results = results | {"noisy": noisy}
    if trainer.is_world_process_zero():
        renew(results, model, tokenizer, folder)
    trainer.accelerator.wait_for_everyone()
    return results


def _measure(
    trainer: ResumableTrainer, task: Task, tokenizer: PreTrainedTokenizerBase, arguments: GlueArguments
) -> dict[str, float]:
    """Returns the metrics of all validation splits, misspelt, with the splits' suffixes."""
    metrics: dict[str, float] = {}
    for suffix, examples in task.validation.items():
        noisy = misspelt_examples(examples, arguments.noise, NOISE_SEED)
        output = trainer.predict(EncodedExamples(noisy, task.problem, tokenizer, int(arguments.max_seq_length or 0)))
        metrics |= {f"{name.removeprefix('test_')}{suffix}": value for name, value in (output.metrics or {}).items()}
    return metrics


def _make_evaluator(
    task: Task, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, training: GlueTrainingArguments
) -> ResumableTrainer:
    """Returns a Trainer that only predicts.

    Args:
        task: has the metrics.
        model: a fine-tuned model.
        tokenizer: of the model.
        training: a copy of the run's arguments, which is changed.
    """
    training.eval_strategy = IntervalStrategy.NO  # else the Trainer asks for validation data
    training.report_to = []  # dashboards show the training only
    return ResumableTrainer(
        model=model,
        args=training,
        data_collator=task.problem.collator(tokenizer),
        compute_metrics=task.problem.compute_metrics,
        preprocess_logits_for_metrics=logits_only,
    )
