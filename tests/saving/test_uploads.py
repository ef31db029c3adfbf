"""What leaves a folder: the files of a checkpoint, and nothing that holds the texts, labels or paths of its user."""

from pathlib import Path

import pytest

from vocabless.saving.uploads import ONNX_FILES, _uploaded_files

CHECKPOINT = (
    ".eval_results/results.yaml",
    *("README.md", "results.json", "config.json", "model.safetensors", "modeling_vocabless.py", "tokenizer.json"),
    *("model-00001-of-00002.safetensors", "model.safetensors.index.json", "tokenizer_config.json", "ngrams.json"),
    *("1_Pooling/config.json", "2_Dense/model.safetensors", "modules.json", *ONNX_FILES),
)
STAYS = (
    *("test.md", "test_mm.md", "table.md", "notes.md", "run.json", "predictions.jsonl", "labels.json", "logits.json"),
    *("texts.safetensors", "training_args.bin", "pytorch_model.bin", "checkpoint-5/model.safetensors", "reviews.csv"),
    *(".lock", "onnx/texts.json", "data/README.md"),
)


@pytest.mark.parametrize("others", [(), STAYS], ids=["a checkpoint", "with files of the user"])
def test_the_files_of_a_checkpoint_are_uploaded_and_no_other(others: tuple[str, ...], tmp_path: Path) -> None:
    for name in (*CHECKPOINT, *others):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert _uploaded_files(tmp_path) == sorted(CHECKPOINT) and "onnx/ngrams.json" in CHECKPOINT
