"""Small checkpoints, subword tokenizers trained on the spot, graphs that are exported once, and a bare process.

Fixtures import what they need: pytest-xdist's first process, which waits for the others, reads this file, too.
"""

from __future__ import annotations

import copy
import gc
import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch is imported: workers, and programs they start, share the cores
    WORKERS = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // WORKERS)))
    gc.set_threshold(100_000, 50, 100)  # by Python's numbers, imports and exports take a fifth longer

if TYPE_CHECKING:
    from vocabless import VocablessConfig
    from vocabless.variants import Variant

# Of a configuration: no graph depends on them.
UNSEEN = ("id2label", "label2id", "problem_type", "classifier_reads_sentences", "classifier_threshold")
UNSEEN += ("_name_or_path", "weights_id")
EXPORTING = ("browser", "conversion")  # folders of tests that export graphs
LONG = 100  # seconds; a test with a longer time limit may take minutes
CORPUS = ["the quick brown fox jumps over the lazy dog"] * 5
# A line of its input is a program and its variables. It answers with the variable `result`. What is printed is logged.
BARE_PROCESS = """
import gc, os
gc.set_threshold(100_000, 50, 100)
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import torch, transformers
transformers.utils.logging.disable_progress_bar()
for line in sys.stdin:
    program, variables = json.loads(line)
    names = {"torch": torch, "transformers": transformers, "result": None} | variables
    exec(program, names)
    assert not any(module and name.split(".")[0] == "vocabless" for name, module in sys.modules.items())
    print(json.dumps(names["result"], default=float), file=answers, flush=True)
"""


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests run in one worker. So do those of all files that share what takes seconds to start.

    These are the process of `run_bare`, and the exporter of graphs, with the graphs that it has exported.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduler(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return groups.get(file, file)

    groups = {}
    for file in (config.rootpath / "tests").rglob("test_*.py"):
        if (starts_process := "run_bare" in file.read_text(encoding="utf-8")) or file.parent.name in EXPORTING:
            groups[file.relative_to(config.rootpath).as_posix()] = "run_bare" if starts_process else "exports"
    return Scheduler(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    quick = item.get_closest_marker("quick")
    if quick and item.callspec.id not in quick.args:
        item.add_marker("slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begins with the tests that may take minutes, so that the last test of a run is a short one.

    A `quick` case that a test does not have is an error: all its cases would be slow.
    """
    if not any("[" in argument for argument in config.args):  # else not all cases are collected
        names = {item.nodeid for item in items}
        for item in items:
            for name in mark.args if (mark := item.get_closest_marker("quick")) else ():
                if (case := f"{item.nodeid.partition('[')[0]}[{name}]") not in names:
                    raise pytest.UsageError(f"there is no quick case {case}.")
    limits = [mark.args[0] if (mark := item.get_closest_marker("timeout")) else 0 for item in items]
    order = sorted(range(len(items)), key=lambda index: -limits[index] if limits[index] > LONG else 0)
    items[:] = [items[index] for index in order]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of `datasets`."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture(autouse=True, scope="session")
def without_collections() -> Iterator[None]:
    """Each end of a training collects garbage, over the millions of objects that torch and transformers import."""
    from accelerate.utils import memory

    gc.freeze()  # what is imported by now, for the other collections
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(memory, "gc", SimpleNamespace(collect=lambda: 0))
        yield


@pytest.fixture(autouse=True, scope="session")
def without_progress_bars() -> None:
    from transformers.utils import logging

    logging.disable_progress_bar()


@pytest.fixture(autouse=True)
def loads_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces `loads_without_package` where it is used: it starts a process of some seconds for each checkpoint.

    So only a test with the mark of this name may say anything about what it returns.
    """
    if not request.node.get_closest_marker("loads_without_package"):
        from vocabless.conversion import hub
        from vocabless.training import run

        for module in (hub, run):
            monkeypatch.setattr(module, "loads_without_package", lambda *_: True)


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
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    wordpiece, bpe = Tokenizer(models.WordPiece(unk_token="[UNK]")), Tokenizer(models.BPE())
    wordpiece.pre_tokenizer, wordpiece.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    wordpiece.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=80, special_tokens=special))
    pieces = special + sorted({*wordpiece.get_vocab()} - {*special})  # the trainer's order is another in each process
    wordpiece.model = models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    files = {}
    for name, tokenizer in (("wordpiece", wordpiece), ("bpe", bpe)):
        files[name] = str(tmp_path_factory.mktemp(name) / "tokenizer.json")
        tokenizer.save(files[name])
    return files


@pytest.fixture
def stock_folder(subwords: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    """Saves a tiny stock model of a type, under an Auto class; returns its folder."""
    from stock_folders import save_stock
    from transformers import AutoModel

    def save(kind: str, auto_class: type = AutoModel, **options: object) -> str:
        return save_stock(tmp_path / f"stock-{kind}", subwords["wordpiece"], kind, auto_class, **options)

    return save


@pytest.fixture(scope="session")
def random_checkpoint(subwords: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Saves a small variant with large random weights under a head, and its tokenizer, once; returns the folder."""
    import torch

    import vocabless
    from vocabless import load_config, load_tokenizer
    from vocabless.variants import find_variant

    folders: dict[str, Path] = {}

    def save(name: str | Variant, head: str = "VocablessModel", **options: object) -> Path:
        key = f"{name} {head} {options}"
        if key not in folders:
            # For each name of a folder, transformers imports its code once, so all have the same.
            row, folder = find_variant(name), tmp_path_factory.mktemp(head) / "model"
            tokenizer = load_tokenizer(name, **{"subword" if row.reads_subwords else "target": subwords[row.subwords]})
            torch.manual_seed(1)
            config = shrink_config(load_config(name, **options))
            config.target_vocab_size = tokenizer.target_tokenizer.get_vocab_size()
            model = getattr(vocabless, head)(config)
            with torch.no_grad():  # biases too, which are zero at first
                for part, parameter in model.named_parameters():
                    parameter.normal_(std=0.2)
                    if part.endswith("wide.weight"):
                        parameter[0] = 0  # stands for nothing
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            folders[key] = folder
        return folders[key]

    return save


@pytest.fixture
def save_model(random_checkpoint: Callable[..., Path], tmp_path: Path) -> Callable[..., tuple]:
    """Returns a model that `random_checkpoint` saves, and its folder, which a test may change."""
    import vocabless

    def save(name: str, head: str = "VocablessModel", **options: object) -> tuple:
        folder = tmp_path / f"{name}-{head}"
        shutil.copytree(random_checkpoint(name, head, **options), folder, dirs_exist_ok=True)
        return getattr(vocabless, head).from_pretrained(folder).eval(), folder

    return save


@pytest.fixture(scope="session")
def graphs() -> dict[tuple[str, str], Any]:
    """(verb, checkpoint) → the graph that `export` gave the fixture `convert`."""
    return {}


@pytest.fixture(scope="session")
def export_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any, bool], Any]:
    """`export`, which takes seconds, but a model with the same weights and settings is exported once in a run.

    The last layer of a sentence encoder may have other weights: `search` turns it for each page.
    """
    from filelock import FileLock
    from safetensors.torch import save

    from vocabless.conversion.onnx_export.graph import export

    onnx = pytest.importorskip("onnx", reason="the extra [onnx] is not installed")
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder  # of all workers

    def run(model: Any, is_pair: bool) -> Any:
        settings = {name: value for name, value in model.config.to_dict().items() if name not in UNSEEN}
        flags = {name: value for name, value in vars(model).items() if isinstance(value, bool)}
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        last = {f"model.{name}": weights.pop(name).numpy() for name in [*weights] if name.startswith("dense.")}
        shown = f"{model} {settings} {flags} {is_pair}".encode()
        file = folder / f"{hashlib.sha256(shown + save(weights)).hexdigest()}.onnx"
        with FileLock(f"{file}.lock"):
            if not file.exists():
                onnx.save(export(model, is_pair), file)
        proto = onnx.load(file)
        tensors = {tensor.name: tensor for tensor in proto.graph.initializer}
        for name, value in last.items():
            tensors[name].CopyFrom(onnx.numpy_helper.from_array(value, name))
        return proto

    return run


@pytest.fixture(scope="session")
def convert(graphs: dict[tuple[str, str], Any], export_once: Callable[[Any, bool], Any]) -> Callable[[list[str]], None]:
    """`vocabless VERB` with `export_once`."""
    from vocabless.conversion.__main__ import main

    def run(argv: list[str]) -> None:
        verb, source, *_ = argv
        module = "search_export.passage_index" if verb == "search" else verb

        def export(model: Any, is_pair: bool) -> Any:
            graphs[verb, source] = export_once(model, is_pair)
            return copy.deepcopy(graphs[verb, source])

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(importlib.import_module(f"vocabless.conversion.{module}"), "export", export)
            main(argv)

    return run


@pytest.fixture(scope="session")
def run_bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Runs a program with variables in a process that has transformers but not this package, as the people who load a
    checkpoint have it; returns the program's variable `result`."""
    from vocabless.saving.checkpoint import WITHOUT_PACKAGE

    folder = tmp_path_factory.mktemp("bare")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": str(folder / "modules")}
    environment |= {"HF_HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)
    command, log = [sys.executable, "-I", "-c", WITHOUT_PACKAGE + BARE_PROCESS], folder / "stderr.txt"
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log.open("w"), "text": True}
    with streams["stderr"], subprocess.Popen(command, cwd=folder, env=environment, **streams) as process:

        def run(program: str, **variables: object) -> Any:
            process.stdin.write(json.dumps([program, variables], default=str) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, log.read_text()[-3000:]
            return json.loads(answer)

        yield run


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The stand-in for the Hub, used by this process."""
    from hub_stand_in import HubStandIn
    from huggingface_hub import constants

    with HubStandIn() as stand_in:
        for name, value in stand_in.environment(tmp_path / "home").items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(constants, "ENDPOINT", stand_in.url)
        template = stand_in.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
        # transformers keeps one client, which remembers the address. Version 5.0 has none.
        monkeypatch.setattr("transformers.utils.hub._hf_api", None, raising=False)
        yield stand_in
