"""The configuration: what reaches the encoder, what is refused, and that it never runs foreign code."""

import json

import pytest
import torch
from front_end_blocks import make_config
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, BertConfig

from vocabless import VocablessConfig, VocablessModel, load_config, load_tokenizer
from vocabless.modeling.blocks import NUM_ELEMENTS
from vocabless.modeling.configuration_vocabless import AUTO_MAP

EWE = load_config("ewe-bert-tiny").to_dict()
# An encoder is built before it is refused: of base size, that takes seconds.
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}


@pytest.fixture
def folder(tmp_path):
    """A model whose weights name no config.json, so that a test may write another one."""
    model = VocablessModel(VocablessConfig.from_dict(EWE))
    model.save_pretrained(tmp_path)
    save_file(model.state_dict(), tmp_path / "model.safetensors", metadata={"format": "pt"})
    return tmp_path


def test_what_belongs_to_the_encoder_reaches_it():
    config = load_config("ewe-bert-tiny", hidden_dropout_prob=0.3, num_labels=3, output_hidden_states=True)
    assert config.encoder_config.hidden_dropout_prob == 0.3
    assert "hidden_dropout_prob" not in config.to_dict()
    assert (config.num_labels, config.output_hidden_states, config.encoder_config.num_labels) == (3, True, 2)
    distilbert = VocablessConfig(encoder_config={"model_type": "distilbert"}, hidden_size=96, n_layers=2)
    assert (distilbert.hidden_size, distilbert.num_hidden_layers) == (96, 2)
    load_config("ewe-bert-tiny", attn_implementation="eager", dtype="float32", id2label={0: "a"}, variant="mine")
    with pytest.raises(ValueError, match=r"'block_sise' is an argument of neither .*block_size"):
        load_config("ewe-bert-tiny", block_sise=1)


@pytest.mark.parametrize("load", [VocablessModel, AutoModel])
def test_so_it_does_when_a_checkpoint_is_loaded(load, folder):
    model = load.from_pretrained(folder, hidden_dropout_prob=0.3, num_labels=5)
    assert model.config.num_labels == 5
    rates = {module.p for module in model.encoder.modules() if isinstance(module, torch.nn.Dropout)}
    assert rates == {0.1, 0.3}
    assert AutoConfig.from_pretrained(folder, hidden_dropout_prob=0.4).encoder_config.hidden_dropout_prob == 0.4
    with pytest.raises(ValueError, match=r"'hidden_droput_prob' is an argument of neither .*; near names are hid"):
        load.from_pretrained(folder, hidden_droput_prob=0.3)


def test_the_size_of_the_vocabulary_is_that_of_the_tokenizer_and_stays_out_of_the_file(folder):
    before = (folder / "config.json").read_text()
    config, tokenizer = AutoConfig.from_pretrained(folder), load_tokenizer("ewe-bert-tiny")
    assert config.vocab_size == NUM_ELEMENTS == len(tokenizer) == tokenizer.vocab_size
    assert '"vocab_size": 261' not in before and "vocab_size" not in {*json.loads(before)}
    config.save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text()) == json.loads(before)


def test_the_callers_encoder_configuration_is_not_changed():
    encoder = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=32)
    original = encoder.to_dict()
    assert VocablessConfig(encoder_config=encoder).encoder_config.vocab_size == 1
    assert encoder.to_dict() == original


