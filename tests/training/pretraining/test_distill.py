"""Runs of the objective `distill`, from the teacher to the folder that sentence-transformers loads."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from script_runs import pretrain, write_corpus

from benchmarks import budget
from vocabless import VocablessConfig, VocablessForSequenceClassification
from vocabless.saving.run_folder import rows_fingerprint
from vocabless.saving.sentence_modules import read_dense
from vocabless.training.pretraining import distill
from vocabless.training.pretraining.distill import Distill
from vocabless.training.pretraining.measures import read_scored_pairs
from vocabless.training.pretraining.teacher import SentenceTeacher
from vocabless.training.pretraining.translations import ParallelTexts

st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")

NANO = ["--variant", "hashgram-nano"]


@pytest.fixture
def run(make_teacher, tmp_path, empty_cache):
    """Runs the script into a folder of `tmp_path`; returns the folder and the results."""
    given = ["--corpus", write_corpus(tmp_path / "text.txt"), "--validation_split_percentage", "20", "--max_steps", "8",
             "--teacher", make_teacher(tmp_path / "small-teacher"), "--per_device_train_batch_size", "8",
             "--max_seq_length", "40", "--warmup_steps", "0", "--learning_rate", ".01"]  # fmt: skip
    return lambda name, *flags: (tmp_path / name, pretrain(tmp_path / name, *given, *flags))


def student_in(folder, **options):
    return st.SentenceTransformer(str(folder), trust_remote_code=True, device="cpu", **options)


def test_a_student_comes_nearer_to_its_teacher(run, tmp_path, capsys, monkeypatch) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("sentence1,sentence2,score\nthe fox,the dog,1\nthe fox,the fox sleeps,4\na cat,walls,0\n")
    monkeypatch.setattr(distill, "STSB_PAIRS", rows_fingerprint(zip(*read_scored_pairs(str(pairs)), strict=True)))
    flags = ["--variant", "hashformer-lsh-proj-tiny", "--sts_file", str(pairs), "--misspell_probability", "0.1"]
    folder, results = run("run", *flags, "--nested_dimensions", "8", "24")
    before, after, card = results["before"], results["after"], (folder / "README.md").read_text()
    assert results["objective"] == "distill" and results["examples"]["teacher"] == "small-teacher"
    assert results["examples"]["sts"] == "GLUE STS-B"
    assert after["eval_cosine"] > before["eval_cosine"] + 0.1
    assert after["eval_loss"] == pytest.approx(1 - after["eval_cosine"])
    assert {"eval_spearman", "eval_teacher_spearman"} <= {*after} and after["eval_recall_at_10"] > 0
    assert str(tmp_path) not in json.dumps(results) and str(tmp_path) not in card
    assert "`small-teacher`" in card and "SentenceTransformer(" in card and "source_sentence" in card
    assert "pipeline_tag: sentence-similarity\n" in card and "\n- sentence-transformers\n" in card
    for name in ("all", "8", "int8", "binary"):
        assert f"| {name} | {100 * after[f'eval_neighbours_{name}']:.1f} | " in card
    assert "recall_at_10" in capsys.readouterr().out
    lines = (tmp_path / "text.txt").read_text().splitlines()
    vectors, short = (student_in(folder, truncate_dim=size).encode(lines) for size in (None, 8))
    assert vectors.shape == (len(lines), 24)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(short, vectors[:, :8], rtol=1e-5)
    taught = student_in(tmp_path / "small-teacher").encode(lines, normalize_embeddings=True)
    assert (vectors * taught).sum(axis=1).mean() == pytest.approx(after["eval_cosine"], abs=0.05)  # as measured
    assert VocablessForSequenceClassification.from_pretrained(folder).config.classifier_pooling == "mean"


@pytest.mark.slow
def test_embeddings_are_appended_to_a_trained_student(run) -> None:
    first, earlier = run("first", *NANO)
    folder, results = run("second", "--model_name_or_path", str(first), "--last_stage", "1")
    for name in ("eval_cosine", "eval_loss"):  # their weights in the dense layer are 0 at first
        assert results["before"][name] == pytest.approx(earlier["after"][name], rel=1e-4)
    size = VocablessConfig.from_pretrained(first).hidden_size
    config, weight = VocablessConfig.from_pretrained(folder), read_dense(str(folder))["weight"]
    assert config.append_embeddings and config.hidden_size == weight.shape[1] == 2 * size
    assert weight[:, size:].abs().sum() > 0
    assert student_in(folder).encode("a fox").shape == (24,)
    assert results["objective"] == "distill" and results["after"]["eval_loss"] != results["before"]["eval_loss"]
    assert results["arguments"]["model_name_or_path"] == "first" and results["start"]["base_model"] is None
    assert "beginning from the weights of `first`" in (folder / "README.md").read_text()


def test_a_run_reads_the_embeddings_in_its_last_stage_alone(run) -> None:
    flags = [*NANO, "--last_stage", ".25", "--save_steps", "6"]
    folder, results = run("run", *flags)
    weights = [read_dense(str(folder / f"checkpoint-{step}"))["weight"] for step in (6, 8)]
    size = weights[0].shape[1] // 2
    assert weights[0][:, :size].any() and not weights[0][:, size:].any()
    assert weights[1][:, size:].all() and results["after"]["eval_cosine"] > results["before"]["eval_cosine"]
    (folder / "results.json").unlink()  # as if it had been killed after its last step
    assert run("run", *flags)[1]["after"]["eval_loss"] == results["after"]["eval_loss"]


@pytest.mark.slow
def test_a_benchmark_measures_stock_students_and_ours_alike(run, tmp_path, capsys) -> None:
    pytest.importorskip("onnxscript", reason="the extra [onnx] is not installed")
    pairs, features = tmp_path / "pairs.csv", tmp_path / "features.json"
    pairs.write_text("sentence1,sentence2,score\nthe fox,the dog,1\nthe quick fox,the fox sleeps,4\na cat,walls,0\n")
    flags = ["--sts_file", str(pairs), "--nested_dimensions", "0"]
    folders = [run("stock", "--variant", "bert-tiny", "--subword", "train", *flags)[0], run("ours", *NANO, *flags)[0]]
    figures = dict.fromkeys(budget.FEATURES.values(), 0.5)
    features.write_text(json.dumps({"rows": {folder.name: figures for folder in folders}}))
    arguments = [str(features), str(pairs), *map(str, folders), "--output", str(tmp_path / "budget.json")]
    budget.main(arguments)
    table = json.loads((tmp_path / "budget.json").read_text())["rows"]
    assert all(0 < row["MB, words"] < row["MB"] and 0 < row["MB, 8 bits"] < row["MB"] for row in table.values())
    assert table["ours"]["tokens"] == pytest.approx(2 + 7 / 3)  # [CLS], words, [SEP]
    assert "| ours | " in capsys.readouterr().out

    encoder = student_in(folders[0])
    ids = torch.tensor(encoder.tokenizer(["the quick fox"])["input_ids"])
    with torch.no_grad():
        vector = budget.StockEncoder(encoder).eval()(ids)[0]
    np.testing.assert_allclose(vector, encoder.encode("the quick fox"), atol=1e-5)


def test_translations_teach_their_vectors(run, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(distill, "LANGUAGE_EXPONENT", 0)
    words = dict(zip("the quick brown fox jumps over lazy dogs while cats".split(), "αβγδεζηθικ", strict=True))
    english = [" ".join(list(words)[(i * k) % 10] for k in range(1, 6)) for i in range(1, 60)]
    rows = [
        {"text": " ".join(map(words.get, text.split())), "english": text, "lang": "el"} for text in sorted({*english})
    ]
    rows += [{"text": text[::-1], "english": text, "lang": "qx"} for text in english[:15]]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    flags = [*NANO, "--parallel", str(file), "--max_steps", "40", "--centre_teacher", "true"]
    folder, results = run("run", *flags)
    before, after = results["before"], results["after"]
    assert after["eval_cosine_el"] > before["eval_cosine_el"] + 0.3
    assert {"eval_translation", "eval_translation_el", "eval_translation_qx"} <= {*after}
    assert results["examples"]["translations"].keys() == {"el", "qx"}
    card, printed = (folder / "README.md").read_text(), capsys.readouterr().out
    line = f"| el | {100 * after['eval_translation_el']:.1f} | {100 * after['eval_cosine_el']:.1f} |"
    assert line in card and line in printed and "language:\n- el\n- en\n- qx\n" in card

    mean = load_file(folder / "teacher_mean.safetensors")["mean"].numpy()
    expected = student_in(tmp_path / "small-teacher").encode(english, normalize_embeddings=True) - mean
    cosines = (student_in(folder).encode(english) * expected).sum(axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.mean() > 0.2


def test_a_quarter_of_an_epoch_is_the_corpus_and_languages_share_the_rest(
    make_teacher, tmp_path, empty_cache, monkeypatch
) -> None:
    letters = Dataset.from_dict({"text": list("äöüßéè")})
    parallel = ParallelTexts(letters, np.array(["de"] * 6), list("abcdef"), np.arange(6))
    monkeypatch.setattr(distill, "LANGUAGE_EXPONENT", 0)
    objective = Distill()
    objective.training, objective.arguments = SimpleNamespace(seed=0), SimpleNamespace(max_seq_length=16)
    teacher, tokenizer = SentenceTeacher(make_teacher(tmp_path / "teacher"), 16), "of another family"
    examples = objective._examples(["the fox", "a dog"], parallel, teacher, tokenizer)
    texts = examples.dataset()[:]["text"]
    assert texts[:4] == ["the fox", "a dog"] * 2 and sorted(texts[4:]) == sorted("abcdefäöüßéè")
    copies = Dataset.from_dict({"text": ["häuser", "hauser"]})  # the copy learns what its original does
    parallel = ParallelTexts(copies, np.array(["de", "de"]), ["häuser"], np.zeros(2, int))
    with_copy = objective._examples(["the fox"], parallel, teacher, tokenizer)
    assert sorted(with_copy.dataset()[:]["text"]) == ["hauser", "häuser", "the fox"]
    parallel = ParallelTexts(letters, np.array(["de"] * 6), list("abcdef"), np.arange(6))
    long = objective._examples(list("uvwxyz"), parallel, teacher, tokenizer)
    assert len(long.dataset()) == 6 + 12  # a corpus that is larger than its share is read once


def test_the_language_of_a_text_without_translation_is_its_own() -> None:
    texts = Dataset.from_dict({"text": ["Haus", "Maison", "Baum"]})
    parallel = ParallelTexts(texts, np.array(["de", "fr", "de"]), ["house", "Maison", "Baum"], np.arange(3))
    assert parallel.languages_of_translations("en") == ["en", "fr", "de"]


def test_words_without_translations_are_learned_once_and_not_measured(run, tmp_path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("text,lang\n" + "".join(f"Wort{number},de\n" for number in range(30)))
    _, results = run("run", *NANO, "--parallel", str(file))
    assert results["examples"]["translations"].keys() == {"de"}
    assert 10 < results["examples"]["translations"]["de"] < 30
    assert not [name for name in results["after"] if "translation" in name or name.endswith("_de")]
