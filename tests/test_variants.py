"""The table of variants: every row builds, trains, reads text, and has its published size."""

import pytest
import torch

from vocabless import (
    VocablessForMaskedLM,
    VocablessForSequenceClassification,
    list_variants,
    load_config,
    load_tokenizer,
)
from vocabless.loading import ENCODERS, default_encoder, find_model
from vocabless.stock_shapes import load_shape_config, load_shape_tokenizer
from vocabless.training.finetuning.tasks.arguments import GlueArguments
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.variants import SIZES, VARIANTS

TEXT = ["The quick brown fox, at 25 °C, jumps over the lazy dog.", "", "naïve Ünïcode 日本語 😀 \x00 " + "x" * 50]
WITHOUT_EFFECT = ("key.bias", "front_end.score.bias")  # a softmax does not depend on them


def with_every_part() -> list[str]:
    """The first variants of the table that together have every front end, encoder, splitter and coder."""
    names, seen = [], set()
    for name, row in VARIANTS.items():
        parts = {(*row.front_end[1], row.front_end[0]), row.encoder, row.splitter, row.coder[0]}
        names += [name] if parts - seen else []
        seen |= parts
    return names


QUICK = with_every_part()


def test_a_name_says_what_a_variant_is() -> None:
    for name, row in VARIANTS.items():
        assert name == row.name == name.lower()
        assert row.source and row.objective in ("shuffle-random", "mlm", "distill", None)
        if name not in ("proformer", "hashgram-mini", "hashgram-multi"):  # they have two layers
            assert name.rsplit("-", 1)[1] == row.size
            layers, width, heads, _ = SIZES[row.size]
            config = load_config(name)
            assert (config.num_hidden_layers, config.encoder_config.hidden_size) == (layers, width)
            assert config.num_attention_heads == (config.block_size if name.startswith("ewe") else heads)


@pytest.mark.parametrize("name", list_variants())
@pytest.mark.quick(*QUICK)
def test_a_variant_builds_trains_and_reads_texts_up_to_its_greatest_length(name: str, shrink, subwords) -> None:
    torch.manual_seed(0)
    tokenizer = load_tokenizer(name, subword=subwords.get(VARIANTS[name].splitter))
    model = VocablessForSequenceClassification(shrink(load_config(name, num_labels=3)))
    block_size, encoder = model.config.block_size, model.base_model
    inputs = tokenizer(TEXT, padding=True, truncation=True, return_tensors="pt")
    assert inputs["input_ids"].shape[2] == tokenizer.block_size == block_size
    model(**inputs, labels=torch.tensor([0, 1, 2])).loss.backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), parameter_name
        if not parameter_name.endswith(WITHOUT_EFFECT):
            assert parameter.grad.abs().sum() > 0, parameter_name

    inputs = tokenizer("fox " * 3000, truncation=True, return_tensors="pt")
    assert inputs["input_ids"].shape[1] == VARIANTS[name].max_length
    with torch.no_grad():
        assert encoder.eval()(**inputs).last_hidden_state.isfinite().all()
        with pytest.raises(ValueError, match="positions"):
            encoder(torch.zeros(1, encoder.max_tokens + 1, block_size, dtype=torch.int64))


def on_meta(name: str, head: type = VocablessForSequenceClassification, **options: object) -> torch.nn.Module:
    with torch.device("meta"):
        model = head(load_config(name, **options))
        model.tie_weights()
    return model


@pytest.mark.parametrize(("name", "head", "published"), [
    ("eelbert-base", VocablessForMaskedLM, 86_073_402),
    ("eelbert-mini", VocablessForSequenceClassification, 3_357_442),
    ("eelbert-mini", VocablessForMaskedLM, 3_387_962), ("eelbert-random-mini", VocablessForMaskedLM, 3_387_962),
    ("eelbert-tiny", VocablessForSequenceClassification, 479_362), ("eelbert-uno", VocablessForMaskedLM, 312_506),
    ("hashformer-md5-emb50k-base", VocablessForSequenceClassification, 124_647_170),
    ("proformer", VocablessForSequenceClassification, 15_092_738),
    *(  # the printed 797.2K, 197.4K and 99.1K of HashFormers; docs/papers.md says how special tokens are counted
        (f"hashformer-md5-{front_end}-base", VocablessForSequenceClassification, 86_043_650 + (rows + 5) * 768)
        for front_end, rows in (("emb1k", 1_033), ("pool", 1_038), ("add", 257), ("proj", 129))
    ),
])  # fmt: skip
def test_a_variant_has_the_published_number_of_parameters(name: str, head: type, published: int) -> None:
    """As the papers count them: the matrix of the masked-LM output, dropped after training, is none."""
    model = on_meta(name, head)
    assert model.num_parameters() - (model.decoder.weight.numel() if head is VocablessForMaskedLM else 0) == published


