"""Pre-trains a variant from fresh weights, and writes a checkpoint folder that loads anywhere.

    python run_pretraining.py                                  # embedded corpus, tiny variant, about three minutes
    python run_pretraining.py --variant eelbert-word-tiny --corpus "texts/*.parquet" --output_dir runs/words
    python run_pretraining.py --variant eelbert-tiny --subword train --corpus texts/ --max_steps 5000 --bf16
    accelerate launch run_pretraining.py --variant hashformer-md5-pool-base --max_seq_length 512 …

The same command again continues a run that was interrupted. At the end the folder holds weights, code, tokenizer,
README.md, run.json (arguments, versions) and results.json.
"""

import logging
import sys
from pathlib import Path
from typing import Any

import datasets
from datasets import Dataset
from transformers import DataCollatorForTokenClassification, PreTrainedModel, set_seed

from vocabless import VocablessTokenizer
from vocabless.saving.checkpoint import loads_without_package, save_checkpoint
from vocabless.saving.model_card import write_card
from vocabless.saving.run_folder import RESULTS, claim, versions, write_json
from vocabless.saving.uploads import check_run_upload, upload_run
from vocabless.training.launched_process import exit_launched_process
from vocabless.training.pretraining.arguments import PretrainingRun, parse_command_line
from vocabless.training.pretraining.card import card_facts
from vocabless.training.pretraining.codecs import build_codec
from vocabless.training.pretraining.data import build_examples, load_documents, subword_source
from vocabless.training.pretraining.models import load_model
from vocabless.training.pretraining.objective import predictions_and_losses
from vocabless.training.pretraining.results import compare, first_evaluation
from vocabless.training.pretraining.speed import LogTokensPerSecond
from vocabless.training.trainer import ResumableTrainer


def main(argv: list[str] | None = None) -> None:
    """Runs the script on command-line arguments. A user's mistake ends it with one sentence."""
    try:
        pretrain(parse_command_line(argv, __doc__))
    except ValueError as error:
        sys.exit(f"run_pretraining.py: {error}")


def pretrain(run: PretrainingRun) -> None:
    """Pre-trains a model, from the claimed folder to the checkpoint in it.

    Raises:
        ValueError: a user's mistake, or training that cannot continue.
    """
    training, folder = run.training, Path(str(run.training.output_dir))
    datasets.disable_progress_bars() if training.disable_tqdm else datasets.enable_progress_bars()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    repositories = _claim_folder(run, folder)

    with training.main_process_first(desc="preparing the corpus"):
        documents = load_documents(run.arguments, training.seed)
        subword = subword_source(run.arguments, documents.train, folder)
        set_seed(training.seed)
        model, tokenizer = load_model(run.arguments, run.objective, subword)
        codec = build_codec(tokenizer, run.objective.needs_targets)
        train_examples, eval_examples = build_examples(run, documents, codec)

    trainer = ResumableTrainer(
        model=model,
        args=training,
        train_dataset=train_examples,
        eval_dataset=eval_examples,
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_metrics=run.objective.compute_metrics,
        preprocess_logits_for_metrics=predictions_and_losses,
        callbacks=[LogTokensPerSecond()],
    )
    outcome = trainer.resume()
    after = trainer.evaluate()
    weights = trainer.full_state_dict()
    if trainer.is_world_process_zero():
        save_checkpoint(model, tokenizer, folder, weights)
        results = _results(run, model, trainer, outcome.metrics, after)
        _report(run, results)
        if isinstance(tokenizer, VocablessTokenizer):
            write_card(folder, model, tokenizer.block_size, card_facts(results))
            results["loads_without_package_bit_equal"] = _prove(run, model, tokenizer, folder, documents.held_out)
        write_json(folder / RESULTS, results)
        for repository in repositories:
            print(f"Uploaded to {upload_run(folder, repository, training)}.")
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()


def _claim_folder(run: PretrainingRun, folder: Path) -> list[str]:
    """Claims the output folder; returns the Hub repositories to upload to, none without --push_to_hub."""
    repositories: list[str] = []
    if run.training.process_index == 0:
        repositories = check_run_upload(run.training, folder.name) if run.training.push_to_hub else []
        claim(folder, run.identity)
    run.training.push_to_hub = False  # the Trainer would push unfinished runs; `upload_run` pushes finished ones
    return repositories


def _results(
    run: PretrainingRun,
    model: PreTrainedModel,
    trainer: ResumableTrainer,
    metrics: dict[str, float],
    after: dict[str, float],
) -> dict[str, Any]:
    """Returns the content of results.json."""
    return {
        "objective": run.objective.name,
        "before": first_evaluation(trainer.state.log_history),
        "after": after,
        "train": metrics,
        "tokens_seen": trainer.state.num_input_tokens_seen,
        "log": trainer.state.log_history,
        "parameters": model.num_parameters(),
        "arguments": run.identity,
        "versions": versions(),
    }


def _report(run: PretrainingRun, results: dict[str, Any]) -> None:
    """Prints the held-out measures before and after training."""
    print(f"\n{'held out':20} {'before':>8} {'after':>8}")
    for measure, before, after in compare(run.objective.measures, results["before"], results["after"]):
        print(f"{measure:20} {before:8.4f} {after:8.4f}")
    print()


def _prove(
    run: PretrainingRun,
    model: PreTrainedModel,
    tokenizer: VocablessTokenizer,
    folder: Path,
    held_out: Dataset,
) -> bool:
    """Shows what the saved model learned, and that it gives the same outputs without this package; returns True.

    Raises:
        ValueError: it gives other outputs.
    """
    saved = type(model).from_pretrained(folder)
    units = tokenizer.unit_splitter.units(held_out[0]["text"])
    words = [str(unit) for unit in units if str(unit).isalpha()] or ["word"]
    demonstration = run.objective.demonstrate(saved, tokenizer, run.arguments.example, words, run.training.seed)
    if demonstration:
        print(demonstration, "\n")
    if not loads_without_package(saved, tokenizer, folder):
        raise ValueError(f"{folder} loads without vocabless, but gives other outputs; do not use it, and report it.")
    print(f"Loaded {folder} in a process without vocabless: outputs are bit-equal.")
    print(f'Use it: AutoModel.from_pretrained("{folder}", trust_remote_code=True)')
    return True


if __name__ == "__main__":
    main()
    exit_launched_process()
