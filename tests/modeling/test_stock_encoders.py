"""Stock encoders as bodies: only the word table and the pooler are removed, all else is as in the stock model."""

import copy

import pytest
import torch
from front_end_blocks import ENCODERS
from transformers import AutoModel, BertConfig, PreTrainedConfig

from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.modeling.modeling_vocabless import VocablessForSequenceClassification, VocablessModel

WORD_TABLES = {name: "word_embeddings" for name in ENCODERS}
WORD_TABLES |= {"canine": "HashBucketCodepointEmbedder", "modernbert": "tok_embeddings"}
WITH_TOKEN_TYPES = ["roberta", "bert", "albert", "canine", "electra", "deberta-v2"]
WITH_POSITION_TABLES = ["roberta", "bert", "albert", "canine", "electra", "distilbert", "mpnet", "deberta-v2"]


def randomise(model: torch.nn.Module) -> None:
    """Large weights everywhere: at initialisation, biases and positions have almost no effect."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)


def stock_config_of(model: VocablessModel) -> PreTrainedConfig:
    """The configuration of the model's encoder with a vocabulary of 50 words after padding."""
    config = copy.deepcopy(model.config.encoder_config)
    config.vocab_size = (config.pad_token_id or 0) + 50
    return config


def is_removed(encoder: str, name: str) -> bool:
    """Whether a tensor of the stock encoder belongs to its word table or its pooler."""
    return WORD_TABLES[encoder] in name or name.startswith("pooler")


@pytest.fixture
def model_of(config_of):
    def make(encoder: str, front_end: str = "ngram", **kwargs: object) -> VocablessModel:
        model = VocablessModel(config_of(encoder, front_end, **kwargs)).eval()
        randomise(model)
        return model

    return make


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_output_is_the_stock_encoders_without_word_table_and_pooler(encoder: str, model_of, blocks_of) -> None:
    model = model_of(encoder)
    stock = AutoModel.from_config(stock_config_of(model)).eval()
    missing, unexpected = stock.load_state_dict(model.encoder.state_dict(), strict=False)
    assert not unexpected
    assert sorted(missing) == sorted(name for name in stock.state_dict() if is_removed(encoder, name))
    assert any(WORD_TABLES[encoder] in name for name in missing)

    blocks = blocks_of(model.config, 3, 9)
    mask = torch.ones(3, 9, dtype=torch.int64)
    mask[0, 6:] = 0
    inputs = {"attention_mask": mask}
    if encoder in WITH_TOKEN_TYPES and encoder != "roberta":
        inputs["token_type_ids"] = (torch.arange(9) > 4).long().expand(3, 9)
    with torch.no_grad():
        expected = stock(inputs_embeds=model.front_end(blocks), **inputs).last_hidden_state
        got = model(blocks, **inputs).last_hidden_state
    assert (got - expected).abs().max() == 0.0


@pytest.mark.parametrize("encoder", [name for name in ENCODERS if name != "canine"])
def test_padding_and_the_order_of_a_batch_do_not_change_a_token(encoder: str, model_of, blocks_of) -> None:
    model = model_of(encoder)
    long, short = blocks_of(model.config, 1, 13), blocks_of(model.config, 1, 7, seed=1)
    padded = torch.nn.functional.pad(short, (0, 0, 0, 6))
    mask = torch.tensor([[1] * 13, [1] * 7 + [0] * 6])
    with torch.no_grad():
        alone = [model(blocks).last_hidden_state[0] for blocks in (long, short)]
        both = model(torch.cat([long, padded]), attention_mask=mask).last_hidden_state
        swapped = model(torch.cat([padded, long]), attention_mask=mask.flip(0)).last_hidden_state
    for output in (both, swapped.flip(0)):
        assert torch.allclose(output[0], alone[0], atol=1e-4)
        assert torch.allclose(output[1, :7], alone[1], atol=1e-4)


@pytest.mark.parametrize("length", [1, 3, 5])
def test_canine_takes_short_sequences(length: int, model_of, blocks_of) -> None:
    model = model_of("canine")
    blocks, ones = blocks_of(model.config, 2, length), torch.ones(2, length, dtype=torch.int64)
    with torch.no_grad():
        output = model(blocks).last_hidden_state
        assert output.shape == (2, length, 32)
        assert model(blocks, position_ids=ones.cumsum(1) - 1).last_hidden_state.shape == (2, length, 32)


