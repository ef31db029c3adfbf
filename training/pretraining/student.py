"""A student of sentence vectors, and its training by sentence-transformers, which this file needs."""

import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_model
from sentence_transformers import (
    DefaultBatchSampler,
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from torch import Tensor, nn
from torch.utils.data import BatchSampler
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import SAFE_WEIGHTS_NAME

from vocabless.tokenization.batches import RowPadding, to_tensors
from vocabless.training.script import ScriptTrainingArguments
from vocabless.training.trainer import LengthGroups, ResumableTrainer


def sentence_student(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    vector_size: int,
    max_length: int,
    dense: dict[str, Tensor],
    first_size: int,
) -> Any:
    """Returns a SentenceTransformer, an encoder whose mean states go through a dense layer into a teacher's space.

    Args:
        model: the encoder.
        tokenizer: its tokenizer; the student has a copy.
        vector_size: numbers in a vector of the teacher.
        max_length: tokens of a text; the rest is cut off.
        dense: weights for the dense layer; they count only if they have its shapes.
        first_size: inputs of a fresh dense layer whose weights are not 0, at most the hidden size.
    """
    with tempfile.TemporaryDirectory() as folder:  # from which alone a Transformer can be made
        model.config.save_pretrained(folder)
        save_model(model, f"{folder}/{SAFE_WEIGHTS_NAME}", metadata={"format": "pt"})  # in each process
        tokenizer.save_pretrained(folder)
        transformer = Transformer(folder, max_seq_length=max_length)
    transformer.model = model
    hidden_size = int(model.config.hidden_size)
    layer: Any = Dense(hidden_size, vector_size, activation_function=nn.Identity())
    nn.init.zeros_(layer.linear.weight[:, first_size:])
    shapes = {name: weight.shape for name, weight in layer.linear.state_dict().items()}
    if {name: weight.shape for name, weight in dense.items()} == shapes:
        layer.linear.load_state_dict(dense)
    # A vector of bfloat16 would be too coarse.
    transformer.register_forward_hook(_with_float_states)
    layer.forward = partial(_without_autocast, layer.forward)
    student: Any = SentenceTransformer(modules=[transformer, Pooling(hidden_size, "mean"), layer, Normalize()])
    student.main_input_name = "text_input_ids"  # whose tokens the Trainer counts
    return student


def _with_float_states(module: nn.Module, inputs: Any, features: dict[str, Any]) -> dict[str, Any]:
    return features | {"token_embeddings": features["token_embeddings"].float()}


def _without_autocast(forward: Callable[[Any], Any], features: dict[str, Any]) -> Any:
    with torch.autocast(features["sentence_embedding"].device.type, enabled=False):
        return forward(features)


class LengthBatches(DefaultBatchSampler):
    """Batches of examples of nearly the same length, see `LengthGroups`; a data set has them as the column `length`."""

    def __init__(self, dataset: datasets.Dataset, batch_size: int, drop_last: bool, **options: Any) -> None:
        super().__init__(dataset, batch_size, drop_last, **options)
        self._groups = LengthGroups(dataset.with_format("numpy")["length"][:], batch_size, self.seed)
        self._batches = BatchSampler(self._groups, batch_size, drop_last)

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[list[int]]:
        self._groups.set_epoch(self.epoch)
        return iter(self._batches)


@dataclasses.dataclass
class StudentArguments(ScriptTrainingArguments, SentenceTransformerTrainingArguments):
    """The arguments of a script in the form that sentence-transformers takes."""


@dataclasses.dataclass(frozen=True)
class StudentCollator:
    """Makes a batch of examples with a `text`, cut at `max_length` tokens, and a `label`, the teacher's vector.

    In place of the text an example may have its `blocks`, see `vector_texts.ready_blocks`.
    With the collator of sentence-transformers, which takes images, too, a step of nano takes a sixth longer.
    """

    tokenizer: PreTrainedTokenizerBase  # of the student
    max_length: int | None
    valid_label_columns: Sequence[str] = ("label",)

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Returns the inputs of the texts, `label`, and `attention_mask`, whose tokens the Trainer counts."""
        if "blocks" in examples[0]:
            inputs = self._padded([example["blocks"] for example in examples])
        else:
            options: Any = {"max_length": self.max_length, "truncation": True, "padding": True, "return_tensors": "pt"}
            inputs = self.tokenizer([example["text"] for example in examples], **options)
        batch = {f"text_{name}": values for name, values in inputs.items()}
        labels = torch.stack([example["label"] for example in examples])
        return batch | {"label": labels, "attention_mask": inputs["attention_mask"]}

    def _padded(self, blocks: Sequence[NDArray[np.uint16]]) -> dict[str, Tensor]:
        """Returns what the tokenizer makes of texts whose blocks these are."""
        tokenizer: Any = self.tokenizer
        lengths = [len(each) // tokenizer.block_size for each in blocks]
        padding = RowPadding(lengths, max(lengths), tokenizer.padding_side)
        flat = np.concatenate(blocks).reshape(-1, tokenizer.block_size).astype(np.int64)
        values = {"input_ids": padding.pad(flat), "token_type_ids": padding.fill(0), "attention_mask": padding.fill(1)}
        return to_tensors({name: values[name] for name in tokenizer.model_input_names}, "pt")


class StudentTrainer(ResumableTrainer, SentenceTransformerTrainer):
    """The Trainer of sentence-transformers, for runs that may be killed or diverge, see `ResumableTrainer`."""

    def __init__(self, model: SentenceTransformer, args: ScriptTrainingArguments, **options: Any) -> None:
        known = {field.name for field in dataclasses.fields(StudentArguments) if field.init}
        values = {field.name: getattr(args, field.name) for field in dataclasses.fields(args) if field.name in known}
        arguments = StudentArguments(**values, batch_sampler=LengthBatches)
        collator = StudentCollator(model.tokenizer, model.max_seq_length)
        super().__init__(model=model, args=arguments, data_collator=collator, **options)

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Adds none: the run writes the card."""
