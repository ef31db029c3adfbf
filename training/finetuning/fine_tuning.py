"""A fine-tuning run of `run_glue.py`: one task with one seed, in a folder of its own."""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from transformers import DataCollatorWithPadding, PreTrainedTokenizerBase, set_seed

from vocabless.saving.model_card import write_card
from vocabless.saving.record import MISMATCHED, card_facts, provenance
from vocabless.saving.run_folder import RESULTS, rows_fingerprint, versions, write_json
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.data import Examples, TaskData, encode
from vocabless.training.finetuning.first_head import logits_of
from vocabless.training.finetuning.fit import FOLDS_FOLDER, Fitted, fit
from vocabless.training.finetuning.load_model import is_checkpoint, load_model
from vocabless.training.finetuning.metrics import interval
from vocabless.training.finetuning.report import label_table, score_labels
from vocabless.training.finetuning.teacher import read_unlabelled
from vocabless.training.load import split_revision
from vocabless.training.run import Results, Run, Trained
from vocabless.training.script import fingerprint

Scores = Mapping[str, float]


@dataclass(frozen=True)
class FineTuning(Run):
    """Fine-tuning on a task with one seed, with or without a teacher, see `fit`."""

    checks_standalone: ClassVar[bool] = False
    left_overs: ClassVar[tuple[str, ...]] = ("checkpoint-[0-9]*", FOLDS_FOLDER)

    data: TaskData
    arguments: GlueArguments
    training: GlueTrainingArguments  # with the folder and the seed of the run
    log: Callable[[str], object] = print

    @classmethod
    def of(
        cls,
        data: TaskData,
        seed: int,
        arguments: GlueArguments,
        training: GlueTrainingArguments,
        log: Callable[[str], object] = print,
    ) -> "FineTuning":
        """Returns the run on a task with a seed; `arguments` and `training` are those of the command."""
        training = copy.copy(training)
        training.output_dir, training.seed = str(run_folder(data, seed, training)), seed
        return cls(data, arguments, training, log)

    def fingerprint(self) -> dict[str, Any]:
        """See `Run.fingerprint`."""
        return fingerprint(self.arguments, self.training)

    def data_fingerprint(self) -> dict[str, str]:
        """See `Run.data_fingerprint`."""
        data, arguments = self.data, self.arguments
        parts = {"training rows": data.train}
        parts |= {f"validation rows{suffix}": examples for suffix, examples in data.validation.items()}
        if self.training.do_predict:
            parts |= {f"test rows{suffix}": examples for suffix, examples in data.test.items()}
        if arguments.unlabelled:
            parts["unlabelled rows"] = read_unlabelled(arguments.unlabelled, data, arguments.text_format)
        fingerprints = {name: rows_fingerprint(examples.rows()) for name, examples in parts.items()}
        return fingerprints | {"labels": rows_fingerprint(data.problem.labels)}

    def train(self) -> Trained:
        """See `Run.train`."""
        with self.training.main_process_first(desc="loading the model"):
            set_seed(self.training.seed)
            loaded = load_model(self.arguments, self.data, self.folder)
        is_main = self.training.process_index == 0
        fitted = fit(
            self.data, loaded, self.arguments, self.training, self.folder, self.log if is_main else lambda line: None
        )
        tested = self._predict(fitted, loaded.tokenizer) if self.training.do_predict else {}
        trainer, model = fitted.trainer, fitted.model
        weights = trainer.full_state_dict() if trainer is not None and not fitted.is_head else None
        log = [] if trainer is None else trainer.state.log_history
        return Trained(model, model, loaded.tokenizer, weights, log, self._results(fitted, tested))

    def _predict(self, fitted: Fitted, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
        """Writes `predictions<suffix>.jsonl` for each test split, and `test<suffix>.md` if it has labels.

        Returns:
            The metrics of the splits that have labels; their names begin with `test_`.
        """
        problem, collator = self.data.problem, DataCollatorWithPadding(tokenizer)
        metrics: dict[str, float] = {}
        for suffix, examples in self.data.test.items():
            rows = encode(Examples(examples.texts, examples.pairs), problem, tokenizer, fitted.arguments.length)
            logits, labels = logits_of(fitted.model, rows, collator), examples.labels
            if labels is not None:
                scores = score_labels(problem, logits, labels)
                metrics |= {f"test_{name}{suffix}": value for name, value in scores.items()}
            if self.training.process_index == 0:
                lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in problem.prediction_records(logits)]
                (self.folder / f"predictions{suffix}.jsonl").write_text("".join(lines), encoding="utf-8")
                if labels is not None and problem.labels:
                    (self.folder / f"test{suffix}.md").write_text(label_table(problem, logits, labels), "utf-8")
        return metrics

    def _results(self, fitted: Fitted, tested: Scores) -> Results:
        data, arguments, training = self.data, fitted.arguments, fitted.training
        from_scratch = not is_checkpoint(arguments.model_name_or_path)
        state = None if fitted.trainer is None else fitted.trainer.state
        metrics = {**fitted.metrics, **tested}
        constants = data.constant_baselines()
        rows = {name: len(data.validation[MISMATCHED if name.endswith(MISMATCHED) else ""]) for name in constants}
        results: dict[str, Any] = {
            "arguments": fingerprint(arguments, training),
            "task": data.name,
            "example": arguments.example or [],
            "is_pair": data.train.pairs is not None,
            "from_scratch": from_scratch,
            "start": provenance(split_revision(arguments.model_name_or_path)[0], from_scratch),
            "seed": training.seed,
            "train": fitted.train_metrics or {"train_runtime": 0.0},
            "measures": metrics,
            "rows": rows,
            "intervals": {
                name: interval(name.removesuffix(MISMATCHED), metrics[name], count, data.scored_folds)
                for name, count in rows.items()
            },
            "threshold": data.problem.threshold,
            "constant_baselines": constants,
            "best_checkpoint": None if state is None else Path(state.best_model_checkpoint or "").name or None,
            "epochs": 0.0 if state is None else state.epoch or 0.0,
            "is_cross_validated": data.is_cross_validated,
            "scored_folds": data.scored_folds,
            "versions": all_versions(),
        }
        if fitted.teacher is not None:
            results["teacher"] = fitted.teacher
        if fitted.head_metrics is not None:
            results["head"] = {"measures": fitted.head_metrics, "is_kept": fitted.is_head}
        return results

    def complete(self, results: Results) -> Results:
        """Returns the results with the example that this command asks for.

        What an earlier command did not add is added to `results.json` and the card of the finished run.
        """
        arguments = self.arguments
        if not arguments.example or arguments.example == results["example"]:
            return results
        finished = replace(arguments, model_name_or_path=str(self.folder), tokenizer_name=None)
        loaded = load_model(finished, self.data, self.folder)
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
        return f"{self.data.title}, seed {results['seed']}: {', '.join(parts)}{tests}; {time}"


def run_folder(data: TaskData, seed: int, training: GlueTrainingArguments) -> Path:
    """Returns the folder of a run, in the output folder of the command."""
    return Path(str(training.output_dir)) / data.name / f"seed-{seed}"


def all_versions() -> dict[str, str]:
    """Returns the versions that a result depends on, with those of the packages that compute the metrics."""
    return versions() | {name: version(name) for name in ("evaluate", "scikit-learn", "scipy")}
