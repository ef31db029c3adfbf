"""Adversarial training against slow loops, and when runs have it."""

import numpy as np
import pytest
import torch
from script_runs import coloured, write_csv
from torch import nn

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.modeling.head_layers import Inputs
from vocabless.training.finetuning import prepared, tuning
from vocabless.training.finetuning.prepared import EPSILON
from vocabless.training.finetuning.trainers.adversarial import adversarial_loss, move

TEXTS = ["a fine day", "it rains", "snow on the hill, and ice below it", "no"]
LABELS = torch.tensor([0, 1, 1, 0])


def moved_by_hand(embeddings: np.ndarray, gradient: np.ndarray, epsilon: float) -> np.ndarray:
    """Text by text and token by token."""
    result = np.zeros_like(embeddings)
    for text, (tokens, slopes) in enumerate(zip(embeddings, gradient, strict=True)):
        lengths = [np.sqrt((token**2).sum()) for token in tokens]
        directions = [length * slope for length, slope in zip(lengths, slopes, strict=True)]
        size = np.sqrt(sum((direction**2).sum() for direction in directions))
        for token, (length, direction) in enumerate(zip(lengths, directions, strict=True)):
            result[text, token] = 0 if size == 0 else length * epsilon * direction / size
    return result


def test_each_text_moves_by_epsilon_in_units_of_its_tokens_lengths() -> None:
    generator = np.random.default_rng(1)
    embeddings, gradient = generator.normal(size=(2, 3, 5, 4))
    embeddings[2] *= 100
    gradient[1] = 0  # of a text that the loss does not depend on
    found = move(torch.from_numpy(embeddings), torch.from_numpy(gradient), 0.3).numpy()
    assert np.allclose(found, moved_by_hand(embeddings, gradient, 0.3))
    in_units = np.linalg.norm(found / np.linalg.norm(embeddings, axis=-1, keepdims=True), axis=(1, 2))
    assert np.allclose(in_units, [0.3, 0, 0.3])


@pytest.mark.parametrize(
    ("name", "pooling"),
    [
        ("hashgram-nano", "mean"),
        ("hashgram-nano", "siamese"),  # the embeddings are those of the two texts of a pair, apart
        ("eelbert-word-tiny", "mean"),  # its embeddings have no weights
    ],
)
def test_the_loss_is_the_mean_of_that_of_the_texts_and_of_the_moved_ones(name, pooling, shrink) -> None:
    """So are the gradients. The slow one computes with embeddings that are given to the encoder."""
    torch.manual_seed(0)
    model = VocablessForSequenceClassification(shrink(load_config(name, num_labels=2, classifier_pooling=pooling)))
    model.eval()  # without dropout
    others = [TEXTS[::-1]] if pooling == "siamese" else []
    inputs = load_tokenizer(name)(TEXTS, *others, padding=True, return_tensors="pt")
    layer = model.get_input_embeddings()

    def loss_of_texts() -> torch.Tensor:
        return model(**inputs, labels=LABELS).loss

    found = adversarial_loss(layer, loss_of_texts, 0.2)
    found.backward()
    gradients = {key: value.grad for key, value in model.named_parameters() if value.grad is not None}
    model.zero_grad()

    read = model.classifier.sequences(layer, Inputs(inputs["input_ids"], inputs["attention_mask"]))

    def loss_of(embeddings: torch.Tensor) -> torch.Tensor:
        states = model.vocabless(inputs_embeds=embeddings, attention_mask=read.attention_mask).last_hidden_state
        return nn.functional.cross_entropy(model.classifier(states, read.attention_mask), LABELS)

    embeddings = layer(read.input_ids).detach().requires_grad_()
    clean = loss_of(embeddings)
    (gradient,) = torch.autograd.grad(clean, embeddings)
    moves = torch.from_numpy(moved_by_hand(embeddings.detach().numpy(), gradient.numpy(), 0.2))
    moved = loss_of(layer(read.input_ids) + moves)
    ((loss_of_texts() + moved) / 2).backward()
    assert moved > clean + 1e-4
    assert found.item() == pytest.approx(((clean + moved) / 2).item(), abs=1e-6)
    for key, value in model.named_parameters():
        assert (value.grad is None) == (key not in gradients)
        assert value.grad is None or torch.allclose(value.grad, gradients[key], atol=1e-6)


def test_a_run_has_it_after_a_first_head(tune, tmp_path, monkeypatch, keep) -> None:
    made, trainer = [], tuning.TaskTrainer

    def recorded(*arguments, **options):
        made.append(trainer(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(tuning, "TaskTrainer", recorded)
    keep("trained")
    data = write_csv(tmp_path / "mine.csv", coloured(60))
    files = ["--train_file", data, "--validation_file", data, "--load_best_model_at_end", "false"]
    weights = []
    for number, (epsilon, flags) in enumerate([(EPSILON, []), (0, []), (EPSILON, ["--random_head", "true"])]):
        monkeypatch.setattr(prepared, "EPSILON", epsilon)
        tune(tmp_path / str(number), *files, *flags)
        weights.append(made[-1].model.get_input_embeddings().table.weight.detach())
    assert [each._epsilon for each in made] == [EPSILON, 0, 0]
    assert not torch.equal(*weights[:2])
