"""What the papers alone need: the commands of a table, as their scripts take them, and word tables of n-gram hashes."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM, AutoTokenizer

import run_glue
import run_pretraining
from papers import __main__ as papers
from papers.hash_init import embed
from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.training.finetuning.rows.glue import GLUE
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.script import read_recipe

WORDPIECE, BPE = "google-bert/bert-base-uncased", "FacebookAI/roberta-base"
# Learning rates of fine-tuning, and with which of the recipe's settings a table is fine-tuned.
RATES = {"hashformers": [3e-5], "eelbert": [5e-5, 4e-5, 3e-5, 2e-5], "elementwise": [2e-5]}


def parsed(words):
    """The arguments and the training arguments of a command, by its script's own parser, and its objective's name."""
    if words[0] == "run_pretraining.py":
        objective = parse_command_line(words[1:], None)
        return objective.arguments, objective.training, objective.name
    assert words[0] == "run_glue.py"
    arguments, training, data_arguments = run_glue.parse_command_line(words[1:])
    return SimpleNamespace(**vars(data_arguments), **vars(arguments)), training, None


@pytest.mark.parametrize("name", [name for name, table in papers.TABLES.items() if table.terms])
def test_a_line_is_a_row_that_is_pre_trained_and_then_fine_tuned_by_the_papers_recipes(name, capsys):
    table, paper = papers.TABLES[name], name.partition("-")[0]
    papers.main([name, "--dry_run"])
    lines = [line.replace("||", "&&") for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    for row, line in zip(table.rows, lines, strict=True):
        assert len(row.published(table.columns)) == len(table.columns)
        commands = [shlex.split(each)[1:] for each in line.split("&&")]
        scripts = [(words, *parsed(words)) for words in commands if words[0].startswith("run_")]
        tuned = [(arguments, training) for _, arguments, training, objective in scripts if objective is None]
        assert len(scripts) - len(tuned) == (row.objective is not None)
        model = row.weights or row.model
        for words, arguments, training, objective in scripts[: len(scripts) - len(tuned)]:
            assert (objective, words[2]) == (row.objective, row.recipe or table.recipe)
            assert arguments.variant == (None if row.is_hashed else row.model)
            units = "subword" if "-bpe-" in row.model else "word"  # 3.3: LSH alone has n-grams, one list for all rows
            assert arguments.ngrams == (f"runs/papers/ngrams-{units}.json" if "-lsh-" in row.model else None)
            model = training.output_dir
        assert [training.learning_rate for _, training in tuned] == RATES[paper]
        for arguments, training in tuned:
            assert arguments.model_name_or_path == model
            if paper == "elementwise":  # section 5: CANINE reads 512 characters or units
                assert training.do_predict
                assert arguments.max_seq_length == (512 if "canine" in row.model else 128)
            else:
                assert arguments.seeds == {"hashformers": 3, "eelbert": 5}[paper]
            if paper == "eelbert":  # Table 2 does not print STS-B
                assert set(arguments.task_name) == set(GLUE) - ({"stsb"} if name == "eelbert-2" else set())


@pytest.mark.parametrize(
    ("table", "row", "words"),
    [
        ("hashformers-1", "BERT-S+R", f"--variant roberta-base --subword {BPE}"),  # 4.2: that of Liu et al.
        ("hashformers-1", "CANINE-C", "--model_name_or_path google/canine-c"),  # 4.1: "off-the-shelf"
        ("eelbert-1", "EELBERT-base", f"--variant eelbert-base --subword {WORDPIECE}"),
        ("eelbert-4", "hash", "test -f out/hashed/bert-base/config.json || python -m papers hash-init bert-base "
                              f"out/hashed/bert-base --subword {WORDPIECE} && python run_pretraining.py "
                              "--recipe eelbert --model_name_or_path out/hashed/bert-base"),
        ("eelbert-4", "BERT-mini, hash", "--model_name_or_path out/hashed/bert-mini"),  # 5.4
        ("hashformers-6", "LSH Proj, subword", "test -f out/ngrams-subword.json || python -m papers ngrams "
                          f"hashformer-lsh-proj-bpe-base out/ngrams-subword.json --subword {BPE} && "),
        ("hashformers-2", "LSH Add", "test -f out/ngrams-word.json || python -m papers ngrams "
                                     "hashformer-lsh-add-base out/ngrams-word.json && "),
        ("elementwise-3", "ALBERT, original", "--tokenizer_name albert/albert-base-v2"),
        ("elementwise-3", "BERT, original, 16 heads", "--model_name_or_path bert-16heads-base --tokenizer_name"),
        ("elementwise-2", "ALBERT, original", "Nothing is run: all figures are counted."),
    ],
)  # fmt: skip
def test_a_row_has_its_published_vocabulary_or_weights(table, row, words, capsys):
    papers.main([table, "--dry_run", "--rows", row, "--output_dir", "out"])
    assert words in capsys.readouterr().out
    with pytest.raises(SystemExit, match=f"Table {table[-1]} has no row X; its rows are "):
        papers.main([table, "--rows", "X"])


@pytest.mark.parametrize("name", [name for name, table in papers.TABLES.items() if table.terms])
def test_a_plan_names_its_data_and_takes_other_data_another_precision_and_a_launcher(name, capsys):
    flags = [
        "--corpus",
        "a b.txt",
        "me/texts",
        "--data_dir",
        "my glue",
        "--bf16",
        "--launcher",
        "accelerate launch -x 2",
    ]
    table, shown = papers.TABLES[name], {}
    for title, more in (("default", []), ("changed", flags)):
        papers.main([name, "--dry_run", *more])
        shown[title] = capsys.readouterr().out.splitlines()
    (data,) = [line for line in shown["default"] if line.startswith("# Data: ")]
    recipes = {row.recipe or table.recipe for row in table.rows if row.objective}
    assert all(corpus in data for recipe in recipes for corpus in read_recipe(recipe)["corpus"])
    assert ("patents" if table.is_patents else "nyu-mll/glue") in data
    default, changed = (
        [
            shlex.split(each)
            for line in lines
            if not line.startswith("#")
            for each in line.replace("||", "&&").split("&&")
        ]
        for lines in shown.values()
    )
    for before, after in zip(default, changed, strict=True):
        flags = []
        if "run_pretraining.py" in before:
            assert after[:4] == ["accelerate", "launch", "-x", "2"] and after[4] == "run_pretraining.py"
            flags = ["--corpus", "a b.txt", "me/texts", "--bf16", "true"]
        elif "run_glue.py" in before:
            assert after[:2] == ["python", "run_glue.py"]
            flags = [*([] if table.is_patents else ["--data_dir", "my glue"]), "--bf16", "true"]
        elif "ngrams" in before:
            flags = ["--corpus", "a b.txt", "me/texts"]
        rest = [word for word in after if word not in ("accelerate", "launch", "-x", "2")]
        assert sorted(rest) == sorted([word for word in before if word != "python" or rest[0] == "python"] + flags)


def test_the_list_of_ngrams_is_counted_once_for_all_variants_with_the_same_units(subwords, tmp_path, capsys):
    (tmp_path / "text.txt").write_text("The cat sat.\nThe dog sat on the CAT.\n")
    corpus = ["--corpus", str(tmp_path / "text.txt")]
    for name, subword in (("lsh-emb1k-base", []), ("lsh-pool-base", []),
                          ("lsh-proj-bpe-base", ["--subword", subwords["bpe"]])):  # fmt: skip
        papers.main(["ngrams", f"hashformer-{name}", str(tmp_path / f"new/{name}.json"), *subword, *corpus])
    lists = [(tmp_path / f"new/lsh-{name}-base.json").read_bytes() for name in ("emb1k", "pool", "proj-bpe")]
    assert lists[0] == lists[1] != lists[2]
    unique = capsys.readouterr().out.splitlines()
    assert unique[0].startswith("6 unique tokens, 11,890,081 in the paper; ")  # the cat sat . dog on
    assert json.loads(lists[0])[:3] == ["t", "a", "at"]
    with pytest.raises(SystemExit, match="exists; give a new one"):
        papers.main(["ngrams", "hashformer-lsh-pool-base", str(tmp_path / "new/lsh-pool-base.json"), *corpus])


@pytest.mark.parametrize("shape", ["bert-uno", "albert-base"])
def test_a_word_table_is_hashes_of_the_tokens_at_the_usual_scale(shape, subwords, tmp_path: Path) -> None:
    command = ["hash-init", shape, str(tmp_path / "hashed"), "--subword", subwords["wordpiece"]]
    papers.main(command)
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "hashed")
    tokenizer, table = AutoTokenizer.from_pretrained(tmp_path / "hashed"), model.get_input_embeddings()
    assert table.weight is model.get_output_embeddings().weight and len(table.weight) == len(tokenizer)
    tokens = tokenizer.convert_ids_to_tokens(list(range(5, len(tokenizer))))
    cosines = F.cosine_similarity(table.weight[5:], embed(tokens, table.embedding_dim))
    torch.testing.assert_close(cosines, torch.ones_like(cosines))
    assert abs(table.weight.std().item() / model.config.initializer_range - 1) < 0.05
    assert not table.weight[tokenizer.pad_token_id].any()
    with pytest.raises(SystemExit, match="holds files; give a new or an empty one"):
        papers.main(command)
    if shape == "bert-uno":
        (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog.\n" * 40)
        flags = f"--corpus {tmp_path}/text.txt --max_steps 2 --max_seq_length 16 --use_cpu true".split()
        flags += ["--model_name_or_path", str(tmp_path / "hashed"), "--output_dir", str(tmp_path / "run")]
        run_pretraining.main(flags)
        trained = AutoModelForMaskedLM.from_pretrained(tmp_path / "run").get_input_embeddings()
        assert 0 < (table.weight - trained.weight).abs().max() < 0.01


def test_rows_are_what_the_front_end_of_the_variant_gives(subwords) -> None:
    model = VocablessModel(load_config("eelbert-tiny"))
    tokenizer = load_tokenizer("eelbert-tiny", subword=subwords["wordpiece"])
    encoding = tokenizer("the quick lazy fox", return_tensors="pt")
    expected = model.front_end(encoding["input_ids"])[0]
    torch.testing.assert_close(embed(encoding.tokens(), model.config.embedding_size), expected)