@pytest.mark.parametrize(("options", "message"), [
    ({"block_size": 10**9}, r"block_size is 10+; give an integer from 1 to 4096"),
    ({"block_size": "16"}, r"block_size is '16'; give an integer"),
    ({"num_hidden_layers": 10**6}, r"num_hidden_layers is 10+; give an integer from 0 to 1024"),
    ({"num_labels": 1.5}, r"num_labels is 1\.5; give an integer from 1"),
    ({"encoder_config": {"model_type": "distilbert", "dim": 10**9}}, r"hidden_size is 10+; .* from 1 to 65536"),
    ({"encoder_config": {"model_type": "bert", "intermediate_size": -1}}, r"intermediate_size is -1; .* from 1 to"),
    ({"encoder_config": {"model_type": "vocabless"}}, r"a model of this family; give a stock encoder, for instance"),
    ({"encoder_config": {"hidden_size": 8}}, r"keys \['hidden_size'\] but no model_type; add one"),
    ({"encoder_config": [1]}, r"encoder_config is \[1\]; give a configuration, or a dict with model_type"),
    ({"encoder_config": {"model_type": "bert", "hidden_act": "x"}}, r"describes no 'bert' model .*; correct config"),
    ({"encoder_config": {"model_type": "t5"}}, r"'t5' is not an encoder that accepts inputs_embeds; choose .*bert"),
    ({"encoder_config": {"model_type": "vit", **SMALL}}, r"'vit' is not an encoder that accepts inputs_embeds; choose"),
    ({"encoder_config": {"model_type": "modernbert", "pad_token_id": 0, **SMALL}, "position_embeddings": False},
     r"'modernbert' has no table of positions to drop; .*position_embeddings=True"),
    ({"front_end": []}, r"unknown front_end \[\]; choose one of bucket"),
    ({"front_end_options": {"seed": "x"}}, r"front_end '\w+' .*; "),
    ({"front_end_options": [1]}, r"is \[1\]; give a dict"),
    ({"front_end": "elementwise", "front_end_options": {}, "block_size": 8, "num_attention_heads": 4},
     r"one attention head for each of the 8 elements .* has 4 attention heads; make num_attention_heads"),
    ({"classifier_pooling": "max"}, r"classifier_pooling is 'max'; give one of cls, mean, siamese"),
    ({"classifier_reads_sentences": "all"}, r"reads_sentences is 'all'; give one of False, True, odds"),
    ({"classifier_activation": "relu"}, r"classifier_activation is 'relu'; give one of tanh, rms_norm"),
    ({"classifier_dropout": float("nan")}, r"classifier_dropout is nan; give a number from 0 to 1, or None"),
    ({"architectures": [1]}, r"; correct config"), ({"id2label": [1]}, r"id2label .* is \[1\]; number"),
    ({"id2label": {"0": ["a"], "1": "b"}}, r"number the labels"), ({"problem_type": "x"}, r"problem_type is 'x'; give"),
    ({"dtype": "x"}, r"; correct config"),
])  # fmt: skip
def test_a_wrong_value_in_a_file_is_refused_in_one_sentence(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        VocablessModel(VocablessConfig.from_dict({**make_config().to_dict(), **options}))
    assert "\n" not in str(caught.value)


KERNELS = dict.fromkeys(("attn_implementation", "_attn_implementation", "experts_implementation"), "owner/kernel")
FOREIGN = {
    "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"},
    "custom_pipelines": {"text-classification": {"impl": "evil.Pipeline"}},
    "trust_remote_code": True, **KERNELS,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["bert", "foreign"])
@pytest.mark.parametrize("trust", [{}, {"trust_remote_code": True}])
def test_code_that_an_encoder_config_names_never_runs(kind, trust, folder):
    marker = folder / "ran"
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nConfig = Model = Pipeline = None\n")
    foreign = {**FOREIGN, "model_type": kind, "_name_or_path": str(folder)}
    (folder / "config.json").write_text(json.dumps({**EWE, "encoder_config": {**EWE["encoder_config"], **foreign}}))
    for load in (AutoConfig.from_pretrained, AutoModel.from_pretrained, VocablessModel.from_pretrained):
        if kind == "bert":
            loaded = load(folder, **trust)
            encoder = getattr(loaded, "config", loaded).encoder_config
            assert not {*FOREIGN} & {*encoder.to_dict()}
            assert encoder._attn_implementation in (None, "sdpa")
        else:
            with pytest.raises(ValueError, match="foreign"):
                load(folder, **trust)
    assert not marker.exists()


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_that_a_file_names_are_not_loaded_but_those_of_the_caller_are(name, folder):
    (folder / "config.json").write_text(json.dumps({**EWE, name: "owner/kernel"}))
    for expected, options in (("sdpa", {}), ("eager", {"attn_implementation": "eager"})):
        loaded = VocablessModel.from_pretrained(folder, **options)
        assert loaded.config._attn_implementation == loaded.encoder.config._attn_implementation == expected
        assert "owner/kernel" not in vars(loaded.config).values()


@pytest.mark.parametrize(("head", "tasks"), [
    ("VocablessForSequenceClassification", set()), ("VocablessForMaskedLM", {"fill-mask"}),
    ("VocablessForTokenClassification", {"token-classification", "ner"}),
])  # fmt: skip
def test_a_checkpoint_names_the_pipelines_of_its_head_whatever_its_file_names(head, tasks):
    file = {"architectures": [head], "custom_pipelines": {"question-answering": {"impl": "pipelines_vocabless.Old"}}}
    assert {*VocablessConfig.from_dict(file).custom_pipelines} == tasks


@pytest.mark.parametrize("auto", [AutoModel, AutoModelForSequenceClassification])
def test_a_checkpoint_that_names_a_head_of_an_earlier_version_loads(auto, folder):
    gone = {"AutoModelForMultipleChoice": "modeling_vocabless.VocablessForMultipleChoice"}
    (folder / "config.json").write_text(json.dumps({**EWE, "auto_map": AUTO_MAP | gone}))
    assert auto.from_pretrained(folder).config.auto_map == AUTO_MAP
