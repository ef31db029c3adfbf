"""docs/papers.md: its figures and sentences that can be computed, beside what they are computed from."""

import inspect
import re
import string
from pathlib import Path

import pytest
import torch
from strings import random_strings

from papers import eelbert, elementwise, hashformers
from papers.counts import BYTES, parameter_figures, size_figures
from papers.speed import EELBERT_5, FIGURE_1, HASHFORMERS_3
from papers.table import PaperRow, PaperTable
from vocabless import VocablessModel, load_config
from vocabless.modeling.ngram_front_ends import HASH_BASE
from vocabless.modeling.ngram_hashes import MODULUS
from vocabless.texts.subwords_and_ngrams import MOST_NGRAMS
from vocabless.tokenization.block_coders import LshCoder, LshIndexCoder, _rolled_products
from vocabless.tokenization.piece_coders import MAX_CHARACTERS
from vocabless.tokenization.splitters import WordSplitter
from vocabless.training.script import read_recipe

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs/papers.md").read_text(encoding="utf-8").split())


def row_of(table: PaperTable, label: str) -> PaperRow:
    return next(row for row in table.rows if row.label == label)


def gigabytes(row: PaperRow) -> float:
    """Size of a classifier's weights."""
    return BYTES * parameter_figures(row)[0] / 1e9


