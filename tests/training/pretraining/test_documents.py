"""Text keeps its order: what is held out, and what a sequence holds."""

import itertools

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from vocabless import load_tokenizer
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.pretraining.documents import HELD_OUT_STRETCHES, _hold_out, load_documents
from vocabless.training.pretraining.packing import Packing, part_of_process


def rows_of(documents):
    return [int(text.removesuffix(".")) for text in documents["text"]]


def numbered(count):
    return Dataset.from_dict({"text": [f"{number}." for number in range(count)]})


@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 300), share=st.floats(0.001, 0.5))
def test_every_row_is_trained_on_or_held_out_and_keeps_its_place(count, share):
    train, held_out = map(rows_of, _hold_out(numbered(count), share))
    assert sorted([*train, *held_out]) == list(range(count))
    assert train == sorted(train) and held_out == sorted(held_out)
    assert len(held_out) == max(1, round(share * count)) and train


def test_neighbouring_lines_of_a_file_stay_neighbours(tmp_path):
    """A row of BookCorpus is a sentence, and so is a line here: 2 000 lines, of which two percent are held out."""
    (tmp_path / "lines.txt").write_text("\n".join(f"{number}." for number in range(2000)))
    objective = parse_command_line(["--corpus", str(tmp_path / "lines.txt"), "--use_cpu", "true"], None)
    documents = load_documents(objective.arguments)
    for part, size, breaks in ((documents.train[0], 1960, HELD_OUT_STRETCHES - 1), (documents.held_out, 40, 19)):
        rows = rows_of(part)
        assert len(rows) == size
        assert sum(after != before + 1 for before, after in itertools.pairwise(rows)) == breaks
    assert max(rows) > 1900 and min(rows) < 100  # from all over the file


def numbers_of(sequence, packing):
    blocks, _ = packing.read(sequence)
    text = "".join(chr(element - 5) if element else " " for element in blocks.flatten())
    return [int(number) for number in text.replace(".", " ").split()]


@pytest.mark.parametrize("world_size", [None, 1, 2, 3])
def test_a_sequence_holds_consecutive_lines(world_size):
    """Also of a stream whose files are fewer than the processes, or no multiple of them."""
    packing, documents = Packing(load_tokenizer("ewe-bert-tiny"), False, 34), numbered(1000)
    if world_size is None:
        parts = [packing.prepare(documents)]
    else:
        stream = packing.prepare(documents.to_iterable_dataset(num_shards=4))
        parts = [part_of_process(stream, 0, rank, world_size) for rank in range(world_size)]
    found = [numbers_of(sequence, packing) for part in parts for sequence in part]
    assert sorted(itertools.chain.from_iterable(found)) == list(range(1000))
    assert all(numbers == list(range(numbers[0], numbers[0] + len(numbers))) for numbers in found)
    assert sum(len(numbers) == 32 for numbers in found) >= len(found) - 4  # full, but the last one of each file


def test_the_evaluated_sequences_are_of_all_corpora(tmp_path, monkeypatch):
    monkeypatch.setattr("vocabless.training.pretraining.token_objective.MAX_EVALUATED", 8)
    for name in ("SHUFFLED_SHARE", "REPLACED_SHARE"):
        monkeypatch.setattr(f"vocabless.training.pretraining.shuffle_random.{name}", 0)
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text("\n".join([f"{name} " * 30] * 200))
    flags = ["--corpus", str(tmp_path / "one.txt"), "--corpus", str(tmp_path / "two.txt"), "--max_seq_length", "12"]
    flags += ["--validation_split_percentage", "25", "--objective", "shuffle-random"]
    objective = parse_command_line([*flags, "--use_cpu", "true"], None)
    examples = objective.build_examples(objective.read_data(), load_tokenizer("ewe-bert-tiny"))
    firsts = np.stack([item["input_ids"][1] for item in examples.evaluated[""].__getitems__(range(8))])
    assert [chr(block[0] - 5) for block in firsts] == ["o"] * 4 + ["t"] * 4
