"""The arithmetic of the benchmarks; tests/test_pages.py starts each of them."""

import json
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from benchmarks import features, fits, languages, measure, misspelt, mteb, reject, search, typed
from vocabless.loading import default_encoder, load_tokenizer

CHECKPOINT = Path(__file__).resolve().parent.parent / "checkpoints" / "hashgram-nano-sst2"


def test_a_ratio_compares_the_two_runs_of_a_round_and_the_first_round_does_not_count(monkeypatch, tmp_path, capsys):
    seconds = [1.0, 2.0, 1.0, 4.0, 2.0, 6.0]  # of each run: ours, the peer's, ours, …
    clock = iter([*[0.0] * 4, *(moment for second in seconds for moment in (0.0, second))])
    monkeypatch.setattr(measure.time, "perf_counter", lambda: next(clock))
    row = measure.compare("name", lambda: None, lambda: None, 12, "words/s", rounds=3)
    assert (row.ours, row.peer) == (12.0, 3.0)
    assert (row.low, row.ratio, row.high) == (2.0, 3.0, 4.0)
    measure.report("some", [row], str(tmp_path / "out.json"))
    assert "3.00×" in capsys.readouterr().out
    assert json.loads((tmp_path / "out.json").read_text())["rows"][0]["ratio"] == row.ratio


def test_languages_are_measured_apart(tmp_path, monkeypatch):
    meanings = {"dog": 0, "cat": 1, "Hund": 0, "Katze": 1, "chien": 0, "chat": 0}  # the model is wrong about "chat"

    def embed(texts):
        return np.eye(2, dtype=np.float32)[[meanings[text] for text in texts]]

    pairs, labelled = tmp_path / "pairs.csv", tmp_path / "labelled.csv"
    monkeypatch.setattr(languages, "MIN_PAIRS", 2)
    monkeypatch.setattr(languages, "without_accents", lambda text: "Hund" if text == "Katze" else text)
    pairs.write_text("text,english,lang\nHund,dog,de\nKatze,cat,de\nchien,dog,fr\nchat,cat,fr\n")
    rows = [(text, text == "chat" or meanings[text]) for text in meanings]
    of = {"dog": "en", "cat": "en", "Hund": "de", "Katze": "de", "chien": "fr", "chat": "fr"}
    lines = [f"{text},{int(label)},{of[text]},{split}" for text, label in rows for split in ["train"] * 3 + ["test"]]
    labelled.write_text("\n".join(["text,label,lang,split", *lines]))
    table = languages.measure(embed, str(pairs), str(labelled))
    assert table["found"] == {"de": 100, "fr": 50}
    assert table["from en"] == {"en": 100, "de": 100, "fr": 50} and table["own"]["de"] == 100
    assert table["typed without accents"] == {"en": 100, "de": 50, "fr": 50}
    with_kinds = tmp_path / "kinds.csv"
    kinds = ["Hund,dog,de,help", "Katze,cat,de,help", *["chat,cat,fr,spoken"] * 2, "chien,dog,fr,help"]
    with_kinds.write_text("\n".join(["text,english,lang,kind", *kinds]))
    table = languages.measure(embed, str(with_kinds), None)
    assert table == {
        "found, help": {"de": 100},
        "found, spoken": {"fr": 100},
    }  # no other side is spoken; one text is too few
    table = languages.measure(None, str(pairs), str(labelled))  # TF-IDF
    assert "found" not in table and table["own"] == {"en": 100, "de": 100, "fr": 100}
    assert table["typed without accents"]["de"] == 50


def test_a_model_is_asked_for_the_neighbours_that_its_teacher_sees_in_a_language(tmp_path):
    rows = [f"{language}{number},{language}" for language in ("de", "fr") for number in range(24)]
    file = tmp_path / "texts.csv"
    file.write_text("\n".join(["text,lang", *rows, "few,it"]))

    def turned(texts, step):  # the ten nearest numbers on a circle are the five on each side
        angles = np.array([int(text[2:]) * step for text in texts]) * 2 * np.pi / 24
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def model(texts):  # right in German alone: a step of 7 leads to other neighbours
        return turned(texts, 1 if texts[0].startswith("de") else 7)

    found = languages.neighbours_found(str(file), model, lambda texts: turned(texts, 1))
    assert found.keys() == {"de", "fr"} and found["de"] == 100 and found["fr"] < 60


