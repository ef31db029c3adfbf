"""Text encoders without a vocabulary: HashFormers, EELBERT, Elementwise and ProFormer as rows of one table.

Importing this package registers its classes with the Auto classes and pipelines of transformers; checkpoints
also load without it, by `trust_remote_code=True`.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

if "OMP_WAIT_POLICY" not in os.environ:
    # OpenMP reads this when torch is loaded. Threads of torch wait for each other in a loop, which holds a core that
    # the awaited thread may need. After so many rounds they sleep. See docs/performance.md.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
if not Path(__file__).with_name("modeling").is_dir():
    # A clone on Windows, or an unpacked ZIP, has small files in place of the links: the folders are next to this one.
    __path__.insert(0, str(Path(__file__).resolve().parent.parent))

import transformers

import vocabless.modeling.pipelines_vocabless  # noqa: F401 (gives loaded models their pipelines)
from vocabless.joined_code import save_with_code
from vocabless.loading import default_encoder, load_config, load_tokenizer
from vocabless.modeling.configuration_vocabless import AUTO_MAP, VocablessConfig
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
    "VocablessClassifier",
    "VocablessConfig",
    "VocablessForMaskedLM",
    "VocablessForMultipleChoice",
    "VocablessForPreTraining",
    "VocablessForQuestionAnswering",
    "VocablessForSequenceClassification",
    "VocablessForTokenClassification",
    "VocablessModel",
    "VocablessRegressor",
    "VocablessTokenizer",
    "default_encoder",
    "list_variants",
    "load_config",
    "load_tokenizer",
]

transformers.AutoConfig.register("vocabless", VocablessConfig)
transformers.AutoTokenizer.register(VocablessConfig, VocablessTokenizer)  # type: ignore[no-untyped-call]
for _auto_class, _path in AUTO_MAP.items():
    if _auto_class != "AutoConfig":
        getattr(transformers, _auto_class).register(VocablessConfig, globals()[_path.partition(".")[2]])
save_with_code()


def __getattr__(name: str) -> Any:
    """Returns the estimators for scikit-learn. They train, so they import more than the other names need."""
    if name not in ("VocablessClassifier", "VocablessRegressor"):
        raise AttributeError(f"module 'vocabless' has no attribute {name!r}")
    return getattr(import_module("vocabless.training.finetuning.estimators"), name)
