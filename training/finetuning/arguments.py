"""The arguments of `run_glue.py`."""
# mypy: allow-untyped-calls

import json
from dataclasses import dataclass, field
from typing import Any

from vocabless.saving.public_names import public_arguments
from vocabless.saving.run_folder import HUB_ARGUMENTS
from vocabless.training.limits import COUNT, MIN_VOCABULARY, POSITIVE, SHARE, Limit, check_limits
from vocabless.training.script_arguments import ModelArguments, ScriptTrainingArguments

# Output, logging and the selection of runs: they may change between two commands for the same folder.
NOT_IDENTIFYING = (
    *("output_dir", "logging_dir", "disable_tqdm", "report_to", "run_name", "logging_steps", "logging_strategy"),
    *("task_name", "seeds", "seed", "noise", "example", *HUB_ARGUMENTS),
)
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
    tokenizer_name: str | None = field(
        default=None,
        metadata={
            "help": "Path of a tokenizer.json, a folder or a Hub id. For subword variants and stock shapes also "
            "'train': trains a WordPiece or BPE tokenizer on the task's training text. None uses the model's own."
        },
    )
    subword_vocab_size: int = field(
        default=8000, metadata={"is_rare": True, "help": "Vocabulary size in tokens, for --tokenizer_name train."}
    )
    model_revision: str = field(
        default="main", metadata={"is_rare": True, "help": "Branch, tag or commit of a model on the Hub."}
    )
    trust_remote_code: bool = field(default=False, metadata={"help": "Whether to run code that a checkpoint contains."})
    classifier_pooling: str | None = field(
        default=None,
        metadata={
            "is_rare": True,
            "help": "What the head of a vocabless model reads: the first token, all tokens, or the two texts "
            "of a pair apart. None is the model's own; pairs are siamese where that is mean.",
            "choices": ["cls", "mean", "siamese"],
        },
    )
    task_name: list[str] | None = field(
        default=None,
        metadata={
            "group": "data: GLUE, your own files, or a data set of the Hub",
            "help": "GLUE tasks: cola sst2 mrpc stsb qqp mnli qnli rte wnli, or all.",
        },
    )
    data_dir: str | None = field(
        default=None,
        metadata={"help": "Folder with one subfolder of parquet files per GLUE task. None downloads nyu-mll/glue."},
    )
    train_file: str | None = field(
        default=None, metadata={"help": "Your own training data: a csv, tsv, jsonl, json, parquet or conll file."}
    )
    validation_file: str | None = field(
        default=None, metadata={"help": "File to evaluate on. None holds out a part of the training data."}
    )
    test_file: str | None = field(default=None, metadata={"help": "File to predict; if it has labels, it is scored."})
    dataset_name: str | None = field(default=None, metadata={"help": "Data set on the Hub, instead of --train_file."})
    dataset_config_name: str | None = field(
        default=None, metadata={"is_rare": True, "help": "Configuration of --dataset_name."}
    )
    text_column: str | None = field(
        default=None,
        metadata={
            "group": "columns and labels of your own data",
            "help": "Column of the text. None looks for text, sentence, tokens or words, then for the pairs "
            "sentence1 and sentence2, text1 and text2, premise and hypothesis, question1 and question2.",
        },
    )
    text_pair_column: str | None = field(default=None, metadata={"help": "Column of the second text of a text pair."})
    label_column: list[str] | None = field(
        default=None,
        metadata={
            "help": "Column of the labels. Several columns give each text several labels. None looks for label, "
            "labels, ner_tags or tags."
        },
    )
    label_separator: str | None = field(
        default=None, metadata={"help": "Separator of several labels in one string, for csv files."}
    )
    problem_type: str | None = field(
        default=None,
        metadata={
            "help": "single_label_classification, multi_label_classification, regression or token_classification. None "
            "infers it from the labels: strings or integers are a single label, floats a regression, lists "
            "several labels, and lists of tags for lists of words a token classification."
        },
    )
    threshold: float = field(
        default=0.3,
        metadata={
            "is_rare": True,
            "help": "Multi-label classification: a label is predicted if its probability is above this value, 0–1 "
            "(Elementwise, 4.1).",
        },
    )
    drop_empty: bool = field(
        default=False, metadata={"help": "Leave out rows without a text or a label, instead of naming them."}
    )
    label_names: str | None = field(
        default=None,
        metadata={
            "is_rare": True,
            "help": "Text file with all labels, one in a line, so that training need not have seen each of them. None "
            "takes the labels of the training rows.",
        },
    )
    class_weights: str | None = field(
        default=None,
        metadata={
            "help": "balanced lets each label count alike in training, however many rows it has, and keeps the epoch "
            "with the best macro F1; for single labels. Scores are not weighted.",
            "choices": ["balanced"],
        },
    )
    validation_split_percentage: float | None = field(
        default=None,
        metadata={
            "group": "held-out rows, length and number of texts",
            "help": "Percent of the training rows to hold out if there is no validation data, 0–50. None is 10; below "
            "10 000 rows, other models are scored on one or all of five folds, and the saved one learns from all rows.",
        },
    )
    group_column: str | None = field(
        default=None, metadata={"is_rare": True, "help": "Hold out rows with the same value in this column together."}
    )
    max_seq_length: int | None = field(
        default=None,
        metadata={
            "help": "Sequence length in tokens; longer texts are truncated. None is 128; for a checkpoint and your own "
            "data the shortest of 64, 128, 256 and 512 that holds 99 of 100 texts, or the model's limit."
        },
    )
    max_train_samples: int | None = field(
        default=None, metadata={"help": "Number of training rows, drawn at random. None uses all."}
    )
    max_eval_samples: int | None = field(
        default=None, metadata={"is_rare": True, "help": "Number of validation rows, drawn at random. None uses all."}
    )
    max_predict_samples: int | None = field(
        default=None, metadata={"is_rare": True, "help": "Number of test rows, drawn at random. None uses all."}
    )
    seeds: int = field(
        default=1,
        metadata={
            "group": "runs and figures",
            "help": "Number of runs for each task; their seeds are --seed, --seed + 1 and so on.",
        },
    )
    teacher: str | None = field(
        default=None,
        metadata={
            "group": "learning from a larger model",
            "help": "Folder or Hub id of a fine-tuned model for the same labels, whose outputs are learned. {task} in "
            "it stands for the name of the task.",
        },
    )
    teacher_revision: str = field(
        default="main", metadata={"is_rare": True, "help": "Branch, tag or commit of a teacher on the Hub."}
    )
    unlabelled: list[str] | None = field(
        default=None,
        metadata={
            "help": "Texts without labels for the teacher to label: txt files with a text in each line; parquet, jsonl "
            "or csv files with the columns of the task's texts."
        },
    )
    augment: int = field(
        default=0,
        metadata={"help": "Number of corrupted copies of each training text for the teacher to label; 0 makes none."},
    )
    gold_weight: float = field(
        default=0.5,
        metadata={
            "is_rare": True,
            "help": "Weight of the loss of the labels beside the teacher's, 0–1; 0 learns from the teacher alone.",
        },
    )
    teacher_temperature: float = field(
        default=2.0,
        metadata={
            "is_rare": True,
            "help": "Divides both logits in the loss against the teacher, above 0; numbers have no temperature.",
        },
    )
    noise: float = field(
        default=0.0,
        metadata={
            "group": "runs and figures",
            "help": "Share of the words, 0–1, to misspell in a second evaluation of each run. A finished run is "
            "evaluated without further training. 0 leaves this evaluation out.",
        },
    )
    head_only: bool = field(
        default=False,
        metadata={
            "group": "training",
            "help": "Stop after the first head: a linear model of the frozen encoder's vectors. It takes seconds.",
        },
    )
    example: list[str] | None = field(
        default=None,
        metadata={
            "help": "A text, or the two texts of a pair, that the model card and the page show. None shows no text of "
            "yours."
        },
    )
    random_head: bool = field(
        default=False,
        metadata={"is_rare": True, "help": "Begin with random weights of the head, as the papers do."},
    )
    early_stopping_patience: int | None = field(
        default=None,
        metadata={
            "help": "Stop after this number of evaluations without an improvement; 0 never stops early. None is 2, and "
            "in proportion for more than 5 epochs.",
        },
    )
    task_eval_steps: str | None = field(
        default=None,
        metadata={
            "is_rare": True,
            "help": 'JSON of task → steps between two evaluations, such as {"rte": 48}. The others are evaluated as '
            "--eval_strategy says.",
        },
    )

    def eval_steps_of(self, task_name: str) -> int | None:
        """Returns the steps between two evaluations of a task; None if `task_eval_steps` does not name it.

        Raises:
            ValueError: `task_eval_steps` is not a JSON object of whole numbers above 0.
        """
        try:
            steps = json.loads(self.task_eval_steps or "{}")
            is_legal = all(isinstance(number, int) and number > 0 for number in steps.values())
        except (ValueError, AttributeError):
            is_legal = False
        if not is_legal:
            raise ValueError(
                f"--task_eval_steps is {self.task_eval_steps!r}; give JSON of task → steps above 0, such as "
                '{"rte": 48}.'
            )
        number: int | None = steps.get(task_name)
        return number

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(vars(self), LIMITS)
        self.eval_steps_of("")  # refuses what is not JSON


def identifying_arguments(arguments: GlueArguments, training: ScriptTrainingArguments) -> dict[str, Any]:
    """Returns the arguments that identify the runs of a folder: runs with other values need another folder."""
    values = arguments.identity() | training.identity()
    left_out = NOT_IDENTIFYING if arguments.teacher else (*NOT_IDENTIFYING, *TEACHER_FLAGS)
    return {name: value for name, value in values.items() if name not in left_out}


def reported_arguments(arguments: GlueArguments, training: ScriptTrainingArguments) -> dict[str, Any]:
    """Returns the identifying arguments as `results.json` holds them: without the places of files and folders."""
    return public_arguments(identifying_arguments(arguments, training))
