"""Pre-trains a variant of the family, from nothing to a checkpoint folder that loads anywhere.

    python run_pretraining.py                                  # embedded corpus, tiny variant, about three minutes
    python run_pretraining.py --variant eelbert-word-tiny --corpus "texts/*.parquet" --output_dir runs/words
    python run_pretraining.py --variant eelbert-tiny --subword train --corpus texts/ --max_steps 5000 --bf16
    accelerate launch run_pretraining.py --variant hashformer-md5-pool-base --max_seq_length 512 …

The same command again continues a run that was interrupted. The folder ends up with weights, code, tokenizer,
README.md, run.json (arguments, versions) and results.json.
"""

import logging
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import datasets
from datasets import Dataset, concatenate_datasets
from transformers import DataCollatorForTokenClassification, HfArgumentParser, set_seed

from vocabless import VocablessForPreTraining, VocablessTokenizer
from vocabless.saving.checkpoint import loads_without_package, save_checkpoint
from vocabless.saving.model_card import write_card
from vocabless.saving.run_folder import HUB_ARGUMENTS, RESULTS, claim, versions, write_json
from vocabless.saving.uploads import check_run_upload, upload_run
from vocabless.training.pretraining.arguments import (
    PretrainingArguments,
    PretrainingTrainingArguments,
    Speed,
    compared,
    first_evaluation,
    measure,
    predictions,
)
from vocabless.training.pretraining.card import card_facts
from vocabless.training.pretraining.corruption import OBJECTIVES, MaskedTokens, Objective, ShuffleRandom
from vocabless.training.pretraining.learners import Learner, load_learner, published_objective, subword_kind
from vocabless.training.pretraining.packing import AnyDataset, mix, own_part, prepare
from vocabless.training.pretraining.sequences import PretrainingDataset, PretrainingStream
from vocabless.training.pretraining.showcase import showcase
from vocabless.training.recipes import parse_with_recipe
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.subword import train_subword
from vocabless.training.trainer import ResumableTrainer

STREAMED_DOCUMENTS = 200_000  # that a subword tokenizer is trained on where the corpus has no end
# Where a run writes and how it reports do not make it another run.
NOT_PART_OF_A_RUN = (
    *("output_dir", "logging_dir", "disable_tqdm", "report_to", "run_name", "preprocessing_num_workers"),
    *HUB_ARGUMENTS,
)


def main(argv: list[str] | None = None) -> None:
    """Runs the script on command-line arguments; a user's mistake ends it with one sentence."""
    parser = HfArgumentParser([PretrainingArguments, PretrainingTrainingArguments], description=__doc__)
    try:
        arguments, training = parse_with_recipe(parser, argv)
        if training.output_dir is None:
            training.output_dir = f"runs/{arguments.variant}"
        run(arguments, training)
    except ValueError as error:
        sys.exit(f"run_pretraining.py: {error}")


def run(arguments: PretrainingArguments, training: PretrainingTrainingArguments) -> None:
    """Pre-trains, from a claimed folder to a checkpoint in it.

    Raises:
        ValueError: a user's mistake, or training that cannot go on.
    """
    datasets.disable_progress_bars() if training.disable_tqdm else datasets.enable_progress_bars()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    folder = Path(str(training.output_dir))
    objective = _objective(arguments)
    name = "mlm" if isinstance(objective, MaskedTokens) else "shuffle-random"
    repositories: list[str] = []
    if training.process_index == 0:
        repositories = check_run_upload(training, folder.name) if training.push_to_hub else []
        claim(folder, _identity(arguments, training))
    training.push_to_hub = False  # the Trainer would push unfinished runs, see `upload_run`
    with training.main_process_first(desc="preparing the corpus"):
        corpora, held_out = _documents(arguments, training.seed)
        subword = _subword(arguments, corpora, folder)
        set_seed(training.seed)
        learner = load_learner(
            arguments.variant, name, arguments.max_seq_length, subword, arguments.dropout, arguments.neighbour_init
        )
        train_set, eval_set = _sets(arguments, training, learner, objective, corpora, held_out)

    trainer = ResumableTrainer(
        model=learner.model,
        args=training,
        train_dataset=train_set,
        eval_dataset=eval_set,
        data_collator=DataCollatorForTokenClassification(learner.tokenizer),
        compute_metrics=lambda prediction: measure(prediction, per_class=name == "shuffle-random"),
        preprocess_logits_for_metrics=predictions,
        callbacks=[Speed()],
    )
    outcome = trainer.resume()
    after = trainer.evaluate()
    weights = trainer.full_state_dict()
    if trainer.is_world_process_zero():
        results = {
            "train": outcome.metrics,
            "tokens_seen": trainer.state.num_input_tokens_seen,
            "log": trainer.state.log_history,
            "arguments": _identity(arguments, training),
        }
        _finish(learner, name, folder, weights, results | {"after": after}, arguments.example, held_out[0]["text"])
        for repository in repositories:
            print(f"Uploaded to {upload_run(folder, repository, training)}.")
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()


