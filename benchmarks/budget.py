"""What a vocabulary is worth: a row for each encoder of texts, all of which were trained alike.

    python -m benchmarks.features budget/* --data_dir sets --glue_dir glue --share 0.1 0.3 1 --output features.json
    python -m benchmarks.budget features.json glue/stsb/validation.parquet budget/*

A run is a folder of `vocabless pretrain --recipe distill`, of a front end of ours or of a stock BERT.

- **MB**: the embeddings of words, then all weights, in 32 bits; then the graph for onnxruntime with 8-bit weights.
- **Four sets**, **search**: from the first file. **Cosine**: with the teacher's vectors of held-out texts.
- **Tokens**: of the first sentence of a pair, a mean. **ms**: from such a sentence to its vector in onnxruntime, with
  8-bit weights and one thread, a median. All runs take turns sentence by sentence, because a machine's speed changes.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.measure import Models, parser, write_record
from vocabless.conversion.onnx_export.graph import INPUT, export, quantize, session_of
from vocabless.conversion.onnx_export.sentence_encoder import sentence_encoder_of
from vocabless.modeling.head_layers import mean_state
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.tables import markdown_table
from vocabless.training.load import is_ours
from vocabless.training.pretraining.measures import read_scored_pairs

TIMED = 300  # sentences
# A column → the name of the figure in `benchmarks.features`.
FEATURES = {
    "four sets": "mean",
    "1 in 10 misspelt": "mean, 10 % misspelt",
    "3 in 10": "mean, 30 % misspelt",
    "all": "mean, 100 % misspelt",
    "search": "search, qnli, among ten",
}


class StockEncoder(nn.Module):
    """A stock encoder with its dense layer: ids (B, S) → vectors of length 1 (B, D)."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.model, self.dense = encoder[0].auto_model, encoder[2].linear
        self.model.set_attn_implementation("eager")

    def forward(self, input_ids: Tensor) -> Tensor:
        """Returns the vectors."""
        mask = (input_ids != self.model.config.pad_token_id).long()
        return F.normalize(self.dense(mean_state(self.model(input_ids, mask).last_hidden_state, mask)[0]))


def stock_graph(encoder: Any) -> Any:
    """Returns a stock sentence encoder as ONNX."""
    example = torch.ones(3, 7, dtype=torch.long)
    shapes = {INPUT: {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=512)}}
    traced = torch.export.export(StockEncoder(encoder).eval(), (example,), dynamic_shapes=shapes, strict=False)
    program: Any = torch.onnx.export(traced, dynamo=True, input_names=[INPUT], verbose=False)
    return program.model_proto


def figures(run: str, features: dict[str, float]) -> tuple[dict[str, float], Callable[[str], int]]:
    """Returns the figures of a row but the last two, scores from 0 to 1, and a function that encodes a sentence.

    The function computes the vector and returns the number of tokens.
    """
    encoder: Any = SentenceTransformer(run, trust_remote_code=True, device="cpu")
    after = json.loads((Path(run) / "results.json").read_text())["after"]
    if is_ours(encoder[0].auto_model.config):
        model, tokenizer = load_checkpoint(run)
        words: Any = model.front_end
        proto = export(sentence_encoder_of(model, run), is_pair=False)
    else:
        tokenizer, words = encoder.tokenizer, encoder[0].auto_model.get_input_embeddings()
        proto = stock_graph(encoder)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "int8.onnx"
        quantize(proto, file)
        num_bytes, session = file.stat().st_size, session_of(file, num_threads=1)

    def encode(sentence: str) -> int:
        ids = tokenizer([sentence], return_tensors="np")[INPUT].astype("int64")
        session.run(None, {INPUT: ids})
        return int(ids.shape[1])

    row = {"MB, words": parameters(words) * 4e-6, "MB": parameters(encoder) * 4e-6, "MB, 8 bits": num_bytes / 1e6}
    row |= {column: features[name] for column, name in FEATURES.items()}
    return row | {"STS-B": after["eval_spearman"], "cosine": after["eval_cosine"]}, encode


def tokens_and_time(encoders: Sequence[Callable[[str], int]], sentences: Sequence[str]) -> list[dict[str, float]]:
    """Returns the tokens of a sentence and its milliseconds, for each encoder."""
    tokens: list[list[int]] = [[] for _ in encoders]
    times: list[list[float]] = [[] for _ in encoders]
    for sentence in sentences:
        for place, encode in enumerate(encoders):
            start = time.perf_counter()
            tokens[place].append(encode(sentence))
            times[place].append(1000 * (time.perf_counter() - start))
    of_encoders = zip(tokens, times, strict=True)
    return [{"tokens": statistics.mean(numbers), "ms": statistics.median(each)} for numbers, each in of_encoders]


def parameters(module: nn.Module) -> int:
    """Returns the number of weights."""
    return sum(each.numel() for each in module.parameters())


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a row for each run."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("features", help="what `benchmarks.features` wrote of the runs")
    command_line.add_argument("sts_file", help="file with the columns sentence1, sentence2 and score")
    command_line.add_argument("runs", action=Models, nargs="+", metavar="RUN")
    arguments = command_line.parse_args(argv)
    sentences = read_scored_pairs(arguments.sts_file)[0]
    of_runs = json.loads(Path(arguments.features).read_text())["rows"]
    rows, encoders = zip(*(figures(run, of_runs[Path(run).name]) for run in arguments.runs), strict=True)
    times = tokens_and_time(encoders, sentences[:TIMED])
    table = {Path(run).name: row | timed for run, row, timed in zip(arguments.runs, rows, times, strict=True)}
    percent = {*FEATURES, "STS-B"}
    digits = {"cosine": 3, "tokens": 1}
    lines = [
        [run, *(f"{100 * x:.1f}" if name in percent else f"{x:.{digits.get(name, 2)}f}" for name, x in row.items())]
        for run, row in table.items()
    ]
    print(markdown_table(["", *next(iter(table.values()))], lines))
    write_record(arguments.output, "budget", table)


if __name__ == "__main__":
    main()
