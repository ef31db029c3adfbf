"""Text encoders without a vocabulary: HashFormers, EELBERT, Elementwise and ProFormer as rows of one table.

The classes of this package are registered with the Auto classes and pipelines of transformers (`registration.py`);
checkpoints also load without it, by `trust_remote_code=True`.
"""

import signal
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if not Path(__file__).with_name("modeling").is_dir():
    # A clone on Windows, or an unpacked ZIP, has small files in place of the links: the folders are next to this one.
    __path__.insert(0, str(Path(__file__).resolve().parent.parent))

from vocabless.exit_with_message import end_interrupted
from vocabless.registration import Registration

if Path(next(iter(sys.argv), "")).stem in ("-m", "vocabless", "run_glue", "run_pretraining"):
    signal.signal(signal.SIGINT, end_interrupted)  # a command imports for seconds; `exit_with_message` takes over then

if tuple(map(int, (_installed := version("transformers")).split(".")[:2])) < (5, 18):
    raise ImportError(
        f"vocabless needs transformers 5.18 or newer, but {_installed} is installed; run pip install -U "
        '"transformers>=5.18".'
    )

if TYPE_CHECKING:
    from vocabless.loading import default_encoder, load_config, load_tokenizer
    from vocabless.modeling.configuration_vocabless import VocablessConfig
    from vocabless.modeling.modeling_vocabless import (
        VocablessForMaskedLM,
        VocablessForPreTraining,
        VocablessForSequenceClassification,
        VocablessForTokenClassification,
        VocablessModel,
    )
    from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
    from vocabless.training.finetuning.scikit.estimators import VocablessClassifier, VocablessRegressor
    from vocabless.variants import list_variants

__version__ = "0.1.0"

__all__ = [
    "VocablessClassifier",
    "VocablessConfig",
    "VocablessForMaskedLM",
    "VocablessForPreTraining",
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

# Prefixes of public names → their modules, which are imported when a name is first used: most need torch.
_MODULES = {
    "VocablessClassifier": "training.finetuning.scikit.estimators",
    "VocablessRegressor": "training.finetuning.scikit.estimators",
    "VocablessConfig": "modeling.configuration_vocabless",
    "VocablessTokenizer": "tokenization.tokenization_vocabless",
    "Vocabless": "modeling.modeling_vocabless",
    "list_variants": "variants",
    "": "loading",
}


def __getattr__(name: str) -> Any:
    """Returns a public name from its module."""
    if name not in __all__:
        raise AttributeError(f"module 'vocabless' has no attribute {name!r}")
    module = next(module for prefix, module in _MODULES.items() if name.startswith(prefix))
    return getattr(import_module(f"vocabless.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.meta_path.insert(0, _registration := Registration())
_registration.finish()
