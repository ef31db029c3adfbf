"""The table of variants: every row builds, trains, saves, loads, reads text, and has its published size."""

import re

import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from vocabless import (
    VocablessForMaskedLM,
    VocablessForSequenceClassification,
    VocablessModel,
    list_variants,
    load_config,
    load_tokenizer,
)
from vocabless.encoder_shapes import SIZES
from vocabless.variants import VARIANTS

TEXT = ["The quick brown fox, at 25 °C, jumps over the lazy dog.", "", "naïve Ünïcode 日本語 😀 \x00 " + "x" * 50]

EXPECTED_NAMES = """
hashformer-{md5,lsh}-{emb50k,emb1k}-base
hashformer-{md5,lsh}-{pool,add,proj}-{base,small,mini,tiny}
hashformer-{md5,lsh}-{emb50k,proj}-bpe-base
proformer
eelbert-{base,mini,tiny,uno}
eelbert-word-{mini,tiny,uno}
eelbert-random-{base,mini}
ewe-bert-{base,mini,tiny}
ewe-{albert,canine}-base
ewe-bert-gradient-base
ewe-bert-bytes-base
ewe-bert-nofocus-base
hashgram-{nano,uno,tiny,mini}
""".split()


def expand(pattern: str) -> list[str]:
    """Returns the names that braces stand for.

    >>> expand("a-{b,c}")
    ['a-b', 'a-c']
    """
    found = re.search(r"\{(.*?)\}", pattern)
    if not found:
        return [pattern]
    return [name for choice in found[1].split(",") for name in expand(pattern.replace(found[0], choice, 1))]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def tokenizer_of(subwords):
    return lambda name, **kwargs: load_tokenizer(name, subword=subwords.get(VARIANTS[name].splitter), **kwargs)


def count(model_class: type, config: object) -> int:
    """Parameters as the papers count them: the matrix of the masked-LM output, dropped after training, is none."""
    with torch.device("meta"):
        model = model_class(config)
        model.tie_weights()
    matrix = model.decoder.weight.numel() if model_class is VocablessForMaskedLM else 0
    return model.num_parameters() - matrix


WITHOUT_EFFECT = ("key.bias", "front_end.score.bias")  # a softmax does not depend on them


# ---- the table -----------------------------------------------------------------------------------------------------


def test_the_table_holds_the_family() -> None:
    expected = {name for pattern in EXPECTED_NAMES for name in expand(pattern)}
    assert set(list_variants()) == expected
    assert len(list_variants()) == len(expected) == 54


def test_a_name_says_what_a_variant_is() -> None:
    for name, row in VARIANTS.items():
        assert name == row.name == name.lower()
        assert row.source and row.objective in ("shuffle-random", "mlm", "distill", None)
        if name != "proformer":
            assert name.rsplit("-", 1)[1] == row.size
            layers, width, heads, _ = SIZES[row.size]
            config = load_config(name)
            assert (config.num_hidden_layers, config.hidden_size) == (layers, width)
            assert config.num_attention_heads == (config.block_size if name.startswith("ewe") else heads)


@pytest.mark.parametrize("name", list_variants())
def test_a_variant_builds_trains_saves_and_loads(name: str, shrink, tokenizer_of, tmp_path) -> None:
    config = shrink(load_config(name, num_labels=3))
    tokenizer = tokenizer_of(name)
    assert tokenizer.block_size == config.block_size
    inputs = tokenizer(TEXT, padding=True, truncation=True, return_tensors="pt")
    assert inputs["input_ids"].shape[2] == config.block_size

    model = VocablessForSequenceClassification(config)
    loss = model(**inputs, labels=torch.tensor([0, 1, 2])).loss
    loss.backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), parameter_name
        if not parameter_name.endswith(WITHOUT_EFFECT):
            assert parameter.grad.abs().sum() > 0, parameter_name

    model.eval().save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").exists()
    again = VocablessForSequenceClassification.from_pretrained(tmp_path).eval()
    expected = dict([*model.named_parameters(), *model.named_buffers()])
    got = dict([*again.named_parameters(), *again.named_buffers()])
    assert got.keys() == expected.keys()
    assert [key for key, value in expected.items() if not torch.equal(got[key], value)] == []
    with torch.no_grad():
        assert torch.equal(again(**inputs).logits, model(**inputs).logits)


