from dataclasses import dataclass, field
from pathlib import Path

import pytest
from transformers import TrainingArguments

import run_glue
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.data import Examples, TaskData
from vocabless.training.finetuning.glue import GLUE
from vocabless.training.finetuning.problems import SingleLabel
from vocabless.training.pretraining.arguments import PretrainingTrainingArguments
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.shuffle_random import ShuffleRandom
from vocabless.training.script_parser import RECIPES, ScriptParser, list_recipes, read_recipe

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Data:
    threshold: float = 0.5
    shuffle: bool = True
    columns: list[str] = field(default_factory=lambda: ["text"])


def parse(*argv):
    return ScriptParser((Data, TrainingArguments)).parse(list(argv))


def test_a_recipe_gives_defaults_and_flags_override_it(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "threshold: 0.25\nshuffle: false\ncolumns: [a, b]\nlearning_rate: 3e-5\nlr_scheduler_type: cosine\n"
        "lr_scheduler_kwargs: {num_cycles: 2}\n"
    )
    data, training = parse("--recipe", str(file), "--threshold", "0.75")
    assert data == Data(threshold=0.75, shuffle=False, columns=["a", "b"])
    assert training.learning_rate == 3e-5
    assert training.lr_scheduler_type == "cosine" and training.lr_scheduler_kwargs == {"num_cycles": 2}


def test_the_recipes_of_the_package_are_read_by_name():
    assert {"proformer", "elementwise-patents"} <= set(list_recipes())
    for name in list_recipes():
        assert read_recipe(name) == read_recipe(RECIPES / f"{name}.yaml")


def test_proformer_has_the_hyper_parameters_of_table_5_like_the_models_beside_it():
    """HashFormers 5.2 trains it for "a maximum of five epochs", as Table 5 says of all; one rate, 3e-5."""
    own, common = read_recipe("proformer"), read_recipe("hashformer-glue")
    assert own.pop("model_name_or_path") == "proformer"
    assert own == {name: common[name] for name in own}
    assert set(common) - set(own) == {"task_name", "seeds", "max_seq_length", "task_eval_steps", "random_head"}


def pretraining(*argv):
    objective = parse_command_line(list(argv), None)
    return objective.arguments, objective, objective.training


WIKIPEDIA_AND_BOOKS = ["wikimedia/wikipedia:20231101.en", "bookcorpus/bookcorpus@refs/convert/parquet"]


@pytest.mark.parametrize(
    ("recipe", "variant", "objective", "corpus", "rate", "steps", "length"),
    [
        # HashFormers 4.2 and Table 4: S+R at 5e-5, MLM at 1e-4, 500k steps, sequences of 512.
        ("hashformer", "hashformer-lsh-proj-base", ShuffleRandom, WIKIPEDIA_AND_BOOKS, 5e-5, 500_000, 512),
        ("hashformer-mlm", "roberta-base", MaskedLM, WIKIPEDIA_AND_BOOKS, 1e-4, 500_000, 512),
        # EELBERT 4.1: OpenWebText, 900,000 steps, 128 tokens, masked LM only.
        ("eelbert", "eelbert-base", MaskedLM, ["Skylion007/openwebtext@refs/convert/parquet"], 1e-4, 900_000, 128),
        # Elementwise 4.2: 2e-5; the paper does not pre-train.
        ("elementwise", "ewe-bert-base", ShuffleRandom, WIKIPEDIA_AND_BOOKS[:1], 2e-5, -1, 128),
    ],
)
def test_a_recipe_alone_is_a_papers_pre_training(recipe, variant, objective, corpus, rate, steps, length):
    arguments, chosen, training = pretraining("--recipe", recipe)
    assert (arguments.variant, arguments.corpus, arguments.max_seq_length) == (variant, corpus, length)
    assert type(chosen) is objective
    assert (training.learning_rate, training.max_steps) == (rate, steps)
    assert arguments.validation_split_percentage == 2
    if recipe.startswith("hashformer"):  # Table 4
        assert (training.adam_beta1, training.adam_beta2, training.adam_epsilon) == (0.9, 0.9999, 1e-8)
        assert (training.warmup_steps, training.weight_decay, arguments.dropout) == (10_000, 0.01, 0.1)