@pytest.mark.parametrize("encoder", WITH_POSITION_TABLES)
def test_the_longest_sequence_has_one_token_for_each_position(encoder: str, model_of, blocks_of) -> None:
    model = model_of(encoder)
    assert model.max_tokens == 24
    assert model(blocks_of(model.config, 1, 24)).last_hidden_state.shape[1] == 24
    for inputs in ({"input_ids": blocks_of(model.config, 1, 25)}, {"inputs_embeds": torch.zeros(1, 25, 32)}):
        with pytest.raises(ValueError, match=r"25 tokens but the model has 24 positions; .*max_length=24"):
            model(**inputs)


@pytest.mark.parametrize("encoder", [name for name in WITH_POSITION_TABLES if name != "deberta-v2"])
def test_without_position_embeddings_a_permutation_of_tokens_permutes_the_outputs(
    encoder: str, model_of, blocks_of
) -> None:
    model = model_of(encoder, position_embeddings=False)
    assert not any("position_embeddings" in name for name in model.state_dict())
    blocks = blocks_of(model.config, 2, 9)
    order = torch.tensor([0, 5, 2, 7, 1, 3, 6, 4, 8])
    with torch.no_grad():
        output, permuted = model(blocks).last_hidden_state, model(blocks[:, order]).last_hidden_state
        ordered = model_of(encoder)
        with_positions = ordered(blocks).last_hidden_state, ordered(blocks[:, order]).last_hidden_state
    assert not torch.allclose(with_positions[1], with_positions[0][:, order], atol=1e-2)
    if encoder not in ("canine", "mpnet"):  # their windows and relative positions depend on the order
        assert torch.allclose(permuted, output[:, order], atol=1e-4)


def test_dropping_positions_of_an_encoder_without_a_table_of_them_is_refused(config_of) -> None:
    with pytest.raises(ValueError, match=r"'modernbert' has no table of positions to drop; .*position_embeddings=True"):
        VocablessModel(config_of("modernbert", position_embeddings=False))


@pytest.mark.parametrize("kind", ["t5", "bart", "vit"])
def test_a_model_that_is_no_encoder_of_inputs_embeds_is_refused(kind: str) -> None:
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32}
    message = f"'{kind}' is not an encoder that accepts inputs_embeds; choose .*roberta, bert"
    with pytest.raises(ValueError, match=message):
        VocablessModel(VocablessConfig(encoder_config={"model_type": kind, **(small if kind == "vit" else {})}))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_hidden_states_and_attentions_are_returned(encoder: str, model_of, blocks_of) -> None:
    model = model_of(encoder)
    if encoder not in ("canine", "deberta-v2"):
        model.set_attn_implementation("eager")
    blocks = blocks_of(model.config, 2, 8)
    output = model(blocks, output_hidden_states=True, output_attentions=True)
    assert len(output.attentions) >= 2 and len(output.hidden_states) >= 3
    assert all(states.shape[-1] == 32 for states in output.hidden_states[1:])
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state) or encoder == "modernbert"
    assert model(blocks).hidden_states is None and model(blocks).attentions is None


def test_the_configuration_can_request_hidden_states(config_of, blocks_of) -> None:
    model = VocablessForSequenceClassification(config_of("bert", output_hidden_states=True))
    assert len(model(blocks_of(model.config, 2, 5)).hidden_states) == 3
    assert model(blocks_of(model.config, 2, 5), output_hidden_states=False).hidden_states is None


@pytest.mark.parametrize("encoder", [name for name in ENCODERS if name not in ("albert", "mpnet")])
def test_gradient_checkpointing_gives_the_same_gradients(encoder: str, config_of, blocks_of) -> None:
    model = VocablessForSequenceClassification(config_of(encoder, "projection", classifier_dropout=0.0)).train()
    inputs = {"input_ids": blocks_of(model.config, 2, 8), "labels": torch.tensor([0, 1])}

    def gradients() -> list[torch.Tensor]:
        model.zero_grad()
        model(**inputs).loss.backward()
        return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]

    plain = gradients()
    model.gradient_checkpointing_enable()
    assert model.is_gradient_checkpointing
    for one, other in zip(plain, gradients(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_the_callers_encoder_configuration_is_not_changed() -> None:
    encoder = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=32)
    original = encoder.to_dict()
    config = VocablessConfig(encoder_config=encoder)
    assert encoder.to_dict() == original
    assert config.encoder_config.vocab_size == 1
