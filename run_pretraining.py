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
import torch
from datasets import Dataset
from tokenizers import Tokenizer
from transformers import DataCollatorForTokenClassification, HfArgumentParser, Trainer, set_seed
from transformers.trainer_utils import get_last_checkpoint

from vocabless import VocablessForMaskedLM, VocablessForPreTraining, VocablessTokenizer, load_config, load_tokenizer
from vocabless.conversion.checkpoint import loads_without_package, save_checkpoint
from vocabless.conversion.model_card import write_card
from vocabless.tokenization.splitters import SubwordSplitter
from vocabless.training.corpus import load_text, prepare
from vocabless.training.corruption import OBJECTIVES, MaskedTokens, Objective, PretrainingDataset, ShuffleRandom
from vocabless.training.neighbours import look_at_neighbours
from vocabless.training.pretraining import (
    PretrainingArguments,
    PretrainingTrainingArguments,
    Speed,
    compared,
    measure,
    predictions,
)
from vocabless.training.run_folder import RESULTS, claim, versions, write_json
from vocabless.training.showcase import showcase
from vocabless.training.subword import train_subword
from vocabless.variants import Variant, find_variant, load_subword

# Where a run writes and how it reports do not make it another run.
NOT_PART_OF_A_RUN = ("output_dir", "logging_dir", "disable_tqdm", "report_to", "run_name", "preprocessing_num_workers")


def main(argv: list[str] | None = None) -> None:
    """Runs the script on command-line arguments; a user's mistake ends it with one sentence and exit code 2."""
    parser = HfArgumentParser((PretrainingArguments, PretrainingTrainingArguments), description=__doc__)
    arguments, training = parser.parse_args_into_dataclasses(argv)
    if training.output_dir is None:
        training.output_dir = f"runs/{arguments.variant}"
    datasets.disable_progress_bars() if training.disable_tqdm else datasets.enable_progress_bars()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        row = find_variant(arguments.variant)
        objective = _objective(arguments, row)
        resume = claim(training.output_dir, _identity(arguments, training))
        set_seed(training.seed)
        documents, held_out = _documents(arguments, training.seed)
        folder = Path(training.output_dir)
        tokenizer, target = _tokenizers(arguments, row, objective, documents, folder)
        train_set, eval_set = (
            PretrainingDataset(prepare(text, tokenizer, *rest), tokenizer, objective, training.seed + offset)
            for offset, text in enumerate((documents, held_out))
            for rest in [(_length(arguments, row), target, arguments.preprocessing_num_workers)]
        )
        if 0 < arguments.max_eval_samples < len(eval_set):
            eval_set.sequences = eval_set.sequences.select(range(arguments.max_eval_samples))
        model = _model(arguments, target)
    except ValueError as error:
        sys.exit(f"run_pretraining.py: {error}")

    is_shuffle = isinstance(objective, ShuffleRandom)
    trainer = Trainer(
        model=model,
        args=training,
        train_dataset=train_set,
        eval_dataset=eval_set,
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_metrics=lambda prediction: measure(prediction, per_class=is_shuffle),
        preprocess_logits_for_metrics=predictions,
        callbacks=[Speed()],
    )
    before = trainer.evaluate()
    outcome = trainer.train(resume_from_checkpoint=get_last_checkpoint(training.output_dir) if resume else None)
    after = trainer.evaluate()
    if not trainer.is_world_process_zero():
        return
    results: dict[str, Any] = {
        "before": before,
        "after": after,
        "train": outcome.metrics,
        "parameters": model.num_parameters(),
        "tokens_seen": trainer.state.num_input_tokens_seen,
        "log": trainer.state.log_history,
        "arguments": _identity(arguments, training),
        "versions": versions(),
    }
    final = trainer.accelerator.unwrap_model(trainer.model)
    save_checkpoint(final, tokenizer, folder)
    write_card(folder, row, "shuffle-random" if is_shuffle else "mlm", results)
    print(f"\n{'held out':20} {'before':>8} {'after':>8}")
    for name, *values in compared(before, after):
        print(f"{name:20} {values[0]:8.4f} {values[1]:8.4f}")
    print()
    if isinstance(final, VocablessForPreTraining):
        words = [str(unit) for unit in tokenizer.unit_splitter.units(held_out[0]["text"]) if str(unit).isalpha()]
        print(showcase(final.cpu(), tokenizer, arguments.example, words or ["word"], training.seed), "\n")
    same = loads_without_package(final, tokenizer, folder)
    results["loads_without_package_bit_equal"] = same
    write_json(folder / RESULTS, results)
    print(f"Loaded {folder} in a process without vocabless: outputs are {'bit-equal' if same else 'NOT equal'}.")
    print(f'Use it: AutoModel.from_pretrained("{folder}", trust_remote_code=True)')


