"""A stock model's word table begins as n-gram hashes, and pre-training trains them."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM, AutoTokenizer

import run_pretraining
from papers.__main__ import main
from papers.hash_init import embed
from vocabless import VocablessModel, load_config, load_tokenizer


@pytest.mark.parametrize("shape", ["bert-uno", "albert-base"])
def test_the_table_is_hashes_of_the_tokens_at_the_usual_scale(shape, subwords, tmp_path: Path) -> None:
    command = ["hash-init", shape, str(tmp_path / "hashed"), "--subword", subwords["wordpiece"]]
    main(command)
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "hashed")
    tokenizer, table = AutoTokenizer.from_pretrained(tmp_path / "hashed"), model.get_input_embeddings()
    assert table.weight is model.get_output_embeddings().weight and len(table.weight) == len(tokenizer)
    tokens = tokenizer.convert_ids_to_tokens(list(range(5, len(tokenizer))))
    cosines = F.cosine_similarity(table.weight[5:], embed(tokens, table.embedding_dim))
    torch.testing.assert_close(cosines, torch.ones_like(cosines))
    assert abs(table.weight.std().item() / model.config.initializer_range - 1) < 0.05
    assert not table.weight[tokenizer.pad_token_id].any()
    with pytest.raises(SystemExit, match="holds files; give a new or an empty one"):
        main(command)


def test_rows_are_what_the_front_end_of_the_variant_gives(subwords) -> None:
    model = VocablessModel(load_config("eelbert-tiny"))
    tokenizer = load_tokenizer("eelbert-tiny", subword=subwords["wordpiece"])
    encoding = tokenizer("the quick lazy fox", return_tensors="pt")
    expected = model.front_end(encoding["input_ids"])[0]
    torch.testing.assert_close(embed(encoding.tokens(), model.config.embedding_size), expected)


def test_pre_training_begins_from_the_hashes_and_trains_them(subwords, tmp_path: Path) -> None:
    hashed, trained = tmp_path / "hashed", tmp_path / "run"
    main(["hash-init", "bert-uno", str(hashed), "--subword", subwords["wordpiece"]])
    (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog.\n" * 40)
    flags = ["--corpus", str(tmp_path / "text.txt"), "--max_steps", "2", "--max_seq_length", "16", "--use_cpu", "true"]
    run_pretraining.main(["--model_name_or_path", str(hashed), "--output_dir", str(trained), *flags])
    models = [AutoModelForMaskedLM.from_pretrained(folder) for folder in (hashed, trained)]
    before, after = (model.get_input_embeddings().weight for model in models)
    assert 0 < (before - after).abs().max() < 0.01
