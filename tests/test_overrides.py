"""Rows with overrides: what they become, and what is refused."""

import json

import pytest

import run_glue
import run_pretraining
from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.overrides import with_overrides
from vocabless.stock_shapes import find_shape, load_shape_config

QUICK = ["--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none"]


def test_each_name_can_be_overridden_and_the_others_stay():
    row = find_shape("hashformer-md5-pool-base")
    new = with_overrides(row, {"size": "tiny", "coder": "lsh", "coder_options": {"seed": 7}, "front_end": "add"})
    assert (new.coder, new.front_end, new.size) == (("lsh", {"seed": 7}), ("add", {}), "tiny")
    assert (new.splitter, new.encoder, new.objective) == (row.splitter, row.encoder, row.objective)
    config, tokenizer = load_config(new), load_tokenizer(new)
    assert config.hidden_size == 128 and config.variant is None  # it is no row of the table
    assert (tokenizer.coder, tokenizer.coder_options) == ("lsh", {"seed": 7})
    assert VocablessModel(config)(**tokenizer("a fox", return_tensors="pt")).last_hidden_state.isfinite().all()


def test_options_are_added_to_the_rows_own_unless_the_component_changes():
    row = find_shape("ewe-bert-gradient-base")
    options = with_overrides(row, {"front_end_options": {"focus": True}}).front_end[1]
    assert options == {"focus": True, "pool_ngrams": True, "max_tokens": 128}
    assert with_overrides(row, {"front_end": "ngram"}).front_end[1] == {}
    options = with_overrides(row, {"encoder_options": {"num_hidden_layers": 3}}).encoder_options
    assert options == {"num_attention_heads": 8, "num_hidden_layers": 3}
    words = find_shape("hashformer-md5-pool-tiny")
    assert load_tokenizer(words.name).splitter_options == {"lowercase": True}
    cased = load_tokenizer(with_overrides(words, {"splitter_options": {"lowercase": False}}))
    assert cased.splitter_options == {"lowercase": False}
    bytes_row = with_overrides(words, {"splitter": "bytes", "splitter_options": {"window": 3}})
    assert load_tokenizer(bytes_row).tokenize("abcdef") == ["abc", "def"]


@pytest.mark.parametrize("name", ["bert-base", "canine-base"])
def test_a_stock_shape_has_a_size_and_an_encoder(name):
    shape = with_overrides(find_shape(name), {"size": "mini", "encoder_options": {"num_hidden_layers": 3}})
    config = load_shape_config(shape, 100)
    assert (config.hidden_size, config.num_hidden_layers) == (256, 3)
    with pytest.raises(ValueError, match=f"unknown override of {name} 'coder'; choose one of size, encoder_options"):
        with_overrides(find_shape(name), {"coder": "md5"})


@pytest.mark.parametrize(("items", "message"), [
    (["coder=md4"], "unknown coder 'md4'; did you mean md5?"),
    (["codr=md5"], "unknown name of --set 'codr'; did you mean coder"),
    (["coder"], "--set coder gives coder no value; write --set coder=VALUE"),
    (["coder=lsh", "coder_options.num_bit=3"], "coder_options 'num_bit'; did you mean num_bits?"),
    (["coder_options=[1]"], "--set coder_options=[1] names no option; write --set coder_options.OPTION=VALUE"),
    (["encoder_options.num_hidden_layers=x"], "num_hidden_layers='x'; its default is 12: give the same type"),
    (["ngrams=train"], "--set ngrams is for the coders lsh and lsh-index, not for md5"),
])  # fmt: skip
def test_a_wrong_override_is_refused_with_the_near_names(items, message, tmp_path):
    command = ["--variant", "hashformer-md5-pool-tiny", "--output_dir", str(tmp_path / "run"), "--max_steps", "1"]
    command += ["--corpus", str(tmp_path / "missing.txt")]  # overrides are checked before a text is looked for
    with pytest.raises(SystemExit, match=r"^vocabless pretrain: ") as stopped:
        run_pretraining.main([*command, *QUICK, "--set", *items])
    assert message in str(stopped.value)


def test_a_fine_tuned_ablation_says_what_it_is_and_keeps_its_ngrams(tmp_path):
    words = ("red", "blue") * 8
    rows = [{"text": f"{word} fox {row} sleeps in the snow", "label": word} for row, word in enumerate(words)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run_glue.main([
        "--model_name_or_path", "hashformer-lsh-pool-base", "--set", "size=uno", "splitter=whitespace",
        "--set", "ngrams=train", "--train_file", str(tmp_path / "rows.jsonl"), "--num_train_epochs", "1",
        "--output_dir", str(tmp_path / "run"), *QUICK,
    ])  # fmt: skip
    folder = tmp_path / "run" / "rows" / "seed-42"
    name = "hashformer-lsh-pool-base with ngrams train, size uno, splitter whitespace"
    assert name in (folder / "README.md").read_text()
    assert json.loads((folder / "results.json").read_text())["arguments"]["overrides"]["splitter"] == "whitespace"
    assert json.loads((tmp_path / "run" / "run.json").read_text())["arguments"]["overrides"]["size"] == "uno"
    ngrams = json.loads((folder / "ngrams.json").read_text())
    assert "fox" in ngrams and "zebr" not in ngrams and all(1 <= len(ngram) <= 4 for ngram in ngrams)
    with pytest.raises(SystemExit, match="has trained weights; leave it out"):
        run_glue.main(["--model_name_or_path", str(folder), "--set", "size=uno", "--task_name", "sst2", *QUICK])
