"""The verb encoder: all layers of the encoder stay, and the front end is new, which a teacher trains."""

from pathlib import Path

import pytest
import torch
from pretraining_runs import pretrain, write_corpus
from refusals import refusal
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from vocabless.conversion.__main__ import main

LINES = ["the quick brown fox jumps over the lazy dog", "a dog, a fox", "over the brown fox", "quick! the dog"] * 8
ENCODERS = ("bert", "roberta", "albert", "electra", "distilbert", "modernbert", "mpnet", "deberta-v2")


@pytest.mark.parametrize("kind", ENCODERS)
def test_the_weights_of_the_encoder_stay_bit_for_bit(kind: str, stock_folder, tmp_path: Path) -> None:
    source, target = stock_folder(kind), tmp_path / "words"
    main(["encoder", source, str(target), "--variant", "hashformer-md5-proj-tiny"])
    original, model = AutoModel.from_pretrained(source).eval(), AutoModel.from_pretrained(target).eval()
    tensors, kept = original.state_dict(), model.encoder.state_dict()
    assert kept and all(torch.equal(tensor, tensors[name]) for name, tensor in kept.items())
    dropped = set(tensors) - set(kept)
    assert all("word_embeddings" in name or "tok_embeddings" in name or "pooler" in name for name in dropped)
    embeddings = torch.randn(2, 7, model.config.embedding_size)
    with torch.no_grad():
        states = [one(inputs_embeds=embeddings).last_hidden_state for one in (original, model)]
    assert torch.equal(*states)
    inputs = AutoTokenizer.from_pretrained(target)(LINES[:2], padding=True, return_tensors="pt")
    assert torch.isfinite(model(**inputs).last_hidden_state).all()
    assert ("token_type_ids" in inputs) == (kind in ("bert", "albert", "electra"))


@pytest.mark.parametrize("variant", ["eelbert-word-tiny", "eelbert-tiny", "ewe-bert-base", "ewe-bert-bytes-base"])
def test_the_variant_gives_splitter_coder_and_front_end(variant: str, stock_folder, tmp_path: Path) -> None:
    main(["encoder", stock_folder("bert"), str(tmp_path / "words"), "--variant", variant])
    model, tokenizer = (auto.from_pretrained(tmp_path / "words") for auto in (AutoModel, AutoTokenizer))
    assert tokenizer.block_size == model.config.block_size
    assert model.config.encoder_config.hidden_size == 32 and tokenizer.model_max_length == model.max_tokens
    assert torch.isfinite(model(**tokenizer("the fox", return_tensors="pt")).last_hidden_state).all()
    assert tokenizer.splitter_options.get("window", tokenizer.block_size) == tokenizer.block_size  # of bytes
    if variant.startswith("ewe"):
        assert model.config.block_size == model.config.num_attention_heads


def test_dropped_tensors_are_named(stock_folder, tmp_path: Path, capsys) -> None:
    source = stock_folder("bert", AutoModelForMaskedLM)
    main(["encoder", source, str(tmp_path / "words"), "--variant", "hashformer-lsh-pool-tiny"])
    printed = capsys.readouterr().out
    head = [name for name in load_file(f"{source}/model.safetensors") if name.startswith("cls.")]
    assert head and all(name in printed for name in ["embeddings.word_embeddings.weight", *head])
    assert printed.splitlines()[-1] == f"The checkpoint is in {tmp_path / 'words'}."
    card = (tmp_path / "words" / "README.md").read_text()
    assert "untrained" in card and "pipeline_tag: feature-extraction" in card


def test_the_original_teaches_what_it_was_converted_to(stock_folder, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    source, words, text = stock_folder("bert"), tmp_path / "words", write_corpus(tmp_path / "text.txt")
    main(["encoder", source, str(words), "--variant", "hashformer-md5-emb1k-base"])
    assert "--recipe distill --model_name_or_path words --teacher stock-bert" in (words / "README.md").read_text()
    flags = ["--recipe", "distill", "--model_name_or_path", words, "--teacher", source, "--corpus", text]
    results = pretrain(
        tmp_path / "run", *flags, "--warmup_steps", "0", "--learning_rate", "1e-2", "--misspell_probability", "0"
    )
    assert results["objective"] == "distill"
    assert results["after"]["eval_cosine"] > results["before"]["eval_cosine"] + 0.1


def lose_a_tensor(source: Path) -> None:
    file = source / "model.safetensors"
    tensors = {name: t for name, t in load_file(file).items() if name != "encoder.layer.1.output.dense.bias"}
    save_file(tensors, file, {"format": "pt"})


def cut_the_weights(source: Path) -> None:
    file = source / "model.safetensors"
    file.write_bytes(file.read_bytes()[:5000])


NGRAM, PROJ = ("--variant", "eelbert-word-tiny"), ("--variant", "hashformer-md5-proj-tiny")


@pytest.mark.parametrize(("message", "kind", "options"), [
    ("unknown variant 'eelbert-word-tinny'", "bert", ["--variant", "eelbert-word-tinny"]),
    ("is not an encoder that accepts inputs_embeds", "t5", NGRAM),
    ("is a decoder: its first token sees no other one, and heads read the first token; give", "gpt2", PROJ),
])  # fmt: skip
def test_a_mistake_gets_one_sentence(message: str, kind: str, options: list, stock_folder, tmp_path: Path) -> None:
    assert message in refusal(main, "encoder", stock_folder(kind), tmp_path / "words", *options)
    assert not (tmp_path / "words").exists()


@pytest.mark.parametrize(("message", "damage"), [
    ("lacks the tensors encoder.layer.1.output.dense.bias", lose_a_tensor),
    ("cannot be loaded", cut_the_weights),
    ("cannot be loaded", lambda source: (source / "model.safetensors").unlink()),
    ("cannot be loaded", lambda source: (source / "config.json").unlink()),
])  # fmt: skip
def test_a_folder_without_a_complete_model_is_refused(message: str, damage, stock_folder, tmp_path: Path) -> None:
    source = Path(stock_folder("bert"))
    damage(source)
    assert message in refusal(main, "encoder", source, tmp_path / "words", *NGRAM)
    assert not (tmp_path / "words").exists()


def test_a_model_of_the_family_is_refused(stock_folder, tmp_path: Path) -> None:
    main(["encoder", stock_folder("bert"), str(tmp_path / "words"), *NGRAM])
    message = refusal(main, "encoder", tmp_path / "words", tmp_path / "again", *NGRAM)
    assert "is already a model without a vocabulary" in message
