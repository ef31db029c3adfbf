"""The LSH of the HashFormers authors' code, step by step, and RoBERTa's BPE for the few words of the tests."""
# ruff: noqa: NPY002 (the authors' code draws from numpy's own generator)

import re
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

NUM_BUCKETS = 50_260
# The published ids of the tokens that the merges below make, and of the characters that they begin from.
IDS = {
    "!": 328, "-": 12, "--": 5579, "----": 44259, "--------": 49198, "------------": 46156, "-------------": 39550,
    "H": 725, "Hello": 31414, "a": 102, "ay": 857, "ays": 4113, "d": 417, "e": 242, "ell": 1641, "ello": 10913,
    "l": 462, "lay": 8433, "ld": 4779, "ll": 890, "n": 282, "na": 2133, "o": 139, "or": 368, "p": 642, "pl": 2911,
    "play": 5785, "plays": 33593, "r": 338, "s": 29, "v": 705, "ve": 548, "w": 605, "y": 219, "ys": 2459, "¯": 10965,
    "Ã": 3849, "Ã¯": 29667, "Ã¯ve": 48350, "Ġ": 1437, "Ġw": 885, "Ġwor": 45155, "Ġworld": 232,
}  # fmt: skip
MERGES = (
    "Ġ w,o r,l l,v e,a y,l d,- -,Ġw or,p l,ay s,-- --,e ll,y s,---- ----,Ġwor ld,pl ay,n a,-------- ----,l ay,ell o,"
    "H ello,pl ays,Ã ¯,------------ -,Ã¯ ve"
)


def write_roberta(file: Path) -> str:
    """Writes a tokenizer.json that cuts these words as RoBERTa's does; the other bytes have ids of their own."""
    alphabet = {
        character: 60_000 + place for place, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    merges = [tuple(merge.split()) for merge in MERGES.split(",")]
    tokenizer = Tokenizer(models.BPE(vocab=alphabet | IDS, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(file))
    return str(file)


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]+", text.lower())


def piece_weights(word: str, tokenizer: Tokenizer) -> list[tuple[int, float]]:
    """Returns (id, weight) of each piece."""
    parts = [word]
    for place in range(1, len(word)):
        parts += [word[:place], word[place:]]
    pieces = tokenizer.encode("-".join(parts), add_special_tokens=False).tokens
    distinct = sorted({*pieces}, key=pieces.index)
    if len(distinct) > 1:
        distinct = [piece for piece in distinct if piece != "-"]
    return [(tokenizer.token_to_id(p), pieces.count(p) / max(len(word) + 1 - len(p), 1)) for p in distinct]


def slow_bits(word: str, tokenizer: Tokenizer) -> int:
    """Returns the 128 bits of a word as an integer, the first bit highest."""
    sums = [0.0] * 128
    for index, weight in piece_weights(word, tokenizer):
        np.random.seed(index)
        for place, number in enumerate(np.random.normal(0, 1, 128).tolist()):
            sums[place] += number * weight
    return int("".join("1" if number > 0 else "0" for number in sums), 2)


def slow_index(word: str, tokenizer: Tokenizer) -> int:
    """Returns the bucket of a word."""
    np.random.seed(42)
    eta = np.random.normal(0, 1, NUM_BUCKETS).tolist()
    weights, best, largest = piece_weights(word, tokenizer), 0, -1e16
    for place in range(NUM_BUCKETS):
        total = sum(eta[(index + place) % NUM_BUCKETS] * weight for index, weight in weights)
        total = total if place < NUM_BUCKETS // 2 else -total
        if total > largest:
            best, largest = place, total
    return best
