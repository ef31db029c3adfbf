"""What the card of a pre-trained checkpoint says: corpus, length of the training and measures of the run."""

from huggingface_hub import ModelCard

from vocabless.saving.model_card import CARD, write_card
from vocabless.training.pretraining.shuffle_random import ShuffleRandom

VERSIONS = {"transformers": "5.23.0", "torch": "2.13.0"}


def test_a_pre_trained_model_names_corpus_and_measures(save_model, tmp_path) -> None:
    model, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForPreTraining")
    corpus = ["wikimedia/wikipedia:20231101.en", str(tmp_path / "mine.txt")]
    arguments = {"corpus": corpus, "max_steps": -1, "max_seq_length": 64, "seed": 7, "learning_rate": 1e-3}
    results = {"objective": "shuffle-random", "arguments": arguments, "tokens_seen": 1_234_567, "versions": VERSIONS}
    results |= {"steps": 2000}  # a run of some epochs
    results |= {"before": {"eval_loss": 1.25}, "after": {"eval_loss": 0.5}}
    write_card(folder, model, 16, ShuffleRandom().card_facts(results))
    card = ModelCard.load(folder / CARD)
    assert card.data.datasets == ["wikimedia/wikipedia"] and "language" not in card.data.to_dict()
    assert "wikimedia/wikipedia:20231101.en, mine.txt" in card.text and str(tmp_path) not in card.text
    assert "- Steps: 2,000\n- Tokens: 1,234,567\n- Learning rate: 0.001\n" in card.text
    assert "- Seed: 7\n\nAll arguments, measures and versions (transformers 5.23.0, torch 2.13.0)" in card.text
    assert "| loss | 1.2500 | 0.5000 |" in card.text
