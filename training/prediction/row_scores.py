"""The score of a classifier on rows with labels that come a chunk after the other, in constant memory."""

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocabless.conversion.onnx_program.onnx_model import OnnxClassifier
from vocabless.training.finetuning.tasks.columns import MARKS, short


class RowScores:
    """Accuracy; of several labels micro F1; of numbers Pearson's correlation. `str` gives a sentence, or "".

    `separator` is that of the training between the labels of a row; None: each of `;,|` and the end of a line is one.
    """

    def __init__(self, classifier: OnnxClassifier, separator: str | None = None) -> None:
        self.classifier, self.rows, self.unknown = classifier, 0, 0
        self.example = ""  # of a label that the model lacks
        self.sums: Any = np.zeros((3, 3) if classifier.is_number else 3)
        self.known = {*classifier.labels}
        self.separator = re.escape(separator.replace(r"\n", "\n")) if separator else r"[;,|\n]"

    def add(self, cells: Sequence[Any], values: NDArray[np.float64]) -> None:
        """Takes the labels of rows, as their file has them, and the probabilities (n, labels), or numbers (n, 1).

        The cell of several columns is a dictionary.
        """
        for cell, row in zip(cells, values, strict=True):
            if self.classifier.is_number:
                with suppress(TypeError, ValueError):
                    number = float(str(cell).rstrip("% \u00a0").replace(",", "."))
                    if isfinite(number):
                        point = np.array([1, row[0], number])
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
        """Returns the labels in a cell: one, a list, the list that a text shows, or several with a separator.

        Of several columns that have the names of labels, those that are marked.
        """
        if isinstance(cell, dict):
            is_marked = {*cell} <= self.known
            cell = [name for name in cell if MARKS.get(str(cell[name]).lower())] if is_marked else [*cell.values()]
        if isinstance(cell, str):
            with suppress(ValueError, SyntaxError):
                cell = ast.literal_eval(cell) if cell[:1] == "[" else cell
        if isinstance(cell, str) and self.classifier.is_multi_label and cell not in self.known:
            cell = re.split(self.separator, cell)
        parts = [str(part).strip() for part in (cell if isinstance(cell, list) else [cell]) if part is not None]
        return {*map(self._name, filter(None, parts))}

    def _name(self, part: str) -> str:
        """Returns the label that is written so: `1.00` and `+1` are 1, `TRUE` is True."""
        forms = [part, *([part.capitalize()] if part.lower() in ("true", "false") else [])]
        with suppress(ValueError, OverflowError):
            forms += [str(int(float(part)))] if float(part).is_integer() else []
        return next((form for form in forms if form in self.known), part)
