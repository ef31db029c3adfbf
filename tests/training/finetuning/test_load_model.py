"""Models that fine-tuning starts from: whole ones only, their heads, and how many tokens of a text they read."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from refusals import refusal
from safetensors.torch import load_file, save_file
from script_runs import coloured, fine_tune, write_csv
from sentence_transformers import SentenceTransformer
from transformers import AutoConfig, AutoTokenizer

import run_glue
from vocabless import VocablessForSequenceClassification, VocablessModel, load_config, load_tokenizer
from vocabless.saving.checkpoint import load_checkpoint, save_checkpoint
from vocabless.saving.sentence_modules import write_sentence_modules
from vocabless.training.finetuning.fine_tuning import load_model
from vocabless.training.finetuning.head.head_writing import read_sentence_vector
from vocabless.training.finetuning.prepared import encode_training_rows
from vocabless.training.finetuning.rows.sources import load_own_data
from vocabless.training.finetuning.tasks.arguments import DataArguments, GlueArguments, is_trained_vocabless
from vocabless.training.finetuning.tasks.data import Examples, TaskData, encode
from vocabless.training.finetuning.tasks.problems import SingleLabel

VARIANT = "eelbert-word-uno"
TENSOR = "encoder.encoder.layer.0.output.dense.weight"


def lose_a_tensor(file: Path) -> None:
    tensors = load_file(file)
    save_file({name: tensor for name, tensor in tensors.items() if name != TENSOR}, file, {"format": "pt"})


def gain_a_tensor(file: Path) -> None:
    tensors = load_file(file) | {"vocabless.encoder.encoder.layer.9.weight": torch.zeros(2)}
    save_file(tensors, file, {"format": "pt"})


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:1000])


def pickle_a_program(file: Path) -> None:
    file.unlink()
    torch.save({"model": Path("a whole program")}, file.with_name("pytorch_model.bin"))


def test_a_damaged_checkpoint_is_refused_and_blocks_no_other_run(tmp_path) -> None:
    whole = tmp_path / "whole"
    VocablessModel(load_config(VARIANT)).save_pretrained(whole)
    load_tokenizer(VARIANT).save_pretrained(whole)
    flags = ["--train_file", write_csv(tmp_path / "texts.csv", coloured(40)), "--max_steps", "1"]
    for damage, sentence in (
        (lose_a_tensor, f"lacks the tensors vocabless.{TENSOR}; give a complete one"),
        (gain_a_tensor, "has the unexpected tensors vocabless.encoder.encoder.layer.9.weight; give a complete one"),
        (truncate, "cannot be loaded (Error while deserializing header"),
        (pickle_a_program, "cannot be loaded (Weights only load failed"),
    ):
        damaged = shutil.copytree(whole, tmp_path / damage.__name__)
        damage(damaged / "model.safetensors")
        command = [*flags, "--output_dir", tmp_path / "run", "--use_cpu", "true", "--model_name_or_path", damaged]
        assert sentence in refusal(run_glue.main, *command)
    fine_tune(tmp_path / "run", *flags, "--model_name_or_path", whole)


def classifier(folder: Path, labels: Sequence[str]) -> Path:
    """Writes a classifier with random weights; returns its folder."""
    config = load_config(VARIANT, id2label=dict(enumerate(labels)))
    save_checkpoint(VocablessForSequenceClassification(config), load_tokenizer(VARIANT), folder)
    return folder


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({"0": "a", "1": "b"}, "has 3 outputs, but its config.json has 2 labels; save or download"),
        ({str(number): str(number) for number in range(4)}, "has 3 outputs, but its config.json has 4 labels"),
        (None, "has 3 outputs, but its config.json has 2 labels"),
        ({"a": "0", "b": "1", "c": "2"}, "number the labels from 0 without a gap"),
    ],
)
def test_a_head_with_other_labels_than_its_config_is_refused(labels, sentence, tmp_path) -> None:
    folder = classifier(tmp_path / "model", "abc")
    settings = json.loads((folder / "config.json").read_text())
    settings = {name: value for name, value in settings.items() if name not in ("id2label", "label2id")}
    (folder / "config.json").write_text(json.dumps(settings | ({} if labels is None else {"id2label": labels})))
    with pytest.raises(ValueError, match=sentence):
        load(str(folder), None, tmp_path)
    with pytest.raises(ValueError, match=re.escape(str(folder))):
        load_checkpoint(str(folder))


@pytest.mark.parametrize(("labels", "lacks"), [(["no", "yes"], False), (["yes", "no"], True), (["a", "b"], True)])
def test_a_head_for_other_labels_is_as_good_as_none(labels, lacks, tmp_path) -> None:
    folder = classifier(tmp_path / "model", labels)
    assert load_all(str(folder), None, tmp_path).lacks_head is lacks


def load(name: str, pairs: list[str] | None, folder: Path):
    return load_all(name, pairs, folder)[0]


def load_all(name: str, pairs: list[str] | None, folder: Path, **options: object):
    examples = Examples(["a quiet film", "a loud one"], pairs, ["no", "yes"])
    task = TaskData("task", "Task", SingleLabel(["no", "yes"]), examples, {"": examples})
    return load_model(GlueArguments(model_name_or_path=name, **options), task, folder)


@pytest.mark.parametrize(
    ("name", "of_texts", "of_pairs"), [("hashgram-nano", "mean", "siamese"), ("eelbert-word-uno", "cls", "cls")]
)
def test_two_texts_are_read_apart_where_the_head_reads_means(name, of_texts, of_pairs, tmp_path) -> None:
    pairs = ["a still film", "a silent one"]
    assert load(name, None, tmp_path).config.classifier_pooling == of_texts
    model = load(name, pairs, tmp_path)
    assert model.config.classifier_pooling == of_pairs
    model.save_pretrained(tmp_path / "pairs")
    load_tokenizer(name).save_pretrained(tmp_path / "pairs")
    assert load(str(tmp_path / "pairs"), pairs, tmp_path).config.classifier_pooling == of_pairs
    single = load(str(tmp_path / "pairs"), None, tmp_path)  # its head is new where a pair's head is larger
    assert single.classifier.dense.in_features == single.config.hidden_size


def sentence_encoder(folder: Path, size: int = 96, **options: object) -> Path:
    """Writes an encoder of width 64 with the layer of a teacher, whose bias is in the space of the weight's columns."""
    config = load_config("hashgram-nano", **options)
    torch.manual_seed(0)
    save_checkpoint(VocablessModel(config), load_tokenizer("hashgram-nano"), folder)
    weight = torch.randn(size, config.hidden_size)
    write_sentence_modules(folder, weight=weight, bias=weight @ torch.randn(config.hidden_size))
    return folder


