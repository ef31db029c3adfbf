"""Scores of n-grams: further columns of the table, whose sums are added to the logits of a text."""

import pytest
import torch

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer

TEXTS = ["Grey and cold, cold and grey.", "wonderflummoxing", "", "é 猫!"]


@pytest.fixture(params=["mean", "siamese"])
def pair(request):
    """A model, and the same with scores; a table of 50 rows, so that n-grams of a unit share rows."""
    torch.manual_seed(0)
    options = {"front_end_options": {"num_rows": 50}, "num_labels": 3, "classifier_pooling": request.param}
    plain = VocablessForSequenceClassification(load_config("hashgram-nano", **options)).eval()
    scored = VocablessForSequenceClassification(load_config("hashgram-nano", **options)).eval()
    scored.load_state_dict(plain.state_dict())
    scored.base_model.front_end.add_scores(torch.randn(50, 3))
    scored.config.front_end_options = {**scored.config.front_end_options, "num_scores": 3}
    return plain, scored, load_tokenizer("hashgram-nano")


def slow_scores(model, blocks):
    """The sum over the units of a text, each the sum over its rows divided by the root of their number."""
    front_end, total = model.base_model.front_end, torch.zeros(3)
    for block in blocks[1:-1]:
        rows, is_row = front_end.rows_of(block[None])
        rows = rows[is_row].tolist()
        total += sum(front_end.table.weight[row, -3:] for row in rows) / len(rows) ** 0.5
    return total / len(blocks) ** 0.5


@torch.no_grad()
def test_the_logits_are_those_of_the_model_and_the_scores_of_a_slow_loop(pair):
    plain, scored, tokenizer = pair
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    added = scored(**inputs).logits - plain(**inputs).logits
    for text, found in zip(TEXTS, added, strict=True):
        alone = tokenizer(text, return_tensors="pt")
        expected = slow_scores(scored, alone["input_ids"][0])
        assert torch.allclose(found, expected, atol=1e-5)
        assert torch.allclose(scored(**alone).logits - plain(**alone).logits, expected[None], atol=1e-5)
    assert added[2].abs().max() < 1e-6 < added[0].abs().max()


@torch.no_grad()
def test_a_saved_model_keeps_its_scores_and_its_states_are_those_without(pair, tmp_path):
    plain, scored, tokenizer = pair
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    scored.save_pretrained(tmp_path)
    loaded = VocablessForSequenceClassification.from_pretrained(tmp_path).eval()
    assert torch.equal(loaded(**inputs).logits, scored(**inputs).logits)
    states = [model.base_model(**inputs).last_hidden_state for model in (plain, scored)]
    assert torch.equal(*states)


@torch.no_grad()
def test_embeddings_with_scores_give_the_same_logits(pair):
    plain, scored, tokenizer = pair
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    embeddings = scored.base_model.front_end(inputs["input_ids"].long())
    assert embeddings.shape[-1] == plain.config.embedding_size + 3
    given = scored(**{**inputs, "input_ids": None, "inputs_embeds": embeddings}).logits
    assert torch.allclose(given, scored(**inputs).logits, atol=1e-6)


@torch.no_grad()
def test_scores_of_other_labels_do_not_count(pair):
    plain, scored, tokenizer = pair
    scored.classifier.out_proj = torch.nn.Linear(scored.config.hidden_size, 2)
    plain.classifier.out_proj = scored.classifier.out_proj
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    assert torch.equal(scored(**inputs).logits, plain(**inputs).logits)
