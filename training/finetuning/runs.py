"""One fine-tuning run: one task with one seed."""
# mypy: allow-untyped-calls

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from torch.utils.data import ConcatDataset
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from vocabless.saving.card_facts import CardFacts
from vocabless.saving.provenance import provenance
from vocabless.saving.run_folder import rows_identity, versions
from vocabless.saving.uploads import check_run_upload
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.arguments import GlueArguments, identifying_arguments, reported_arguments
from vocabless.training.finetuning.card import card_facts
from vocabless.training.finetuning.class_weights import WeightedLoss, balanced_weights
from vocabless.training.finetuning.constant_baseline import constant_baseline_note
from vocabless.training.finetuning.default_hyper_parameters import BASE_WIDTH
from vocabless.training.finetuning.distilled_examples import DistilledExamples, DistillingTrainer
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.finished_run import load_finished, renew
from vocabless.training.finetuning.first_head import FirstHead
from vocabless.training.finetuning.intervals import interval
from vocabless.training.finetuning.load_model import is_checkpoint, load_model
from vocabless.training.finetuning.ngram_scores import NgramScores
from vocabless.training.finetuning.noise import add_noisy_measures
from vocabless.training.finetuning.predictions import write_predictions
from vocabless.training.finetuning.sequence_length import length_limit
from vocabless.training.finetuning.task_distillation import TaskDistillation, distill_task, read_unlabelled
from vocabless.training.finetuning.tasks import Examples, Task
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.task import ExampleSets, Results, Trained, TrainingTask
from vocabless.training.trainer import ResumableTrainer, logits_only


class Evaluation(NamedTuple):
    """Scores that are known before the training.

    Attributes:
        head: of the first head alone; None without one.
        tuned: of fine-tuning, cross-validated; None if validation rows tell.
    """

    head: Mapping[str, float] | None = None
    tuned: Mapping[str, float] | None = None


