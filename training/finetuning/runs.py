"""One fine-tuning run: one task with one seed."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from torch.utils.data import ConcatDataset
from transformers import EarlyStoppingCallback, PreTrainedModel, PreTrainedTokenizerBase, PrinterCallback

from vocabless.saving.card_facts import CardFacts
from vocabless.saving.provenance import provenance
from vocabless.saving.run_folder import rows_identity, versions
from vocabless.saving.uploads import check_run_upload
from vocabless.training.checkpoint_tokenizers import longest_sequence
from vocabless.training.finetuning.arguments import GlueArguments, identifying_arguments, reported_arguments
from vocabless.training.finetuning.card import card_example, card_facts
from vocabless.training.finetuning.constant_baseline import constant_baseline_note
from vocabless.training.finetuning.default_hyper_parameters import BASE_WIDTH, default_patience
from vocabless.training.finetuning.distilled_examples import DistilledExamples, DistillingTrainer
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.load_model import is_checkpoint, load_model
from vocabless.training.finetuning.noise import add_noisy_measures
from vocabless.training.finetuning.predictions import write_predictions
from vocabless.training.finetuning.task_distillation import TaskDistillation, distill_task, read_unlabelled
from vocabless.training.finetuning.tasks import Examples, Task
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.run import Outcome, run
from vocabless.training.task import ExampleSets, Results, Trained, TrainingTask
from vocabless.training.trainer import ResumableTrainer, logits_only


@dataclass(frozen=True)
class FineTuning(TrainingTask):
    """Fine-tuning on a task with one seed, with or without a teacher."""

    checks_standalone: ClassVar[bool] = False
    keeps_checkpoints: ClassVar[bool] = False

    task: Task

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
        """See `TrainingTask.load_model`.

        Raises:
            ValueError: the model cannot be loaded, or `--max_seq_length` does not fit it.
        """
        model, tokenizer = load_model(arguments, self.task, folder)
        limit = longest_sequence(model, tokenizer)
        if not 3 <= arguments.max_seq_length <= limit:
            raise ValueError(
                f"--max_seq_length {arguments.max_seq_length} does not fit {arguments.model_name_or_path}; "
                f"give 3 to {limit}."
            )
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
            return EncodedExamples(examples, problem, tokenizer, arguments.max_seq_length)

        evaluated = {suffix: encode(examples) for suffix, examples in self.task.validation.items()}
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
        trainer = (
            ResumableTrainer(**options)
            if arguments.teacher is None
            else DistillingTrainer(self.task.problem, arguments.gold_weight, arguments.teacher_temperature, **options)
        )
        patience = arguments.early_stopping_patience or 0
        if patience > 0 and trainer.args.load_best_model_at_end:
            trainer.add_callback(EarlyStoppingCallback(patience))
        if trainer.args.disable_tqdm:
            trainer.remove_callback(PrinterCallback)
        return trainer

    def predict(
        self, arguments: GlueArguments, trainer: ResumableTrainer, tokenizer: PreTrainedTokenizerBase, folder: Path
    ) -> dict[str, float]:
        """Predicts the test splits, if `--do_predict` asks for it."""
        if not trainer.args.do_predict:
            return {}
        tests = {
            suffix: EncodedExamples(examples, self.task.problem, tokenizer, arguments.max_seq_length)
            for suffix, examples in self.task.test.items()
        }
        return write_predictions(trainer, self.task, tests, folder)

    def results(self, trained: Trained, arguments: GlueArguments, training: GlueTrainingArguments) -> Results:  # type: ignore[override]
        """See `TrainingTask.results`."""
        task, state = self.task, trained.trainer.state
        from_scratch = not is_checkpoint(arguments.model_name_or_path)
        results = {
            "task": task.name,
            "example": [] if arguments.task_name else card_example(task.validation[""]),
            "from_scratch": from_scratch,
            "start": provenance(arguments.model_name_or_path, from_scratch),
            "seed": training.seed,
            "measures": {name.removeprefix("eval_"): value for name, value in trained.measures.items()},
            "constant_baselines": task.constant_baselines(),
            "best_checkpoint": Path(state.best_model_checkpoint or "").name or None,
            "epochs": state.epoch,
            "footnotes": _footnotes(task, trained.examples.evaluated[""]),
            "arguments": reported_arguments(arguments, training),
            "versions": all_versions(),
            **trained.examples.facts,
        }
        note = constant_baseline_note(task, results, getattr(trained.model.config, "hidden_size", BASE_WIDTH))
        return results | ({"constant_baseline_note": note} if note else {})

    def card_facts(self, results: Results) -> CardFacts:
        """See `TrainingTask.card_facts`."""
        return card_facts(results)

    def complete(  # type: ignore[override]
        self, results: Results, arguments: GlueArguments, training: GlueTrainingArguments, folder: Path
    ) -> Results:
        """Returns the results with the measures on misspelt texts, if `--noise` asks for them."""
        return add_noisy_measures(results, self.task, arguments, training, folder)

    def summary(self, results: Results, arguments: GlueArguments) -> str:
        """Returns the line that is printed after a run."""
        misspelt = {
            name: f", misspelt {100 * results['noisy']['measures'][name]:.1f}" if arguments.noise else ""
            for name in results["constant_baselines"]
        }
        measures = ", ".join(
            f"{name.replace('_', ' ')} {100 * results['measures'][name]:.1f} "
            f"(constant {100 * constant:.1f}{misspelt[name]})"
            for name, constant in results["constant_baselines"].items()
        )
        time = f"{results['epochs']:.1f} epochs, {results['train']['train_runtime']:.0f} s"
        return f"{self.task.title}, seed {results['seed']}: {measures}; {time}"


def run_folder(task: Task, seed: int, training: GlueTrainingArguments) -> Path:
    """Returns the folder of a run, in the output folder of the command."""
    return Path(str(training.output_dir)) / task.name / f"seed-{seed}"


def fine_tune(
    task: Task, seed: int, arguments: GlueArguments, training: GlueTrainingArguments, repository: str | None
) -> Outcome:
    """Fine-tunes on a task with a seed, in the run's own folder.

    Args:
        task: the task.
        seed: of the run.
        arguments: of the command.
        training: of the command.
        repository: id of the repository that the run is uploaded to, or None.
    """
    folder, eval_steps = run_folder(task, seed, training), arguments.eval_steps_of(task.name)
    of_run = training.for_run(folder, seed, len(task.train), task.problem.best_metric, eval_steps)
    if arguments.early_stopping_patience is None:
        arguments = replace(arguments, early_stopping_patience=default_patience(float(of_run.num_train_epochs or 0)))
    return run(FineTuning(task), arguments, of_run, repository)


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


def _footnotes(task: Task, validation: EncodedExamples) -> list[str]:
    """Returns a footnote on the words that are not evaluated, if there are any; only for problems per word."""
    if not task.problem.per_word:
        return []
    words = sum(len(text) for text in task.validation[""].texts)
    unscored = words - sum(map(len, validation.scored_words))
    if not unscored:
        return []
    return [f"{task.title}: {unscored:,} of {words:,} words, cut off or without a token, are not scored"]