def test_elementwise_has_the_papers_tokens_bytes_widths_and_ablations() -> None:
    """Table 2: M = 128, N = A = 16, and C = 48, 8 and 48. CANINE makes M = 128 of 512 units (section 5)."""
    for name, width, units in (("bert", 48, 128), ("albert", 8, 128), ("canine", 48, 512)):
        row, config = VARIANTS[f"ewe-{name}-base"], load_config(f"ewe-{name}-base")
        assert (row.splitter, row.max_length, row.block_size) == ("whitespace", units, 16)
        assert config.num_attention_heads == 16 and config.embedding_size == 16 * width
    assert load_config("ewe-canine-base").encoder_config.downsampling_rate == 512 // 128
    units = load_tokenizer("ewe-bert-base").unit_splitter.units("A brought-in basket, of apples.")
    assert units == ["A", "brought-in", "basket,", "of", "apples."]

    base, no_focus, gradient = (on_meta(f"ewe-bert-{name}base") for name in ("", "nofocus-", "gradient-"))
    added = base.num_parameters() - no_focus.num_parameters()  # Table 5
    assert added == 2_048 * 48 + 128 * 768 == 196_608  # footnote 6: approximately 200k, g and f together
    row, front_end = VARIANTS["ewe-bert-gradient-base"], gradient.base_model.front_end  # Table 4
    assert (row.splitter, row.block_size, row.max_length) == ("bytes", 8, 128)  # N = 8, tokenization-free
    assert front_end.score is not None and front_end.focus is None
    assert "position_embeddings.weight" not in " ".join(gradient.state_dict())


def test_the_originals_of_elementwise_are_stock_shapes() -> None:
    """Tables 2 and 3, and section 5: BERT with 12 and with 16 heads, ALBERT with D = 128, CANINE over characters."""
    bert, wide, albert = (load_shape_config(name, 30_000) for name in ("bert-base", "bert-16heads-base", "albert-base"))
    assert [config.num_attention_heads for config in (bert, wide, albert)] == [12, 16, 12]
    assert (albert.embedding_size, albert.hidden_size) == (128, 768)
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):  # a pair that is compared has the same
        assert getattr(load_config("ewe-albert-base").encoder_config, name) == getattr(albert, name) == 0.1
    canine, tokenizer = load_shape_config("canine-base", 0), load_shape_tokenizer("canine-base", None)
    assert (canine.num_hash_buckets, canine.num_hash_functions, canine.downsampling_rate) == (16_384, 8, 4)
    assert tokenizer("abc", max_length=4, truncation=True)["input_ids"] == [0xE000, ord("a"), ord("b"), 0xE001]


def test_arguments_go_before_the_table_and_two_loads_share_nothing() -> None:
    config = load_config("eelbert-tiny", num_labels=7, target_vocab_size=11, front_end_options={"seed": 3})
    assert (config.num_labels, config.target_vocab_size, config.front_end_options) == (7, 11, {"seed": 3})
    assert load_tokenizer("ewe-bert-tiny", model_max_length=9).model_max_length == 9
    load_config("ewe-bert-base").front_end_options["focus"] = False
    config.encoder_config.num_hidden_layers = 99
    assert "focus" not in load_config("ewe-bert-base").front_end_options
    assert load_config("eelbert-tiny").num_hidden_layers == 2


def test_a_subword_tokenizer_is_a_file_or_its_folder(subwords, tmp_path) -> None:
    load_tokenizer("eelbert-tiny", subword=subwords["wordpiece"]).save_pretrained(tmp_path)
    sources = subwords["wordpiece"], subwords["wordpiece"].removesuffix("/tokenizer.json"), tmp_path
    file, *folders = (load_tokenizer("eelbert-tiny", subword=source)(TEXT)["input_ids"] for source in sources)
    assert folders == [file, file]


@pytest.mark.parametrize(("load", "arguments", "message"), [
    (load_config, ("eelbert-tinny",), r"unknown variant 'eelbert-tinny'; did you mean .*eelbert-tiny"),
    (load_tokenizer, ("1234",), r"unknown variant '1234'; choose one of hashformer-md5-emb50k-base, .*proformer"),
    (load_shape_tokenizer, ("canine-base", "a.json"), "canine-base reads characters and has no use for a subword tok"),
    (load_shape_tokenizer, ("albert-base", None), "albert-base needs a subword tokenizer; give one"),
    (load_tokenizer, ("eelbert-tiny", "FOLDER"), r"folder '.*' holds no tokenizer\.json; give the file itself"),
    (load_tokenizer, ("eelbert-tiny", "no/such"), r"'no/such' is neither a file, a folder nor a reachable Hub repo"),
    (load_tokenizer, ("eelbert-tiny", "mine.json"), r"'mine.json' is neither a file, a folder nor a reachable Hub"),
    (load_tokenizer, ("proformer", "x"), r"reads no subwords and has no use for subword='x'; leave it out"),
])  # fmt: skip
def test_an_unknown_variant_and_a_useless_or_missing_tokenizer_are_refused(
    load, arguments, message, tmp_path, monkeypatch
):
    def unreachable(source: str, *args: object) -> None:
        assert not source.endswith(".json")  # without a network, the Hub is asked for many seconds
        raise OSError("no network")

    monkeypatch.setattr("vocabless.loading.cached_file", unreachable)
    with pytest.raises(ValueError, match=message):
        load(*(tmp_path if argument == "FOLDER" else argument for argument in arguments))


def test_the_encoders_of_the_package_are_found_by_their_names_at_once(tmp_path, monkeypatch):
    for language, name in ENCODERS.items():
        assert find_model(name) == default_encoder(language)
        assert find_model(language) == default_encoder(language)
        others = GlueArguments(teacher=name, tokenizer_name=language)
        assert (others.teacher, others.tokenizer_name) == (default_encoder(language),) * 2
        for arguments in (GlueArguments, PretrainingArguments):
            assert arguments(model_name_or_path=name).model_name_or_path == default_encoder(language)
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    assert find_model(name) == name
