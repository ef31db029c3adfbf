"""The objective `distill`: learn the sentence vectors of a teacher."""
# mypy: allow-untyped-calls

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from datasets import Dataset
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessModel
from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.run_folder import rows_identity
from vocabless.saving.sentence_modules import read_dense, write_sentence_modules
from vocabless.training.distillation.corpus_texts import corpus_texts, draw_texts
from vocabless.training.distillation.sentence_measures import ScoredPairs, SentenceMeasures, read_scored_pairs
from vocabless.training.distillation.sentence_student import SentenceStudent, VectorCollator
from vocabless.training.distillation.sentence_teacher import SentenceTeacher, add_vectors
from vocabless.training.distillation.vector_dataset import VectorDataset
from vocabless.training.limits import SHARE, Limit, check_limits
from vocabless.training.pretraining.objective import Objective
from vocabless.training.script_arguments import ScriptTrainingArguments
from vocabless.training.task import ExampleSets
from vocabless.training.texts.misspellings import misspell

if TYPE_CHECKING:  # arguments.py imports the table of objectives
    from vocabless.training.pretraining.arguments import PretrainingArguments
    from vocabless.training.pretraining.documents import Documents

ENCODER_PREFIX = "encoder."  # of the encoder's weights in a `SentenceStudent`
EMBEDDED_TEACHER = Path(__file__).resolve().parents[2] / "checkpoints" / "hashgram-tiny-sentence"  # in a clone


@dataclass(frozen=True)
class Distill(Objective):
    """Gives each text the direction of the teacher's vector, see `SentenceStudent`.

    The teacher embeds sentences, clauses and passages of the corpus once. The checkpoint is a sentence-transformers
    folder, too. Its vectors can be compared with the teacher's.
    """

    name: ClassVar[str] = "distill"
    help: ClassVar[str] = "learn the sentence vectors of --teacher"
    card_text: ClassVar[str] = "learning the sentence vectors of a teacher"
    measures: ClassVar[tuple[str, ...]] = ("loss", "cosine", "recall_at_10", "spearman", "teacher_spearman")
    model_class: ClassVar[type[PreTrainedModel]] = VocablessModel
    stock_model_class: ClassVar[Any] = AutoModel

    teacher: str | None = field(
        default=None,
        metadata={
            "group": "objective distill",
            "help": "distill: a sentence-transformers model or an encoder, a folder or a Hub id. None is "
            "hashgram-tiny-sentence, which is in this repository.",
        },
    )
    teacher_trust_remote_code: bool = field(
        default=False, metadata={"help": "distill: run the code that the teacher's folder or repository contains."}
    )
    teacher_bf16: bool = field(
        default=False,
        metadata={
            "help": "distill: compute the teacher's vectors in bfloat16, twice as fast on a CPU with AVX512-BF16."
        },
    )
    max_texts: int = field(
        default=400_000,
        metadata={
            "help": "distill: texts that the teacher embeds, sentences, clauses and passages; 0 is all, without --mix."
        },
    )
    sts_file: str | None = field(
        default=None,
        metadata={"help": "distill: file with the columns sentence1, sentence2 and score, to measure Spearman's rho."},
    )
    misspell_probability: float = field(
        default=0.0,
        metadata={"help": "distill: share of words that the student reads misspelt, 0–1; the teacher reads the text."},
    )
    similarity_weight: float = field(
        default=5.0, metadata={"help": "distill: weight of the similarities within a batch in the loss."}
    )

    def __post_init__(self) -> None:
        check_limits(vars(self), {"max_texts": Limit(), "similarity_weight": Limit(), "misspell_probability": SHARE})

    @property
    def requested_by_flags(self) -> bool:
        """Whether there is a teacher."""
        return self.teacher is not None

    def build_examples(
        self,
        arguments: PretrainingArguments,
        training: ScriptTrainingArguments,
        data: Documents,
        tokenizer: PreTrainedTokenizerBase,
    ) -> ExampleSets:
        """See `TrainingTask.build_examples`."""
        self._check(arguments)
        pairs = ScoredPairs([], [], []) if self.sts_file is None else read_scored_pairs(self.sts_file)
        texts = draw_texts(data.train, arguments.mix, self.max_texts, training.seed)
        held_out = corpus_texts(data.held_out, arguments.max_eval_samples, training.seed)
        measures = SentenceMeasures(len(held_out), pairs.scores)
        if training.metric_for_best_model not in (None, *measures.names):
            raise ValueError(
                f"--metric_for_best_model {training.metric_for_best_model} is not measured: recall_at_10 needs twelve "
                f"held-out texts, spearman --sts_file; give one of {', '.join(measures.names)}."
            )
        teacher = SentenceTeacher(
            self.teacher or str(EMBEDDED_TEACHER),
            arguments.max_seq_length,
            self.teacher_bf16,
            self.teacher_trust_remote_code,
        )
        train, evaluation = (
            add_vectors(Dataset.from_dict({"text": part}), teacher)
            for part in (texts, [*held_out, *pairs.first, *pairs.second])
        )
        return ExampleSets(
            VectorDataset(train, self._misspell if self.misspell_probability else None, training.seed),
            {"": VectorDataset(evaluation)},
            VectorCollator(tokenizer, arguments.max_seq_length),
            measures,
            {
                "teacher": teacher.name,
                "teacher_license": teacher.license,
                "vector_size": teacher.vector_size,
                "texts": len(texts),
            },
        )

    def data_identity(self, arguments: PretrainingArguments, training: ScriptTrainingArguments) -> dict[str, str]:
        """Returns what identifies the text, and the pairs of `--sts_file`."""
        identity = super().data_identity(arguments, training)
        if self.sts_file is None:
            return identity
        pairs = zip(*read_scored_pairs(self.sts_file), strict=True)
        return identity | {"the pairs of --sts_file": rows_identity(pairs)}

    def config_options(self, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Returns that heads read the mean of the states: it is what the model learned to use."""
        return {"classifier_pooling": "mean"}

    def module_to_train(self, model: PreTrainedModel, examples: ExampleSets, start: str | None = None) -> nn.Module:
        """Returns the model with a dense layer into the teacher's space, that of `start` if it has one of this size."""
        student = SentenceStudent(model, examples.facts["vector_size"], self.similarity_weight)
        dense = read_dense(start) if start is not None else {}
        if {name: value.shape for name, value in student.dense.state_dict().items()} == {
            name: value.shape for name, value in dense.items()
        }:
            student.dense.load_state_dict(dense)
        return student

    def save(
        self,
        module: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        folder: str | os.PathLike[str],
        weights: dict[str, Tensor],
    ) -> None:
        """See `TrainingTask.save`. The dense layer is written as a module of sentence-transformers."""
        assert isinstance(module, SentenceStudent)
        encoder = {
            name.removeprefix(ENCODER_PREFIX): weight
            for name, weight in weights.items()
            if name.startswith(ENCODER_PREFIX)
        }
        extra = partial(write_sentence_modules, weight=weights["dense.weight"], bias=weights["dense.bias"])
        save_checkpoint(module.encoder, tokenizer, folder, encoder, extra)

    def _misspell(self, text: str, rng: np.random.Generator) -> str:
        return misspell(text, self.misspell_probability, rng)

    def _check(self, arguments: PretrainingArguments) -> None:
        if self.teacher is None and not EMBEDDED_TEACHER.is_dir():
            raise ValueError("the objective distill has no teacher; give --teacher, a folder or a Hub id.")
        if arguments.streaming:
            raise ValueError("--streaming reads a text once, but a teacher's vectors are kept; leave it out.")
