"""The verb hashformer: converted weights give the authors' outputs, and every dropped tensor is reported."""

import json
import re
from pathlib import Path

import pytest
import torch
from authors_lsh import NUM_BUCKETS as LSH_BUCKETS
from authors_lsh import slow_bits, slow_index, words_of, write_roberta
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
    write_published,
)
from refusals import refusal
from tokenizers import Tokenizer
from transformers import AutoModel, AutoModelForPreTraining, AutoModelForSequenceClassification, AutoTokenizer

from vocabless.conversion.__main__ import main
from vocabless.conversion.hashformer import convert
from vocabless.conversion.onnx_export.settings import inference_settings
from vocabless.saving.checkpoint import load_checkpoint

TEXTS = ["The quick brown fox, at 25 °C!", "naïve: 日本語 words"]
OURS = {PAD: 0, UNK: 1, BOS: 2, EOS: 3, MASK: 4}
TOLERANCES = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def roberta_file(tmp_path_factory) -> str:
    return write_roberta(tmp_path_factory.mktemp("roberta") / "tokenizer.json")


def hashes(kind: str, coder: str, roberta_file: str, text: str) -> list[int]:
    """The words of a text as the authors' integers."""
    if coder == "md5":
        return md5_digests(text)
    roberta = Tokenizer.from_file(roberta_file)
    return [(slow_index if kind == "emb" else slow_bits)(word, roberta) for word in words_of(text)]


def buckets_of(coder: str) -> int:
    return LSH_BUCKETS if coder == "lsh" else NUM_BUCKETS


def to_blocks(kind: str, coder: str, sequences: list) -> torch.Tensor:
    """The oracle's tokens as blocks."""
    size = 2 if (kind, coder) == ("emb", "lsh") else 16
    return torch.tensor(
        [
            [[b + 5 for b in word.to_bytes(size, "big")] if special == ORDINARY else [OURS[special]] + [0] * (size - 1)
             for special, word in row]
            for row in sequences
        ]
    )  # fmt: skip


@pytest.mark.parametrize("coder", ["md5", "lsh"])
@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_authors_forward_pass(kind: str, coder: str, roberta_file: str) -> None:
    limit = LSH_BUCKETS if (kind, coder) == ("emb", "lsh") else 2**128
    words = [(ORDINARY, value % limit) for value in (0, 2**128 - 1, *md5_digests(" ".join(TEXTS)))]
    rows = [[(BOS, 0), *words, (MASK, 0), (EOS, 0)], [(BOS, 0), (UNK, 0), *words[2:7], (EOS, 0)]]
    rows[1] += [(PAD, 0)] * (len(rows[0]) - len(rows[1]))
    weights = random_weights(kind, buckets=buckets_of(coder))
    model = convert(SHAPE, weights, coder, subword=roberta_file).model
    mask = torch.tensor([[int(special != PAD) for special, _ in row] for row in rows])
    with torch.no_grad():
        ours = model(to_blocks(kind, coder, rows), attention_mask=mask).logits
    torch.testing.assert_close(ours[mask.bool()], logits(kind, weights, rows)[mask.bool()], **TOLERANCES)


