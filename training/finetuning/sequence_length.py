"""How many tokens of a text the model reads."""
# mypy: allow-untyped-calls

from typing import cast

import numpy as np
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.checkpoint_tokenizers import longest_sequence
from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.load_model import LoadedModel
from vocabless.training.finetuning.tasks import Task

LENGTHS = (64, 128, 256, 512)  # tokens
DEFAULT_LENGTH = 128
MAX_CUT = 0.01  # share of the texts
SAMPLE = 1000  # texts


def choose_sequence_length(arguments: GlueArguments, task: Task, loaded: LoadedModel | None) -> tuple[int, str]:
    """Returns the sequence length, and a sentence on it, or "" if it is given or no text is cut.

    Args:
        arguments: `max_seq_length`, if it is given.
        task: its training texts are measured, unless it is a task of GLUE.
        loaded: the checkpoint; None for random weights, which get `DEFAULT_LENGTH`.
    """
    given = arguments.max_seq_length
    if loaded is None or given is not None:
        return given or DEFAULT_LENGTH, ""
    limit = length_limit(loaded.model, loaded.tokenizer)
    if arguments.task_name is not None:
        return min(DEFAULT_LENGTH, limit), ""
    encoded = EncodedExamples(task.train.sample(SAMPLE), task.problem, loaded.tokenizer, limit + 1)
    lengths = np.array([len(encoded[index]["input_ids"]) for index in range(len(encoded))])
    fitting = (length for length in LENGTHS if (lengths > length).mean() <= MAX_CUT)
    chosen = min(next(fitting, LENGTHS[-1]), limit)
    cut = (lengths > chosen).mean()
    return chosen, f"Texts are read up to {chosen} tokens, which cuts {100 * cut:.1f} % of them." if cut else ""


def length_limit(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns the largest sequence length. What our tokenizer remembers is the length of the last fine-tuning."""
    if isinstance(tokenizer, VocablessTokenizer):
        return cast(VocablessModel, model.base_model).max_tokens
    return longest_sequence(model, tokenizer)