def thousands(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def test_names_behind_the_first_one_of_a_file_are_in_it_too() -> None:
    found = 0
    for path, _, rest in re.findall(r"`([\w/]+\.py): (\w+)`((?:, `\w+`)*)", PAGE):
        for name in re.findall(r"\w+", rest):
            assert re.search(rf"^((class|def) )?{name}\b", (ROOT / path).read_text(encoding="utf-8"), re.M), (
                path,
                name,
            )
            found += 1
    assert found > 5


def test_the_disk_that_a_table_takes_follows_from_the_sizes_of_its_models() -> None:
    table, recipe = hashformers.TABLE_1, read_recipe("hashformer-glue")
    runs = len(recipe["task_name"]) * recipe["seeds"]
    sizes = {row.label: gigabytes(row) for row in table.rows if not row.label.startswith("LSH")}
    small, large = sizes["MD Pool"], sizes["MD Emb (50K)"]
    both = sum(size * (1 + label.startswith("MD")) for label, size in sizes.items())  # LSH has the sizes of MD
    assert f"{runs} × {small:.2f} GB = {runs * small:.0f} GB for a small row of HashFormers" in PAGE
    assert f"{runs * large:.0f} GB for Emb (50K), {10 * round(runs * both / 10)} GB for Table 1;" in PAGE
    # The weights, and twice the weights and two moments of Adam.
    assert f"with its two checkpoints is {7 * sizes['MD Proj']:.1f} to {7 * large:.1f} GB" in PAGE
    recipe, rates = read_recipe("eelbert-glue"), len(eelbert.TABLE_1.learning_rates)
    runs = len(recipe["task_name"]) * recipe["seeds"] * rates
    assert f"a row has {runs} runs, in Table 2, without STS-B, {runs - recipe['seeds'] * rates}." in PAGE
    ours, bert = (runs * gigabytes(PaperRow(name, name, "")) for name in ("eelbert-base", "bert-base"))
    assert f"{ours:.0f} GB for EELBERT-base and {bert:.0f} GB for BERT-base" in PAGE


def test_the_cells_of_hashformers_that_differ_from_ours_are_named_with_ours() -> None:
    base, canine = hashformers.TABLE_2.rows[:2]
    ours, printed = size_figures(canine, base), canine.published(hashformers.TABLE_2.columns)
    shares = [f"{100 * ours[name]:.1f}".replace("-", "−") for name in ("pcr_embeddings", "poep", "pcr_all")]
    theirs = [printed[title] for title in ("PCR emb.", "PoEP", "PCR all")]
    assert f"ours are {shares[0]} (PCR of embeddings), {shares[1]} (PoEP) and {shares[2]} (PCR of all)" in PAGE
    assert "in place of {}, {} and {}".format(*theirs) in PAGE
    millions = ours["embedding_parameters"] / 1e6, ours["parameters"] / 1e6
    assert f"16 384 buckets, {millions[0]:.2f}M, and {millions[1]:.1f}M in all" in PAGE
    assert f"16 000 buckets, {16_000 * 768 / 1e6:.1f}M, and a total of {printed['Total (M)']:.1f}M" in PAGE
    emb = row_of(hashformers.TABLE_2, "MD Emb (1K)").published(hashformers.TABLE_2.columns)
    by_equation_7 = f"{emb['Emb. (K)'] / emb['Total (M)'] / 10:.1f} % by equation 7; the paper prints {emb['PoEP']}"
    assert by_equation_7 in PAGE and f"printed {1038 * 768 / 1000:.1f}K is 1 038·768" in PAGE


@pytest.mark.parametrize("recipe", ["hashformer", "hashformer-mlm"])
def test_the_steps_of_hashformers_are_ten_epochs_of_small_corpora_alone(recipe: str) -> None:
    sequences = read_recipe(recipe)["max_steps"] * read_recipe(recipe)["total_batch_size"]
    assert f"trains for {thousands(read_recipe(recipe)['max_steps'])} steps" in PAGE
    assert f"The steps are {sequences // 10**6} million sequences, so ten epochs would be fewer" in PAGE
    assert f"below {sequences / 10**7:.1f} million sequences of {read_recipe(recipe)['max_seq_length']} tokens" in PAGE


def test_the_features_of_both_lsh_coders_are_as_many_as_the_page_says() -> None:
    bits, index = (inspect.signature(coder).parameters["num_features"].default for coder in (LshCoder, LshIndexCoder))
    assert f"`lsh-index` has {thousands(index)} features, the other LSH coder {thousands(bits)}." in PAGE
    assert f"the {thousands(MOST_NGRAMS)} n-grams of the paper; then {index - MOST_NGRAMS} features" in PAGE
    assert inspect.signature(LshIndexCoder).parameters["num_hyperplanes"].default == index  # N numbers for N rolls
    assert f"reads {MAX_CHARACTERS} characters of a word" in PAGE


def test_the_units_with_a_product_of_zero_have_one() -> None:
    (sentence,) = re.findall(r"some units of features reach exactly 0 with a hyperplane: (.*?) do\.", PAGE)
    coder, units = LshCoder(), re.findall('"(.*?)"', sentence)
    assert len(units) == 3
    assert (_rolled_products(coder._eta, coder._features, units, coder.num_bits) == 0).any(axis=1).all()


def test_words_are_cut_as_by_the_authors_where_the_page_says_so_and_as_it_says_elsewhere() -> None:
    splitter = WordSplitter(lowercase=True)

    def of_authors(text: str) -> list[str]:
        return re.findall(r"\w+|[^\w\s]+", text.lower())

    assert '"İstanbul" is one unit here and three there' in PAGE
    assert (len(splitter.units("İstanbul")), len(of_authors("İstanbul"))) == (1, 3)
    for space in "\u200b\ufeff":
        assert f"U+{ord(space):04X}" in PAGE
        assert (len(splitter.units(f"a{space}b")), len(of_authors(f"a{space}b"))) == (2, 3)
    texts = [re.sub(r"[^\x00-\x7f]", "", text) for text in random_strings(500)] + [string.printable]
    assert sum(len(splitter.units(text)) > 1 for text in texts) > 50
    for text in texts:
        assert [splitter.normalize(unit) for unit in splitter.units(text)] == of_authors(text), repr(text)


def test_short_ngrams_never_share_a_hash() -> None:
    assert f"The hash base ({HASH_BASE})" in PAGE and all(HASH_BASE % divisor for divisor in range(2, 17))
    assert HASH_BASE > 260 and HASH_BASE**3 < MODULUS  # so that three elements are the digits of a number below B


def test_the_counts_of_eelbert_that_differ_within_the_paper_are_named() -> None:
    mini, uno = (row_of(eelbert.TABLE_2, label) for label in ("EELBERT-mini", "UNO-EELBERT"))
    classifier, masked_lm = (
        parameter_figures(mini)[0],
        parameter_figures(row_of(eelbert.TABLE_3, "BERT-mini, random"))[0],
    )
    assert f"EELBERT-mini has {thousands(classifier)} there and {thousands(masked_lm)} in Table 3." in PAGE
    count = parameter_figures(uno)[0]
    assert f"its {thousands(count)} parameters are {BYTES * count / 1e6:.2f} MB" in PAGE
    tables = (eelbert.TABLE_1, "EELBERT-base"), (eelbert.TABLE_3, "BERT-base, n-gram pooling")
    scores = [row_of(table, label).published(table.columns)["MNLI M"] for table, label in tables]
    assert "MNLI of EELBERT-base is {:.3f} in Table 1 and {:.3f} in Table 3".format(*scores) in PAGE


def test_the_counts_of_elementwise_that_the_page_adds_are_ours() -> None:
    with torch.device("meta"):
        model = VocablessModel(load_config("ewe-bert-base"))
    focus = model.get_parameter("front_end.focus.weight").numel()
    positions = model.get_parameter("encoder.embeddings.position_embeddings.weight").numel()
    assert f"The footnote's 200k of focus embeddings are {thousands(focus + positions)}." in PAGE
    table = elementwise.TABLE_2
    ours = size_figures(row_of(table, "CANINE, elementwise"), table.rows[4], table.num_labels)
    millions, share = ours["elementwise_embeddings"] / 1e6, ours["elementwise_embeddings_ratio"]
    assert f"(ours are {millions:.1f}M and {share:.2f})" in PAGE
    assert "Its default is 16 384. | The paper counts about 1M for all embeddings of CANINE" in PAGE
    assert f"which alone is {16_384 * 768 / 1e6:.1f}M" in PAGE


def test_the_deviations_of_the_patents_fit_ten_times_the_printed_counts() -> None:
    """Of N among 1.9M patents, each label has N / 1.9M of its training patents, and so has the deviation."""
    numbers = [1000 * round(share / 21 * 1900) for share in (1.8, 1.9)]
    assert "those of some {} and {} patents out of 1.9M".format(*map(thousands, numbers)) in PAGE
    assert f"664 subclasses, so {thousands(2 * 664)} labels" in PAGE and elementwise.TABLE_2.num_labels == 2 * 664


def test_the_shares_of_figure_1_and_the_papers_rates_are_the_computed_ones() -> None:
    shares = []
    for name in FIGURE_1:
        row = PaperRow(name, name, "", has_mlm_head=True)
        shares.append(f"{100 * size_figures(row, row)['poep']:.1f} % of {name.replace('bert', 'BERT')}")
    assert f"the word table is {shares[0]}, {shares[1]} and {shares[2]}." in PAGE
    for size in ("base", "mini", "tiny"):
        (cells,) = re.findall(rf"\| {size} ((?:\| [\d.]+ ){{5}})\|", PAGE)
        bert, ours, rate, _, printed = map(float, re.findall(r"[\d.]+", cells))
        assert printed == round(EELBERT_5[f"eelbert-{size}"][1] / EELBERT_5[f"bert-{size}"][1], 2)
        assert rate == pytest.approx(ours / bert, abs=0.02)
    for timed in HASHFORMERS_3[1:]:
        _, training, _, inference = timed.printed.split()
        assert re.search(rf"\| {re.escape(timed.label)} \| \S+ \| {training} \| \S+ \| {inference} \|", PAGE), timed
