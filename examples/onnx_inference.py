"""Classifies texts with an exported model, onnxruntime and numpy only: text → units → blocks → probabilities.

    python examples/onnx_inference.py onnx/model.onnx "It is worth the money." "Two hours that felt like five!"

All of it is in the file vocabless/onnx_classifier.py, which you can copy beside your own program.
"""

import sys
from pathlib import Path

# The file alone: to import the package imports torch, too.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "vocabless"))
from onnx_classifier import OnnxClassifier, main

__all__ = ["OnnxClassifier", "main"]

if __name__ == "__main__":
    main()