def test_a_language_with_few_pairs_searches_among_sides_of_others():
    own = np.array([3, 5])
    candidates = languages.candidates_of(own, np.arange(4000))
    assert candidates[:2].tolist() == [3, 5] and len({*candidates.tolist()}) == len(candidates) == 1000
    assert languages.candidates_of(np.arange(1200), np.arange(4000)).tolist() == list(range(1200))


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Łódź, Ærø, STRAẞE, Straße, İzmir, kapı", "Lodz, AEro, STRASSE, Strasse, Izmir, kapi"),
        ("tiếng Việt, Đà Nẵng, e\u0301te\u0301, ǿ", "tieng Viet, Da Nang, ete, o"),
        ("Ελλάδα, ΐ, ёлка, їжак, чай", "Ελλαδα, ι, елка, іжак, чаи"),
        *((text, text) for text in ("हिन्दी क़लम", "한국어", "שָׁלוֹם", "がぎ, か\u3099", "plain, 3½ − ½", "ภาษาไทย")),
    ],
)
def test_only_latin_greek_and_cyrillic_letters_lose_their_accents(text, bare):
    assert languages.without_accents(text) == bare


@pytest.mark.parametrize(("read", "columns", "questions", "found", "texts"), [
    (features.qqp, {"question1": [*"abdag"], "question2": [*"bcefh"], "label": [1, 1, 0, 1, 1]}, "ag", "bh", "bcdefh"),
    (features.qnli, {"question": [*"abc"], "sentence": [*"xyz"], "label": [1, 0, 0]}, "bc", "yz", "xyz"),
])  # fmt: skip
def test_a_question_looks_for_a_duplicate_that_is_not_asked_or_for_its_answer(
    read, columns, questions, found, texts, tmp_path
):
    file = tmp_path / "pairs.parquet"
    parquet.write_table(pa.table(columns), file)
    task = read([str(file)])
    assert task.questions == [*questions] and [task.texts[place] for place in task.places] == [*found]
    assert sorted(task.texts) == [*texts]


def test_both_scores_count_in_standard_deviations():
    cosines, words = np.array([[0.2, 0.4, 0.6]]), np.array([[9.0, 0.0, 0.0]])
    meaning, wording = np.array([-(1.5**0.5), 0, 1.5**0.5]), np.array([2**0.5, -(0.5**0.5), -(0.5**0.5)])
    assert np.allclose(search.both(cosines, words), 0.75 * meaning + 0.25 * wording)


def test_the_same_scores_say_nothing():
    cosines, words = np.array([[0.2, 0.6]]), np.zeros((1, 2))
    assert np.allclose(search.both(cosines, words), [[-0.75, 0.75]])


def test_a_text_covers_the_words_of_a_query_by_their_rarity():
    tokenizer = load_tokenizer("hashgram-nano")
    found = search.coverage(tokenizer, ["a Red boat!", "zzzz", "?"], ["a red house", "a boat", "a tree"])
    a, rare = np.log(1 + 0.5 / 3.5), np.log(1 + 2.5 / 1.5)
    whole = a + 2 * rare
    assert np.allclose(found, [[(a + rare) / whole, (a + rare) / whole, a / whole], [0, 0, 0], [0, 0, 0]])


def test_the_fit_is_that_of_the_first_result():
    cosines, words, shares = np.array([[0.4, 0.2]]), np.array([[0.0, 0.0]]), np.array([[0.5, 1.0]])
    assert fits.best_fits(cosines, words, shares).tolist() == [pytest.approx(0.45)]


def test_a_rank_counts_the_texts_that_score_more():
    scores = np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.1]])
    assert features.rank_figures(scores, np.array([1, 0])) == (0.5, 1.0, 0.75)


