"""The configuration: what reaches the encoder, what is refused, and that it never runs foreign code."""

import json

import pytest
import torch
from transformers import AutoConfig, AutoModel

from vocabless import VocablessConfig, VocablessModel, load_config


def shrunk(**kwargs):
    return load_config("ewe-bert-tiny", **kwargs)


def test_what_belongs_to_the_encoder_reaches_it():
    config = shrunk(hidden_dropout_prob=0.3, num_labels=3, output_hidden_states=True)
    assert config.encoder_config.hidden_dropout_prob == 0.3
    assert "hidden_dropout_prob" not in config.to_dict()
    assert (config.num_labels, config.output_hidden_states, config.encoder_config.num_labels) == (3, True, 2)
    distilbert = VocablessConfig(encoder_config={"model_type": "distilbert"}, hidden_size=96, n_layers=2)
    assert (distilbert.hidden_size, distilbert.num_hidden_layers) == (96, 2)


@pytest.mark.parametrize("load", [VocablessModel, AutoModel])
def test_so_it_does_when_a_checkpoint_is_loaded(load, tmp_path):
    VocablessModel(shrunk()).save_pretrained(tmp_path)
    model = load.from_pretrained(tmp_path, hidden_dropout_prob=0.3, num_labels=5)
    assert model.config.num_labels == 5
    rates = {module.p for module in model.encoder.modules() if isinstance(module, torch.nn.Dropout)}
    assert rates == {0.1, 0.3}
    assert AutoConfig.from_pretrained(tmp_path, hidden_dropout_prob=0.4).encoder_config.hidden_dropout_prob == 0.4
    with pytest.raises(ValueError, match=r"'hidden_droput_prob' is an argument of neither .*; near names are hid"):
        load.from_pretrained(tmp_path, hidden_droput_prob=0.3)


def test_what_belongs_to_nothing_is_refused_with_near_names():
    with pytest.raises(ValueError, match=r"'block_sise' is an argument of neither .*block_size"):
        shrunk(block_sise=1)


def test_names_of_the_whole_model_are_accepted():
    shrunk(attn_implementation="eager", dtype="float32", id2label={0: "a"}, problem_type="regression", variant="mine")


LIMITS = {
    "block_size": {"block_size": 10**9},
    "num_hidden_layers": {"num_hidden_layers": 10**6},
    "hidden_size": {"encoder_config": {"model_type": "distilbert", "dim": 10**9}},
    "intermediate_size": {"encoder_config": {"model_type": "bert", "intermediate_size": -1}},
}


@pytest.mark.parametrize("name", LIMITS)
def test_numbers_that_would_fill_the_memory_are_refused(name):
    with pytest.raises(ValueError, match=rf"{name}.* from [01] to \d+"):
        VocablessModel(VocablessConfig(**LIMITS[name]))


def test_an_encoder_of_this_family_is_refused():
    with pytest.raises(ValueError, match="give a stock encoder"):
        VocablessConfig(encoder_config={"model_type": "vocabless"})


FOREIGN = {
    "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"},
    "custom_pipelines": {"text-classification": {"impl": "evil.Pipeline"}},
    "trust_remote_code": True,
    "attn_implementation": "owner/kernel",
    "_attn_implementation": "owner/kernel",
    "experts_implementation": "owner/kernel",
}


@pytest.mark.parametrize("kind", ["bert", "foreign"])
@pytest.mark.parametrize("trust", [{}, {"trust_remote_code": True}])
def test_code_that_an_encoder_config_names_never_runs(kind, trust, tmp_path):
    model = VocablessModel(shrunk())
    model.save_pretrained(tmp_path)
    marker = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nConfig = Model = Pipeline = None\n")
    file = tmp_path / "config.json"
    config = json.loads(file.read_text())
    config["encoder_config"] |= {**FOREIGN, "model_type": kind, "_name_or_path": str(tmp_path)}
    file.write_text(json.dumps(config))
    for load in (AutoConfig.from_pretrained, AutoModel.from_pretrained, VocablessModel.from_pretrained):
        if kind == "bert":
            loaded = load(tmp_path, **trust)
            encoder = getattr(loaded, "config", loaded).encoder_config
            assert not {*FOREIGN} & {*encoder.to_dict()}
            assert encoder._attn_implementation in (None, "sdpa")
        else:
            with pytest.raises(ValueError, match="foreign"):
                load(tmp_path, **trust)
    assert not marker.exists()


@pytest.mark.parametrize("name", ["attn_implementation", "_attn_implementation", "experts_implementation"])
def test_kernels_that_a_file_names_are_not_loaded_but_those_of_the_caller_are(name, tmp_path):
    model = VocablessModel(shrunk())
    model.save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), name: "owner/kernel"}))
    loaded = VocablessModel.from_pretrained(tmp_path)
    assert loaded.config._attn_implementation == loaded.encoder.config._attn_implementation == "sdpa"
    assert "owner/kernel" not in vars(loaded.config).values()
    eager = VocablessModel.from_pretrained(tmp_path, attn_implementation="eager")
    assert eager.config._attn_implementation == eager.encoder.config._attn_implementation == "eager"


WRONG_TYPES = [
    ("encoder_config", [1]), ("encoder_config", {"model_type": "bert", "hidden_act": "x"}), ("front_end", []),
    ("front_end_options", {"seed": "x"}), ("architectures", [1]), ("classifier_dropout", float("nan")),
    ("id2label", [1]), ("num_labels", 1.5), ("dtype", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG_TYPES)
def test_a_value_of_a_wrong_type_in_a_file_is_one_sentence(name, value):
    data = {**load_config("eelbert-word-tiny").to_dict(), name: value}
    with pytest.raises(ValueError) as caught:
        VocablessModel(VocablessConfig.from_dict(data))
    assert "\n" not in str(caught.value) and "; " in str(caught.value)


@pytest.mark.parametrize(("head", "tasks"), [
    ("VocablessForSequenceClassification", set()), ("VocablessForMaskedLM", {"fill-mask"}),
    ("VocablessForTokenClassification", {"token-classification", "ner"}), ("VocablessForQuestionAnswering", set()),
])  # fmt: skip
def test_a_checkpoint_names_the_pipelines_of_its_head_whatever_its_file_names(head, tasks):
    file = {"architectures": [head], "custom_pipelines": {"question-answering": {"impl": "pipelines_vocabless.Old"}}}
    assert {*VocablessConfig.from_dict(file).custom_pipelines} == tasks
