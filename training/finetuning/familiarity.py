"""Familiarity of texts on rows that a model has not learned, and the limit below which it answers "none of these"."""

from dataclasses import dataclass
from math import floor
from typing import Any, cast

import numpy as np
import torch

from vocabless.modeling.rejection import Rejection, energy, familiarity
from vocabless.modeling.sentences import smallest_of_texts
from vocabless.training.finetuning.tasks.logits import TextLogits, Vectors
from vocabless.training.finetuning.tasks.problems import MultiLabel, Problem


@dataclass(frozen=True)
class Familiarity:
    """How familiar n rows are, by models that have not learned them, see `Rejection`."""

    scores: Vectors  # (n,)
    scales: Vectors  # (2, 2), see `familiarity`

    @classmethod
    def of(cls, logits: TextLogits, typicality: TextLogits, temperature: float, problem: Problem) -> "Familiarity":
        """Returns that of rows by their logits, before they are divided, and their typicality, (n, 1).

        A text is as familiar as its most familiar part.
        """

        def parts(outputs: Vectors, typical: Vectors) -> Vectors:
            energies = energy(torch.from_numpy(outputs / temperature), problem.name == MultiLabel.name)
            return np.column_stack([energies.numpy(), typical])

        def scores(values: Vectors) -> Vectors:
            return cast(Vectors, familiarity(*map(torch.from_numpy, (values, scales)))[:, 0].numpy())

        of_texts = parts(logits.texts, typicality.texts)
        deviations = of_texts.std(0)
        scales = np.stack([of_texts.mean(0), 1 / np.where(deviations > 0, deviations, 1)])
        of_sentences = -scores(parts(logits.sentences, typicality.sentences))
        return cls(-smallest_of_texts(-scores(of_texts), of_sentences, logits.places), scales)

    def limit(self, share: float) -> float:
        """Returns the familiarity that at most this share of further texts with a label is below.

        Of n rows it is the ⌊share · (n + 1)⌋th smallest, or the smallest. On rows apart, this is split conformal
        prediction (Vovk, Gammerman and Shafer 2005): the share holds on average if further texts are drawn as these
        rows. On folds, the scores are those of models that have each learned without a fold, as in cross-conformal
        prediction (Vovk 2015), but those of further texts are the saved model's: the cross-validation without the
        "+" of Barber et al., *Predictive Inference with the Jackknife+*, Annals of Statistics 2021, which promises
        nothing. The saved model has learned more rows, so that texts are more familiar to it.

        >>> Familiarity(np.arange(1.0, 40.0), np.ones((2, 2))).limit(0.05)
        2.0
        """
        count = max(1, floor(share * (len(self.scores) + 1) + 1e-9))
        return float(np.sort(self.scores)[count - 1])

    @torch.no_grad()
    def write_into(self, model: Any, problem: Problem, typical: Vectors, share: float, label: str) -> str:
        """Gives the model the last label, and the limit below which it gives this label; returns a sentence."""
        config, head = model.config, model.classifier
        config.classifier_reject_score = self.limit(share)
        names = [*problem.labels, label]
        config.id2label = dict(enumerate(names))
        config.label2id = {name: number for number, name in enumerate(names)}
        model.num_labels = len(names)
        head.rejection = Rejection(config, len(typical)).to(head.dense.weight.device)
        head.rejection.typical.copy_(torch.from_numpy(typical))
        head.rejection.scales.copy_(torch.from_numpy(self.scales))
        return (
            f"Texts get {label!r} if their familiarity is below {config.classifier_reject_score:.2f}, that of "
            f"{100 * share:g} % of {len(self.scores):,} rows that were not learned."
        )
