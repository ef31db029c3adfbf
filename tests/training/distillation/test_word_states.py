"""Distillation of word states: the states become more similar, and the passages and the figures are correct."""

from types import SimpleNamespace

import pytest
import torch
from datasets import Dataset
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.training.distillation.word_states import (
    Agreement,
    DistillationSettings,
    distill,
    mean_cosines,
    read_passages,
)
from vocabless.training.texts.sentences import sentences

NAME = "hashformer-md5-emb1k-base"
LINES = ["the quick brown fox. jumps over the lazy dog", "a dog, a fox", "over the fox. the dog.", "fox! the lazy dog."]
LINES *= 8


@pytest.fixture
def settings(tmp_path) -> DistillationSettings:
    file = tmp_path / "text.txt"
    file.write_text("\n".join(LINES), encoding="utf-8")
    return DistillationSettings(str(file), max_steps=30, learning_rate=1e-2, max_seq_length=8)


@pytest.fixture
def original(subwords) -> tuple[BertModel, PreTrainedTokenizerFast]:
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=subwords["wordpiece"], pad_token="[PAD]", unk_token="[UNK]")
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    torch.manual_seed(3)
    return BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).eval(), tokenizer


def model_over(original: BertModel) -> VocablessModel:
    """A model with the encoder of `original` and a new front end."""
    torch.manual_seed(4)
    model = VocablessModel(load_config(NAME, encoder_config=original.config, variant=None)).eval()
    tensors = original.state_dict()
    model.encoder.load_state_dict({name: tensors[name] for name in model.encoder.state_dict()})
    return model


@pytest.mark.parametrize("train_encoder", [False, True])
def test_states_become_more_similar_than_the_baseline(train_encoder: bool, settings, original) -> None:
    stock, stock_tokenizer = original
    model = model_over(stock)
    settings = DistillationSettings(**{**vars(settings), "train_encoder": train_encoder})
    agreement = distill(model, load_tokenizer(NAME), stock, stock_tokenizer, settings)
    assert agreement.after > max(agreement.before, agreement.mean_state_baseline) + 0.1
    assert agreement.steps == 30 and agreement.words > 0
    tensors = stock.state_dict()
    is_unchanged = all(torch.equal(tensor, tensors[name]) for name, tensor in model.encoder.state_dict().items())
    assert is_unchanged == (not train_encoder)
    assert all(parameter.requires_grad for parameter in model.parameters()) and not model.training


def test_the_figures_are_mean_cosines_over_the_aligned_words() -> None:
    generator = torch.Generator().manual_seed(0)
    states, targets = torch.randn(2, 2, 3, 4, generator=generator)  # (batches, words, D) each

    class Fake(torch.nn.Module):
        """A model whose input is its last hidden state."""

        device = torch.device("cpu")

        def forward(self, states: torch.Tensor, output_hidden_states: bool) -> SimpleNamespace:
            return SimpleNamespace(hidden_states=(torch.zeros_like(states), states))

    weights = torch.eye(3)[None].repeat(2, 1, 1)
    weights[1, 2] = 0  # this word has no subword
    batches = [
        {"words": {"states": state[None]}, "subwords": {"states": target[None]}, "weights": weight[None]}
        for state, target, weight in zip(states, targets, weights, strict=True)
    ]
    cosine, baseline, num_words = mean_cosines(Fake(), Fake(), batches)
    pairs = [(states[i, j], targets[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1))]

    def cos(one: torch.Tensor, other: torch.Tensor) -> float:
        return float(one @ other / (one.norm() * other.norm()))

    mean = sum(target / target.norm() for _, target in pairs) / 5
    assert num_words == 5
    assert cosine == pytest.approx(sum(cos(state, target) for state, target in pairs) / 5, abs=1e-6)
    assert baseline == pytest.approx(sum(cos(mean, target) for _, target in pairs) / 5, abs=1e-6)


def test_passages_are_whole_sentences_within_the_limit_from_different_documents(settings) -> None:
    tokenizer = load_tokenizer(NAME)
    train, held_out = read_passages(tokenizer, settings)
    assert {sentence for passage in train for sentence in sentences(passage)} <= {
        sentence for line in LINES for sentence in sentences(line)
    }
    lengths = {len(tokenizer.unit_splitter.units(passage)) for passage in (*train, *held_out)}
    assert max(lengths) == settings.max_seq_length - 2  # "fox! the lazy dog."; "over the fox. the dog." has one more
    assert sum(map(len, [*train, *held_out])) == sum(map(len, LINES))  # nothing is lost or read twice
    few = DistillationSettings(**{**vars(settings), "max_steps": 2, "batch_size": 3})
    assert len(read_passages(tokenizer, few)[0]) == 6


def test_text_without_words_is_refused(settings, tmp_path) -> None:
    Dataset.from_dict({"text": ["", ""]}).to_parquet(str(tmp_path / "empty.parquet"))
    empty = DistillationSettings(str(tmp_path / "empty.parquet"))
    with pytest.raises(ValueError, match="2 documents but too few words"):
        read_passages(load_tokenizer(NAME), empty)
    Dataset.from_dict({"text": ["one"]}).to_parquet(str(tmp_path / "one.parquet"))
    with pytest.raises(ValueError, match="is one document"):
        read_passages(load_tokenizer(NAME), DistillationSettings(str(tmp_path / "one.parquet")))


def test_the_baseline_keeps_its_name_in_the_results() -> None:
    agreement = Agreement(before=0.1, after=0.7, mean_state_baseline=0.2, words=1234, steps=40)
    assert agreement.as_json() == {"before": 0.1, "after": 0.7, "floor": 0.2, "words": 1234, "steps": 40}
    assert "1,234 held-out words: 0.100 before and 0.700 after 40 steps" in str(agreement)
