"""The verb hashformer: converted weights give the authors' outputs, and every dropped tensor is reported."""

import json
from pathlib import Path

import pytest
import torch
from hashformer_oracle import (
    BOS,
    EOS,
    KINDS,
    MASK,
    NUM_BUCKETS,
    ORDINARY,
    PAD,
    SHAPE,
    UNK,
    logits,
    md5_digests,
    random_weights,
)
from refusals import refusal
from safetensors.torch import save_file
from transformers import AutoModel, AutoModelForPreTraining, AutoModelForSequenceClassification, AutoTokenizer

from vocabless.conversion.__main__ import main
from vocabless.conversion.hashformer import convert

TEXTS = ["The quick brown fox, at 25 °C!", "naïve: 日本語 words"]
OURS = {PAD: 0, UNK: 1, BOS: 2, EOS: 3, MASK: 4}
TOLERANCES = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture
def published(tmp_path):
    """Writes the authors' folder; returns its path."""

    def write(kind: str, weights: dict | None = None, name: str = "hashformer-md5", pickled: bool = True) -> str:
        folder = tmp_path / f"{name}-{kind}"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(SHAPE))
        weights = random_weights(kind) if weights is None else weights
        if pickled:
            torch.save(weights, folder / "pytorch_model.bin")
        else:
            save_file(weights, folder / "model.safetensors")
        return str(folder)

    return write


def to_blocks(kind: str, coder: str, sequences: list) -> torch.Tensor:
    """The oracle's tokens as blocks."""
    size = 1 if (kind, coder) == ("emb", "lsh") else 16
    return torch.tensor(
        [
            [[b + 5 for b in word.to_bytes(size, "big")] if special == ORDINARY else [OURS[special]] + [0] * (size - 1)
             for special, word in row]
            for row in sequences
        ]
    )  # fmt: skip


@pytest.mark.parametrize("coder", ["md5", "lsh"])
@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_authors_forward_pass(kind: str, coder: str) -> None:
    limit = NUM_BUCKETS if (kind, coder) == ("emb", "lsh") else 2**128
    words = [(ORDINARY, value % limit) for value in (0, 2**128 - 1, *md5_digests(" ".join(TEXTS)))]
    rows = [[(BOS, 0), *words, (MASK, 0), (EOS, 0)], [(BOS, 0), (UNK, 0), *words[2:7], (EOS, 0)]]
    rows[1] += [(PAD, 0)] * (len(rows[0]) - len(rows[1]))
    weights = random_weights(kind)
    model = convert(SHAPE, weights, coder).model
    mask = torch.tensor([[int(special != PAD) for special, _ in row] for row in rows])
    with torch.no_grad():
        ours = model(to_blocks(kind, coder, rows), attention_mask=mask).logits
    torch.testing.assert_close(ours[mask.bool()], logits(kind, weights, rows)[mask.bool()], **TOLERANCES)


@pytest.mark.parametrize("kind", KINDS)
def test_an_md5_model_is_the_same_from_text_to_logits(kind: str, published, tmp_path: Path) -> None:
    source, target = published(kind), tmp_path / "converted"
    main(["hashformer", source, str(target)])
    tokenizer = AutoTokenizer.from_pretrained(target)
    model = AutoModelForPreTraining.from_pretrained(target)
    for text in TEXTS:
        row = [(BOS, 0), *((ORDINARY, digest) for digest in md5_digests(text)), (EOS, 0)]
        with torch.no_grad():
            ours = model(**tokenizer(text, return_tensors="pt")).logits
        torch.testing.assert_close(ours, logits(kind, random_weights(kind), [row]), **TOLERANCES)
    assert tokenizer.model_max_length == SHAPE["max_position_embeddings"] - 2


def test_every_tensor_is_mapped_or_named_as_dropped(published, tmp_path: Path, capsys) -> None:
    source, target = published("pool", pickled=False), tmp_path / "converted"
    main(["hashformer", source, str(target)])
    printed = capsys.readouterr().out
    converted = convert(SHAPE, random_weights("pool"), "md5")
    assert converted.num_mapped + len(converted.dropped) == len(random_weights("pool"))
    assert set(converted.dropped) == {
        "roberta.embeddings.position_ids", "roberta.pooler.dense.weight", "roberta.pooler.dense.bias",
    }  # fmt: skip
    assert all(name in printed and name in (target / "README.md").read_text() for name in converted.dropped)
    assert printed.splitlines()[-1] == f"The checkpoint is in {target}."


