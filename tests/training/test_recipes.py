"""The recipes have the values of their papers; what a command line takes the place of."""

from pathlib import Path

import pytest

import run_glue
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.problems import SingleLabel
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.script import ScriptTrainingArguments, list_recipes, read_recipe

ROOT = Path(__file__).resolve().parents[2]
WIKIPEDIA_AND_BOOKS = ["wikimedia/wikipedia:20231101.en", "bookcorpus/bookcorpus@refs/convert/parquet"]
HASHFORMER = {"adam_beta1": 0.9, "adam_beta2": 0.9999, "adam_epsilon": 1e-8, "warmup_steps": 10_000,
              "weight_decay": 0.01, "dropout": 0.1, "total_batch_size": 128, "per_device_train_batch_size": 16,
              "corpus": WIKIPEDIA_AND_BOOKS, "max_steps": 500_000, "max_seq_length": 512}  # fmt: skip
# HashFormers, Table 5; its five cycles are those of the authors' code.
TABLE_5 = {"num_train_epochs": 5, "total_batch_size": 32, "learning_rate": 3e-5, "warmup_steps": 0.06,
           "adam_epsilon": 1e-6, "adam_beta1": 0.9, "adam_beta2": 0.999, "weight_decay": 0,
           "lr_scheduler_type": "cosine_with_restarts", "lr_scheduler_kwargs": {"num_cycles": 5},
           "early_stopping_patience": 0}  # fmt: skip
EVALUATION_STEPS = {"mnli": 2455, "qnli": 655, "qqp": 2275, "rte": 48, "sst2": 421, "mrpc": 69, "cola": 162,
                    "stsb": 108}  # fmt: skip
NEEDED = {"hashformer-glue": ["--model_name_or_path", "x"], "eelbert-glue": ["--model_name_or_path", "x"],
          "proformer": ["--task_name", "rte"], "elementwise-patents": ["--train_file", "patents.jsonl"]}  # fmt: skip
PAPERS = {
    # HashFormers 4.2 and Table 4: S+R at 5e-5, MLM at 1e-4, 500k steps of 128, 16 on each GPU, sequences of 512.
    "hashformer": HASHFORMER
    | {"variant": "hashformer-lsh-proj-base", "objective": "shuffle-random", "learning_rate": 5e-5},
    "hashformer-mlm": HASHFORMER | {"variant": "roberta-base", "objective": "mlm", "learning_rate": 1e-4},
    # EELBERT 4.1: OpenWebText, 900,000 steps, 128 tokens, masked LM only; the rest is Devlin et al., A.2.
    "eelbert": {"variant": "eelbert-base", "objective": "mlm", "learning_rate": 1e-4,
                "max_steps": 900_000, "max_seq_length": 128, "total_batch_size": 256,
                "corpus": ["Skylion007/openwebtext@refs/convert/parquet"], "mark_documents": True},
    # Elementwise 4.2: 2e-5, batches of 32; the paper does not pre-train.
    "elementwise": {"variant": "ewe-bert-base", "objective": "shuffle-random", "corpus": WIKIPEDIA_AND_BOOKS[:1],
                    "learning_rate": 2e-5, "max_steps": -1, "max_seq_length": 128, "total_batch_size": 32},
    "hashformer-glue": TABLE_5 | {"seeds": 3, "max_seq_length": 512, "task_name": [*EVALUATION_STEPS],
                                  "eval_steps": EVALUATION_STEPS, "random_head": True},
    # HashFormers 5.2 trains it for "a maximum of five epochs", as Table 5 says of all; one rate, 3e-5.
    "proformer": TABLE_5 | {"model_name_or_path": "proformer"},
    # Elementwise 4.2: AdamW, 2e-5 with decay and no warm-up, λ = 0.01, batches of 32, 10 epochs.
    "elementwise-patents": {"model_name_or_path": "ewe-bert-base", "learning_rate": 2e-5, "warmup_steps": 0,
                            "lr_scheduler_type": "linear", "num_train_epochs": 10, "weight_decay": 0.01,
                            "total_batch_size": 32, "adam_epsilon": 1e-8, "random_head": True},
    # EELBERT 4.2: nine tasks, "5 times using 5 different seeds"; of Devlin et al. 4.1 batches, epochs and rates.
    "eelbert-glue": {"task_name": [*"mnli qnli qqp rte sst2 mrpc cola stsb wnli".split()], "seeds": 5,
                     "num_train_epochs": 3, "learning_rate": 5e-5, "total_batch_size": 32, "random_head": True,
                     "early_stopping_patience": 0, "load_best_model_at_end": False},
    "distill": {"variant": "hashgram-tiny", "objective": "distill", "learning_rate": 0.002},
}  # fmt: skip