def _objective(arguments: PretrainingArguments, row: Variant) -> Objective:
    name = arguments.objective or (row.objective if row.objective in OBJECTIVES else "shuffle-random")
    if name not in OBJECTIVES:
        raise ValueError(f"unknown objective {name!r}; choose one of {', '.join(OBJECTIVES)}.")
    if name == "mlm":
        return MaskedTokens(arguments.mlm_probability)
    return ShuffleRandom(arguments.shuffle_probability, arguments.replace_probability)


def _documents(arguments: PretrainingArguments, seed: int) -> tuple[Dataset, Dataset]:
    workers = arguments.preprocessing_num_workers
    documents = load_text(arguments.corpus, arguments.text_column, workers)
    if arguments.validation_corpus is not None:
        return documents, load_text(arguments.validation_corpus, arguments.text_column, workers)
    share = arguments.validation_split_percentage / 100
    if not 0 < share <= 0.5 or len(documents) < 2:
        raise ValueError(
            f"{share:.1%} of {len(documents)} documents cannot be held out; give --validation_split_percentage "
            "above 0 and at most 50, at least two documents, or --validation_corpus."
        )
    parts = documents.train_test_split(test_size=max(1, round(share * len(documents))), seed=seed)
    return parts["train"], parts["test"]


def _tokenizers(
    arguments: PretrainingArguments, row: Variant, objective: Objective, documents: Dataset, folder: Path
) -> tuple[VocablessTokenizer, Tokenizer | None]:
    """Returns the tokenizer, and for masked-LM the one whose vocabulary is predicted."""
    is_mlm = isinstance(objective, MaskedTokens)
    subword = arguments.subword
    if subword == "train":
        subword = str(folder / "subword.json")
        if not Path(subword).is_file():  # an interrupted run goes on with the one it began with
            kind = "bpe" if row.splitter == "bpe" else "wordpiece"
            train_subword(documents, kind, arguments.subword_vocab_size).save(subword)
    if row.takes_subword:
        tokenizer = load_tokenizer(arguments.variant, subword)
        assert isinstance(tokenizer.unit_splitter, SubwordSplitter)
        return tokenizer, tokenizer.unit_splitter.tokenizer if is_mlm else None
    if subword is None and is_mlm:
        raise ValueError(f"mlm over the words of {row.name} predicts a vocabulary; give --subword FILE, or 'train'.")
    return load_tokenizer(arguments.variant), load_subword(subword) if subword and is_mlm else None


def _length(arguments: PretrainingArguments, row: Variant) -> int:
    if arguments.max_seq_length > row.max_length:
        raise ValueError(
            f"--max_seq_length {arguments.max_seq_length} is more than the {row.max_length} tokens of {row.name}; "
            f"give at most {row.max_length}."
        )
    return arguments.max_seq_length


def _model(arguments: PretrainingArguments, target: Tokenizer | None) -> VocablessForMaskedLM | VocablessForPreTraining:
    if target is None:
        model: Any = VocablessForPreTraining(load_config(arguments.variant))
    else:
        config = load_config(arguments.variant, target_vocab_size=target.get_vocab_size(), sparse_prediction=True)
        model = VocablessForMaskedLM(config)
    if arguments.neighbour_init:
        look_at_neighbours(model.vocabless)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = arguments.dropout
    return model


def _identity(arguments: PretrainingArguments, training: PretrainingTrainingArguments) -> dict[str, Any]:
    """Returns what makes a run this run and no other."""
    given = asdict(arguments) | training.to_sanitized_dict()
    return {name: value for name, value in given.items() if name not in NOT_PART_OF_A_RUN}


if __name__ == "__main__":
    main()
