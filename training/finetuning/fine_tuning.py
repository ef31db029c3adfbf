"""One fine-tuning run: one task with one seed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, cast

from torch.utils.data import ConcatDataset
from transformers import (
    DataCollatorWithPadding,
    EarlyStoppingCallback,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerState,
    TrainingArguments,
)

from vocabless.saving.card_facts import CardFacts
from vocabless.saving.model_card import provenance, write_card
from vocabless.saving.run_folder import RESULTS, rows_identity, versions, write_json
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments, identifying_arguments
from vocabless.training.finetuning.card import card_facts
from vocabless.training.finetuning.distillation import (
    DistillingTrainer,
    TaskDistillation,
    distill_task,
    read_unlabelled,
)
from vocabless.training.finetuning.first_head import FirstHead
from vocabless.training.finetuning.glue import MISMATCHED
from vocabless.training.finetuning.load_model import is_checkpoint, load_model
from vocabless.training.finetuning.metrics import interval
from vocabless.training.finetuning.predictions import write_predictions
from vocabless.training.finetuning.task_files import EncodedExamples, Examples
from vocabless.training.finetuning.tasks import Task
from vocabless.training.task import ExampleSets, Results, Trained, TrainingTask
from vocabless.training.trainer import ResumableTrainer, logits_only

Scores = Mapping[str, float]


@dataclass(frozen=True)
class FineTuning(TrainingTask):
    """Fine-tuning on a task with one seed, with or without a teacher.

    The first head alone is saved if its scores are better than those of fine-tuning, cross-validated or on validation
    rows.
    """

    checks_standalone: ClassVar[bool] = False
    keeps_checkpoints: ClassVar[bool] = False

    arguments: GlueArguments  # for this run: the length and the patience are chosen
    training: GlueTrainingArguments  # for this run
    task: Task
    head: FirstHead | None = None  # what the head begins with; None leaves its weights
    head_scores: Scores | None = None  # of the first head alone
    tuned_scores: Scores | None = None  # of fine-tuning, cross-validated; None if validation rows tell

    def identity(self) -> dict[str, Any]:
        """See `TrainingTask.identity`."""
        return identifying_arguments(self.arguments, self.training)

    def data_identity(self) -> dict[str, str]:
        """See `TrainingTask.data_identity`."""
        task, arguments = self.task, self.arguments
        parts = {"training rows": task.train}
        parts |= {f"validation rows{suffix}": examples for suffix, examples in task.validation.items()}
        if self.training.do_predict:
            parts |= {f"test rows{suffix}": examples for suffix, examples in task.test.items()}
        if arguments.unlabelled:
            parts["unlabelled rows"] = read_unlabelled(arguments.unlabelled, task, arguments.text_format)
        identity = {name: rows_identity(examples.rows()) for name, examples in parts.items()}
        return identity | {"labels": rows_identity(task.problem.labels)}

    def read_data(self) -> TaskDistillation | None:
        """Returns what the teacher gives the task; None without a teacher."""
        return None if self.arguments.teacher is None else distill_task(self.task, self.arguments, self.training)

    def load_model(self, data: TaskDistillation | None) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """See `TrainingTask.load_model`. Our tokenizer remembers the length, for pipelines, ONNX and page.

        Raises:
            ValueError: the model cannot be loaded, or `--max_seq_length` is beyond its limit.
        """
        arguments = self.arguments
        loaded = load_model(arguments, self.task, self.folder)
        if arguments.length > loaded.limit:
            raise ValueError(
                f"--max_seq_length {arguments.length} does not fit {arguments.model_name_or_path}; "
                f"give 3 to {loaded.limit}."
            )
        if isinstance(loaded.tokenizer, VocablessTokenizer):
            loaded.tokenizer.model_max_length = arguments.length
        return loaded.model, loaded.tokenizer

    def build_examples(self, data: TaskDistillation | None, tokenizer: PreTrainedTokenizerBase) -> ExampleSets:
        """See `TrainingTask.build_examples`."""
        problem = self.task.problem

        def encode(examples: Examples) -> EncodedExamples:
            return EncodedExamples(examples, problem, tokenizer, self.arguments.length)

        validation = {} if self.task.is_cross_validated else self.task.validation
        evaluated = {suffix: encode(examples) for suffix, examples in validation.items()}
        train: Any = encode(self.task.train) if data is None else ConcatDataset(map(encode, data.examples))
        facts = {"teacher": data.facts} if data else {}
        return ExampleSets(train, evaluated, DataCollatorWithPadding(tokenizer), problem.compute_metrics, facts)

    def make_trainer(self, **options: Any) -> ResumableTrainer:
        """See `TrainingTask.make_trainer`."""
        problem, model, arguments = self.task.problem, options["model"], self.arguments
        options["preprocess_logits_for_metrics"] = logits_only
        if self.head is not None:
            self.head.write_into(model.classifier)
        trainer = (
            ResumableTrainer(**options)
            if arguments.teacher is None
            else DistillingTrainer(problem, arguments.gold_weight, arguments.teacher_temperature, **options)
        )
        if self.needs_no_training:
            trainer.args.num_train_epochs = 0
        elif arguments.early_stopping_patience and trainer.args.load_best_model_at_end:
            trainer.add_callback(EarlyStoppingCallback(arguments.early_stopping_patience))
        return trainer

    def train_with(self, trainer: ResumableTrainer) -> dict[str, float]:
        """Trains; then restores the first head if no epoch was better."""
        model, first_weights = cast(PreTrainedModel, trainer.model), {}
        if self.head_scores is not None:
            first_weights = {name: weight.detach().cpu().clone() for name, weight in model.state_dict().items()}
        metrics = trainer.resume()
        if self.is_head_better(trainer.args, trainer.state):
            model.load_state_dict(first_weights)
        return metrics

    @property
    def needs_no_training(self) -> bool:
        """Whether the first head alone is saved, by `--head_only` or because it is better cross-validated."""
        if self.arguments.head_only:
            return True
        if self.head_scores is None or self.tuned_scores is None:
            return False
        metric = self.task.problem.best_metric
        low, high = interval(metric, self.tuned_scores[metric], len(self.task.validation[""]))
        standard_error = (high - low) / 4  # small samples differ by less
        return self.head_scores[metric] > self.tuned_scores[metric] + standard_error

    def is_head_better(self, training: TrainingArguments, state: TrainerState) -> bool:
        """Returns whether the first head alone has a better score on the validation rows than every epoch."""
        name = str(training.metric_for_best_model).removeprefix("eval_")
        head = None if self.head_scores is None else self.head_scores.get(name)
        if head is None or state.best_metric is None or not training.load_best_model_at_end:
            return False
        return head >= state.best_metric if training.greater_is_better else head <= state.best_metric

    def predict(self, trainer: ResumableTrainer, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Predicts the test splits, if `--do_predict` asks for it."""
        given = trainer, self.task, tokenizer, self.arguments.length, self.folder
        return write_predictions(*given) if trainer.args.do_predict else {}

    def results(self, trained: Trained) -> Results:
        """See `TrainingTask.results`."""
        task, arguments, state = self.task, self.arguments, trained.trainer.state
        from_scratch = not is_checkpoint(arguments.model_name_or_path)
        scores = {name.removeprefix("eval_"): value for name, value in trained.measures.items()}
        is_head_saved = self.needs_no_training
        if task.is_cross_validated:  # the scores of the saved model, beside those of its predictions of test rows
            scores |= (self.head_scores if is_head_saved else self.tuned_scores) or {}
        constants = task.constant_baselines()
        rows = {name: len(task.validation[MISMATCHED if name.endswith(MISMATCHED) else ""]) for name in constants}
        results: dict[str, Any] = {
            "task": task.name,
            "example": arguments.example or [],
            "is_pair": task.train.pairs is not None,
            "from_scratch": from_scratch,
            "start": provenance(arguments.model_name_or_path, from_scratch),
            "seed": self.training.seed,
            "measures": scores,
            "rows": rows,
            "intervals": {
                name: interval(name.removesuffix(MISMATCHED), scores[name], count, task.scored_folds)
                for name, count in rows.items()
            },
            "constant_baselines": constants,
            "best_checkpoint": Path(state.best_model_checkpoint or "").name or None,
            "epochs": state.epoch or 0.0,
            "is_cross_validated": task.is_cross_validated,
            "scored_folds": task.scored_folds,
            "versions": all_versions(),
            **trained.examples.facts,
        }
        if self.head_scores is not None:
            is_kept = is_head_saved or self.is_head_better(trained.trainer.args, state)
            results["head"] = {"measures": dict(self.head_scores), "is_kept": is_kept}
        return results

    def card_facts(self, results: Results) -> CardFacts:
        """See `TrainingTask.card_facts`."""
        return card_facts(results)

    def complete(self, results: Results) -> Results:
        """Returns the results with the example that this command asks for.

        What an earlier command did not add is added to `results.json` and the card of the finished run.
        """
        arguments = self.arguments
        if not arguments.example or arguments.example == results["example"]:
            return results
        finished = replace(arguments, model_name_or_path=str(self.folder), tokenizer_name=None, model_revision="main")
        loaded = load_model(finished, self.task, self.folder)
        results = results | {"example": arguments.example}
        if self.training.process_index == 0:
            if isinstance(loaded.tokenizer, VocablessTokenizer):
                write_card(self.folder, loaded.model, loaded.tokenizer.block_size, card_facts(results))
            write_json(self.folder / RESULTS, results)
        return results

    def summary(self, results: Results) -> str:
        """Returns the line that is printed after a run, with the scores of the test rows if they have labels."""

        def percent(scores: Scores, name: str) -> str:
            return f"{100 * scores[name]:.1f}"

        scores, constants, tested = results["measures"], results["constant_baselines"], []
        parts = []
        for name in constants:
            title = name.replace("_", " ")
            parts.append(f"{title} {percent(scores, name)} (constant {percent(constants, name)})")
            if f"test_{name}" in scores:
                tested.append(f"{title} {percent(scores, f'test_{name}')}")
        tests = f"; test rows: {', '.join(tested)}" if tested else ""
        time = f"{results['epochs']:.1f} epochs, {results['train']['train_runtime']:.0f} s"
        return f"{self.task.title}, seed {results['seed']}: {', '.join(parts)}{tests}; {time}"


def run_folder(task: Task, seed: int, training: GlueTrainingArguments) -> Path:
    """Returns the folder of a run, in the output folder of the command."""
    return Path(str(training.output_dir)) / task.name / f"seed-{seed}"


def all_versions() -> dict[str, str]:
    """Returns the versions that a result depends on, with those of the packages that compute the metrics."""
    return versions() | {name: version(name) for name in ("evaluate", "scikit-learn", "scipy")}
