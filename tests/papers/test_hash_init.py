"""A stock model's word table begins as n-gram hashes, and nothing else of the model changes."""

import json
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM, AutoTokenizer

import run_pretraining
from papers.__main__ import main
from papers.hash_init import embed, hash_table
from vocabless import VocablessModel, load_config, load_tokenizer


@pytest.mark.parametrize("kind", ["bert", "roberta", "albert", "distilbert", "modernbert"])
def test_only_the_table_changes(kind: str, stock_folder, tmp_path: Path) -> None:
    source, target = stock_folder(kind, AutoModelForMaskedLM), tmp_path / "hashed"
    main(["hash-init", source, str(target)])
    before, model = (AutoModelForMaskedLM.from_pretrained(folder) for folder in (source, target))
    parameters, tokenizer = dict(model.named_parameters()), AutoTokenizer.from_pretrained(target)
    changed = [name for name, value in before.named_parameters() if not torch.equal(value, parameters[name])]
    assert len(changed) == 1 and "embeddings" in changed[0]
    table = model.get_input_embeddings()
    assert table.weight is model.get_output_embeddings().weight or not model.config.tie_word_embeddings
    tokens = tokenizer.convert_ids_to_tokens(list(range(5, table.num_embeddings)))
    cosines = F.cosine_similarity(table.weight[5:], embed(tokens, table.embedding_dim))
    torch.testing.assert_close(cosines, torch.ones_like(cosines))
    assert abs(table.weight.std().item() / model.config.initializer_range - 1) < 0.05
    assert not table.weight[table.padding_idx].any()


def test_rows_are_what_the_front_end_of_the_variant_gives(subwords, stock_folder) -> None:
    model = VocablessModel(load_config("eelbert-tiny"))
    tokenizer = load_tokenizer("eelbert-tiny", subword=subwords["wordpiece"])
    encoding = tokenizer("the quick lazy fox", return_tensors="pt")
    expected = model.front_end(encoding["input_ids"])[0]
    torch.testing.assert_close(embed(encoding.tokens(), model.config.embedding_size), expected)


def test_rows_without_a_token_stay(stock_folder) -> None:
    folder = stock_folder("bert", AutoModelForMaskedLM)
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    model.resize_token_embeddings(len(tokenizer) + 3)
    rest = model.get_input_embeddings().weight[-3:].clone()
    assert hash_table(model, tokenizer)[0] == len(tokenizer)
    assert torch.equal(model.get_input_embeddings().weight[-3:], rest)


def test_a_table_that_is_too_small_for_the_tokenizer_is_refused(stock_folder, tmp_path: Path) -> None:
    folder = stock_folder("bert", AutoModelForMaskedLM)
    model = AutoModelForMaskedLM.from_pretrained(folder)
    model.resize_token_embeddings(20)
    model.save_pretrained(folder)
    with pytest.raises(SystemExit, match="the word embeddings have 20 rows"):
        main(["hash-init", folder, str(tmp_path / "hashed")])


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_model_without_a_tokenizer_is_refused(kind: str, stock_folder, tmp_path: Path) -> None:
    source = Path(stock_folder(kind))
    for file in source.glob("*token*"):
        file.unlink()
    with pytest.raises(SystemExit, match="tokenizer"):
        main(["hash-init", str(source), str(tmp_path / "hashed")])
    assert not (tmp_path / "hashed").exists()


def test_a_folder_with_files_is_not_written_to(stock_folder) -> None:
    folder = stock_folder("bert", AutoModelForMaskedLM)
    with pytest.raises(SystemExit, match="holds files; give a new or an empty one"):
        main(["hash-init", folder, folder])


def test_pre_training_begins_from_the_hashes_and_trains_them(stock_folder, tmp_path: Path) -> None:
    hashed, trained = tmp_path / "hashed", tmp_path / "run"
    main(["hash-init", stock_folder("bert", AutoModelForMaskedLM), str(hashed)])
    (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog.\n" * 40)
    flags = ["--max_steps", "2", "--max_seq_length", "16", "--use_cpu", "true", "--report_to", "none"]
    run_pretraining.main([
        "--model_name_or_path", str(hashed), "--corpus", str(tmp_path / "text.txt"), "--output_dir", str(trained),
        "--preprocessing_num_workers", "1", *flags,
    ])  # fmt: skip
    assert json.loads((trained / "results.json").read_text())["start"]["base_model"] is None
    before, after = (AutoModelForMaskedLM.from_pretrained(folder) for folder in (hashed, trained))
    assert after.get_output_embeddings().weight is after.get_input_embeddings().weight
    assert not torch.equal(before.get_input_embeddings().weight, after.get_input_embeddings().weight)
