"""The rows of `--test_file` alone, which a saved model predicts and scores without training."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import AutoModelForSequenceClassification

from vocabless import VocablessForSequenceClassification
from vocabless.saving.record import TEST
from vocabless.saving.run_folder import locked_run_folder, rows_fingerprint
from vocabless.training.finetuning.rows.sources import load_test_rows
from vocabless.training.finetuning.tasks.arguments import DataArguments, GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.tasks.data import TaskData
from vocabless.training.finetuning.tasks.label_scores import predict_splits
from vocabless.training.finetuning.tasks.metrics import Scores
from vocabless.training.finetuning.tasks.saved_classifier import problem_of, read_record
from vocabless.training.load import Corpus, Head, is_checkpoint, load, load_checkpoint_config
from vocabless.training.script import fingerprint

ARCHITECTURE = "ForSequenceClassification"  # end of the name of each class that classifies texts
COLUMNS = ("text_column", "label_column", "label_separator")  # of the training rows, for those that have none of these


def score_test_file(arguments: GlueArguments, training: GlueTrainingArguments, data_arguments: DataArguments) -> str:
    """Predicts the rows of `--test_file` with the model of `--model_name_or_path`, which is not trained.

    Returns:
        What to print: the rows, the scores if they have labels, and the files that were written.

    Raises:
        ValueError: the model is no classifier of such rows, or the rows cannot be read.
    """
    source = arguments.model_name_or_path
    hub_options: Any = {"trust_remote_code": arguments.trust_remote_code}
    config: Any = load_checkpoint_config(source, **hub_options) if is_checkpoint(source) else None
    if not any(str(name).endswith(ARCHITECTURE) for name in getattr(config, "architectures", None) or ()):
        raise ValueError(
            f"{source!r} is no classifier of texts: with --test_file alone, give --model_name_or_path one that was "
            "fine-tuned, or train one with --train_file."
        )
    record = read_record(source)
    recorded = record.get("arguments", {})
    columns = {name: getattr(data_arguments, name) or recorded.get(name) for name in COLUMNS}
    data = load_test_rows(replace(data_arguments, **columns), problem_of(source, config, record))
    rows = data.test[""]
    is_pair = record.get("is_pair", True if getattr(config, "classifier_pooling", "") == "siamese" else None)
    if is_pair not in (None, rows.pairs is not None):
        read, given = ("pairs of texts", "single texts")[:: 1 if is_pair else -1]
        raise ValueError(f"{source!r} reads {read}, but {data.name} has {given}; check --text_column.")
    head = Head(data.name, VocablessForSequenceClassification, AutoModelForSequenceClassification, lambda *_: {})
    loaded = load(source, head, Corpus(lambda: None, Path(), 0), tokenizer_name=arguments.tokenizer_name, **hub_options)
    if loaded.lacks_head:
        raise ValueError(f"{source!r} lacks weights of its head, or has others; save the model again.")
    length = arguments.max_seq_length or min(int(loaded.tokenizer.model_max_length), loaded.limit)
    loaded.check_length(length, source)
    folder = Path(str(training.output_dir)) if training.process_index == 0 else None
    identifying = fingerprint(arguments, training, data_arguments) | {"test rows": rows_fingerprint(rows.rows())}
    with nullcontext() if folder is None else locked_run_folder(folder, identifying):
        scores = predict_splits(loaded.model, loaded.tokenizer, length, data.problem, data.test, folder)
    return _report(data, source, scores, f"{training.output_dir}/predictions.jsonl")


def _report(data: TaskData, source: str, scores: Scores, file: str) -> str:
    """Returns lines on the rows, their scores, beside the best ones of a constant answer, and the predictions."""
    columns, labels = " and ".join(map(repr, data.text_columns)), data.test[""].labels
    without = "" if labels else " without labels"
    lines = [f"Data {data.name}: {len(data.test['']):,} rows{without}, text in {columns}."]
    lines += [f"{note}." for note in data.footnotes]
    if labels is not None:
        is_known = not data.problem.unknown_labels(labels)
        constants = data.problem.constant_baselines([*map(data.problem.target, labels)]) if is_known else {}
        parts = [f"{name.replace('_', ' ')} {100 * scores[TEST + name]:.1f}" for name in data.problem.metrics]
        for place, name in enumerate(data.problem.metrics if is_known else ()):
            parts[place] += f" (constant {100 * constants[name]:.1f})"
        lines.append(f"{source}: {', '.join(parts)}.")
    return "\n".join([*lines, "Predictions, a line for each row:", f"  {file}"])