def _finish(
    learner: Learner,
    objective: str,
    folder: Path,
    weights: dict[str, Any],
    results: dict[str, Any],
    example: str,
    text: str,
) -> None:
    """Writes the checkpoint, its card and last the results; prints what came out."""
    results |= {
        "objective": objective,
        "before": first_evaluation(results["log"]),
        "parameters": learner.model.num_parameters(),
        "versions": versions(),
    }
    save_checkpoint(learner.model, learner.tokenizer, folder, weights)
    print(f"\n{'held out':20} {'before':>8} {'after':>8}")
    for measured, *values in compared(results["before"], results["after"]):
        print(f"{measured:20} {values[0]:8.4f} {values[1]:8.4f}")
    print()
    if isinstance(learner.tokenizer, VocablessTokenizer):
        write_card(folder, learner.model, learner.tokenizer.block_size, card_facts(results))
        model = type(learner.model).from_pretrained(folder)
        if isinstance(model, VocablessForPreTraining):
            words = [str(unit) for unit in learner.tokenizer.unit_splitter.units(text) if str(unit).isalpha()]
            print(showcase(model, learner.tokenizer, example, words or ["word"], results["arguments"]["seed"]), "\n")
        same = results["loads_without_package_bit_equal"] = loads_without_package(model, learner.tokenizer, folder)
        if not same:
            raise ValueError(
                f"{folder} loads without vocabless, but gives other outputs; do not use it, and report it."
            )
        print(f"Loaded {folder} in a process without vocabless: outputs are bit-equal.")
        print(f'Use it: AutoModel.from_pretrained("{folder}", trust_remote_code=True)')
    write_json(folder / RESULTS, results)


def _objective(arguments: PretrainingArguments) -> Objective:
    name = arguments.objective or published_objective(arguments.variant)
    if name not in OBJECTIVES:
        raise ValueError(f"unknown objective {name!r}; choose one of {', '.join(OBJECTIVES)}.")
    if name == "mlm":
        return MaskedTokens(arguments.mlm_probability)
    return ShuffleRandom(arguments.shuffle_probability, arguments.replace_probability)


def _documents(arguments: PretrainingArguments, seed: int) -> tuple[list[AnyDataset], Dataset]:
    """Returns the corpora, and the documents that are held out."""
    workers, streaming = arguments.preprocessing_num_workers, arguments.streaming
    corpora = [
        load_text(source, arguments.text_column, workers, streaming) for source in arguments.corpus or ["pydocs"]
    ]
    if arguments.validation_corpus is not None:
        given = [load_text(source, arguments.text_column, workers) for source in arguments.validation_corpus]
        return corpora, concatenate_datasets(given)
    if streaming:
        raise ValueError(
            "--streaming cannot hold out a part of a corpus it does not know whole; give --validation_corpus."
        )
    share = arguments.validation_split_percentage / 100
    held_out = []
    for index, documents in enumerate(corpora):
        if not 0 < share <= 0.5 or len(documents) < 2:
            raise ValueError(
                f"{share:.1%} of {len(documents)} documents cannot be held out; give --validation_split_percentage "
                "above 0 and at most 50, at least two documents, or --validation_corpus."
            )
        parts = documents.train_test_split(test_size=max(1, round(share * len(documents))), seed=seed)
        corpora[index] = parts["train"]
        held_out.append(parts["test"])
    return corpora, concatenate_datasets(held_out)


def _subword(arguments: PretrainingArguments, corpora: list[AnyDataset], folder: Path) -> str | None:
    """Returns where the subword tokenizer is, which is trained first if that is asked for."""
    if arguments.subword != "train":
        return arguments.subword
    file = folder / "subword.json"
    if not file.is_file():  # an interrupted run goes on with the one it began with
        if arguments.streaming:
            corpora = [documents.take(STREAMED_DOCUMENTS // len(corpora)) for documents in corpora]
        trained = train_subword(
            concatenate_datasets(corpora), subword_kind(arguments.variant), arguments.subword_vocab_size
        )
        trained.save(str(file.with_suffix(".tmp")))
        file.with_suffix(".tmp").replace(file)
    return str(file)


def _sets(
    arguments: PretrainingArguments,
    training: PretrainingTrainingArguments,
    learner: Learner,
    objective: Objective,
    corpora: list[AnyDataset],
    held_out: Dataset,
) -> tuple[PretrainingDataset | PretrainingStream, PretrainingDataset]:
    """Returns what is trained on and what is evaluated."""
    codec, length, workers = learner.codec, arguments.max_seq_length, arguments.preprocessing_num_workers
    rank, seed = training.process_index, training.seed
    train_set: PretrainingDataset | PretrainingStream
    if arguments.streaming:
        if training.max_steps <= 0:
            raise ValueError(f"--max_steps is {training.max_steps}, but a stream has no end; give at least 1.")
        corpora = [own_part(documents, seed, rank, training.world_size) for documents in corpora]
        mixed = mix([prepare(documents, codec, length) for documents in corpora], arguments.mix, seed)
        train_set = PretrainingStream(mixed, codec, objective, seed, arguments.shuffle_buffer_size, rank)
    else:
        mixed = mix([prepare(documents, codec, length, workers) for documents in corpora], arguments.mix, seed)
        train_set = PretrainingDataset(mixed, codec, objective, seed)
    sequences = prepare(held_out, codec, length, workers)
    if 0 < arguments.max_eval_samples < len(sequences):
        sequences = sequences.select(range(arguments.max_eval_samples))
    return train_set, PretrainingDataset(sequences, codec, objective, seed + 1)


def _identity(arguments: PretrainingArguments, training: PretrainingTrainingArguments) -> dict[str, Any]:
    """Returns what makes a run this run and no other."""
    given = asdict(arguments) | training.to_sanitized_dict() | {"world_size": training.world_size}
    return {name: value for name, value in given.items() if name not in NOT_PART_OF_A_RUN}


if __name__ == "__main__":
    main()