def values_of(recipe, *flags):
    """All arguments of a command with a recipe, by name."""
    argv = ["--recipe", recipe, *flags]
    if recipe in NEEDED:
        arguments, training, data_arguments = run_glue.parse_command_line(argv)
        return {**vars(training), **vars(data_arguments), **vars(arguments)}
    objective = parse_command_line(argv)
    return {**vars(objective.training), **vars(objective), **vars(objective.arguments), "objective": objective.name}


@pytest.mark.parametrize("recipe", list_recipes())
def test_a_recipe_alone_is_a_papers_training_with_its_batch_on_any_number_of_processes(recipe, monkeypatch):
    flags, paper = NEEDED.get(recipe, []), PAPERS[recipe]
    values = values_of(recipe, *flags)
    assert {name: values[name] for name in paper} == paper
    total = paper.get("total_batch_size")
    for processes in (1, 8) if total else ():
        monkeypatch.setattr(ScriptTrainingArguments, "world_size", processes)
        values, largest = values_of(recipe, *flags), read_recipe(recipe).get("per_device_train_batch_size", total)
        batch = values["per_device_train_batch_size"]
        assert batch == min(largest, total // processes)
        assert batch * values["gradient_accumulation_steps"] * processes == total


@pytest.mark.parametrize(("argv", "overrides"), [
    # HashFormers 3.3, footnote 2: "the top-50K most frequent n-grams in the pre-training corpus".
    ([], {"ngrams": "train"}),
    (["--variant", "hashformer-lsh-emb50k-base", "--set", "size=tiny"], {"ngrams": "train", "size": "tiny"}),
    (["--set", "ngrams=mine.json"], {"ngrams": "mine.json"}),
    (["--variant", "hashformer-md5-pool-base"], {}),  # 3.2 has no n-grams
    (["--set", "coder=md5"], {"coder": "md5"}),
    (["--variant", "roberta-base"], {}),  # BERT-S+R
    (["--model_name_or_path", "checkpoints/hashgram-tiny-sentence"], {}),
])  # fmt: skip
def test_the_recipe_of_hashformers_has_the_top_ngrams_where_there_are_ngrams(argv, overrides, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert parse_command_line(["--recipe", "hashformer", *argv]).arguments.overrides == overrides


@pytest.mark.parametrize(("recipe", "flags", "expected"), [
    ("hashformer", ["--corpus", "a.txt", "--corpus", "b.txt"], {"corpus": ["a.txt", "b.txt"]}),
    # The library's half an hour ends a run over Wikipedia while it counts the n-grams.
    ("hashformer", [], {"ddp_timeout": 24 * 3600, "validation_split_percentage": 2}),
    ("hashformer-glue", ["--train_file", "a.csv"], {"task_name": None, "train_file": "a.csv"}),
    ("hashformer-glue", ["--task_name", "rte"], {"task_name": ["rte"]}),
])  # fmt: skip
def test_the_command_line_takes_the_place_of_a_recipe(recipe, flags, expected):
    values = values_of(recipe, *NEEDED.get(recipe, []), *flags)
    assert {name: values[name] for name in expected} == expected


def test_a_task_is_evaluated_by_its_own_steps_or_by_epochs(tmp_path):
    _, training, _ = run_glue.parse_command_line(["--recipe", "hashformer-glue", "--model_name_or_path", "x"])
    task = TaskData("t", "T", SingleLabel(["a", "b"]), Examples(["a"] * 8), {})
    run = training.arguments_of_run(task, 128, eval_steps=48)
    assert (run.eval_strategy, run.save_strategy, run.eval_steps, run.save_steps) == ("steps", "steps", 48, 48)
    assert training.arguments_of_run(task, 128).eval_strategy == "epoch"


def test_a_recipes_variant_gives_way_to_a_checkpoint(monkeypatch):
    monkeypatch.chdir(ROOT)
    objective = parse_command_line(
        ["--recipe", "hashformer", "--model_name_or_path", "checkpoints/hashgram-tiny-sentence"]
    )
    assert (objective.arguments.variant, objective.name) == (None, "shuffle-random")
    assert objective.training.learning_rate == 5e-5
    assert objective.training.output_dir == "runs/hashgram-tiny-sentence-continued"