@pytest.mark.parametrize(("coder", "labels"), [("md5", 0), ("md5", 3), ("lsh", 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_the_same_from_text_to_logits_and_keeps_its_labels(
    kind: str, coder: str, labels: int, roberta_file: str, tmp_path
) -> None:
    weights = random_weights(kind, labels, buckets_of(coder))
    source, target = write_published(tmp_path / f"hashformer-{coder}-{kind}", weights), tmp_path / "converted"
    names = {0: "entailment", 1: "neutral", 2: "contradiction"}
    if labels:
        described = {"id2label": names, "label2id": {name: index for index, name in names.items()}}
        (source / "config.json").write_text(json.dumps(SHAPE | described | {"finetuning_task": "mnli"}))
    main(["hashformer", str(source), str(target), *(["--subword", roberta_file] if coder == "lsh" else [])])
    tokenizer = AutoTokenizer.from_pretrained(target)
    auto_class = AutoModelForSequenceClassification if labels else AutoModelForPreTraining
    model = auto_class.from_pretrained(target).eval()
    assert not labels or model.config.id2label == names
    assert tokenizer.model_max_length == SHAPE["max_position_embeddings"] - 2
    for text in TEXTS:
        row = [(BOS, 0), *((ORDINARY, word) for word in hashes(kind, coder, roberta_file, text)), (EOS, 0)]
        with torch.no_grad():
            ours = model(**tokenizer(text, return_tensors="pt")).logits
        torch.testing.assert_close(ours, logits(kind, weights, [row]), **TOLERANCES)


def test_every_tensor_is_mapped_or_named_as_dropped(tmp_path: Path, capsys) -> None:
    source, target = write_published(tmp_path / "hashformer-md5-pool", pickled=False), tmp_path / "converted"
    main(["hashformer", str(source), str(target)])
    printed = capsys.readouterr().out
    converted = convert(SHAPE, random_weights("pool"), "md5")
    assert converted.num_mapped + len(converted.dropped) == len(random_weights("pool"))
    pooler = {f"roberta.pooler.dense.{name}" for name in ("weight", "bias")}
    assert set(converted.dropped) == {"roberta.embeddings.position_ids", *pooler}
    assert all(name in printed and name in (target / "README.md").read_text() for name in converted.dropped)
    assert printed.splitlines()[-1] == f"The checkpoint is in {target}."


def test_a_fine_tuned_checkpoint_without_names_keeps_its_number_of_labels() -> None:
    model = convert(SHAPE, random_weights("proj", 5), "md5").model
    assert model.config.num_labels == 5 and model.config.id2label[4] == "LABEL_4"
    regression = convert(SHAPE, random_weights("proj", 1), "md5").model  # STS-B
    assert (regression.config.num_labels, regression.config.problem_type) == (1, "regression")


def test_a_fine_tuned_word_table_is_no_table_of_buckets() -> None:
    weights = random_weights("emb", 2)
    with pytest.raises(
        ValueError, match="is not a HashFormer but a model of the type 'roberta' with a vocabulary of 102"
    ):
        convert(SHAPE | {"vocab_size": NUM_BUCKETS + 5}, weights, "md5", "mine")
    assert convert(SHAPE | {"vocab_size": NUM_BUCKETS + 5}, random_weights("emb"), "md5").num_mapped


def test_a_checkpoint_without_head_becomes_a_base_model(tmp_path: Path) -> None:
    bare = {n.removeprefix("roberta."): w for n, w in random_weights("proj").items() if not n.startswith("dense.")}
    main(["hashformer", str(write_published(tmp_path / "md5-proj", bare)), str(tmp_path / "converted")])
    model = AutoModel.from_pretrained(tmp_path / "converted")
    expected = random_weights("proj")["roberta.embeddings.proj_mat.weight"]
    assert type(model).__name__ == "VocablessModel" and torch.equal(model.front_end.weight, expected)


@pytest.mark.parametrize(("name", "flags", "coder"), [
    ("hashformer-lsh-add", [], "lsh-pieces"), ("mine-add", ["--coder", "lsh"], "lsh-pieces"),
    ("mine-lsh-add", ["--coder", "md5"], "md5"),
])  # fmt: skip
def test_the_hash_is_in_the_name_or_given(name, flags, coder, roberta_file, tmp_path, capsys) -> None:
    target = tmp_path / "converted"
    flags = [*flags, *(["--subword", roberta_file] if coder != "md5" else [])]
    main(["hashformer", str(write_published(tmp_path / name)), str(target), *flags])
    assert AutoTokenizer.from_pretrained(target).coder == coder
    for text in (capsys.readouterr().out, (target / "README.md").read_text()):
        assert ("RoBERTa's BPE, in `subword.json`" in text) == (coder != "md5")


LOGITS = """
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True)
result = model(**tokenizer(text, return_tensors="pt")).logits.tolist()
"""


def test_an_lsh_checkpoint_needs_no_package_and_only_python_runs_it(roberta_file, run_bare, tmp_path) -> None:
    source = write_published(tmp_path / "hashformer-lsh-proj", random_weights("proj", 2))
    target = tmp_path / "converted"
    main(["hashformer", str(source), str(target), "--subword", roberta_file])
    model, tokenizer = load_checkpoint(str(target))
    with torch.no_grad():
        expected = model(**tokenizer(TEXTS[0], return_tensors="pt")).logits
    found = torch.tensor(run_bare(LOGITS, folder=target, text=TEXTS[0]))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    assert inference_settings(model, tokenizer)["coder"] == "lsh-pieces"  # whose graph reads its blocks
    for verb in ("space", "javascript"):
        said = refusal(main, verb, target, tmp_path / "page")
        assert "cannot compute lsh-pieces blocks, which need the vocabulary of a BPE; give a checkpoint" in said


@pytest.mark.parametrize(("kind", "flags", "sentence"), [
    ("add", ["--coder", "lsh", "--subword", "BPE"], "is not RoBERTa's tokenizer: it gives 'Hello world!' the ids"),
    ("add", ["--coder", "lsh", "--subword", "missing.json"], "is neither a file, a folder nor a reachable Hub"),
    ("add", ["--coder", "md5", "--subword", "BPE"], "the hash md5 has no use for --subword .*; leave it out"),
    ("emb", ["--coder", "lsh", "--subword", "BPE"], "the table has 97 buckets, .* chooses one of 50,260; give --coder"),
])  # fmt: skip
def test_what_the_authors_hash_cannot_have_written_is_refused(kind, flags, sentence, subwords, tmp_path) -> None:
    flags = [subwords["bpe"] if flag == "BPE" else flag for flag in flags]
    said = refusal(main, "hashformer", write_published(tmp_path / f"mine-{kind}"), tmp_path / "converted", *flags)
    assert re.search(sentence, said) and not (tmp_path / "converted").exists()
