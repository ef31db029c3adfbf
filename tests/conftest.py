"""Small variants, subword tokenizers trained on the spot, and quiet runs."""

import copy
import gc
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch is imported: workers, and programs they start, share the cores
    WORKERS = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // WORKERS)))
    gc.set_threshold(100_000, 50, 100)  # by Python's numbers, imports and exports take a fifth longer

import torch
from bare_process import bare_process
from filelock import FileLock
from stock_folders import save_stock
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModel, PreTrainedModel
from transformers.utils import logging

import vocabless
from vocabless import VocablessConfig, load_config, load_tokenizer
from vocabless.conversion.onnx_export import graph
from vocabless.variants import VARIANTS

EXPORTS: dict[str, Path] = {}  # "folder" → of the graphs that the workers of a session exported


def with_memory(export: Callable[[PreTrainedModel, bool], Any]) -> Callable[[PreTrainedModel, bool], Any]:
    """Exports a model once: an export takes seconds, and many tests export the same small or shipped model."""

    def export_once(model: PreTrainedModel, has_pairs: bool) -> Any:
        import onnx

        settings = str(model.config.to_dict() | {"_name_or_path": None, "problem_type": None})
        switches = str({name: value for name, value in vars(model).items() if isinstance(value, bool)})
        digest = sha256(f"{type(model)} {settings} {switches} {has_pairs}".encode())
        for tensor in model.state_dict().values():
            digest.update(tensor.reshape(-1).view(torch.uint8).numpy())
        file = EXPORTS["folder"] / f"{digest.hexdigest()}.onnx"
        with FileLock(f"{file}.lock"):
            if not file.is_file():
                file.write_bytes(export(model, has_pairs).SerializeToString())
        return onnx.load(file)

    return export_once


graph.export = with_memory(graph.export)  # before any other module takes this name from it
CORPUS = ["the quick brown fox jumps over the lazy dog"] * 5


def pytest_itemcollected(item: pytest.Item) -> None:
    quick = item.get_closest_marker("quick")
    if quick and item.callspec.id not in quick.args:
        item.add_marker("slow")


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """Takes what is imported by now out of garbage collection. Each end of a training collects, which took 0.6 s."""
    gc.collect()
    gc.freeze()


def shrink_config(config: VocablessConfig) -> VocablessConfig:
    """One layer of a width that K divides, with K heads where they are bytes: everything else stays as it was."""
    config = copy.deepcopy(config)
    encoder, heads = config.encoder_config, config.block_size if config.front_end == "elementwise" else 2
    encoder.num_hidden_layers, encoder.num_attention_heads, encoder.intermediate_size = 1, heads, 24
    encoder.hidden_size = 4 * heads if config.front_end == "elementwise" else 32
    if hasattr(encoder, "embedding_size"):
        encoder.embedding_size = encoder.hidden_size
    config.target_vocab_size = 101
    return config


@pytest.fixture(scope="session")
def shrink() -> Callable[[VocablessConfig], VocablessConfig]:
    return shrink_config


@pytest.fixture(scope="session")
def subwords(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Splitter → the path of a tokenizer.json, alone in its folder."""
    wordpiece, bpe = Tokenizer(models.WordPiece(unk_token="[UNK]")), Tokenizer(models.BPE())
    wordpiece.pre_tokenizer, wordpiece.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    wordpiece.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=80, special_tokens=special))
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    files = {}
    for name, tokenizer in (("wordpiece", wordpiece), ("bpe", bpe)):
        folder: Path = tmp_path_factory.mktemp(name)
        files[name] = str(folder / "tokenizer.json")
        tokenizer.save(files[name])
    return files


@pytest.fixture
def stock_folder(subwords: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    """Saves a tiny stock model of a type, under an Auto class; returns its folder."""

    def save(kind: str, auto_class: type = AutoModel, **options: object) -> str:
        return save_stock(tmp_path / f"stock-{kind}", subwords["wordpiece"], kind, auto_class, **options)

    return save


@pytest.fixture
def save_model(shrink: Callable[[VocablessConfig], VocablessConfig], tmp_path: Path) -> Callable[..., tuple]:
    """Saves a small model of a variant under a head, with its tokenizer; returns the model and its folder."""

    def save(name: str, head: str = "VocablessModel", **options: object) -> tuple:
        folder = tmp_path / f"{name}-{head}"
        model = getattr(vocabless, head)(shrink(load_config(name, **options))).eval()
        model.save_pretrained(folder)
        load_tokenizer(name).save_pretrained(folder)
        return model, folder

    return save


@pytest.fixture(scope="session")
def random_checkpoint(subwords: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Saves a small variant with large random weights under a head, and its tokenizer, once; returns the folder."""
    folders: dict[str, Path] = {}

    def save(name: str, head: str = "VocablessModel", **options: object) -> Path:
        key = f"{name} {head} {options}"
        if key not in folders:
            row, folder = VARIANTS[name], tmp_path_factory.mktemp(head)
            tokenizer = load_tokenizer(name, **{"subword" if row.reads_subwords else "target": subwords[row.subwords]})
            torch.manual_seed(1)
            config = shrink_config(load_config(name, **options))
            config.target_vocab_size = tokenizer.target_tokenizer.get_vocab_size()
            model = getattr(vocabless, head)(config)
            with torch.no_grad():  # biases too, which are zero at first
                for parameter in model.parameters():
                    parameter.normal_(std=0.2)
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            folders[key] = folder
        return folders[key]

    return save


@pytest.fixture(scope="session")
def run_bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., object]]:
    """Runs programs in a process without the package, see `bare_process`."""
    with bare_process(tmp_path_factory.mktemp("bare")) as run:
        yield run


@cache
def users_of_loads_without_package() -> list[ModuleType]:
    modules = [module for name, module in sys.modules.items() if name.startswith(("run_", "vocabless."))]
    users = [module for module in modules if "loads_without_package" in vars(module)]
    return [module for module in users if module.__name__ != "vocabless.saving.checkpoint"]


@pytest.fixture(autouse=True)
def loads_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces `loads_without_package` where it is used: it starts a process of some seconds for each checkpoint."""
    if not request.node.get_closest_marker("loads_without_package"):
        for module in users_of_loads_without_package():
            monkeypatch.setattr(module, "loads_without_package", lambda *_: True)


@pytest.fixture(autouse=True, scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.getbasetemp()
    EXPORTS["folder"] = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "exports"
    EXPORTS["folder"].mkdir(exist_ok=True)


@pytest.fixture(autouse=True, scope="session")
def without_progress_bars() -> None:
    logging.disable_progress_bar()
