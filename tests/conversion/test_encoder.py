"""The verb encoder: all layers of the encoder stay, and the front end is new, which a teacher trains."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from script_runs import pretrain, write_corpus
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
def test_the_variant_gives_splitter_coder_and_front_end(variant: str, stock_folder, tmp_path: Path, capsys) -> None:
    source, target = stock_folder("bert", AutoModelForMaskedLM), tmp_path / "words"
    (Path(source) / "README.md").write_text("---\nlicense: mit\nlanguage: fr\n---\n")
    main(["encoder", source, str(target), "--variant", variant])
    model, tokenizer = (auto.from_pretrained(target) for auto in (AutoModel, AutoTokenizer))
    assert tokenizer.block_size == model.config.block_size
    assert model.config.encoder_config.hidden_size == 32 and tokenizer.model_max_length == model.max_tokens
    assert torch.isfinite(model(**tokenizer("the fox", return_tensors="pt")).last_hidden_state).all()
    assert tokenizer.splitter_options.get("window", tokenizer.block_size) == tokenizer.block_size  # of bytes
    if variant.startswith("ewe"):
        assert model.config.block_size == model.config.num_attention_heads
    printed, card = capsys.readouterr().out, (target / "README.md").read_text()
    head = [name for name in load_file(f"{source}/model.safetensors") if name.startswith("cls.")]
    assert head and all(name in printed for name in ["embeddings.word_embeddings.weight", *head])
    assert printed.splitlines()[-1] == f"The checkpoint is in {target}."
    assert "untrained" in card and "pipeline_tag: feature-extraction" in card
    assert "license: mit\n" in card and "language: fr\n" in card and "base_model" not in card


def test_the_original_teaches_what_it_was_converted_to(stock_folder, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    source, words, text = stock_folder("bert"), tmp_path / "words", write_corpus(tmp_path / "text.txt")
    main(["encoder", source, str(words), "--variant", "hashformer-md5-emb1k-base"])
    assert "--recipe distill --model_name_or_path words --teacher stock-bert" in (words / "README.md").read_text()
    flags = ["--recipe", "distill", "--model_name_or_path", words, "--teacher", source, "--corpus", text]
    flags += ["--warmup_steps", "0", "--learning_rate", "1e-2", "--misspell_probability", "0"]
    results = pretrain(tmp_path / "run", *flags)
    assert results["objective"] == "distill"
    assert results["after"]["eval_cosine"] > results["before"]["eval_cosine"] + 0.1
