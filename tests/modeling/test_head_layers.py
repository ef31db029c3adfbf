"""First weights of heads."""

import pytest

from vocabless import VocablessForMultipleChoice, VocablessForSequenceClassification, VocablessModel


@pytest.mark.parametrize(("pooling", "num_parts"), [("mean", 1), ("siamese", 4)])
@pytest.mark.parametrize("head", [VocablessForSequenceClassification, VocablessForMultipleChoice])
def test_a_head_that_reads_means_starts_with_the_spread_that_keeps_its_scale(
    head, pooling: str, num_parts: int, config_of, tmp_path
) -> None:
    options = {} if head is VocablessForMultipleChoice else {"num_labels": 50}
    VocablessModel(config_of("bert", classifier_pooling=pooling)).save_pretrained(tmp_path)
    model = head.from_pretrained(tmp_path, **options)
    width = model.config.hidden_size
    spreads = {model.classifier.dense: (num_parts * width) ** -0.5}
    if options:
        spreads[model.classifier.out_proj] = width**-0.5
    assert [layer.weight.std().item() for layer in spreads] == pytest.approx(list(spreads.values()), rel=0.1)
    assert not model.classifier.dense.bias.any()


def test_a_head_that_reads_the_first_token_starts_as_the_encoder_does(config_of) -> None:
    model = VocablessForSequenceClassification(config_of("bert", num_labels=50))
    layers = [model.classifier.dense, model.classifier.out_proj]
    assert [layer.weight.std().item() for layer in layers] == pytest.approx([0.02, 0.02], rel=0.1)


def test_trained_heads_keep_their_weights(config_of, tmp_path) -> None:
    model = VocablessForSequenceClassification(config_of("bert", classifier_pooling="mean"))
    model.save_pretrained(tmp_path)
    loaded = VocablessForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.classifier.dense.weight.equal(model.classifier.dense.weight)
