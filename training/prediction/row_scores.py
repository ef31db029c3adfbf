"""The score of a classifier on rows with labels that come a chunk after the other, in constant memory."""

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocabless.conversion.onnx_program.onnx_model import OnnxClassifier
from vocabless.training.finetuning.tasks.columns import short


class RowScores:
    """Accuracy; of several labels micro F1; of numbers Pearson's correlation. `str` gives a sentence, or ""."""

    def __init__(self, classifier: OnnxClassifier) -> None:
        self.classifier, self.rows, self.unknown = classifier, 0, 0
        self.example = ""  # of a label that the model lacks
        self.sums: Any = np.zeros((3, 3) if classifier.is_number else 3)
        self.known = {*classifier.labels}
        self.forms = {f"{label}.0".lower(): label for label in self.known} | {"true": "True", "false": "False"}

    def add(self, cells: Sequence[Any], values: NDArray[np.float64]) -> None:
        """Takes the labels of rows, as their file has them, and the probabilities (n, labels), or numbers (n, 1)."""
        for cell, row in zip(cells, values, strict=True):
            if self.classifier.is_number:
                with suppress(TypeError, ValueError):
                    point = np.array([1, row[0], float(str(cell).replace(",", "."))])
                    self.sums += np.outer(point, point)  # from which the correlation follows
                    self.rows += 1
                continue
            true = self._names(cell)
            if true or self.classifier.is_multi_label:
                said = self.classifier.label_of(dict(zip(self.classifier.labels, row, strict=True)))
                given = said if isinstance(said, list) else [said]
                self.sums += [len(true & {*given}), len(given), len(true)]
                self.rows += 1
            if unknown := sorted(true - self.known):
                self.unknown, self.example = self.unknown + 1, self.example or unknown[0]

    def __str__(self) -> str:
        if not self.sums[-1].any():
            return ""
        rows = f"of {self.rows:,} rows with labels"
        if self.classifier.is_number:
            products = self.sums / self.rows
            moments = products - np.outer(products[0], products[0])
            spread = np.sqrt(moments[1, 1] * moments[2, 2])
            return f"Pearson {100 * moments[1, 2] / spread if spread > 0 else 0:.1f}, {rows}."
        right, given, true = self.sums  # of one label, micro F1 is accuracy
        name = "Micro F1" if self.classifier.is_multi_label else "Accuracy"
        others = f"; {self.unknown:,} have labels that the model lacks, such as {short(self.example)!r}"
        return f"{name} {200 * right / (given + true):.1f}, {rows}{others if self.unknown else ''}."

    def _names(self, cell: Any) -> set[str]:
        """Returns the labels in a cell: one, a list, the list that a text shows, or several with a separator."""
        if isinstance(cell, str):
            with suppress(ValueError, SyntaxError):
                cell = ast.literal_eval(cell) if cell[:1] == "[" else cell
        if isinstance(cell, str) and self.classifier.is_multi_label and cell not in self.known:
            cell = re.split(r"[;,|\n]", cell)
        parts = [str(part).strip() for part in (cell if isinstance(cell, list) else [cell]) if part is not None]
        return {part if part in self.known else self.forms.get(part.lower(), part) for part in parts if part}