class Pipe:
    """A stand-in for a pipeline that says yes where the second text of a pair has the word of the first."""

    model = SimpleNamespace(config=SimpleNamespace(label2id={"no": 0, "yes": 1}))

    def __call__(self, inputs, **options):
        return [{"label": "yes" if each["text"] in each["text_pair"] else "no"} for each in inputs]


def test_labels_are_names_or_numbers_and_other_labels_are_refused():
    pairs = [["a", "b", "c"], ["a b", "a c", "c"]]
    assert misspelt.accuracy(Pipe(), pairs, ["yes", "no", "yes"]) == misspelt.accuracy(Pipe(), pairs, [1, 0, 1]) == 1
    assert misspelt.accuracy(Pipe(), pairs, [1, 1, 1]) == pytest.approx(2 / 3)
    with pytest.raises(SystemExit, match=r"the labels \{'maybe'\} are none of the model's, \['no', 'yes'\]"):
        misspelt.accuracy(Pipe(), pairs, ["yes", "no", "maybe"])


def test_a_classifier_reads_a_file_and_misspelt_copies_of_it(tmp_path, capsys):
    if not CHECKPOINT.is_dir():
        pytest.skip("this archive has no trained weights")
    file, output = tmp_path / "texts.csv", tmp_path / "scores.json"
    texts = {"a splendid film": 1, "a boring film": 0, "the best movie of all": 1, "the worst movie of all": 0}
    file.write_text("\n".join(["sentence,label", *(f"{text},{label}" for text, label in texts.items())]))
    misspelt.main([str(CHECKPOINT), str(file), "--share", "0.5", "1", "--output", str(output)])
    (scores,) = json.loads(output.read_text())["rows"].values()
    assert [*scores] == ["clean", "50 % misspelt", "100 % misspelt"]
    assert scores["clean"] == 1 > scores["100 % misspelt"]
    assert "| 100.0 |" in capsys.readouterr().out


@pytest.mark.parametrize(("benchmark", "others"), [(misspelt, ["texts.csv"]), (mteb, ["--data_dir", "sets"])])
def test_two_models_of_one_name_are_refused(benchmark, others, capsys):
    with pytest.raises(SystemExit):
        benchmark.main(["./one/seed-42", "./two/seed-42", *others])
    assert "several models are called seed-42 in the table" in capsys.readouterr().err