@pytest.mark.parametrize("size", [96, 40], ids=["wider", "narrower"])
def test_a_new_head_gives_the_vectors_of_the_sentence_encoder_up_to_a_rotation(size, tmp_path) -> None:
    folder = str(sentence_encoder(tmp_path / "encoder", size))
    texts = ["a quiet film", "a loud one", "nothing of this"]
    expected = SentenceTransformer(folder, trust_remote_code=True, device="cpu").encode(texts, convert_to_tensor=True)
    loaded = load_all(folder, None, tmp_path)
    vectors: list[torch.Tensor] = []
    loaded.model.classifier.out_proj.register_forward_pre_hook(lambda _, inputs: vectors.append(inputs[0]))
    with torch.no_grad():
        loaded.model.eval()(**loaded.tokenizer(texts, padding=True, return_tensors="pt"))
    assert loaded.model.config.classifier_activation == "rms_norm"
    cosines = vectors[0] @ vectors[0].T / 64  # they have the length √64
    torch.testing.assert_close(cosines, expected @ expected.T, atol=1e-4, rtol=0)


def to_tanh(folder: Path) -> None:
    file = folder / "2_Dense/config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"activation_function": "torch.nn.Tanh"}))


def to_another_width(folder: Path) -> None:
    write_sentence_modules(folder, weight=torch.ones(12, 5), bias=torch.ones(12))


def to_no_length(folder: Path) -> None:
    file = folder / "modules.json"
    file.write_text(json.dumps(json.loads(file.read_text())[:-1]))


@pytest.mark.parametrize("change", [to_tanh, to_another_width, to_no_length])
def test_a_layer_that_is_not_a_teachers_leaves_the_head_as_it_is(change, tmp_path) -> None:
    folder = sentence_encoder(tmp_path / "encoder")
    change(folder)
    assert load(str(folder), None, tmp_path).config.classifier_activation == "tanh"


def test_pairs_first_states_random_heads_and_stock_models_have_no_sentence_vector(tmp_path) -> None:
    folder = sentence_encoder(tmp_path / "encoder")
    assert load(str(folder), ["a still film", "a silent one"], tmp_path).config.classifier_activation == "tanh"
    assert load_all(str(folder), None, tmp_path, random_head=True)[0].config.classifier_activation == "tanh"
    first = sentence_encoder(tmp_path / "first", classifier_pooling="cls")
    assert load(str(first), None, tmp_path).config.classifier_activation == "tanh"
    of_texts = load_all(str(folder), None, tmp_path)
    save_checkpoint(*of_texts[:2], tmp_path / "texts")
    assert load(str(tmp_path / "texts"), None, tmp_path).config.classifier_activation == "rms_norm"
    pairs = load(str(tmp_path / "texts"), ["a still film", "a silent one"], tmp_path)
    assert pairs.config.classifier_activation == "tanh"
    read_sentence_vector(torch.nn.Linear(2, 2), str(folder))  # a stock model has another head, or none


