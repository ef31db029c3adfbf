"""What the papers' measures of time count: EELBERT's rates come from the same rounds, a step has no optimizer."""

import pytest
import torch
from datasets import Dataset
from script_runs import write_corpus

from benchmarks import training
from papers import __main__ as papers
from papers import speed


def test_the_rates_of_eelbert_are_to_bert_of_the_same_size_in_the_same_rounds(monkeypatch, capsys, tmp_path):
    rounds = []

    def times(runs, number):
        rounds.append([*runs])
        return {label: 0.5 if label.startswith("bert") else 1.5 if speed.CACHED in label else 2 for label in runs}

    monkeypatch.setattr(speed, "_side", lambda *model: speed.inference.Side(lambda *text, **options: {}, None))
    monkeypatch.setattr(speed, "times", times)
    papers.main(["eelbert-5", "--corpus", write_corpus(tmp_path / "text.txt"), "--documents", "60"])
    (labels,) = rounds
    assert [label for label in labels if label not in speed.EELBERT_5] == [
        f"eelbert-{size}{speed.CACHED}" for size in ("base", "mini", "tiny")
    ]
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    cells = {name.strip(): [*map(str.strip, more)] for _, name, *more, _ in (line.split("|") for line in lines[1:])}
    # Latency, rate, the paper's, its rate, with the cache, rate; 5.5: EELBERT-tiny has "~2.3x the inference time".
    assert cells["bert-tiny"][2:] == ["50.00", "1.00", "1.7", "1.00", "–", "–"]
    assert cells["eelbert-tiny"][2:] == ["200.00", "4.00", "3.9", "2.29", "150.00", "3.00"]


@pytest.mark.parametrize("updates", [False, True])
def test_a_step_without_updates_leaves_the_weights_and_no_gradients(updates, monkeypatch):
    """HashFormers 4.4: a step of pre-training is "a forward pass and a backward pass"."""
    models, load = [], training.load_model
    monkeypatch.setattr(training, "load_model", lambda *given: [models.append(load(*given)), models[-1]][1])
    documents = Dataset.from_dict({"text": ["the quick brown fox jumps over the lazy dog . " * 20] * 8})
    step = training.training_step(
        "hashformer-md5-proj-tiny", "shuffle-random", documents, "", 16, 2, 0.1, ["size=uno"], updates=updates
    )
    before = {name: value.clone() for name, value in models[0][0].state_dict().items()}
    step()
    parameters = dict(models[0][0].named_parameters())
    assert all(torch.equal(parameters[name], before[name]) for name in parameters) != updates
    assert all(parameter.grad is None for parameter in parameters.values())