@pytest.mark.parametrize("name", list_variants())
def test_a_text_of_the_greatest_length_fits_and_a_longer_one_does_not(name: str, shrink, tokenizer_of) -> None:
    config, tokenizer = shrink(load_config(name)), tokenizer_of(name)
    model = VocablessModel(config).eval()
    inputs = tokenizer("fox " * 3000, truncation=True, return_tensors="pt")
    assert inputs["input_ids"].shape[1] == VARIANTS[name].max_length
    with torch.no_grad():
        assert model(**inputs).last_hidden_state.isfinite().all()
        too_long = torch.zeros(1, model.max_tokens + 1, config.block_size, dtype=torch.int64)
        with pytest.raises(ValueError, match="positions"):
            model(too_long)


# ---- published numbers of parameters -------------------------------------------------------------------------------


def turc(size: str, **options: int) -> BertConfig:
    layers, width, heads, _ = SIZES[size]
    shape = {"num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads}
    return BertConfig(**{**shape, "intermediate_size": 4 * width, **options})


@pytest.mark.parametrize(
    ("name", "head", "published"),
    [
        ("eelbert-base", VocablessForMaskedLM, 86_073_402),
        ("eelbert-mini", VocablessForSequenceClassification, 3_357_442),
        ("eelbert-mini", VocablessForMaskedLM, 3_387_962),
        ("eelbert-random-mini", VocablessForMaskedLM, 3_387_962),
        ("eelbert-tiny", VocablessForSequenceClassification, 479_362),
        ("eelbert-uno", VocablessForMaskedLM, 312_506),
        ("hashformer-md5-emb50k-base", VocablessForSequenceClassification, 124_647_170),
        ("hashformer-lsh-emb50k-base", VocablessForSequenceClassification, 124_647_170),
        ("proformer", VocablessForSequenceClassification, 15_092_738),
    ],
)
def test_a_variant_has_the_published_number_of_parameters(name: str, head: type, published: int) -> None:
    assert count(head, load_config(name)) == published


@pytest.mark.parametrize(
    ("config", "head", "published"),
    [
        (BertConfig(), BertForMaskedLM, 109_514_298),
        (turc("mini"), BertForSequenceClassification, 11_171_074),
        (turc("tiny"), BertForSequenceClassification, 4_386_178),
        (
            RobertaConfig(vocab_size=50_265, max_position_embeddings=514, type_vocab_size=1),
            RobertaForSequenceClassification,
            124_647_170,
        ),
    ],
)
def test_the_library_counts_the_papers_baselines_alike(config: object, head: type, published: int) -> None:
    assert count(head, config) == published


def test_eelbert_is_bert_without_its_word_table() -> None:
    for size in ("base", "mini", "tiny"):
        config = load_config(f"eelbert-{size}")
        width = config.hidden_size
        assert count(BertForMaskedLM, turc(size)) - count(VocablessForMaskedLM, config) == 30_522 * width
        stock = count(BertForSequenceClassification, turc(size))
        assert stock - count(VocablessForSequenceClassification, config) == 30_522 * width


@pytest.mark.parametrize("coder", ["md5", "lsh"])
@pytest.mark.parametrize(
    ("front_end", "rows", "published"),
    [("emb1k", 1_038 - 5, "797.2K"), ("pool", 1_038, "797.2K"), ("add", 257, "197.4K"), ("proj", 129, "99.1K")],
)
def test_hashformers_embeddings_have_the_published_size(coder: str, front_end: str, rows: int, published: str) -> None:
    config = load_config(f"hashformer-{coder}-{front_end}-base")
    with torch.device("meta"):
        model = VocablessForSequenceClassification(config)
    embeddings = sum(parameter.numel() for parameter in model.vocabless.front_end.parameters())
    special = 5 * 768
    assert embeddings - special == rows * 768
    assert f"{(embeddings - (0 if front_end == 'emb1k' else special)) / 1000:.1f}K" == published
    assert model.num_parameters() - embeddings == 86_043_650


def test_proformer_projects_its_bits_and_nothing_else() -> None:
    with torch.device("meta"):
        model = VocablessModel(load_config("proformer"))
    assert sum(parameter.numel() for parameter in model.front_end.parameters()) == 322_560 == 420 * 768


def test_elementwise_has_a_byte_table_and_two_focus_tables() -> None:
    with torch.device("meta"):
        model = VocablessModel(load_config("ewe-bert-base"))
        nofocus = VocablessModel(load_config("ewe-bert-nofocus-base"))
    assert model.front_end.elements.weight.numel() == 12_288 + 5 * 48
    assert model.front_end.focus.weight.shape == (2_048, 48)
    assert model.encoder.embeddings.position_embeddings.weight.shape == (128, 768)
    assert model.num_parameters() - nofocus.num_parameters() == 2_048 * 48


# ---- what is asked for wrongly -------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_config, load_tokenizer])
def test_an_unknown_variant_names_near_ones(load) -> None:
    with pytest.raises(ValueError, match=r"unknown variant 'eelbert-tinny'; did you mean .*eelbert-tiny"):
        load("eelbert-tinny")
    with pytest.raises(
        ValueError, match=r"unknown variant '1234'; choose one of hashformer-md5-emb50k-base, .*proformer"
    ):
        load("1234")


def test_arguments_go_before_the_table() -> None:
    config = load_config("eelbert-tiny", num_labels=7, target_vocab_size=11, front_end_options={"seed": 3})
    assert (config.num_labels, config.target_vocab_size, config.front_end_options) == (7, 11, {"seed": 3})
    assert load_tokenizer("ewe-bert-tiny", model_max_length=9).model_max_length == 9


def test_two_loads_share_nothing() -> None:
    load_config("ewe-bert-base").front_end_options["focus"] = False
    load_config("eelbert-tiny").encoder_config.num_hidden_layers = 99
    assert "focus" not in load_config("ewe-bert-base").front_end_options
    assert load_config("eelbert-tiny").num_hidden_layers == 2


def test_a_subword_tokenizer_is_a_file_or_its_folder(subwords, tmp_path) -> None:
    file = subwords["wordpiece"]
    expected = load_tokenizer("eelbert-tiny", subword=file)(TEXT)["input_ids"]
    assert load_tokenizer("eelbert-tiny", subword=file.removesuffix("/tokenizer.json"))(TEXT)["input_ids"] == expected
    load_tokenizer("eelbert-tiny", subword=file).save_pretrained(tmp_path)
    assert load_tokenizer("eelbert-tiny", subword=tmp_path)(TEXT)["input_ids"] == expected


def test_a_subword_tokenizer_that_is_not_there_is_refused(tmp_path, monkeypatch) -> None:
    def unreachable(*args: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("vocabless.loading.cached_file", unreachable)
    with pytest.raises(ValueError, match=r"the folder '.*' holds no tokenizer\.json; give the file itself"):
        load_tokenizer("eelbert-tiny", subword=tmp_path)
    with pytest.raises(ValueError, match=r"'no/such' is neither a file, a folder nor a reachable Hub repository; give"):
        load_tokenizer("eelbert-tiny", subword="no/such")
    with pytest.raises(ValueError, match=r"proformer reads whole words and has no use for subword='x'; leave it out"):
        load_tokenizer("proformer", subword="x")
