"""The objective `shuffle-random` (S+R): tell shuffled, replaced and intact words apart. Source: HashFormers 3.6.

Replacements are words of real text. Random bits would give themselves away by their number of ones.
"""
# mypy: allow-untyped-calls

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from transformers import AutoModelForTokenClassification, PreTrainedModel

from vocabless import VocablessForPreTraining, VocablessTokenizer
from vocabless.tokenization.block_coders import Integers
from vocabless.tokenization.splitters import WordSplitter
from vocabless.training.distillation.alignment import first_tokens
from vocabless.training.pretraining.objective_flags import ShuffleRandomFlags
from vocabless.training.pretraining.token_objective import TokenObjective

INTACT, SHUFFLED, REPLACED = range(3)
CLASS_NAMES = {INTACT: "intact", SHUFFLED: "shuffled", REPLACED: "replaced"}


@dataclass(frozen=True)
class ShuffleRandom(ShuffleRandomFlags, TokenObjective):
    """Shuffles some tokens among themselves and replaces others. Labels: 0 intact, 1 shuffled, 2 replaced.

    A position that received its own token back is intact.

    Source: HashFormers 3.6. Differs from the paper's code: replacements are real tokens, and each of the two shares is
    set on its own.
    """

    card_text: ClassVar[str] = "the detection of shuffled and replaced tokens (S+R)"
    measures: ClassVar[tuple[str, ...]] = (
        *("loss", "accuracy", "majority", "balanced_accuracy"),
        *(f"accuracy_{name}" for name in CLASS_NAMES.values()),
    )
    model_class: ClassVar[type[PreTrainedModel]] = VocablessForPreTraining
    stock_model_class: ClassVar[Any] = AutoModelForTokenClassification

    def corrupt(
        self, blocks: Integers, targets: Integers | None, donors: Integers, mask: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """See `TokenObjective.corrupt`."""
        draw = rng.random(len(blocks))
        shuffled = np.flatnonzero(draw < self.shuffle_probability)
        replaced = np.flatnonzero(draw >= 1 - self.replace_probability)
        corrupted = blocks.copy()
        corrupted[shuffled] = blocks[rng.permutation(shuffled)]
        corrupted[replaced] = donors[rng.integers(len(donors), size=len(replaced))]
        labels = np.full(len(blocks), INTACT)
        labels[shuffled], labels[replaced] = SHUFFLED, REPLACED
        labels[(corrupted == blocks).all(axis=1)] = INTACT
        return corrupted, labels

    def stock_config_options(self) -> dict[str, Any]:
        """See `Objective.stock_config_options`."""
        return {"num_labels": len(CLASS_NAMES)}

    def measure(self, predictions: Integers, labels: Integers) -> dict[str, float]:
        """Returns the accuracy, the share of the largest class, and the accuracy on each class."""
        shares = {index: float((labels == index).mean()) for index in CLASS_NAMES}
        recalls = {
            name: float((predictions[labels == index] == index).mean())
            for index, name in CLASS_NAMES.items()
            if shares[index]
        }
        return {
            **super().measure(predictions, labels),
            "majority": max(shares.values()),
            **{f"accuracy_{name}": recall for name, recall in recalls.items()},
            "balanced_accuracy": float(np.mean(list(recalls.values()))),
        }

    def demonstrate(
        self, model: PreTrainedModel, tokenizer: VocablessTokenizer, sentence: str, text: str, seed: int
    ) -> str:
        """Returns a corrupted sentence, one word a line: its corruption, and how probable the model finds one.

        Args:
            model: the trained model.
            tokenizer: its tokenizer.
            sentence: what does not fit the model is left out; below four words nothing is corrupted.
            text: replacements are drawn from its words.
            seed: of the corruption.
        """
        splitter = WordSplitter()
        words = [str(word) for word in splitter.units(text) if str(word).isalpha()] or ["word"]
        units = [str(unit) for unit in splitter.units(sentence)][: tokenizer.model_max_length]
        corrupted, classes = _corrupt_words(units, words, np.random.default_rng(seed))
        if not corrupted:
            return ""
        inputs = tokenizer([corrupted], is_split_into_words=True, truncation=True, return_tensors="pt")
        positions = first_tokens(inputs.word_ids(0))
        with torch.no_grad():
            probabilities = 1 - model.eval()(**inputs).logits[0].softmax(dim=-1)[list(positions.values()), INTACT]
        return _demonstration(
            [corrupted[word] for word in positions], [classes[word] for word in positions], probabilities.tolist()
        )


def _corrupt_words(units: list[str], words: list[str], rng: np.random.Generator) -> tuple[list[str], list[int]]:
    """Returns the units with two words swapped and two replaced, and the class of each; unchanged below four words."""
    places = rng.permutation([i for i, unit in enumerate(units) if unit.isalpha()])
    corrupted, classes = list(units), [INTACT] * len(units)
    if len(places) >= 4:
        first, second, *replaced = places[:4]
        corrupted[first], corrupted[second] = units[second], units[first]
        classes[first] = classes[second] = SHUFFLED
        for place in replaced:
            corrupted[place], classes[place] = str(rng.choice(words)), REPLACED
    return corrupted, classes


def _demonstration(words: list[str], classes: list[int], probabilities: list[float]) -> str:
    """Returns a table of words: ✓ and ✗ mark corrupted words that the model suspects or not, ? a false alarm."""
    num_corrupted = sum(kind != INTACT for kind in classes)
    threshold = sorted(probabilities, reverse=True)[max(num_corrupted - 1, 0)]
    labels = {INTACT: "", SHUFFLED: "shuffled", REPLACED: "replaced"}
    marks = {(True, True): "✓", (True, False): "✗", (False, True): "?", (False, False): " "}
    lines = [f"{'':2}{'word':20} {'was':10} P(not intact)"]
    num_right = 0
    for word, kind, probability in zip(words, classes, probabilities, strict=True):
        is_corrupted, is_suspected = kind != INTACT, probability >= threshold
        num_right += is_corrupted and is_suspected
        mark = marks[is_corrupted, is_suspected]
        lines.append(f"{mark:2}{word:20} {labels[kind]:10} {probability:5.2f} {'▇' * round(20 * probability)}")
    lines.append(
        f"Of its {num_corrupted} strongest suspicions {num_right} are right (✓ caught, ✗ missed, ? false alarm)."
    )
    return "\n".join([*lines, ""])