def fine_tuned(kind: str, labels: int) -> dict:
    """The authors' weights after fine-tuning: RoBERTa's classification head in place of the head for shuffle-random."""
    shapes = {"dense.weight": (32, 32), "dense.bias": (32,)}
    shapes |= {"out_proj.weight": (labels, 32), "out_proj.bias": (labels,)}
    generator = torch.Generator().manual_seed(labels)
    head = {f"classifier.{name}": torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    return {name: weight for name, weight in random_weights(kind).items() if not name.startswith("dense.")} | head


@pytest.mark.parametrize("kind", KINDS)
def test_a_fine_tuned_checkpoint_gives_the_authors_logits_for_its_text(kind: str, published, tmp_path) -> None:
    weights = fine_tuned(kind, 3)
    source, target = Path(published(kind, weights)), tmp_path / "converted"
    names = {"0": "entailment", "1": "neutral", "2": "contradiction"}
    labels = {"id2label": names, "label2id": {name: int(index) for index, name in names.items()}}
    (source / "config.json").write_text(json.dumps(SHAPE | labels | {"finetuning_task": "mnli"}))
    main(["hashformer", str(source), str(target)])
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(target), AutoTokenizer.from_pretrained(target)
    assert model.config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}
    for text in TEXTS:
        words = [(ORDINARY, digest) for digest in md5_digests(text)]
        expected = logits(kind, weights, [[(BOS, 0), *words, (EOS, 0)]])
        with torch.no_grad():
            got = model.eval()(**tokenizer(text, return_tensors="pt")).logits
        assert torch.allclose(got, expected, **TOLERANCES)


def test_a_fine_tuned_checkpoint_without_names_keeps_its_number_of_labels() -> None:
    model = convert(SHAPE, fine_tuned("proj", 5), "md5").model
    assert model.config.num_labels == 5 and model.config.id2label[4] == "LABEL_4"
    regression = convert(SHAPE, fine_tuned("proj", 1), "md5").model  # STS-B
    assert (regression.config.num_labels, regression.config.problem_type) == (1, "regression")


def test_a_checkpoint_without_head_becomes_a_base_model(published, tmp_path: Path) -> None:
    bare = {n.removeprefix("roberta."): w for n, w in random_weights("proj").items() if not n.startswith("dense.")}
    main(["hashformer", published("proj", bare), str(tmp_path / "converted")])
    model = AutoModel.from_pretrained(tmp_path / "converted")
    expected = random_weights("proj")["roberta.embeddings.proj_mat.weight"]
    assert type(model).__name__ == "VocablessModel" and torch.equal(model.front_end.weight, expected)


def test_the_report_of_an_lsh_model_says_that_its_tokenizer_differs(published, tmp_path: Path, capsys) -> None:
    source, target = published("add", name="hashformer-lsh"), tmp_path / "converted"
    main(["hashformer", source, str(target)])
    assert "blocks than those that the model was trained on" in capsys.readouterr().out
    assert "blocks than those that the model was trained on" in (target / "README.md").read_text()
    assert AutoTokenizer.from_pretrained(target).coder == "lsh"


class Program:
    """An object that a pickle file can hold, but a checkpoint must not."""


WEIGHTS = "pytorch_model.bin"
# Damage of a complete checkpoint: what it does to the tensors or to one of the files → the message.
OTHER_TENSORS = {
    "holds other objects than tensors": lambda weights: {"weights": Program()},
    "is not a dictionary of tensors": lambda weights: list(weights.values()),
    "lacks the tensors roberta.embeddings.LayerNorm.bias": lambda weights: {
        n: w for n, w in weights.items() if n != "roberta.embeddings.LayerNorm.bias"
    },
    "has the unexpected tensors lm_head.bias": lambda weights: weights | {"lm_head.bias": torch.zeros(3)},
    "is not a HashFormer": lambda weights: {n: w for n, w in weights.items() if "proj_mat" not in n},
    "do not fit together": lambda weights: weights | {"roberta.embeddings.proj_mat_2.weight": torch.zeros(32, 64)},
}
OTHER_FILES = {
    "cannot be read": (WEIGHTS, lambda data: data[:20_000]),
    "no model.safetensors and no pytorch_model.bin": (WEIGHTS, lambda data: None),
    "no config.json": ("config.json", lambda data: None),
    "is not valid JSON": ("config.json", lambda data: b"{"),
    "roberta.encoder.layer.0.intermediate.dense.weight": (
        "config.json", lambda data: json.dumps(SHAPE | {"intermediate_size": 40}).encode(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", [*OTHER_TENSORS, *OTHER_FILES])
def test_a_bad_checkpoint_gets_one_sentence(message: str, published, tmp_path: Path) -> None:
    source = Path(published("add"))
    if message in OTHER_TENSORS:
        torch.save(OTHER_TENSORS[message](torch.load(source / WEIGHTS)), source / WEIGHTS)
    else:
        name, change = OTHER_FILES[message]
        data = change((source / name).read_bytes())
        (source / name).unlink() if data is None else (source / name).write_bytes(data)
    assert message in refusal(main, "hashformer", source, tmp_path / "converted")
    assert not list((tmp_path / "converted").glob("*"))


def test_a_source_whose_name_does_not_show_the_hash_needs_the_coder_flag(published, tmp_path: Path) -> None:
    source = published("add", name="mine")
    with pytest.raises(SystemExit, match="--coder md5 or --coder lsh"):
        main(["hashformer", source, str(tmp_path / "converted")])
    main(["hashformer", source, str(tmp_path / "converted"), "--coder", "md5"])
    assert (tmp_path / "converted" / "model.safetensors").is_file()
