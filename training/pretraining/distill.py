"""The objective `distill`: learn the sentence vectors of a teacher."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from vocabless import VocablessModel
from vocabless.loading import default_encoder, find_model
from vocabless.public_names import without_path
from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.record import ENGLISH, STSB, STSB_PAIRS
from vocabless.saving.run_folder import rows_fingerprint
from vocabless.saving.sentence_modules import read_dense, write_sentence_modules
from vocabless.saving.tables import vector_tables
from vocabless.training.load import is_ours
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.losses import DirectionLoss, LastStage
from vocabless.training.pretraining.measures import measured_names, read_scored_pairs, unit_vectors
from vocabless.training.pretraining.objective import Examples, Objective
from vocabless.training.pretraining.run_text import MAX_EVALUATED, Documents
from vocabless.training.pretraining.teacher import (
    SentenceTeacher,
    corpus_texts,
    draw_texts,
    vectors_of,
    with_translations,
)
from vocabless.training.pretraining.translations import ParallelTexts, read_parallel, repeated, sample_languages
from vocabless.training.pretraining.vector_texts import VectorTexts, ready_blocks, token_counter
from vocabless.training.run import Results, Trained
from vocabless.training.script import ANY_SIZE, SHARE, ScriptTrainingArguments, flag
from vocabless.training.trainer import ResumableTrainer

# The texts of a language in an epoch are in proportion to its texts in --parallel to this power.
LANGUAGE_EXPONENT = 0.3
CORPUS_SHARE = 0.25  # the least that the texts of --corpus are of an epoch with --parallel
LARGER_TEACHER = "sentence-transformers/all-MiniLM-L6-v2"
TEACHER_MEAN = "teacher_mean"  # buffer of a student: what was taken from the teacher's vectors of --corpus, if anything


@dataclass
class Distill(Objective):
    """Gives each text the direction of the teacher's vector, see `DirectionLoss`; sentence-transformers trains.

    The teacher embeds sentences, clauses and passages of the corpus once. The checkpoint is a sentence-transformers
    folder, too. Its vectors can be compared with the teacher's.
    """

    name: ClassVar[str] = "distill"
    card_text: ClassVar[str] = "learning the sentence vectors of a teacher"
    measures = ("loss", "cosine", "recall_at_10", "spearman", "teacher_spearman", "translation")
    model_class: ClassVar[type[PreTrainedModel]] = VocablessModel
    stock_model_class: ClassVar[Any] = AutoModel
    left_overs: ClassVar[tuple[str, ...]] = ("eval",)  # for reports of evaluators, which ours do not write

    teacher: str | None = flag(
        None,
        "distill: sentence-transformers model or encoder, a folder or Hub id. None is the "
        "hashgram-tiny-sentence of this package.",
        group="objective distill",
    )
    teacher_trust_remote_code: bool = flag(False, "Run code that the teacher's folder or repository contains.")
    max_texts: int = flag(
        400_000,
        "Texts that the teacher embeds: sentences, clauses and passages; without --mix no more than the steps read, "
        "and 0 is all of these.",
        limit=ANY_SIZE,
    )
    sts_file: str | None = flag(None, "File with columns sentence1, sentence2 and score, to measure Spearman's rho.")
    misspell_probability: float = flag(0.0, "Share of words that the student reads misspelt, 0–1.", limit=SHARE)
    last_stage: float = flag(
        0.0,
        "Share of the steps, the last ones, in which a text's vector also has the mean of its tokens' embeddings, and "
        "its nearest texts in a batch count more. 1 is for a trained student.",
        limit=SHARE,
    )
    nested_dimensions: list[int] = flag(
        [64, 128, 256], "Lengths to which a vector can be cut, by sentence-transformers' truncate_dim; 0 for none."
    )
    parallel: list[str] | None = flag(
        None,
        "Files with columns text, english (its translation; may be empty) and lang: the student learns the teacher's "
        "vector of the translation.",
    )
    centre_teacher: bool = flag(
        False,
        "Take the mean of each language off the teacher's vectors, where the cosines of all texts are high; the "
        "checkpoint keeps that of --corpus.",
    )

    def set_arguments(self, arguments: PretrainingArguments, training: ScriptTrainingArguments) -> None:
        """See `Objective.set_arguments`. The teacher embeds no more texts than the steps read.

        Raises:
            ValueError: the teacher is the student, or a flag of the Trainer is not for `distill`.
        """
        super().set_arguments(arguments, training)
        if training.neftune_noise_alpha is not None:
            raise ValueError("--neftune_noise_alpha is not for distill; leave it out, or give another --objective.")
        source, teacher = arguments.model_name_or_path, find_model(self.teacher or default_encoder())
        if source is not None and os.path.realpath(source) == os.path.realpath(teacher):
            raise ValueError(
                f"the teacher {without_path(teacher)!r} is --model_name_or_path {source} itself, which learns nothing "
                f"from it; give a larger model as --teacher, such as {LARGER_TEACHER}."
            )
        if arguments.mix is None and training.max_steps > 0:
            batch = training.train_batch_size * training.gradient_accumulation_steps * training.world_size
            self.max_texts = min(self.max_texts or sys.maxsize, training.max_steps * batch)

    def _load_teacher(self) -> SentenceTeacher:
        source, max_length = find_model(self.teacher or default_encoder()), self.arguments.max_seq_length
        return SentenceTeacher(source, max_length, self.training.bf16, self.teacher_trust_remote_code)

    def data_fingerprint(self) -> dict[str, str]:
        """Returns what identifies the text, the teacher, the pairs of `--sts_file` and the translations."""
        fingerprints = super().data_fingerprint()
        if not self.arguments.dry_run:
            # Loaded apart from the training, whose random numbers depend on what was loaded before.
            fingerprints["the teacher"] = self._load_teacher().fingerprint
        if self.sts_file is not None:
            pairs = zip(*read_scored_pairs(self.sts_file), strict=True)
            fingerprints["the pairs of --sts_file"] = rows_fingerprint(pairs)
        if self.parallel is not None:
            fingerprints["the texts of --parallel"] = read_parallel(self.parallel).fingerprint()
        return fingerprints

    def build_examples(self, data: Documents, tokenizer: PreTrainedTokenizerBase) -> Examples:
        """See `Objective.build_examples`."""
        arguments, training, sizes = self.arguments, self.training, self.nested_dimensions
        if arguments.streaming:
            raise ValueError("--streaming reads a text once, but a teacher's vectors are kept; leave it out.")
        first, second, scores = ([], [], []) if self.sts_file is None else read_scored_pairs(self.sts_file)
        texts = draw_texts(data.train, arguments.mix, self.max_texts, training.seed)
        held_out = corpus_texts(data.held_out, MAX_EVALUATED, training.seed)
        parallel, held_out_parallel = self._read_parallel()
        names = measured_names(len(held_out), bool(scores), held_out_parallel is not None)
        if training.metric_for_best_model not in (None, *names):
            raise ValueError(
                f"--metric_for_best_model {training.metric_for_best_model} is not measured: recall_at_10 needs twelve "
                f"held-out texts, spearman --sts_file, translation --parallel; give one of {', '.join(names)}."
            )
        teacher = self._load_teacher()
        # Needs sentence-transformers: the teacher says so if it is not installed.
        from vocabless.training.pretraining.evaluation import Evaluation, HeldOutTexts, ScoredPairs, Translations

        train = self._examples(texts, parallel, teacher, tokenizer)
        mean = 0 if train.means is None else train.means[0]

        def targets(texts: Sequence[str]) -> Any:
            return unit_vectors(vectors_of(texts, teacher)) - mean

        evaluators: list[Any] = [HeldOutTexts(held_out, targets(held_out), sizes)]
        if scores:
            evaluators.append(ScoredPairs([*first, *second], scores, targets([*first, *second]), sizes))
        if held_out_parallel is not None:
            evaluators.append(Translations(held_out_parallel, targets(held_out_parallel.translations)))
        facts: dict[str, Any] = {
            "teacher": teacher.name,
            "teacher_license": teacher.license,
            "vector_size": teacher.vector_size,
            "texts": len(texts),
            "sts": STSB if rows_fingerprint(zip(first, second, scores, strict=True)) == STSB_PAIRS else None,
        }
        if parallel is not None:
            facts["translations"] = parallel.counts()
        return Examples(train, Evaluation(evaluators), facts)

    def _read_parallel(self) -> tuple[ParallelTexts | None, ParallelTexts | None]:
        """Returns the texts with translations to train on, and the held-out ones."""
        if self.parallel is None:
            return None, None
        share, seed = self.arguments.validation_split_percentage / 100, self.training.seed
        train, held_out = read_parallel(self.parallel).hold_out(share, seed)
        if len(train) == 0:
            raise ValueError(
                "all translations of --parallel are held out; give more, or a lower --validation_split_percentage."
            )
        held_out = held_out.select(held_out.translated())  # any other text would find itself
        return train, held_out.at_most(MAX_EVALUATED, seed) if len(held_out) else None

    def _examples(
        self,
        texts: list[str],
        parallel: ParallelTexts | None,
        teacher: SentenceTeacher,
        tokenizer: PreTrainedTokenizerBase,
    ) -> VectorTexts:
        """Returns the texts of the corpus, then those of the languages, see `sample_languages`.

        Beside languages, a small corpus is read more often, so that its own language is not forgotten.
        """
        columns, seed = with_translations(texts, parallel, teacher), self.training.seed
        rows = None
        if parallel is not None:
            of_translations = np.array(parallel.languages_of_translations(ENGLISH))
            translations = np.unique(parallel.english_of[parallel.translated()])
            english = translations[of_translations[translations] == ENGLISH]
            languages = np.concatenate([parallel.languages, np.full(len(english), ENGLISH)])
            places = np.concatenate([np.arange(len(parallel)), len(parallel) + english])
            drawn = places[sample_languages(languages, LANGUAGE_EXPONENT, seed)]
            number = max(len(texts), round(len(drawn) * CORPUS_SHARE / (1 - CORPUS_SHARE)))
            of_corpus = repeated(np.arange(len(texts)), number, np.random.default_rng(seed))
            rows = np.concatenate([of_corpus, len(texts) + drawn])
        groups = None
        if self.centre_teacher:
            names = [ENGLISH] * len(texts) + ([] if parallel is None else [*of_translations])
            groups, _ = pd.factorize(np.array(names, object))  # English is the first
        is_ready = not self.misspell_probability
        blocks = ready_blocks(columns[0], tokenizer, self.arguments.max_seq_length) if is_ready else None
        return VectorTexts(*columns, token_counter(tokenizer), rows, groups, self.misspell_probability, seed, blocks)

    def config_options(self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Returns that heads read the mean of the states, and that the states have embeddings, see `--last_stage`."""
        if is_ours(config):
            return {"classifier_pooling": "mean"} | ({"append_embeddings": True} if self.last_stage else {})
        if self.last_stage:
            raise ValueError("--last_stage needs a model of this family; leave it out.")
        return {}

    def build_trainer(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: Examples
    ) -> ResumableTrainer:
        """Returns the Trainer of the model with a dense layer into the teacher's space.

        A checkpoint that the run begins from gives its own layer, if it has one of this size. Where the last stage
        appends the embeddings, their weights in it are 0 at first.
        """
        from vocabless.training.pretraining.student import StudentTrainer, sentence_student

        arguments, config, train = self.arguments, cast(Any, model.config), cast(VectorTexts, examples.train)
        dense = {} if arguments.model_name_or_path is None else read_dense(arguments.model_name_or_path)
        size = config.encoder_config.hidden_size if self.last_stage else config.hidden_size
        if dense:
            size = min(config.hidden_size, dense["weight"].shape[1])
            dense["weight"] = F.pad(dense["weight"], (0, config.hidden_size - size))
        vector_size = examples.facts["vector_size"]
        student = sentence_student(model, tokenizer, vector_size, arguments.max_seq_length, dense, size)
        mean = None if train.means is None else torch.from_numpy(train.means[0])
        student.register_buffer(TEACHER_MEAN, mean, persistent=False)
        loss = DirectionLoss(student, self.nested_dimensions)
        callbacks: list[TrainerCallback] = [train]
        if self.last_stage:
            callbacks.append(LastStage(loss, student[2].linear.weight, size, self.last_stage))
        return StudentTrainer(
            student,
            self.training,
            train_dataset=train.dataset(),
            loss=loss,
            evaluator=examples.evaluated,
            callbacks=callbacks,
        )

    def save(self, trained: Trained) -> None:
        """See `Run.save`. The dense layer is written as a module of sentence-transformers."""
        student, weights = trained.module, trained.weights
        assert weights is not None
        (prefix,) = [f"{name}." for name, module in student.named_modules() if module is trained.model]
        encoder = {name.removeprefix(prefix): weight for name, weight in weights.items() if name.startswith(prefix)}
        weight, bias = weights["2.linear.weight"], weights["2.linear.bias"]
        mean = getattr(student, TEACHER_MEAN)
        extra = partial(write_sentence_modules, weight=weight, bias=bias, teacher_mean=mean)
        save_checkpoint(trained.model, trained.tokenizer, self.folder, encoder, extra)

    def summary(self, results: Results) -> str:
        """Returns the held-out measures, those of short vectors and of each language."""
        tables = [super().summary(results), *vector_tables(results["after"])]
        return "\n".join(tables) + "\n"
