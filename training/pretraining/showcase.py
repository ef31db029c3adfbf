"""A sentence with words swapped and replaced, and which of them the model caught: what pre-training looks like."""
# mypy: allow-untyped-calls

import numpy as np
import torch

from vocabless.modeling.modeling_vocabless import VocablessForPreTraining
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.pretraining.corruption import INTACT, REPLACED, SHUFFLED

MARKS = {INTACT: "", SHUFFLED: "shuffled", REPLACED: "replaced"}


def showcase(
    model: VocablessForPreTraining, tokenizer: VocablessTokenizer, sentence: str, words: list[str], seed: int = 0
) -> str:
    """Returns a corrupted `sentence`, a word a line: what was done to it and how likely the model holds a corruption.

    Args:
        model: judges.
        tokenizer: its own.
        sentence: at least four words.
        words: where replacements are drawn from.
        seed: of the corruption.
    """
    units = [str(unit) for unit in tokenizer.unit_splitter.units(sentence)]
    rng = np.random.default_rng(seed)
    places = rng.permutation([i for i, unit in enumerate(units) if unit.isalpha()])
    shown, truth = list(units), [INTACT] * len(units)
    if len(places) >= 4:
        one, other, *replaced = places[:4]
        shown[one], shown[other] = units[other], units[one]
        truth[one] = truth[other] = SHUFFLED
        for place in replaced:
            shown[place], truth[place] = str(rng.choice(words)), REPLACED
    encoding = tokenizer([shown], is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        corrupted = 1 - model.eval()(**encoding).logits[0].softmax(dim=-1)[1:-1, INTACT]
    threshold = corrupted.sort(descending=True).values[max(sum(map(bool, truth)) - 1, 0)]
    lines = [f"{'':2}{'word':20} {'was':10} P(not intact)"]
    for word, kind, score in zip(shown, truth, corrupted.tolist(), strict=True):
        suspected = score >= threshold
        mark = {(True, True): "✓", (True, False): "✗", (False, True): "?"}.get((bool(kind), bool(suspected)), " ")
        lines.append(f"{mark:2}{word:20} {MARKS[kind]:10} {score:5.2f} {'▇' * round(20 * score)}")
    caught = sum(bool(kind) and score >= threshold for kind, score in zip(truth, corrupted.tolist(), strict=True))
    total = sum(map(bool, truth))
    lines.append(f"Of its {total} strongest suspicions {caught} are right (✓ caught, ✗ missed, ? false alarm).")
    return "\n".join(lines)