@dataclass(frozen=True)
class FineTuning(TrainingTask):
    """Fine-tuning on a task with one seed, with or without a teacher.

    Attributes:
        task: the task.
        head: what the head begins with; None leaves its weights.
        evaluation: decides, with the validation rows if there are any, whether the fine-tuned model is better than the
            first head alone. The better one is saved.
        scores: of n-grams, that are added to the outputs after the training: before it, they would leave it little to
            learn. None adds none.
    """

    checks_standalone: ClassVar[bool] = False
    keeps_checkpoints: ClassVar[bool] = False

    task: Task
    head: FirstHead | None = None
    evaluation: Evaluation = field(default_factory=Evaluation)
    scores: NgramScores | None = None

    def identity(self, arguments: GlueArguments, training: GlueTrainingArguments) -> dict[str, Any]:  # type: ignore[override]
        """See `TrainingTask.identity`."""
        return identifying_arguments(arguments, training)

    def data_identity(self, arguments: GlueArguments, training: GlueTrainingArguments) -> dict[str, str]:  # type: ignore[override]
        """See `TrainingTask.data_identity`."""
        task = self.task
        parts = {"training rows": task.train}
        parts |= {f"validation rows{suffix}": examples for suffix, examples in task.validation.items()}
        if training.do_predict:
            parts |= {f"test rows{suffix}": examples for suffix, examples in task.test.items()}
        if arguments.unlabelled:
            parts["unlabelled rows"] = read_unlabelled(arguments.unlabelled, task, arguments.text_format)
        identity = {name: rows_identity(examples.rows()) for name, examples in parts.items()}
        return identity | {"labels": rows_identity(task.problem.labels)}

    def read_data(self, arguments: GlueArguments, training: GlueTrainingArguments) -> TaskDistillation | None:  # type: ignore[override]
        """Returns what the teacher gives the task; None without a teacher."""
        return distill_task(self.task, arguments, training)

    def load_model(
        self, arguments: GlueArguments, data: TaskDistillation | None, folder: Path
    ) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """See `TrainingTask.load_model`. Our tokenizer remembers the length, for pipelines, ONNX and page.

        Raises:
            ValueError: the model cannot be loaded, or `--max_seq_length` is beyond its limit.
        """
        model, tokenizer, _ = load_model(arguments, self.task, folder)
        length, limit = sequence_length(arguments), length_limit(model, tokenizer)
        if length > limit:
            name = arguments.model_name_or_path
            raise ValueError(f"--max_seq_length {length} does not fit {name}; give 3 to {limit}.")
        if isinstance(tokenizer, VocablessTokenizer):
            tokenizer.model_max_length = length
        return model, tokenizer

    def build_examples(  # type: ignore[override]
        self,
        arguments: GlueArguments,
        training: GlueTrainingArguments,
        data: TaskDistillation | None,
        tokenizer: PreTrainedTokenizerBase,
    ) -> ExampleSets:
        """See `TrainingTask.build_examples`."""
        problem = self.task.problem

        def encode(examples: Examples) -> EncodedExamples:
            return EncodedExamples(examples, problem, tokenizer, sequence_length(arguments))

        validation = {} if self.task.is_cross_validated else self.task.validation
        evaluated = {suffix: encode(examples) for suffix, examples in validation.items()}
        train: Any = (
            encode(self.task.train)
            if data is None
            else ConcatDataset(
                DistilledExamples(encode(part.examples), part.logits, problem, part.examples.labels is not None)
                for part in data.examples
            )
        )
        facts = {} if data is None else {"teacher": data.facts}
        return ExampleSets(train, evaluated, problem.collator(tokenizer), problem.compute_metrics, facts)

    def make_trainer(self, arguments: GlueArguments, **options: Any) -> ResumableTrainer:
        """See `TrainingTask.make_trainer`."""
        options["preprocess_logits_for_metrics"] = logits_only
        problem = self.task.problem
        if problem.is_balanced:
            targets = [problem.target(label) for label in self.task.train.labels or []]
            weights = balanced_weights(targets, len(problem.labels))
            options["compute_loss_func"] = WeightedLoss(weights, options["args"].label_smoothing_factor)
        if self.head is not None:
            self.head.write_into(options["model"].classifier)
        trainer = (
            ResumableTrainer(**options)
            if arguments.teacher is None
            else DistillingTrainer(problem, arguments.gold_weight, arguments.teacher_temperature, **options)
        )
        patience = arguments.early_stopping_patience or 0
        if patience > 0 and trainer.args.load_best_model_at_end:
            trainer.add_callback(EarlyStoppingCallback(patience))
        if self.needs_no_training(arguments):
            trainer.args.num_train_epochs = 0
            if self.scores is not None:
                self.scores.write_into(trainer.model)
        elif self.head is not None and trainer.args.load_best_model_at_end:
            trainer.add_callback(_RestoreBetterHead(self, trainer.model))
        if self.scores is not None and not self.needs_no_training(arguments):
            trainer.add_callback(_AddScores(self.scores))
        return trainer

    def needs_no_training(self, arguments: GlueArguments) -> bool:
        """Returns whether the first head alone is saved, by `--head_only` or because it is better cross-validated."""
        head, tuned = self.evaluation
        if arguments.head_only:
            return True
        metric = self.task.problem.best_metric
        if head is None or tuned is None:
            return False
        low, high = interval(metric, tuned[metric], len(self.task.validation[""]))
        return head[metric] > tuned[metric] + (high - low) / 4  # a standard error; small samples differ by less

    def is_head_better(self, training: TrainingArguments, state: TrainerState) -> bool:
        """Returns whether the first head alone has a better score on the validation rows than every epoch."""
        head, name = self.evaluation.head, str(training.metric_for_best_model).removeprefix("eval_")
        if head is None or name not in head or state.best_metric is None:
            return False
        return head[name] >= state.best_metric if training.greater_is_better else head[name] <= state.best_metric

    def predict(
        self, arguments: GlueArguments, trainer: ResumableTrainer, tokenizer: PreTrainedTokenizerBase, folder: Path
    ) -> dict[str, float]:
        """Predicts the test splits, if `--do_predict` asks for it."""
        if not trainer.args.do_predict:
            return {}
        return write_predictions(trainer, self.task, tokenizer, sequence_length(arguments), folder)

    def results(self, trained: Trained, arguments: GlueArguments, training: GlueTrainingArguments) -> Results:  # type: ignore[override]
        """See `TrainingTask.results`."""
        task, state = self.task, trained.trainer.state
        from_scratch = not is_checkpoint(arguments.model_name_or_path)
        results = {
            "task": task.name,
            "example": arguments.example or [],
            "is_pair": task.train.pairs is not None,
            "from_scratch": from_scratch,
            "start": provenance(arguments.model_name_or_path, from_scratch),
            "seed": training.seed,
            "measures": self._scores(trained, arguments),
            "constant_baselines": task.constant_baselines(),
            "best_checkpoint": Path(state.best_model_checkpoint or "").name or None,
            "epochs": state.epoch or 0.0,
            "is_cross_validated": task.is_cross_validated,
            "scored_folds": task.scored_folds,
            "footnotes": _footnotes(task, trained.examples.evaluated),
            "arguments": reported_arguments(arguments, training),
            "versions": all_versions(),
            **trained.examples.facts,
        }
        results |= self._intervals(results["measures"])
        if self.evaluation.head is not None:
            is_better = self.is_head_better(trained.trainer.args, state)
            is_kept = self.needs_no_training(arguments) or (training.load_best_model_at_end and is_better)
            results["head"] = {"measures": dict(self.evaluation.head), "is_kept": is_kept}
        note = constant_baseline_note(task, results, getattr(trained.model.config, "hidden_size", BASE_WIDTH))
        return results | ({"constant_baseline_note": note} if note else {})

    def _scores(self, trained: Trained, arguments: GlueArguments) -> dict[str, float]:
        """Returns the scores of the saved model, and those of its predictions of test rows."""
        measures = {name.removeprefix("eval_"): value for name, value in trained.measures.items()}
        if self.task.is_cross_validated:
            measures |= (self.evaluation.head if self.needs_no_training(arguments) else self.evaluation.tuned) or {}
        return measures

    def _intervals(self, measures: Mapping[str, float]) -> Results:
        """Returns `rows`, the number that each measure is taken over, and `intervals`, see `interval`."""
        rows = {
            f"{name}{suffix}": len(examples)
            for suffix, examples in self.task.validation.items()
            for name in self.task.problem.constant_baselines(self.task.targets(suffix))
        }
        folds = self.task.scored_folds
        intervals = {
            name: interval(name.removesuffix("_mm"), measures[name], count, folds) for name, count in rows.items()
        }
        return {"rows": rows, "intervals": intervals}

    def card_facts(self, results: Results) -> CardFacts:
        """See `TrainingTask.card_facts`."""
        return card_facts(results)

    def complete(  # type: ignore[override]
        self, results: Results, arguments: GlueArguments, training: GlueTrainingArguments, folder: Path
    ) -> Results:
        """Returns the results with the example of this command, and with the measures on misspelt texts."""
        if training.process_index == 0 and arguments.example and arguments.example != results["example"]:
            results = results | {"example": arguments.example}
            model, tokenizer, _ = load_finished(arguments, self.task, folder)
            renew(results, model, tokenizer, folder)
        return add_noisy_measures(results, self.task, arguments, training, folder)

    def summary(self, results: Results, arguments: GlueArguments) -> str:
        """Returns the line that is printed after a run, with the scores of the test rows if they have labels."""
        misspelt = {
            name: f", misspelt {100 * results['noisy']['measures'][name]:.1f}" if arguments.noise else ""
            for name in results["constant_baselines"]
        }
        measures = ", ".join(
            f"{name.replace('_', ' ')} {100 * results['measures'][name]:.1f} "
            f"(constant {100 * constant:.1f}{misspelt[name]})"
            for name, constant in results["constant_baselines"].items()
        )
        tested = [
            f"{name.replace('_', ' ')} {100 * results['measures'][f'test_{name}']:.1f}"
            for name in results["constant_baselines"]
            if f"test_{name}" in results["measures"]
        ]
        measures += f"; test rows: {', '.join(tested)}" if tested else ""
        time = f"{results['epochs']:.1f} epochs, {results['train']['train_runtime']:.0f} s"
        return f"{self.task.title}, seed {results['seed']}: {measures}; {time}"


