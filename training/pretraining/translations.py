"""Translations: a text in another language learns the teacher's vector of its English translation.

Reimers and Gurevych, *Making Monolingual Sentence Embeddings Multilingual using Knowledge Distillation*, 2020.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from datasets import Dataset, Features, Value, concatenate_datasets
from numpy.typing import NDArray

from vocabless.saving.run_folder import rows_fingerprint
from vocabless.texts.tables import load_table

COLUMNS = ("text", "lang", "english")  # the last one may be missing
Indices = NDArray[np.int64]


class ParallelTexts(NamedTuple):
    """Texts of several languages and what they mean in English.

    A text without a translation is its own: the teacher then reads the text itself.
    """

    texts: Dataset  # with the column `text`, n rows
    languages: NDArray[np.str_]  # (n,)
    translations: list[str]  # the distinct translations
    english_of: Indices  # (n,) the index in `translations` of each text

    def __len__(self) -> int:
        return len(self.english_of)

    def counts(self) -> dict[str, int]:
        """Returns the number of texts of each language."""
        names, counts = np.unique(self.languages, return_counts=True)
        return dict(zip(names.tolist(), counts.tolist(), strict=True))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields each text with its translation."""
        texts = (text for batch in self.texts.iter(batch_size=10_000) for text in batch["text"])
        return zip(texts, map(self.translations.__getitem__, self.english_of), strict=True)

    def translated(self) -> Indices:
        """Returns the rows of the texts that are not their own translation."""
        return np.flatnonzero([text != translation for text, translation in self.pairs()])

    def languages_of_translations(self, language: str) -> list[str]:
        """Returns the language of each of `translations`: that of a text without one, otherwise the given one."""
        names = [language] * len(self.translations)
        for row in np.setdiff1d(np.arange(len(self)), self.translated()):
            names[self.english_of[row]] = str(self.languages[row])
        return names

    def fingerprint(self) -> str:
        """Returns what identifies the texts with their translations and languages."""
        return rows_fingerprint((*pair, name) for pair, name in zip(self.pairs(), self.languages.tolist(), strict=True))

    def select(self, rows: Indices) -> "ParallelTexts":
        """Returns some of the texts, with the translations that they have."""
        kept, english_of = np.unique(self.english_of[rows], return_inverse=True)
        translations = [self.translations[index] for index in kept]
        return ParallelTexts(self.texts.select(rows), self.languages[rows], translations, english_of)

    def hold_out(self, share: float, seed: int) -> tuple["ParallelTexts", "ParallelTexts"]:
        """Returns the texts to train on and the held-out ones, with a random share, 0–1, of the translations.

        No translation is in both, in any language.
        """
        held_out = (np.random.default_rng(seed).random(len(self.translations)) < share)[self.english_of]
        return self.select(np.flatnonzero(~held_out)), self.select(np.flatnonzero(held_out))

    def at_most(self, number: int, seed: int) -> "ParallelTexts":
        """Returns random texts of each language, at most `number`, no two with the same translation."""
        order = np.random.default_rng(seed).permutation(len(self))
        chosen = []
        for language in np.unique(self.languages):
            rows = order[self.languages[order] == language]
            first = np.sort(np.unique(self.english_of[rows], return_index=True)[1])
            chosen.append(rows[first][:number])
        return self.select(np.concatenate(chosen))


def read_parallel(files: Sequence[str]) -> ParallelTexts:
    """Returns the rows of parquet, jsonl or csv files: columns `text`, `lang`, and the translation `english`.

    `english` may be empty, or missing in a file of texts or words without translations.

    Raises:
        ValueError: a file does not exist, cannot be read or lacks a column, or a row lacks its text or language.
    """
    rows = concatenate_datasets([_read(file) for file in files])
    texts, languages, english = (rows[name][:] for name in COLUMNS)
    meanings = [translation or text for text, translation in zip(texts, english, strict=True)]
    english_of, translations = pd.factorize(np.array(meanings, object))
    return ParallelTexts(rows.select_columns(["text"]), np.array(languages), translations.tolist(), english_of)


def _read(file: str) -> Dataset:
    """Returns `COLUMNS` of a file, all of them strings or None; see `read_parallel`."""
    rows = load_table(file, "--parallel", COLUMNS[:2])
    if "english" not in rows.column_names:
        rows = rows.add_column("english", [None] * len(rows))
    rows = rows.select_columns(COLUMNS).cast(Features(dict.fromkeys(COLUMNS, Value("string"))))
    for row, (text, language) in enumerate(zip(rows["text"][:], rows["lang"][:], strict=True), 1):
        if not text or not text.strip() or not language:
            raise ValueError(
                f"--parallel {file!r} has no text or no lang in row {row}; fill it in or leave the row out."
            )
    return rows


def sample_languages(languages: NDArray[np.str_], exponent: float, seed: int) -> Indices:
    """Returns which of n texts an epoch has: of a language in proportion to its number to the power `exponent`, 0–1.

    The language with the most texts has each once. The others repeat theirs, each text nearly equally often; the seed
    chooses those with one more. Source: Conneau and Lample, *Cross-lingual Language Model Pretraining*, 2019, section
    3.1.

    Example:
        >>> np.bincount(sample_languages(np.array(["de"] * 4 + ["fa"]), 0.5, seed=0)).tolist()
        [1, 1, 1, 1, 2]
    """
    rng = np.random.default_rng(seed)
    names, counts = np.unique(languages, return_counts=True)
    rows = []
    for name, count in zip(names, counts, strict=True):
        number = round(count**exponent * counts.max() ** (1 - exponent))
        rows.append(repeated(np.flatnonzero(languages == name), number, rng))
    return np.concatenate(rows)


def repeated(rows: Indices, number: int, rng: np.random.Generator) -> Indices:
    """Returns `number` rows, each nearly equally often; the generator chooses those with one more."""
    repeats, rest = divmod(number, len(rows))
    return np.concatenate([np.tile(rows, repeats), np.sort(rng.choice(rows, rest, replace=False))])
