"""Pre-trains a variant from fresh weights, or a checkpoint further, and writes a checkpoint folder that loads anywhere.

    python run_pretraining.py                                  # embedded corpus and teacher, a few minutes
    python run_pretraining.py --variant hashgram-tiny --recipe distill --teacher ID_OR_FOLDER --corpus "texts/*.parquet"
    python run_pretraining.py --variant eelbert-word-tiny --corpus "texts/*.parquet" --output_dir runs/words
    python run_pretraining.py --variant eelbert-tiny --subword train --corpus texts/ --max_steps 5000 --bf16
    python run_pretraining.py --model_name_or_path runs/words --corpus "domain/*.txt"   # trains a checkpoint further
    accelerate launch run_pretraining.py --variant hashformer-md5-pool-base --max_seq_length 512 …

The same command again continues a run that was interrupted, and prints the results of a finished one. At the end the
folder holds weights, code, tokenizer, README.md, run.json (arguments, versions) and results.json.
"""

from script_start import start_script

if __name__ == "__main__":
    start_script("vocabless.training.pretraining.arguments", __doc__)

import logging
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import datasets
from transformers import PreTrainedModel, set_seed

from vocabless import VocablessTokenizer
from vocabless.saving.checkpoint import loads_without_package
from vocabless.saving.model_card import write_card
from vocabless.saving.public_names import public_arguments
from vocabless.saving.run_folder import RESULTS, claimed, read_results, write_json
from vocabless.saving.starting_checkpoints import describe_start
from vocabless.saving.uploads import check_run_upload, upload_run
from vocabless.training.launched_process import exit_launched_process
from vocabless.training.one_sentence import one_sentence
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.card import card_facts
from vocabless.training.pretraining.command_line import identifying_arguments, parse_command_line
from vocabless.training.pretraining.documents import documents_identity, load_documents
from vocabless.training.pretraining.models import load_model
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.results import collect_results, held_out_table
from vocabless.training.pretraining.speed import LogTokensPerSecond
from vocabless.training.pretraining.training_arguments import PretrainingTrainingArguments
from vocabless.training.trainer import ResumableTrainer


def main(argv: list[str] | None = None) -> None:
    """Runs the script on command-line arguments. A user's mistake ends it with one sentence."""
    with one_sentence("run_pretraining.py"):
        pretrain(*parse_command_line(argv, __doc__))


def pretrain(arguments: PretrainingArguments, objective: Objective, training: PretrainingTrainingArguments) -> None:
    """Pre-trains a model, from the claimed folder to the checkpoint in it; prints the results of a finished run.

    Raises:
        ValueError: a user's mistake, or training that cannot continue.
    """
    datasets.disable_progress_bars() if training.disable_tqdm else datasets.enable_progress_bars()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    folder, identity = Path(str(training.output_dir)), identifying_arguments(arguments, objective, training)
    if training.metric_for_best_model not in (None, *objective.measures):
        raise ValueError(
            f"--metric_for_best_model {training.metric_for_best_model} is not measured; "
            f"give one of {', '.join(objective.measures)}."
        )
    is_main = training.process_index == 0
    repositories = check_run_upload(training, folder.name) if training.push_to_hub and is_main else []
    training.push_to_hub = False  # the Trainer would push unfinished runs; `upload_run` pushes finished ones
    data = documents_identity(arguments) | objective.data_identity() if is_main else {}
    with claimed(folder, identity | data) if is_main else nullcontext():
        results = read_results(folder)
        if results is None:
            _train(arguments, objective, training, identity)
        elif is_main:
            print(f"Nothing was trained: the run in {folder} is finished, and these are its results.")
            print(held_out_table(results))
        for repository in repositories:
            print(f"Uploaded to {upload_run(folder, repository, training)}.")


def _train(
    arguments: PretrainingArguments,
    objective: Objective,
    training: PretrainingTrainingArguments,
    identity: dict[str, Any],
) -> None:
    """Trains, from the last checkpoint if there is one; writes the model, its card and the results."""
    folder = Path(str(training.output_dir))
    with training.main_process_first(desc="preparing the corpus"):
        documents = load_documents(arguments, training.seed)
        set_seed(training.seed)
        model, tokenizer = load_model(arguments, objective, documents.train, folder)
        examples = objective.build_examples(arguments, training, documents, tokenizer)

    learner = objective.learner(model, examples, arguments.model_name_or_path)
    trainer = ResumableTrainer(
        model=learner,
        args=training,
        train_dataset=examples.train,
        eval_dataset=examples.held_out,
        data_collator=examples.collator,
        compute_metrics=examples.compute_metrics,
        preprocess_logits_for_metrics=objective.reduce_outputs,
        callbacks=[LogTokensPerSecond()],
    )
    train_metrics = trainer.resume()
    after = trainer.evaluate()
    weights = trainer.full_state_dict()
    if trainer.is_world_process_zero():
        saved = objective.save(learner, tokenizer, folder, weights)
        results = collect_results(objective, model, trainer.state, train_metrics, after)
        results |= {"examples": examples.facts, "arguments": public_arguments(identity)}
        if arguments.model_name_or_path is not None:
            results["start"] = describe_start(arguments.model_name_or_path, from_scratch=False)
        print(held_out_table(results))
        if isinstance(tokenizer, VocablessTokenizer):
            write_card(folder, model, tokenizer.block_size, card_facts(results))
            text = next(filter(None, documents.held_out["text"]), "")
            print(objective.demonstrate(saved, tokenizer, arguments.example, text, training.seed))
            results["loads_without_package_bit_equal"] = _prove(saved, tokenizer, folder)
        write_json(folder / RESULTS, results)
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()


def _prove(saved: PreTrainedModel, tokenizer: VocablessTokenizer, folder: Path) -> bool:
    """Checks that the saved model gives the same outputs in a process without this package; returns True.

    Raises:
        ValueError: it gives other outputs.
    """
    if not loads_without_package(saved, tokenizer, folder):
        raise ValueError(f"{folder} loads without vocabless, but gives other outputs; do not use it, and report it.")
    print(f"Loaded {folder} in a process without vocabless: outputs are bit-equal.")
    print(f'Use it: AutoModel.from_pretrained("{folder}", trust_remote_code=True)')
    return True


if __name__ == "__main__":
    main()
    exit_launched_process()
