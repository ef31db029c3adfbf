"""Text encoders without a vocabulary: HashFormers, EELBERT, Elementwise and ProFormer as rows of one table.

Importing this package registers its classes with the Auto classes of transformers; checkpoints also load without it, by
`trust_remote_code=True`.
"""

import sys

from vocabless.interrupts import exit_on_interrupt

if sys.argv[:1] == ["-m"] and "vocabless.conversion" in sys.orig_argv:  # it imports this package first: seconds
    exit_on_interrupt()

from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForMultipleChoice,
    AutoModelForPreTraining,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from vocabless.joined_code import save_with_code
from vocabless.loading import load_config, load_tokenizer
from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.modeling.modeling_vocabless import (
    VocablessForMaskedLM,
    VocablessForMultipleChoice,
    VocablessForPreTraining,
    VocablessForQuestionAnswering,
    VocablessForSequenceClassification,
    VocablessForTokenClassification,
    VocablessModel,
)
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.variants import list_variants

__version__ = "0.1.0"

__all__ = [
    "VocablessConfig",
    "VocablessForMaskedLM",
    "VocablessForMultipleChoice",
    "VocablessForPreTraining",
    "VocablessForQuestionAnswering",
    "VocablessForSequenceClassification",
    "VocablessForTokenClassification",
    "VocablessModel",
    "VocablessTokenizer",
    "list_variants",
    "load_config",
    "load_tokenizer",
]

AutoConfig.register("vocabless", VocablessConfig)
AutoTokenizer.register(VocablessConfig, VocablessTokenizer)  # type: ignore[no-untyped-call]
for _auto_class, _model in (
    (AutoModel, VocablessModel),
    (AutoModelForPreTraining, VocablessForPreTraining),
    (AutoModelForMaskedLM, VocablessForMaskedLM),
    (AutoModelForSequenceClassification, VocablessForSequenceClassification),
    (AutoModelForTokenClassification, VocablessForTokenClassification),
    (AutoModelForQuestionAnswering, VocablessForQuestionAnswering),
    (AutoModelForMultipleChoice, VocablessForMultipleChoice),
):
    _auto_class.register(VocablessConfig, _model)
save_with_code()
