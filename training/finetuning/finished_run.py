"""A finished run that a later command adds something to: its checkpoint is read, its card and results are renewed."""
# mypy: allow-untyped-calls

from dataclasses import replace
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.saving.model_card import write_card
from vocabless.saving.run_folder import RESULTS, write_json
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.card import card_facts
from vocabless.training.finetuning.load_model import LoadedModel, load_model
from vocabless.training.finetuning.tasks import Task
from vocabless.training.task import Results


def load_finished(arguments: GlueArguments, task: Task, folder: Path) -> LoadedModel:
    """Returns the model of a finished run in a folder."""
    checkpoint = replace(arguments, model_name_or_path=str(folder), tokenizer_name=None, model_revision="main")
    return load_model(checkpoint, task, folder)


def renew(results: Results, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Writes results and card of a finished run anew."""
    if isinstance(tokenizer, VocablessTokenizer):
        write_card(folder, model, tokenizer.block_size, card_facts(results))
    write_json(folder / RESULTS, results)
