"""What a page knows about its model: task, labels, tokenizer, examples."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any, cast

from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.settings import tokenizer_settings
from vocabless.tokenization.block_coders import CODERS
from vocabless.tokenization.forms import Forms
from vocabless.tokenization.second_forms import check_forms
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

SPLITTERS = ("word", "whitespace", "scripts", "bytes")  # that browser/words.js has
NGRAMS = VocablessTokenizer.vocab_files_names["ngrams_file"]
# Texts that a person can try first; one has a misspelt word and one an invented word.
EXAMPLES = [
    "A film as bright as a summer morning.",
    "Two hours that felt like five, and teh endign is awfull.",
    "What a splendiferish, wonderflummoxing little book!",
]
TAG_EXAMPLES = [
    "Ada Lovelace lived in London.",
    "We met Mr Quibblethorpe in Nwe York last Tuesday.",
    "The Zorbling Company opens an office in Snorrvik.",
]
PAIRS = [
    ["He left early.", "He went home before the others."],
    ["The train was late.", "The tarin arrived on time."],
    ["She plays the flugelwhistle.", "She makes music."],
]


def task_of(model: PreTrainedModel) -> str:
    """Returns the task of a model's head, by the page's name. Raises ValueError if the page cannot show this head."""
    head, config = type(model).__name__, cast(Any, model.config)
    if head == "VocablessForSequenceClassification":
        usual = "regression" if config.num_labels == 1 else "single_label_classification"
        return str(config.problem_type or usual).removesuffix("_classification")
    if head != "VocablessForTokenClassification":
        raise ValueError(f"the page cannot show {head}; give a checkpoint that classifies texts or words.")
    return "tags"


def page_tokenizer(tokenizer: VocablessTokenizer, max_tokens: int) -> dict[str, Any]:
    """Returns what `browser/tokenizer.js` needs: what `tokenizer_settings` returns, tables of forms, n-grams of a file.

    Raises:
        ValueError: the units are subwords, or the coder reads the pieces of a BPE.
    """
    if tokenizer.splitter not in SPLITTERS:
        raise ValueError(
            f"the page cannot cut texts into {tokenizer.splitter} units; give a checkpoint whose tokenizer has one of "
            f"the splitters {', '.join(SPLITTERS)}."
        )
    if tokenizer.coder not in CODERS:
        raise ValueError(
            f"the page cannot compute {tokenizer.coder} blocks, which need the vocabulary of a BPE; give a checkpoint "
            f"whose tokenizer has one of the coders {', '.join(CODERS)}."
        )
    settings = tokenizer_settings(tokenizer, max_tokens)
    if forms := check_forms(settings["splitter_options"].get("fold_forms", 0)):
        settings["splitter_options"]["forms"] = page_forms(forms)
    with tempfile.TemporaryDirectory() as folder:
        for file in tokenizer.save_vocabulary(folder):
            if file.endswith(NGRAMS):
                settings["coder_options"]["ngrams"] = json.loads(Path(file).read_text(encoding="utf-8"))
    return settings


def page_forms(forms: Forms) -> dict[str, Any]:
    r"""Returns the tables of `fold_forms` as `browser/forms.js` reads them: patterns, and what replaces each.

    The patterns of the tables mean the same in JavaScript; a group is `$1` there, not `\1`.
    """

    def pairs(groups: Any) -> list[list[str]]:
        rules = (rule for _, of_group in groups for rule in of_group)
        return [[pattern.pattern, re.sub(r"\\(\d)", r"$\1", form)] for pattern, form in rules]

    tables = {"sets": forms.sets, "in_text": pairs(forms.in_text), "in_unit": pairs(forms.in_unit)}
    return {"invisible": forms.invisible, **tables}


def examples_of(task: str, is_pair: bool, examples: list[list[str]] | None) -> list[str | list[str]]:
    """Returns the examples of a page: texts, or lists of two texts where the model takes pairs.

    `examples` are the texts of each example as the user gave them; None: the page's own.

    Raises:
        ValueError: an example has another number of texts than the model reads.
    """
    for example in examples or ():
        if len(example) != 1 + is_pair:
            raise ValueError(
                f"--example {' '.join(map(repr, example))} has {len(example)} texts, but this model reads "
                f"{1 + is_pair}; give {'two texts' if is_pair else 'one text'} after each --example."
            )
    if examples is None:
        return list(PAIRS if is_pair else TAG_EXAMPLES if task == "tags" else EXAMPLES)
    return [example if is_pair else example[0] for example in examples]
