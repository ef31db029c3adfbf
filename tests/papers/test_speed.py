"""The papers' measures of time: each row has its turn, rates follow from times, sizes are counted."""

import re

import pytest
from script_runs import write_corpus

from papers import __main__ as papers
from papers import speed
from papers.counts import size_figures
from papers.table import PaperRow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The flags of a corpus of 80 documents: to read all of `pydocs` takes half a minute."""
    return ["--corpus", write_corpus(tmp_path_factory.mktemp("corpus") / "text.txt"), "--documents", "60"]


def lines_of(shown):
    """Label and cells of each line of a table; a line of ours has the label of the paper's line before it."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.splitlines() if line.startswith("|")]
    return lines[0], lines[2:]


def test_each_row_has_its_turn_in_each_round_and_the_first_round_does_not_count(monkeypatch):
    calls = []
    seconds = iter([100, 100, 1, 20, 3, 10, 2, 60])
    monkeypatch.setattr(speed.measure, "seconds_of", lambda run: (run(), next(seconds))[1])
    runs = {name: (lambda name=name: calls.append(name)) for name in "ab"}
    assert speed.times(runs, rounds=3) == {"a": 2, "b": 20}
    assert calls == list("abababab")


@pytest.mark.slow
def test_the_times_of_hashformers_stand_beside_the_papers_and_rates_are_against_bert_mlm(monkeypatch, capsys, corpus):
    monkeypatch.setattr(speed.measure, "seconds_of", lambda run: (run(), 0.016 if count(run) else 0.008)[1])
    first = []

    def count(run):
        first.append(run)
        return run is first[0]  # BERT-MLM trains twice as long as all others

    flags = "--size tiny --length 16 --batch 2 --texts 4 --rounds 1".split()
    papers.main(["hashformers-3", *corpus, *flags])
    shown = capsys.readouterr().out
    header, lines = lines_of(shown)
    assert header[2:] == ["PT (ms)", "PT speed-up", "inference (ms)", "inference speed-up"]
    assert [line[0] for line in lines[::2]] == [row.label for row in speed.HASHFORMERS_3]
    assert [line[2:] for line in lines[::2]] == [row.printed.split() for row in speed.HASHFORMERS_3]
    ours = dict(zip([line[0] for line in lines[::2]], [line[2:] for line in lines[1::2]], strict=True))
    assert ours["BERT-MLM"] == ["8.0", "1.0", "2.0", "1.0"] and ours["CANINE-C"] == ["–", "–", "2.0", "1.0"]
    assert {tuple(ours[name]) for name in ("BERT-S+R", "Emb", "Pool", "Add", "Proj")} == {("4.0", "2.0", "2.0", "1.0")}
    assert "those of Tesla V100 GPUs" in shown and "Ours are of this machine's CPU" in shown


@pytest.mark.slow
def test_the_latencies_of_eelbert_are_those_of_a_sentence(capsys, corpus):
    papers.main(["eelbert-5", *corpus, "--rounds", "1"])
    header, lines = lines_of(capsys.readouterr().out)
    assert [line[0] for line in lines] == [*speed.EELBERT_5]
    assert all(float(line[header.index("latency (ms)")]) > 0 for line in lines)


def test_the_sizes_of_eelbert_5_are_those_of_table_2_and_the_papers_other_two_are_named(monkeypatch, capsys, corpus):
    monkeypatch.setattr(speed, "_side", lambda *model: speed.inference.Side(lambda *text, **options: {}, None))
    monkeypatch.setattr(speed, "times", lambda runs, rounds: dict.fromkeys(runs, 0.5))
    papers.main(["eelbert-5", *corpus])
    header, lines = lines_of(capsys.readouterr().out)
    differing = [line[0] for line in lines if abs(float(line[1]) - float(line[2])) > 0.5 * 10 ** -len(
        line[2].partition(".")[2]) * 1.01]  # fmt: skip
    assert differing == ["bert-base", "bert-tiny"]  # docs/papers.md: 428 and 17.4 MB, in place of 438 and 17.7
    assert {line[header.index("latency (ms)")] for line in lines} == {"50.00"}


def test_the_word_tables_share_of_bert_is_counted(capsys):
    papers.main(["eelbert-figure-1"])
    _, lines = lines_of(capsys.readouterr().out)
    for name, _, _, share in lines:
        sizes = size_figures(PaperRow(name, name, "", has_mlm_head=True), PaperRow(name, name, ""))
        assert float(share) == pytest.approx(100 * sizes["poep"], abs=0.06)
    assert [round(float(line[3])) for line in lines] == [21, 70, 88]  # "almost 90%" of BERT-tiny
    assert re.fullmatch("bert-(base|mini|tiny) " * 3, " ".join(line[0] for line in lines) + " ")
