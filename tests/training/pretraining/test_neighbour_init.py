import pytest
import torch

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.training.pretraining.neighbour_init import neighbour_init


@pytest.mark.parametrize(
    "name",
    ["hashformer-lsh-proj-tiny", "eelbert-word-tiny", "hashformer-md5-pool-mini", "ewe-bert-tiny", "ewe-bert-base"],
)
def test_heads_of_the_second_layer_look_one_token_back_and_one_ahead(name):
    config = load_config(name)
    config.encoder_config._attn_implementation = "eager"
    config.encoder_config.num_hidden_layers = 2
    model = VocablessModel(config).eval()
    before = model.num_parameters()
    assert neighbour_init(model)
    assert model.num_parameters() == before
    width = config.hidden_size
    with torch.no_grad():  # embeddings of nothing: positions alone
        attention = model(inputs_embeds=torch.zeros(1, 20, width), output_attentions=True).attentions[1][0]
        words = torch.randint(5, 261, (1, 20, config.block_size))
        first = model.encoder.encoder.layer[0].attention
        seen = model.front_end(words)
        assert torch.equal(first(seen)[0], first.output.LayerNorm(seen))  # the word alone
    likeliest = attention.argmax(dim=-1)
    for head in range(config.num_attention_heads):
        offset = -1 if head % 2 == 0 else 1
        neighbours = torch.arange(1, 19) + offset
        hits = likeliest[head, 1:19] == neighbours
        assert hits.float().mean() > 0.8  # the first few places differ least from each other
        assert attention[head, torch.arange(1, 19), neighbours].mean() > 0.85  # 0.11 if the products were not scaled


@pytest.mark.parametrize("name", ["hashformer-lsh-proj-tiny", "eelbert-word-tiny", "ewe-bert-tiny"])
def test_the_first_token_sees_all_others_alike(name):
    config = load_config(name)
    config.encoder_config._attn_implementation = "eager"
    model = VocablessModel(config).eval()
    assert neighbour_init(model)
    inputs = load_tokenizer(name)("Not as good as hoped, but the actors are wonderful.", return_tensors="pt")
    with torch.no_grad():
        attention = model(**inputs, output_attentions=True).attentions[1][0]
    length = attention.shape[-1]
    torch.testing.assert_close(attention[:, 0], torch.full_like(attention[:, 0], 1 / length), atol=1e-3, rtol=0)


def test_encoders_of_another_make_are_left_alone():
    config = load_config("ewe-bert-tiny", front_end="ngram", front_end_options={}, encoder_config={
        "model_type": "modernbert", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 64, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0, "cls_token_id": 0,
        "sep_token_id": 0,
    })  # fmt: skip
    model = VocablessModel(config)
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    assert not neighbour_init(model)
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