def letters(texts):
    """Vectors of length 1 that count letters, so that swaps change nothing."""
    counts = np.array(
        [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float
    )
    return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def test_the_nearest_word_is_sought_among_the_right_words_of_its_language(tmp_path):
    file = tmp_path / "misspelt.csv"
    file.write_text(
        "misspelt,right,lang\nreciept,receipt,en\npssword,password,\nhuas,haus,de\nxyz,hund,de\nnwe,new,nl\n"
    )
    pairs = typed.read_misspellings(str(file))
    assert pairs["en"] == [("reciept", "receipt"), ("pssword", "password")] and [*pairs] == ["en", "de", "nl"]
    system = typed.System("letters", lambda queries, texts: letters(queries) @ letters(texts).T, None)
    found = typed.of_words(system, pairs)
    assert found["nearest word, en"] == 1 and found["nearest word, de"] == 0.5 and found["nearest word, nl"] == 1
    assert found["nearest word, others"] == 0.75
    assert found["cosine, de"] == pytest.approx(0.5) and found["cosine, others"] == pytest.approx(0.75)


def test_words_get_their_own_misspellings_and_others_an_error_of_the_keyboard():
    known, rng = typed.misspellings_of([("reciept", "Receipt"), ("recipt", "receipt")]), random.Random(0)
    text = "Receipt of a receipt, a zebra"
    assert typed.misspell_naturally(text, 0.0, known, rng) == text
    for _ in range(20):
        first, of, a, second, b, last = typed.misspell_naturally(text, 1.0, known, rng).split()
        assert first in ("Reciept", "Recipt") and second in ("reciept,", "recipt,")
        assert (of, a, b) == ("of", "a", "a") and last != "zebra"
    misspelt = sum(typed.misspell_naturally("receipt", 0.3, known, rng) != "receipt" for _ in range(1000))
    assert 230 < misspelt < 370


def test_all_measures_of_typed_words_stand_in_one_table(tmp_path, monkeypatch, capsys):
    if not Path(default_encoder()).is_dir():
        pytest.skip("this archive has no trained weights")
    monkeypatch.setattr(typed, "unit_embedder", lambda source: letters)
    questions, texts = (
        ["who bakes bread", "where is the river", "when does it rain"],
        ["baker bread", "river bank", "rain"],
    )
    parquet.write_table(
        pa.table({"question": questions, "sentence": texts, "label": [0, 0, 0]}), tmp_path / "qnli.parquet"
    )
    labelled = {"text": ["bread baker", "river bank"] * 6, "label": [0, 1] * 6}
    (tmp_path / "sets" / "one").mkdir(parents=True)
    for part in ("train", "test"):
        parquet.write_table(pa.table(labelled), tmp_path / "sets" / "one" / f"{part}.parquet")
    splits = {"lang": ["de"] * 12, "split": ["train"] * 8 + ["test"] * 4}
    parquet.write_table(pa.table(labelled | splits), tmp_path / "languages.parquet")
    (tmp_path / "misspelt.csv").write_text(
        "misspelt,right,lang\nbraed,bread,en\nrievr,river,en\nbrto,brot,de\nflsus,fluss,de\n"
    )
    output, files = (
        tmp_path / "typed.json",
        {"qnli": "qnli.parquet", "labelled": "languages.parquet", "data_dir": "sets"},
    )
    flags = [word for name, file in files.items() for word in (f"--{name}", str(tmp_path / file))]
    typed.main(
        ["A", "--misspellings", str(tmp_path / "misspelt.csv"), *flags, "--share", "0", "1", "--output", str(output)]
    )
    rows = json.loads(output.read_text())["rows"]
    assert [*rows] == ["words: BM25, TF-IDF", "characters: TF-IDF", "A"]
    measures = [
        "search, 0 %",
        "search, 100 %",
        "labels, 0 %",
        "labels, 100 %",
        "labels, others, 0 %",
        "labels, others, 100 %",
    ]
    assert [name for name in rows["A"] if name in measures] == measures
    assert rows["A"]["nearest word, en"] == rows["A"]["nearest word, others"] == rows["A"]["labels, 0 %"] == 1
    assert "nearest word, en" not in rows["words: BM25, TF-IDF"]
    first, second = capsys.readouterr().out.strip().split("\n\n")
    assert "| nearest word, de | cosine, de |" in second.split("\n")[0] and "–" in first


def test_alarms_are_texts_of_no_label_above_the_limit_that_keeps_95_percent_of_the_others():
    known = ["x" * length for length in range(10, 110)]
    found = reject.figures(
        lambda texts: np.array([len(text) for text in texts]), known, {"a": ["x", "xx"], "b": ["x" * 12, "x" * 60]}
    )
    assert found["a, AUROC"] == 100 and found["a, alarms"] == 0 and found["b, alarms"] == 50
    assert found["b, AUROC"] == pytest.approx(100 * (97.5 + 49.5) / 200) and found["all, alarms"] == 25


def test_peers_get_energy_and_typicality_with_the_scale_of_folds():
    vectors = {"a1": [1.0, 0.1], "a2": [1.0, 0.2], "b1": [1.0, -0.1], "b2": [1.0, -0.2], "other": [-1.0, 0.0]}
    texts = [name for name in ("a1", "a2", "b1", "b2") for _ in range(5)]
    found = reject.of_vectors(
        "peer", lambda rows: np.array([vectors[row] for row in rows]), texts, [t[0] for t in texts]
    )
    assert found.keys() == {"peer, largest probability", "peer, energy and typicality"}
    known, other = found["peer, energy and typicality"](["a1", "other"])
    assert known > other