@pytest.mark.parametrize("processes", [1, 8])
@pytest.mark.parametrize(
    ("recipe", "total", "on_a_device"),
    [
        # HashFormers 4.2: "a batch size of 128"; Table 4: 16 instances on each GPU.
        ("hashformer", 128, 16),
        ("hashformer-mlm", 128, 16),
        # Devlin et al., A.2, whose procedure EELBERT 4.1 follows: "a batch size of 256 sequences".
        ("eelbert", 256, 32),
        # Elementwise 4.2: batches of 32.
        ("elementwise", 32, 32),
    ],
)
def test_a_step_of_a_recipe_has_the_papers_batch_on_any_number_of_processes(
    recipe, total, on_a_device, processes, monkeypatch
):
    monkeypatch.setattr(PretrainingTrainingArguments, "world_size", processes)
    monkeypatch.setattr(PretrainingTrainingArguments, "n_gpu", 1)
    *_, training = pretraining("--recipe", recipe)
    batch, times = training.per_device_train_batch_size, training.gradient_accumulation_steps
    assert batch * times * processes == total
    assert batch == min(on_a_device, total // processes)


def test_a_batch_that_cannot_be_divided_is_refused(monkeypatch):
    monkeypatch.setattr(PretrainingTrainingArguments, "world_size", 8)
    with pytest.raises(ValueError, match=r"--total_batch_size \d+ is not 8 devices × .* give another number"):
        pretraining("--recipe", "hashformer", "--total_batch_size=100")


@pytest.mark.parametrize(
    ("argv", "overrides"),
    [
        # HashFormers 3.3, footnote 2: "the top-50K most frequent n-grams in the pre-training corpus".
        ([], {"ngrams": "train"}),
        (["--variant", "hashformer-lsh-emb50k-base", "--set", "size=tiny"], {"ngrams": "train", "size": "tiny"}),
        (["--set", "ngrams=mine.json"], {"ngrams": "mine.json"}),
        (["--variant", "hashformer-md5-pool-base"], {}),  # 3.2 has no n-grams
        (["--set", "coder=md5"], {"coder": "md5"}),
        (["--variant", "roberta-base"], {}),  # BERT-S+R
        (["--model_name_or_path", "checkpoints/hashgram-tiny-sentence"], {}),
    ],
)
def test_the_recipe_of_hashformers_has_the_top_ngrams_where_there_are_ngrams(argv, overrides, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert pretraining("--recipe", "hashformer", *argv)[0].overrides == overrides


def test_the_fine_tuning_of_eelbert_is_that_of_section_4_2():
    """Nine tasks, "5 times using 5 different seeds"; of Devlin et al. 4.1 batches, epochs and rates."""
    arguments, training = fine_tuning("--model_name_or_path", "x", "--recipe", "eelbert-glue")
    assert set(arguments.task_name) == set(GLUE) and len(arguments.task_name) == 9
    assert (arguments.seeds, arguments.early_stopping_patience) == (5, 0)
    assert (training.per_device_train_batch_size, training.num_train_epochs) == (32, 3)
    assert training.learning_rate in (5e-5, 4e-5, 3e-5, 2e-5) and training.load_best_model_at_end is False


def test_processes_wait_a_day_for_the_first_one_which_prepares_the_corpus():
    """The library's half an hour ends a run over Wikipedia while it counts the n-grams."""
    assert pretraining("--recipe", "hashformer")[2].ddp_timeout == 24 * 3600


def test_a_corpus_on_the_command_line_is_the_only_one():
    arguments, *_ = pretraining("--recipe", "hashformer", "--corpus", "a.txt", "--corpus", "b.txt")
    assert arguments.corpus == ["a.txt", "b.txt"]


def fine_tuning(*argv):
    return ScriptParser((GlueArguments, GlueTrainingArguments)).parse(list(argv), run_glue.OWN_DATA)


# HashFormers, Table 5.
EVALUATION_STEPS = {
    "mnli": 2455, "qnli": 655, "qqp": 2275, "rte": 48, "sst2": 421, "mrpc": 69, "cola": 162, "stsb": 108,
}  # fmt: skip


def test_the_fine_tuning_of_hashformers_is_that_of_table_5(tmp_path):
    arguments, training = fine_tuning("--model_name_or_path", "x", "--recipe", "hashformer-glue")
    assert (training.num_train_epochs, training.per_device_train_batch_size) == (5, 32)
    assert (training.adam_epsilon, training.adam_beta1, training.adam_beta2) == (1e-6, 0.9, 0.999)
    assert (training.learning_rate, training.warmup_steps, training.weight_decay) == (3e-5, 0.06, 0)
    assert (arguments.early_stopping_patience, arguments.seeds, arguments.max_seq_length) == (0, 3, 512)
    assert set(arguments.task_name) == set(EVALUATION_STEPS)
    assert (training.lr_scheduler_type, training.lr_scheduler_kwargs) == ("cosine_with_restarts", {"num_cycles": 5})
    assert arguments.eval_steps == EVALUATION_STEPS  # WNLI is not in the paper: once for each epoch
    task = TaskData("t", "T", SingleLabel(["a", "b"]), Examples(["a"] * 8), {})
    run = training.for_run(tmp_path, 42, task, eval_steps=48)
    assert (run.eval_strategy, run.save_strategy, run.eval_steps, run.save_steps) == ("steps", "steps", 48, 48)
    assert training.for_run(tmp_path, 42, task).eval_strategy == "epoch"


def test_own_data_takes_the_place_of_a_recipes_tasks():
    arguments, _ = fine_tuning("--model_name_or_path", "x", "--recipe", "hashformer-glue", "--train_file", "a.csv")
    assert arguments.task_name is None and arguments.train_file == "a.csv"
    arguments, _ = fine_tuning("--model_name_or_path", "x", "--recipe", "hashformer-glue", "--task_name", "rte")
    assert arguments.task_name == ["rte"]


def test_the_fine_tuning_of_elementwise_is_that_of_section_4_2():
    """AdamW, 2e-5 with decay and no warm-up, λ = 0.01, batches of 32, 10 epochs, threshold 0.3."""
    arguments, training = fine_tuning("--recipe", "elementwise-patents", "--train_file", "patents.jsonl")
    assert (arguments.model_name_or_path, arguments.threshold) == ("ewe-bert-base", 0.3)
    assert (training.learning_rate, training.lr_scheduler_type, training.warmup_steps) == (2e-5, "linear", 0)
    assert (training.num_train_epochs, training.weight_decay) == (10, 0.01)
    assert (training.per_device_train_batch_size, training.adam_epsilon) == (32, 1e-8)


@pytest.mark.parametrize("value", ["rte", '{"rte": 0}'])
def test_steps_that_are_no_json_of_numbers_are_refused(value):
    with pytest.raises(ValueError, match=r"--task_eval_steps is .*; give JSON of task → steps above 0"):
        fine_tuning("--model_name_or_path", "x", "--task_eval_steps", value)


def test_an_unknown_flag_is_refused_and_similar_flags_are_named(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("learning_rat: 1\n")
    with pytest.raises(ValueError, match=r"sets unknown flags: learning_rat; did you mean .*learning_rate"):
        parse("--recipe", str(file))


@pytest.mark.parametrize(("text", "sentence"), [("- a", "not a mapping"), ("a: [", "not valid YAML")])
def test_a_file_that_is_not_a_recipe_is_refused(tmp_path, text, sentence):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=sentence) as raised:
        read_recipe(file)
    assert "\n" not in str(raised.value)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'adamw'.*elementwise-patents, .*proformer"):
        parse("--recipe", "adamw")
