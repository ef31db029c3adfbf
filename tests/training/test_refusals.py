"""Mistakes of a user of each script: each ends with one sentence that names it."""

import json
import os
import re
import sys

import huggingface_hub
import pytest
from refusals import refusal
from script_runs import PRETRAINING, VARIANT, write_corpus

import run_glue
import run_pretraining
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer

# What is refused before a model or data is loaded.
EARLY_GLUE = [
    (["--text_column", "a", "b", "c"], "--text_column has 3 names; give one, or two for text pairs"),
    (["--augment", "2"], "--augment needs a model that labels texts; give --teacher, or leave it out"),
    (["--unlabelled", "a.txt"], "--unlabelled needs a model that labels texts"),
    (["--task_eval_steps", "rte"], "--task_eval_steps is 'rte'; give JSON of task → steps above 0"),
    (["--task_eval_steps", '{"rte": 0}'], "--task_eval_steps is .*; give JSON of task → steps above 0"),
    (["--max_seq_length", "2"], "--max_seq_length 2 is out of range; give a number of at least 3"),
    (["--num_train_epochs", "-1"], "--num_train_epochs -1.0 is out of range; give a number of at least 0"),
    (["--total_batch_size", "7", "--per_device_train_batch_size", "2"], "--total_batch_size 7 is not 1 devices × 2"),
    (["--max_train_samples", "1"], "--max_train_samples 1 is out of range; give a number of at least 2"),
    (["--seeds", "0"], "--seeds 0 is out of range; give a number of at least 1"),
    (["--total_batch_size", "0"], "--total_batch_size 0 is out of range; give a number of at least 1"),
    (["--label_names", "codes.txt"], "unknown flag --label_names"),
    (["--set", "colour=red"], "colour"),
]
EARLY_PRETRAINING = [
    (["--variant", "hashformer-lsh-proj-tinny"], "unknown variant.*hashformer-lsh-proj-tiny"),
    (["--variant", "bert-tiny", "--model_name_or_path", "x"], "--variant bert-tiny has fresh weights and .*one of"),
    (["--model_name_or_path", "bert-tiny"], "bert-tiny has no weights to begin from; give --variant bert-tiny"),
    (["--objective", "distil"], "unknown objective 'distil'; choose one of shuffle-random, mlm, distill"),
    (["--mix", "0.5", "0.5"], "--mix 0.5 0.5 for 1 corpora; give one weight above 0"),
    (["--mlm_probability", "0"], "--mlm_probability 0.0 is out of range; give a number above 0 and at most 1"),
    (["--max_texts", "-1"], "--max_texts -1 is out of range; give a number of at least 0"),
    (["--misspell_probability", "2"], "--misspell_probability 2.0 is out of range; give .* at most 1"),
    (["--max_steps", "0"], "--max_steps 0 is out of range; give .* at least 1, or -1 for whole epochs"),
    (["--num_train_epochs", "0"], "--num_train_epochs 0.0 is out of range; give a number above 0"),
    (["--teacher", "x", "--last_stage", "nan"], "--last_stage nan is out of range; give a number"),
    (["--metric_for_best_model", "foo"], "--metric_for_best_model foo is not .*accuracy_replaced"),
    (["--save_only_model", "true"], "no run can continue"),
    (["--label_smoothing_factor", "0.1"], "--label_smoothing_factor is not for pre-training"),
    (["--eval_do_concat_batches", "false"], "--eval_do_concat_batches is not for pre-training"),
    (["--teacher", "x", "--neftune_noise_alpha", "5"], "--neftune_noise_alpha is not for distill"),
    (["--learnin_rate", "1"], r"unknown flag --learnin_rate; did you mean --learning_rate\b"),
    (["--xyzzy"], "unknown flag --xyzzy; see --help for the flags"),
    (["7"], "'7' belongs to no flag; write --FLAG VALUE"),
]


@pytest.mark.parametrize(
    ("script", "flags", "sentence"),
    [(run_glue, *row) for row in EARLY_GLUE] + [(run_pretraining, *row) for row in EARLY_PRETRAINING],
)
def test_a_mistake_ends_with_one_sentence_before_anything_is_loaded(script, flags, sentence):
    given = ["--use_cpu", "true", *flags]
    if script is run_glue:
        given += ["--model_name_or_path", "eelbert-word-tiny", "--task_name", "rte"]
    elif "--variant" not in flags and "--model_name_or_path" not in flags:
        given += ["--variant", VARIANT]
    assert re.search(sentence, refusal(script.main, *given))


