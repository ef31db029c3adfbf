"""What a run sets for its whole process: progress bars, the lines of a library, and a cache that can be written."""

import atexit
import logging
import os
import shutil
import tempfile
from pathlib import Path

import datasets
from transformers.utils import logging as transformers_logging

from vocabless.training.script import ScriptTrainingArguments


def prepare_process(training: ScriptTrainingArguments) -> None:
    """Shows progress bars, unless `--disable_tqdm` hides them, and no line for each request to the Hub.

    If nothing can be written into the cache of `datasets`, a temporary folder takes its place.
    """
    cache = Path(datasets.config.HF_DATASETS_CACHE)
    if not os.access(next(folder for folder in (cache, *cache.absolute().parents) if folder.is_dir()), os.W_OK):
        datasets.config.HF_DATASETS_CACHE = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, datasets.config.HF_DATASETS_CACHE, ignore_errors=True)
    if training.disable_tqdm:
        datasets.disable_progress_bars()
        transformers_logging.disable_progress_bar()
    else:
        datasets.enable_progress_bars()
        transformers_logging.enable_progress_bar()
    logging.getLogger("httpx").setLevel(logging.WARNING)
