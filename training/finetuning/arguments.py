"""The arguments of `run_glue.py`."""

import json
from dataclasses import dataclass, field
from typing import Any

from vocabless.training.limits import COUNT, MIN_VOCABULARY, POSITIVE, SHARE, Limit, check_limits
from vocabless.training.script_arguments import ModelArguments, ScriptTrainingArguments, run_identity
from vocabless.training.script_parser import flag

# Logging and the selection of runs: they may change between two commands for the same folder.
NOT_IDENTIFYING = ("logging_steps", "logging_strategy", "task_name", "seeds", "seed", "noise", "example")
LIMITS = {
    "subword_vocab_size": Limit(MIN_VOCABULARY),
    "threshold": SHARE,
    "max_train_samples": COUNT,
    "max_eval_samples": COUNT,
    "max_predict_samples": COUNT,
    "early_stopping_patience": Limit(),
    "augment": Limit(),
    "gold_weight": SHARE,
    "teacher_temperature": POSITIVE,
    "noise": SHARE,
    "seeds": COUNT,
    "max_seq_length": Limit(3),
}
# They identify a run only if it has a teacher.
TEACHER_FLAGS = ("teacher", "teacher_revision", "unlabelled", "augment", "gold_weight", "teacher_temperature")


@dataclass
class GlueArguments(ModelArguments):
    """The model, the data, and the figures that are reported."""

    model_name_or_path: str = field(
        kw_only=True,
        metadata={
            "group": "model",
            "help": "With random weights: a variant (vocabless.list_variants()) or a stock shape such as bert-tiny. "
            "With trained weights: a folder or Hub id of any checkpoint.",
        },
    )
    tokenizer_name: str | None = flag(
        None,
        "Path of a tokenizer.json, a folder or a Hub id. For subword variants and stock shapes also "
        "'train': trains a WordPiece or BPE tokenizer on the task's training text. None uses the model's own.",
    )
    subword_vocab_size: int = flag(8000, "Vocabulary size in tokens, for --tokenizer_name train.", is_rare=True)
    model_revision: str = flag("main", "Branch, tag or commit of a model on the Hub.", is_rare=True)
    trust_remote_code: bool = flag(False, "Whether to run code that a checkpoint contains.")
    classifier_pooling: str | None = flag(
        None,
        "What the head of a vocabless model reads: the first token, all tokens, or the two texts "
        "of a pair apart. None is the model's own; pairs are siamese where that is mean.",
        is_rare=True,
        choices=["cls", "mean", "siamese"],
    )
    task_name: list[str] | None = flag(
        None,
        "GLUE tasks: cola sst2 mrpc stsb qqp mnli qnli rte wnli, or all.",
        group="data: GLUE, your own files, or a data set of the Hub",
    )
    data_dir: str | None = flag(
        None, "Folder with one subfolder of parquet files per GLUE task. None downloads nyu-mll/glue."
    )
    train_file: str | None = flag(None, "Your own training data: a csv, tsv, jsonl, json, parquet or conll file.")
    validation_file: str | None = flag(None, "File to evaluate on. None holds out a part of the training data.")
    test_file: str | None = flag(None, "File to predict; if it has labels, it is scored.")
    dataset_name: str | None = flag(None, "Data set on the Hub, instead of --train_file.")
    dataset_config_name: str | None = flag(None, "Configuration of --dataset_name.", is_rare=True)
    text_column: str | None = flag(
        None,
        "Column of the text. None looks for text, sentence, tokens or words, then for the pairs "
        "sentence1 and sentence2, text1 and text2, premise and hypothesis, question1 and question2.",
        group="columns and labels of your own data",
    )
    text_pair_column: str | None = flag(None, "Column of the second text of a text pair.")
    label_column: list[str] | None = flag(
        None,
        "Column of the labels. Several columns give each text several labels. None looks for label, "
        "labels, ner_tags or tags.",
    )
    label_separator: str | None = flag(None, "Separator of several labels in one string, for csv files.")
    problem_type: str | None = flag(
        None,
        "single_label_classification, multi_label_classification, regression or token_classification. None "
        "infers it from the labels: strings or integers are a single label, floats a regression, lists "
        "several labels, and lists of tags for lists of words a token classification.",
    )
    threshold: float = flag(
        0.3,
        "Multi-label classification: a label is predicted if its probability is above this value, 0–1 "
        "(Elementwise, 4.1).",
        is_rare=True,
    )
    drop_empty: bool = flag(False, "Leave out rows without a text or a label, instead of naming them.")
    label_names: str | None = flag(
        None,
        "Text file with all labels, one in a line, so that training need not have seen each of them. None "
        "takes the labels of the training rows.",
        is_rare=True,
    )
    class_weights: str | None = flag(
        None,
        "balanced lets each label count alike in training, however many rows it has, and keeps the epoch "
        "with the best macro F1; for single labels. Scores are not weighted.",
        choices=["balanced"],
    )
    validation_split_percentage: float | None = flag(
        None,
        "Percent of the training rows to hold out if there is no validation data, 0–50. None is 10; below "
        "10 000 rows, other models are scored on one or all of five folds, and the saved one learns from all rows.",
        group="held-out rows, length and number of texts",
    )
    group_column: str | None = flag(None, "Hold out rows with the same value in this column together.", is_rare=True)
    max_seq_length: int | None = flag(
        None,
        "Sequence length in tokens; longer texts are truncated. None is 128; for a checkpoint and your own "
        "data the shortest of 64, 128, 256 and 512 that holds 99 of 100 texts, or the model's limit.",
    )
    max_train_samples: int | None = flag(None, "Number of training rows, drawn at random. None uses all.")
    max_eval_samples: int | None = flag(
        None, "Number of validation rows, drawn at random. None uses all.", is_rare=True
    )
    max_predict_samples: int | None = flag(None, "Number of test rows, drawn at random. None uses all.", is_rare=True)
    seeds: int = flag(
        1, "Number of runs for each task; their seeds are --seed, --seed + 1 and so on.", group="runs and figures"
    )
    teacher: str | None = flag(
        None,
        "Folder or Hub id of a fine-tuned model for the same labels, whose outputs are learned. {task} in "
        "it stands for the name of the task.",
        group="learning from a larger model",
    )
    teacher_revision: str = flag("main", "Branch, tag or commit of a teacher on the Hub.", is_rare=True)
    unlabelled: list[str] | None = flag(
        None,
        "Texts without labels for the teacher to label: txt files with a text in each line; parquet, jsonl "
        "or csv files with the columns of the task's texts.",
    )
    augment: int = flag(0, "Number of corrupted copies of each training text for the teacher to label; 0 makes none.")
    gold_weight: float = flag(
        0.5,
        "Weight of the loss of the labels beside the teacher's, 0–1; 0 learns from the teacher alone.",
        is_rare=True,
    )
    teacher_temperature: float = flag(
        2.0, "Divides both logits in the loss against the teacher, above 0; numbers have no temperature.", is_rare=True
    )
    noise: float = flag(
        0.0,
        "Share of the words, 0–1, to misspell in a second evaluation of each run. A finished run is "
        "evaluated without further training. 0 leaves this evaluation out.",
        group="runs and figures",
    )
    head_only: bool = flag(
        False,
        "Stop after the first head: a linear model of the frozen encoder's vectors. It takes seconds.",
        group="training",
    )
    example: list[str] | None = flag(
        None, "A text, or the two texts of a pair, that the model card and the page show. None shows no text of yours."
    )
    random_head: bool = flag(False, "Begin with random weights of the head, as the papers do.", is_rare=True)
    early_stopping_patience: int | None = flag(
        None,
        "Stop after this number of evaluations without an improvement; 0 never stops early. None is 2, and "
        "in proportion for more than 5 epochs.",
    )
    task_eval_steps: str | None = flag(
        None,
        'JSON of task → steps between two evaluations, such as {"rte": 48}. The others are evaluated as '
        "--eval_strategy says.",
        is_rare=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(vars(self), LIMITS)
        self.eval_steps = _read_eval_steps(self.task_eval_steps)  # task → steps between two evaluations

    @property
    def length(self) -> int:
        """`max_seq_length`, which is chosen before a run begins."""
        assert self.max_seq_length is not None
        return self.max_seq_length

    @property
    def hub_options(self) -> dict[str, Any]:
        """Arguments of `from_pretrained` for the model."""
        return {"trust_remote_code": self.trust_remote_code, "revision": self.model_revision}

    @property
    def teacher_options(self) -> dict[str, Any]:
        """Arguments of `from_pretrained` for the teacher."""
        return {"trust_remote_code": self.trust_remote_code, "revision": self.teacher_revision}


def identifying_arguments(arguments: GlueArguments, training: ScriptTrainingArguments) -> dict[str, Any]:
    """Returns the arguments that identify the runs of a folder: runs with other values need another folder."""
    left_out = NOT_IDENTIFYING if arguments.teacher else (*NOT_IDENTIFYING, *TEACHER_FLAGS)
    return run_identity(arguments, training, left_out)


def _read_eval_steps(text: str | None) -> dict[str, int]:
    try:
        steps: dict[str, int] = json.loads(text or "{}")
        is_legal = all(isinstance(number, int) and number > 0 for number in steps.values())
    except (ValueError, AttributeError):
        is_legal = False
    if not is_legal:
        raise ValueError(f'--task_eval_steps is {text!r}; give JSON of task → steps above 0, such as {{"rte": 48}}.')
    return steps