class _AddScores(TrainerCallback):
    """Adds scores of n-grams to a trained model."""

    def __init__(self, scores: NgramScores) -> None:
        self._scores = scores

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Adds them."""
        self._scores.write_into(model)


class _RestoreBetterHead(TrainerCallback):
    """Restores the weights before the training if no epoch was better than the first head alone."""

    def __init__(self, fine_tuning: FineTuning, model: Any) -> None:
        self._fine_tuning = fine_tuning
        self._weights = {name: weight.detach().cpu().clone() for name, weight in model.state_dict().items()}

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **kwargs: Any
    ) -> None:
        """Compares the scores."""
        if self._fine_tuning.is_head_better(args, state):
            model.load_state_dict(self._weights)


def sequence_length(arguments: GlueArguments) -> int:
    """Returns `max_seq_length`, which is chosen before a run begins."""
    assert arguments.max_seq_length is not None
    return arguments.max_seq_length


def run_folder(task: Task, seed: int, training: GlueTrainingArguments) -> Path:
    """Returns the folder of a run, in the output folder of the command."""
    return Path(str(training.output_dir)) / task.name / f"seed-{seed}"


def check_uploads(runs: Sequence[tuple[Task, int]], training: GlueTrainingArguments) -> dict[tuple[str, int], str]:
    """Checks that runs, tasks with their seeds, can be uploaded.

    Returns:
        (Name of the task, seed) → repository; empty without `--push_to_hub` and on other processes.
    """
    if training.process_index != 0 or not training.push_to_hub:
        return {}
    names = [(task.name, seed) for task, seed in runs]
    ids = check_run_upload(training, Path(str(training.output_dir)).name, [f"{name}-seed-{s}" for name, s in names])
    return dict(zip(names, ids, strict=True))


def all_versions() -> dict[str, str]:
    """Returns the versions that a result depends on, with those of the packages that compute the metrics."""
    return versions() | {name: version(name) for name in ("evaluate", "scikit-learn", "scipy")}


def _footnotes(task: Task, evaluated: Mapping[str, EncodedExamples]) -> list[str]:
    """Returns a footnote on the words that are not evaluated, if there are any; only for problems per word."""
    if not task.problem.per_word:
        return []
    words = sum(len(text) for text in task.validation[""].texts)
    unscored = words - sum(map(len, evaluated[""].scored_words))
    if not unscored:
        return []
    return [f"{task.title}: {unscored:,} of {words:,} words, cut off or without a token, are not scored"]
