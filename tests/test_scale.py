"""The programs of docs/scale.md run with the real engines on two local workers; no row is lost when one dies."""

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "checkpoints"
FILES, ROWS = 4, 300  # of each file
# Stands behind the program of the classifier: the first process that reads this text dies.
DIES_ONCE = """

def dies_once(self, texts, answer=OnnxClassifier.__call__):
    import os, signal
    if "text 777" in texts:
        try:
            os.close(os.open({marker!r}, os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
    return answer(self, texts)

OnnxClassifier.__call__ = dies_once
"""
# What a test on one small machine says to the engines; a cluster has it in its settings.
LOCAL = {
    "ray": "import ray\nray.init(num_cpus=4, include_dashboard=False)\n",
    "pyspark": "import os\n"
    "os.environ['PYSPARK_SUBMIT_ARGS'] = '--master local[2,4] --conf spark.ui.enabled=false pyspark-shell'\n",
    "datasets": "",
}
pytestmark = pytest.mark.skipif(
    not CHECKPOINTS.is_dir(), reason="this archive has no trained weights; clone the repository"
)


def program(engine: str) -> str:
    """The program of the page that imports the engine."""
    programs = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs" / "scale.md").read_text(encoding="utf-8"), re.M | re.S
    )
    (found,) = [text for text in programs if re.search(rf"^(import|from) {engine}\b", text, re.M)]
    return found


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("engine", LOCAL)
def test_every_row_is_read_once_also_if_a_worker_dies(engine, tmp_path) -> None:
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed; the extra [scale] brings it")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java; Debian: apt-get install default-jre-headless")
    pytest.importorskip("onnxruntime")
    for name, checkpoint in (("classifier", "hashgram-nano-sst2"), ("encoder", "hashgram-nano-sentence")):
        shutil.copytree(CHECKPOINTS / checkpoint / "onnx", tmp_path / name)
    marker = tmp_path / "died"
    if engine != "datasets":  # which repeats nothing
        with (tmp_path / "classifier" / "onnx_model.py").open("a") as file:
            file.write(DIES_ONCE.format(marker=str(marker)))
    (tmp_path / "corpus").mkdir()
    texts = [f"text {number}" for number in range(FILES * ROWS)]
    for part in range(FILES):
        rows = pa.table({"text": texts[part * ROWS : (part + 1) * ROWS]})
        parquet.write_table(rows, tmp_path / "corpus" / f"{part}.parquet")
    (tmp_path / "program.py").write_text(LOCAL[engine] + program(engine))
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": "", "RAY_DEDUP_LOGS": "0"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert marker.exists() == (engine != "datasets")
    read = dataset.dataset(next(tmp_path.glob("read*"))).to_table()
    assert sorted(read["text"].to_pylist()) == sorted(texts)
    assert {*read["label"].to_pylist()} == {"negative", "positive"}
    if engine != "datasets":
        assert {len(vector) for vector in read["vector"].to_pylist()} == {384}


def test_a_worker_needs_no_torch_and_no_package(tmp_path) -> None:
    """The programs import nothing that a worker would load but the program of the folder."""
    code = "import sys; sys.modules['torch'] = sys.modules['transformers'] = sys.modules['vocabless'] = None\n"
    code += "sys.path.insert(0, sys.argv[1])\nfrom onnx_model import OnnxClassifier\n"
    code += "print(len(OnnxClassifier(sys.argv[1], threads=1)(['A fine film.'])[0]))"
    folder = str(CHECKPOINTS / "hashgram-nano-sst2" / "onnx")
    done = subprocess.run(
        [sys.executable, "-c", code, folder], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "2\n"


def test_the_benchmark_sends_to_a_worker_what_the_worker_can_load(tmp_path) -> None:
    """Its functions are of `__main__`, so the engines send them by value, as here those of a module without a file."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="the extra [scale] brings it")
    functions = runpy.run_path(str(ROOT / "benchmarks" / "scale.py"), run_name="no_module")
    (tmp_path / "sent").write_bytes(cloudpickle.dumps(functions["labels"]))
    code = "import pickle, sys\nlabels = pickle.load(open('sent', 'rb'))\n"
    code += "print([*labels(sys.argv[1], ['A fine film.']), *labels(sys.argv[1], ['A bad film.'])])"
    folder = str(CHECKPOINTS / "hashgram-nano-sst2" / "onnx")
    environment = os.environ | {"SCALE_MEMORY": str(tmp_path), "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code, folder], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "['positive', 'negative']\n", done.stderr
