"""Stock encoders as bodies: only the word table and the pooler are removed, all else is as in the stock model."""

import copy

import pytest
import torch
from front_end_blocks import ENCODERS, make_blocks, make_config
from transformers import AutoModel

from vocabless.modeling.modeling_vocabless import VocablessForSequenceClassification, VocablessModel

WORD_TABLES = {"canine": "HashBucketCodepointEmbedder", "modernbert": "tok_embeddings"}
WITH_TOKEN_TYPES = ["bert", "albert", "canine", "electra", "deberta-v2"]  # more than one


def model_of(encoder: str, **kwargs: object) -> VocablessModel:
    """A model with large weights everywhere: at initialisation, biases and positions have almost no effect."""
    model = VocablessModel(make_config(encoder, "ngram", **kwargs)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_output_is_the_stock_encoders_without_word_table_and_pooler(encoder: str) -> None:
    model, word_table = model_of(encoder), WORD_TABLES.get(encoder, "word_embeddings")
    config = copy.deepcopy(model.config.encoder_config)
    config.vocab_size = (config.pad_token_id or 0) + 50
    stock = AutoModel.from_config(config).eval()
    missing, unexpected = stock.load_state_dict(model.encoder.state_dict(), strict=False)
    assert not unexpected and any(word_table in name for name in missing)
    removed = [name for name in stock.state_dict() if word_table in name or name.startswith("pooler")]
    assert sorted(missing) == sorted(removed)

    blocks, mask = make_blocks(model.config, 3, 9), torch.ones(3, 9, dtype=torch.int64)
    mask[0, 6:] = 0
    inputs = {"attention_mask": mask}
    if encoder in WITH_TOKEN_TYPES:
        inputs["token_type_ids"] = (torch.arange(9) > 4).long().expand(3, 9)
    with torch.no_grad():
        expected = stock(inputs_embeds=model.front_end(blocks), **inputs).last_hidden_state
        assert torch.equal(model(blocks, **inputs).last_hidden_state, expected)


@pytest.mark.parametrize("encoder", [name for name in ENCODERS if name != "canine"])
def test_padding_and_the_order_of_a_batch_do_not_change_a_token(encoder: str) -> None:
    model = model_of(encoder)
    long, short = make_blocks(model.config, 1, 13), make_blocks(model.config, 1, 7, seed=1)
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
def test_canine_takes_short_sequences(length: int) -> None:
    model = model_of("canine")
    blocks = make_blocks(model.config, 2, length)
    for places in (None, torch.arange(length).expand(2, -1)):
        assert model(blocks, position_ids=places).last_hidden_state.shape == (2, length, 32)


@pytest.mark.parametrize("encoder", [name for name in ENCODERS if name != "modernbert"])
def test_positions_limit_the_length_and_without_them_a_permutation_of_tokens_permutes_the_outputs(encoder) -> None:
    model, order = model_of(encoder), torch.tensor([0, 5, 2, 7, 1, 3, 6, 4, 8])
    assert model.max_tokens == 24
    assert model(make_blocks(model.config, 1, 24)).last_hidden_state.shape[1] == 24
    for inputs in ({"input_ids": make_blocks(model.config, 1, 25)}, {"inputs_embeds": torch.zeros(1, 25, 32)}):
        with pytest.raises(ValueError, match=r"25 tokens but the model has 24 positions; .*max_length=24"):
            model(**inputs)
    if encoder == "deberta-v2":
        return
    blocks, without = make_blocks(model.config, 2, 9), model_of(encoder, position_embeddings=False)
    assert not any("position_embeddings" in name for name in without.state_dict())
    with torch.no_grad():
        for each, is_permuted in ((model, False), (without, True)):
            output, permuted = each(blocks).last_hidden_state, each(blocks[:, order]).last_hidden_state
            if not is_permuted or encoder not in ("canine", "mpnet"):  # they have windows or relative positions
                assert torch.allclose(permuted, output[:, order], atol=1e-4) == is_permuted


@pytest.mark.parametrize("encoder", ENCODERS)
def test_hidden_states_and_attentions_are_returned(encoder: str) -> None:
    model = model_of(encoder)
    if encoder not in ("canine", "deberta-v2"):
        model.set_attn_implementation("eager")
    blocks = make_blocks(model.config, 2, 8)
    output = model(blocks, output_hidden_states=True, output_attentions=True)
    assert len(output.attentions) >= 2 and len(output.hidden_states) >= 3
    assert all(states.shape[-1] == 32 for states in output.hidden_states[1:])
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state) or encoder == "modernbert"
    assert model(blocks).hidden_states is None and model(blocks).attentions is None
    asked = VocablessForSequenceClassification(make_config(encoder, output_hidden_states=True))
    assert len(asked(blocks).hidden_states) == len(output.hidden_states)
    assert asked(blocks, output_hidden_states=False).hidden_states is None


@pytest.mark.parametrize("encoder", [name for name in ENCODERS if name not in ("albert", "mpnet")])
def test_gradient_checkpointing_gives_the_same_gradients(encoder: str) -> None:
    model = VocablessForSequenceClassification(make_config(encoder, "projection", classifier_dropout=0.0)).train()
    inputs = {"input_ids": make_blocks(model.config, 2, 8), "labels": torch.tensor([0, 1])}

    def gradients() -> list[torch.Tensor]:
        model.zero_grad()
        model(**inputs).loss.backward()
        return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]

    plain = gradients()
    model.gradient_checkpointing_enable()
    assert model.is_gradient_checkpointing
    for one, other in zip(plain, gradients(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)