def test_a_layer_with_weights_that_are_no_numbers_is_refused(tmp_path) -> None:
    folder = sentence_encoder(tmp_path / "encoder")
    write_sentence_modules(folder, weight=torch.full((96, 64), torch.nan), bias=torch.ones(96))
    with pytest.raises(ValueError, match=r"the weights 2_Dense\.weight of .* are not finite numbers"):
        load(str(folder), None, tmp_path)


def test_the_layer_of_a_hub_id_is_that_of_its_revision(monkeypatch) -> None:
    asked: list[tuple] = []

    def record(source: str, name: str, revision: str | None = None) -> str:
        asked.append((source, name, revision))
        folder = Path(__file__).parents[3] / "checkpoints/hashgram-nano-sentence"
        return str(folder / name)

    monkeypatch.setattr("vocabless.saving.sentence_modules.cached_file", record)
    config = load_config("hashgram-nano", append_embeddings=True)
    model = VocablessForSequenceClassification(config)
    read_sentence_vector(model, "you/base", "v1")
    files = "modules.json", "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"
    assert asked == [("you/base", file, "v1") for file in files]


def test_a_hub_id_may_end_in_a_revision_and_a_folder_may_have_an_at(monkeypatch, tmp_path) -> None:
    asked: list[tuple] = []

    def record(**options: object) -> None:
        asked.append((options["pretrained_model_name_or_path"], options["revision"]))
        raise OSError("not here")

    monkeypatch.setattr(AutoConfig, "from_pretrained", record)
    (tmp_path / "mine@v1").mkdir()
    lacking = {"you/base@refs/pr/1": "cannot be loaded", "you/base": "cannot be loaded"}
    lacking[str(tmp_path / "mine@v1")] = r"holds no config\.json"
    for name, sentence in lacking.items():
        with pytest.raises(ValueError, match=sentence):
            is_trained_vocabless(GlueArguments(model_name_or_path=name))
    assert asked == [("you/base", "refs/pr/1"), ("you/base", "main")]


def rows_of(lengths):
    """Rows with this number of tokens each, with [CLS] and [SEP]."""
    return [(" ".join(["word"] * (length - 3)) + f" w{row}", "ab"[row % 2]) for row, length in enumerate(lengths)]


@pytest.mark.parametrize(("lengths", "chosen", "cut"), [
    ([10] * 100, 64, None),
    ([64] * 100, 64, None),
    ([65] * 2 + [10] * 98, 128, None),
    ([65] + [10] * 99, 64, "1.0"),
    ([129] * 50, 256, None),
    ([300] * 50, 512, None),
    ([600] * 10 + [10] * 90, 512, "10.0"),
])  # fmt: skip
def test_the_shortest_length_that_holds_99_of_100_texts_is_chosen(lengths, chosen, cut, encoder, tmp_path):
    data = write_csv(tmp_path / "mine.csv", rows_of(lengths))
    arguments = GlueArguments(model_name_or_path=encoder)
    task = load_own_data(DataArguments(train_file=str(data)), scores_folds=True)
    loaded = load_model(arguments, task, tmp_path)
    told = [] if cut is None else [f"Training reads up to {chosen} tokens of a text, which cuts {cut} % of them."]
    lines = []
    rows, *decided = encode_training_rows(task, loaded, arguments, lines.append)
    assert (decided, lines) == ([chosen, 512], told)  # other texts are read to the end of the encoder's places
    expected = encode(task.train, task.problem, loaded.tokenizer, chosen)
    assert all((row["input_ids"] == other["input_ids"]).all() for row, other in zip(rows, expected, strict=True))
    arguments.max_seq_length = 100
    assert encode_training_rows(task, loaded, arguments, lines.append)[1:] == (100, 100) and lines == told


def test_the_checkpoint_remembers_the_length_that_is_given_and_else_has_that_of_its_encoder(tune, tmp_path, capsys):
    short = write_csv(tmp_path / "short.csv", coloured(12))
    folder, results = tune(
        *(tmp_path / "run", "--train_file", short, "--validation_file", short, "--num_train_epochs", "0"),
        *("--max_seq_length", "64"),
    )
    assert results["arguments"]["max_seq_length"] == AutoTokenizer.from_pretrained(folder).model_max_length == 64
    long = write_csv(tmp_path / "long.csv", rows_of([10] * 18 + [600] * 2))
    folder, results = tune(tmp_path / "next", "--train_file", long, "--validation_file", long, "--model_name_or_path",
                           folder, "--num_train_epochs", "0")  # fmt: skip
    assert results["arguments"]["max_seq_length"] == AutoTokenizer.from_pretrained(folder).model_max_length == 512
    assert "Training reads up to 512 tokens of a text, which cuts 10.0 % of them.\n" in capsys.readouterr().out
