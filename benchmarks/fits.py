"""When the search page says that no passage fits: the share of queries for which it says so, in percent.

    python -m benchmarks.fits --qnli glue/qnli/validation.parquet --others banking77/test.parquet

Questions of QNLI are asked with the sentence that answers them among the passages, and without it; then queries about
other things, the column `text` of `--others`, and words of random letters, other ones than those that the page was
made with. A row for each number of passages (`--passages`): the answers first, then other sentences of QNLI.
Words are exact here: in the page, a misspelt word counts, too.
"""

from collections.abc import Sequence

import numpy as np

from benchmarks.features import ASKED, qnli
from benchmarks.measure import parser, write_record
from benchmarks.search import Scores, bm25, both, coverage
from vocabless.conversion.search import load_encoder
from vocabless.conversion.search_export.passage_index import build_index
from vocabless.conversion.search_export.vectors import least_fit, meaningless_queries
from vocabless.loading import default_encoder
from vocabless.saving.tables import markdown_table
from vocabless.texts.tables import load_table
from vocabless.training.pretraining.measures import unit_vectors

COLUMNS = ("least fit", "answered", "without the answer", "other things", "random letters")


def best_fits(cosines: Scores, words: Scores, shares: Scores) -> Scores:
    """Returns the fit of the first result of each query, (queries,); the arguments are (queries, passages)."""
    first = both(cosines, words).argmax(axis=1)
    rows = np.arange(len(first))
    fits: Scores = (cosines[rows, first] + shares[rows, first]) / 2
    return fits


def measure(encoder: str, file: str, others: Sequence[str], count: int) -> list[float]:
    """Returns the figures of a row of the table, 0–1."""
    task = qnli([file])
    texts = task.texts[:count]
    asked = [(question, place) for question, place in zip(task.questions, task.places, strict=True) if place < count]
    questions, places = [question for question, _ in asked], np.array([place for _, place in asked])
    model, tokenizer, modules = load_encoder(encoder)
    index = build_index(model, tokenizer, modules, texts)
    least = least_fit(index.encode, index.vectors)

    def parts(queries: Sequence[str]) -> list[Scores]:
        cosines = index.encode(queries) @ unit_vectors(index.vectors).T
        return [cosines, bm25(tokenizer, queries, texts), coverage(tokenizer, queries, texts)]

    answered = parts(questions)
    without = [each.copy() for each in answered]
    for each in without:
        each[np.arange(len(places)), places] = each.min(axis=1)
    unknown = [parts(others), parts(meaningless_queries(ASKED, seed=1))]
    return [least, *(float(np.mean(best_fits(*each) < least)) for each in (answered, without, *unknown))]


def main(argv: list[str] | None = None) -> None:
    """Prints a row for each number of passages."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("--encoder", default=default_encoder(), help="sentence encoder; default: ours")
    command_line.add_argument("--qnli", required=True, metavar="FILE", help="parquet file of its pairs")
    command_line.add_argument("--others", required=True, metavar="FILE", help="file of queries about other things")
    command_line.add_argument("--passages", type=int, nargs="+", default=[20, 400, 4000], help="default %(default)s")
    arguments = command_line.parse_args(argv)
    others = list(load_table(arguments.others, "--others", ["text"])["text"][:ASKED])
    found = {count: measure(arguments.encoder, arguments.qnli, others, count) for count in arguments.passages}
    rows = [[f"{count}", f"{row[0]:.2f}", *(f"{100 * share:.1f}" for share in row[1:])] for count, row in found.items()]
    print(markdown_table(["passages", *COLUMNS], rows))
    write_record(arguments.output, "fits", found)


if __name__ == "__main__":
    main()
