"""How the text files of a user are written: their encoding, and the delimiter of csv and tsv files."""

import codecs
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class TextFormat:
    r"""The format of csv, tsv, txt, jsonl and json files; other files are not read with it.

    Raises:
        ValueError: the encoding is unknown, or the delimiter is not one character.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None  # `\t` or `tab` is a tab; None is a comma in csv, a tab in tsv

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(f"--encoding {self.encoding!r} is unknown; give one that Python has.") from error
        if self.delimiter in ("tab", r"\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError(f"--delimiter {self.delimiter!r} is not one character; give one, for instance ';' or tab.")

    def options(self, suffix: str) -> dict[str, Any]:
        """Returns the arguments of `load_dataset` for files with a suffix.

        In a csv file an empty cell alone is missing: "NA", "None" and "null" are texts, as in a jsonl file.
        """
        options: dict[str, Any] = {}
        if suffix in DELIMITERS:
            options = {"keep_default_na": False, "na_values": [""], "sep": self.delimiter or DELIMITERS[suffix]}
        # By another name than "utf-8", `datasets` decodes JSON, too, and finds wrong bytes.
        encoding = "utf8" if self.encoding == "utf-8" else self.encoding
        return options | ({"encoding": encoding} if suffix != ".parquet" else {})

    def check(self, file: str) -> None:
        """Decodes a text file. Raises ValueError if a byte does not belong to the encoding."""
        decoder, start = codecs.getincrementaldecoder(self.encoding)(), 0
        with open(file, "rb") as stream:
            while chunk := stream.read(1 << 20):
                try:
                    decoder.decode(chunk, len(chunk) < 1 << 20)
                except UnicodeError as error:
                    data, place = getattr(error, "object", chunk), getattr(error, "start", 0)
                    raise ValueError(
                        f"the file {file!r} is not {self.encoding} (byte {start + len(chunk) - len(data) + place} is "
                        f"0x{data[place]:02x}); give its own, such as --encoding latin-1, or convert it to UTF-8."
                    ) from error
                start += len(chunk)

    def row_lines(self, file: str) -> list[int]:
        """Returns the line in which each row of a csv, tsv or jsonl file begins, from 1; nothing for other files."""
        suffix, begins, line = Path(file).suffix, [], 1
        if suffix not in (*DELIMITERS, ".jsonl", ".json"):
            return []
        csv.field_size_limit((1 << 31) - 1)  # characters; 128 KiB by default
        with open(file, encoding="utf-8-sig" if self.encoding == "utf-8" else self.encoding, newline="") as stream:
            if suffix in (".jsonl", ".json"):
                return [number for number, text in enumerate(stream, 1) if text.strip()]
            reader = csv.reader(stream, delimiter=self.delimiter or DELIMITERS[suffix])
            for record in reader:
                if len(record) > 1 or any(map(str.strip, record)):
                    begins.append(line)
                line = reader.line_num + 1
        return begins[1:]  # without the header


UTF8 = TextFormat()
