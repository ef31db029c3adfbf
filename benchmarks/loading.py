"""How fast the examples of a pre-training are read, and how much of the time of a training step that is.

    python -m benchmarks.loading
    python -m benchmarks.loading --corpus "wikipedia/*.parquet" --documents 2000

Loader: an epoch of the Trainer's own batches, with 0, 1 and 2 workers (`--dataloader_num_workers`), the best of three.
Step: forward, backward and update. Seconds are those of the processor, of all processes together, the start of workers
included. The teacher of `distill` is the encoder of the package.
"""

import gc
import os
import tempfile
from collections.abc import Sequence
from itertools import islice
from typing import Any

import datasets
from datasets import Dataset

from benchmarks import measure
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.pretraining.objective import load_model
from vocabless.training.pretraining.run_text import Documents

WORKERS = (0, 1, 2)
ROUNDS, STEPS = 3, 2  # epochs of the loader, and measured training steps
# What is trained → the flags of `run_pretraining.py`.
RUNS = {
    "S+R, hashformer-lsh-proj-tiny": "--objective shuffle-random --variant hashformer-lsh-proj-tiny",
    "MLM, eelbert-tiny": "--objective mlm --variant eelbert-tiny",
    "MLM, bert-tiny": "--objective mlm --variant bert-tiny",
    "distill, hashgram-tiny": "--objective distill --variant hashgram-tiny",
    "distill, misspelt": "--objective distill --variant hashgram-tiny --misspell_probability 0.05",
}


def processor_seconds() -> float:
    """Returns the seconds that this process and its ended children have computed for."""
    return sum(os.times()[:4])


def build_trainer(flags: Sequence[str], documents: Dataset) -> Any:
    """Returns the Trainer of a run of `run_pretraining.py` on documents; the last one is held out."""
    objective = parse_command_line([*flags, "--use_cpu", "true", "--report_to", "none"])
    train, held_out = documents.select(range(len(documents) - 1)), documents.select([len(documents) - 1])
    model, tokenizer = load_model(objective.arguments, objective, [train])
    examples = objective.build_examples(Documents([train], held_out), tokenizer)
    return objective.build_trainer(model, tokenizer, examples)


def read_epoch(trainer: Any, workers: int) -> tuple[int, int, float]:
    """Returns the texts and the tokens of an epoch, and the seconds that reading it takes."""
    trainer.args.dataloader_num_workers = workers
    texts = tokens = 0
    gc.collect()  # of the run before
    start = processor_seconds()
    for batch in trainer.get_train_dataloader():
        texts += len(batch["attention_mask"])
        tokens += int(batch["attention_mask"].sum())
    return texts, tokens, processor_seconds() - start


def step_seconds(trainer: Any, steps: int) -> float:
    """Returns the seconds of processor time that a training step takes for each token, without the loader."""
    batches = list(islice(trainer.get_train_dataloader(), steps + 1))
    trainer.create_optimizer()
    model = trainer.model_wrapped.train()

    def step(batch: dict[str, Any]) -> None:
        trainer.compute_loss(model, dict(batch)).backward()
        trainer.optimizer.step()
        trainer.optimizer.zero_grad()

    step(batches[0])  # a warm-up
    start = processor_seconds()
    for batch in batches[1:]:
        step(batch)
    return (processor_seconds() - start) / sum(int(batch["attention_mask"].sum()) for batch in batches[1:])


def measured(name: str, trainer: Any) -> dict[str, Any]:
    """Returns texts/s and tokens/s of the loader, by the number of workers, and tokens/s of the step."""
    row: dict[str, Any] = {"name": name, "step": 1 / step_seconds(trainer, STEPS)}
    for workers in WORKERS:
        rounds = [read_epoch(trainer, workers) for _ in range(ROUNDS)]
        texts, tokens, seconds = min(rounds, key=lambda result: result[2])
        row |= {f"texts {workers}": texts / seconds, f"tokens {workers}": tokens / seconds}
    return row


def main() -> None:
    """Runs the benchmark."""
    command_line = measure.parser(__doc__, "threads", "output", "corpus", "documents")
    command_line.set_defaults(documents=1000)
    command_line.add_argument("--length", type=int, default=128, help="tokens of a sequence (%(default)s)")
    command_line.add_argument("--batch", type=int, default=128, help="sequences of a batch (%(default)s)")
    command_line.add_argument("--max_texts", type=int, default=20_000, help="texts of distill (%(default)s)")
    arguments = command_line.parse_args()
    measure.prepare_threads(arguments.threads)
    datasets.disable_progress_bars()
    documents = measure.read(arguments.corpus, arguments.documents)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        subword = measure.vocabulary(documents, "wordpiece", 30_000, folder)
        shared = ["--max_seq_length", str(arguments.length), "--per_device_train_batch_size", str(arguments.batch)]
        shared += ["--output_dir", folder, "--max_texts", str(arguments.max_texts)]
        for name, flags in RUNS.items():
            words = flags.split() + (["--subword", subword] if name.startswith("MLM") else [])
            rows.append(measured(name, build_trainer([*words, *shared], documents)))
    header = ["", *(f"texts/s, {n} workers" for n in WORKERS), *(f"tokens/s, {n} workers" for n in WORKERS)]
    lines = [
        [
            row["name"],
            *(f"{row[f'{unit} {n}']:,.0f}" for unit in ("texts", "tokens") for n in WORKERS),
            f"{row['step']:,.0f}",
            f"{row['step'] / row['tokens 0']:.1%}",
        ]
        for row in rows
    ]
    print(measure.aligned_table([[*header, "step, tokens/s", "loader / step"], *lines], num_texts=1))
    measure.write_record(arguments.output, "loading", rows)


if __name__ == "__main__":
    main()