@pytest.fixture
def files(tmp_path, monkeypatch, make_teacher, empty_cache):
    """Makes the files that the flags below name; they are in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    tables = {
        "train": [("a b", "x"), ("c d", "y")] * 4,
        "other": [("a", "z")],
        "unlabelled": [("a", "")],
        "constant": [("a", "x"), ("b", "x")],
        "empty": [],
    }
    for name, rows in tables.items():
        lines = [json.dumps({"text": text, "label": label}) + "\n" for text, label in rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    (tmp_path / "pair.csv").write_text("text,lang,english\nHaus,de,house\n")
    (tmp_path / "kinds.csv").write_text("sentence,kind,day\na,x,1\n")
    (tmp_path / "old.txt").write_bytes("früh\n".encode("latin-1"))
    write_corpus(tmp_path / "text.txt")
    for folder, name, text in (("rte", "none", ""), ("mine", "mine.txt", ""), ("strange", "config.json", UNKNOWN)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    make_teacher(tmp_path / "teacher")
    options = {"id2label": {0: "good", 1: "bad"}, "num_labels": 2}
    VocablessForSequenceClassification(load_config("eelbert-word-uno", **options)).save_pretrained(tmp_path / "moods")
    load_tokenizer("eelbert-word-uno").save_pretrained(tmp_path / "moods")


UNKNOWN = '{"model_type": "zzz"}'
TRAIN, BOTH = ["--train_file", "train.jsonl"], ["--train_file", "train.jsonl", "--validation_file", "train.jsonl"]
GLUE = [
    (
        ["--validation_file", "new.csv"],
        "there is nothing to train on; give one of --task_name, --train_file, --dataset_name. To label",
    ),
    (["--task_name", "rte", "--data_dir", "no/such"], "is not a folder"),
    (["--task_name", "rte", "--data_dir", "."], r"holds no train\.parquet"),
    ([*BOTH, "--task_name", "rte"], "--task_name and --train_file cannot be combined"),
    ([*BOTH, "--text_column", "body"], "no column body; its columns are text, label"),
    (["--train_file", "kinds.csv"], "no column label or"),
    ([*TRAIN, "--validation_file", "other.jsonl"], "the training rows do not have: z"),
    ([*TRAIN, "--validation_file", "empty.jsonl"], "has no rows|is empty"),
    ([*TRAIN, "--validation_file", "unlabelled.jsonl"], "unlabelled.jsonl' has no label in line 1; fill"),
    ([*TRAIN, "--validation_file", "none.csv"], "'none.csv' does not exist"),
    (["--train_file", "moods"], "^[^:]*: 'moods' is a folder; give a .parquet"),
    ([*TRAIN, "--validation_split_percentage", "0"], "0.0 is out of range; give a number above 0 and at most 50"),
    (["--train_file", "constant.jsonl"], "needs at least 2"),
    ([*BOTH, "--problem_type", "clustering"], "unknown problem type.*; choose one of single_label"),
    ([*BOTH, "--max_seq_length", "513"], "give 3 to 512"),
    ([*BOTH, "--example", "a", "b"], "--example has 2 texts, but .* has 1 in each row; give as many, each in quotes"),
    ([*BOTH, "--tokenizer_name", "train"], "does not use --tokenizer_name"),
    ([*BOTH, "--model_name_or_path", "bert-tiny"], "give --tokenizer_name PATH, or train"),
    ([*BOTH, "--model_name_or_path", "no-such-model"], "cannot be loaded .*; give a folder"),
    ([*BOTH, "--model_name_or_path", "hashgram-tinny"], "; did you mean hashgram-tiny or "),
    ([*BOTH, "--model_name_or_path", "kinds.csv"], "^[^:]*: 'kinds.csv' is a file; give the folder of a checkpoint"),
    (
        [*BOTH, "--model_name_or_path", "checkpoints/hashgram-multi-sentence"],
        "'checkpoints/hashgram-multi-sentence' does not exist; give the folder of a checkpoint, or a Hub id",
    ),
    ([*BOTH, "--model_name_or_path", "./mood"], "'./mood' does not exist; did you mean moods"),
    ([*BOTH, "--model_name_or_path", "mine/moods"], "'mine/moods' does not exist; give the folder"),
    ([*BOTH, "--model_name_or_path", "rte"], "the folder 'rte' holds no config.json; give the folder of a checkpoint"),
    ([*BOTH, "--teacher", "/no/such"], "'/no/such' does not exist; give the folder of a checkpoint"),
    ([*BOTH, "--model_name_or_path", "strange"], r"be loaded \([^)]*`zzz`[^)]{,200}\); give a folder"),
    ([*BOTH, "--metric_for_best_model", "foo"], "foo is not reported.*; give one of loss, accuracy, macro_f1"),
    ([*BOTH, "--output_dir", "/proc/run"], "'/proc/run' cannot be written"),
    ([*BOTH, "--teacher", "moods"], "'moods' has the labels good, bad, but the task x, y; give a teacher"),
    ([*BOTH, "--teacher", "none"], "the teacher 'none' cannot be loaded"),
]
DISTILL = ["--variant", "hashgram-nano", "--teacher", "teacher"]
PRETRAINING_MISTAKES = [
    (["--max_seq_length", "4096"], "at most 512"),
    (["--objective", "mlm"], "--subword"),
    (["--validation_split_percentage", "0"], "cannot be held out"),
    (["--streaming", "true"], "--validation_corpus"),
    (["--report_to", "dvclive"], "dvclive to be installed.*--report_to"),
    (["--variant", "eelbert-tiny", "--subword", "/no/such/tokenizer.json"], "subword"),
    ([*DISTILL, "--metric_for_best_model", "spearman"], "spearman is not measured: .* spearman --sts_file"),
    ([*DISTILL, "--parallel", "pair.csv", "--validation_split_percentage", "50", "--seed", "44"],
     "all translations of --parallel are held out; give more, or a lower --validation_split_percentage"),
    ([*DISTILL, "--streaming", "true", "--validation_corpus", "text.txt"], "--streaming reads a text once"),
    (["--variant", "bert-tiny", "--subword", "train", "--teacher", "teacher", "--last_stage", ".5"],
     "--last_stage needs a model of this family; leave it out"),
    (["--model_name_or_path", "no/such"], "'no/such' cannot be loaded"),
    # A corpus is looked for before the folder of the run is judged.
    (["--corpus", "none.txt", "--output_dir", "mine"], r"the corpus .*none\.txt' does not exist"),
    (["--validation_corpus", "none.txt", "--output_dir", "mine"], r"the corpus .*none\.txt' does not exist"),
    (["--corpus", "old.txt", "--output_dir", "mine"], r"old.txt' is not utf-8 .*--encoding cp1252"),
    (["--output_dir", "mine"], "holds other files"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "flags", "sentence"),
    [(run_glue, *row) for row in GLUE] + [(run_pretraining, *row) for row in PRETRAINING_MISTAKES],
)
def test_a_mistake_in_what_is_loaded_ends_with_one_sentence(script, flags, sentence, files):
    given = ["--use_cpu", "true"] if script is run_glue else [*PRETRAINING]
    if script is run_pretraining and "--corpus" not in flags:
        given += ["--corpus", "text.txt"]
    if not {"--variant", "--model_name_or_path"} & {*flags}:
        given += ["--model_name_or_path" if script is run_glue else "--variant", VARIANT]
    said = refusal(script.main, *given, "--output_dir", "run", *flags)
    verb = "finetune" if script is run_glue else "pretrain"
    assert re.search(sentence, said) and said.startswith(f"vocabless {verb}: ")
    if script is run_glue and "--teacher" in flags:
        assert not os.path.exists("run")


def test_distill_without_its_library_says_what_to_install(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as if it were not installed
    flags = [*PRETRAINING, *DISTILL, "--corpus", "text.txt", "--output_dir", "run"]
    said = refusal(run_pretraining.main, *flags)
    assert said == 'vocabless pretrain: a teacher needs sentence-transformers; run pip install "vocabless[distill]".'
