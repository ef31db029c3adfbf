"""Pre-trains a variant from fresh weights, or a checkpoint further, and writes a checkpoint folder that loads anywhere.

    vocabless pretrain                                  # embedded corpus and teacher, two to three minutes
    vocabless pretrain --dry_run                        # proves the installation in seconds; nothing stays
    vocabless pretrain --variant hashgram-tiny --recipe distill --teacher ID_OR_FOLDER --corpus "texts/*.parquet"
    vocabless pretrain --variant eelbert-word-tiny --corpus "texts/*.parquet" --output_dir runs/words
    vocabless pretrain --variant eelbert-tiny --subword train --corpus texts/ --max_steps 5000
    vocabless pretrain --model_name_or_path runs/words --corpus "domain/*.txt"   # trains a checkpoint further
    accelerate launch -m vocabless pretrain --variant hashformer-md5-pool-base --max_seq_length 512 …

The same command again continues a run that was interrupted, and prints the results of a finished one. At the end the
folder holds weights, code, tokenizer, README.md, run.json (arguments, versions) and results.json.
"""

import vocabless.command_environment  # noqa: F401 (before torch)
from vocabless.exit_with_message import exit_launched_process, exit_with_message
from vocabless.saving.uploads import check_run_upload
from vocabless.training.pretraining.command_line import PROGRAM, parse_command_line
from vocabless.training.pretraining.objective import Objective
from vocabless.training.run import dry_run, prepare_process, run


def main(argv: list[str] | None = None) -> None:
    """Runs the command on its arguments. A user's mistake ends it with one sentence."""
    with exit_with_message(PROGRAM, argv):
        pretrain(parse_command_line(argv, __doc__))


def pretrain(objective: Objective) -> None:
    """Pre-trains a model, from the locked folder to the checkpoint in it; prints the results of a finished run.

    Raises:
        ValueError: a user's mistake, or training that cannot continue.
    """
    training, folder, is_dry = objective.training, objective.folder, objective.arguments.dry_run
    is_main = training.process_index == 0
    prepare_process(training)
    if is_dry:
        outcome, last = dry_run(objective), "It works; nothing was kept."
    else:
        if is_main:
            print(objective.announcement(), flush=True)
        repository = check_run_upload(training, folder.name)[0] if training.push_to_hub and is_main else None
        outcome = run(objective, repository)  # lock, text, model, examples, training, checkpoint, card
        last = f'Use it: AutoModel.from_pretrained("{folder}", trust_remote_code=True)'
    if is_main:
        print(outcome.text, last, sep="\n")


if __name__ == "__main__":
    main()
    exit_launched_process()
