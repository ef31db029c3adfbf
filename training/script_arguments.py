"""The arguments that both scripts have."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import datasets
import torch
from transformers import TrainingArguments
from transformers.trainer_utils import HubStrategy
from transformers.utils import logging as transformers_logging

from vocabless.overrides import parse_overrides
from vocabless.saving.run_folder import HUB_ARGUMENTS
from vocabless.training.script_parser import COUNT, POSITIVE, Limit, check_limits, flag
from vocabless.training.texts.text_format import TextFormat

_LOGGER = logging.getLogger(__name__)
# A run with other values of these is still the same run: they say where it writes and how it reports.
NOT_IDENTIFYING = (
    *("set", "output_dir", "logging_dir", "disable_tqdm", "report_to", "run_name"),
    *HUB_ARGUMENTS,
)
LIMITS = {
    "gradient_accumulation_steps": COUNT,
    "per_device_train_batch_size": Limit(),
    "per_device_eval_batch_size": COUNT,
    "max_steps": Limit(1, also=(-1, "for whole epochs")),
    "num_train_epochs": POSITIVE,
    "learning_rate": Limit(),
    "weight_decay": Limit(),
    "max_grad_norm": Limit(),
    "warmup_steps": Limit(),
    "logging_steps": POSITIVE,
    "eval_steps": POSITIVE,
    "save_steps": POSITIVE,
    "save_total_limit": COUNT,
}


@dataclass
class ModelArguments:
    """Overrides of the model, and the format of text files."""

    set: list[str] | None = flag(
        None,
        "Change a variant, for ablations: size=tiny, splitter=…, coder=lsh, front_end=…, ngrams=train, and "
        "options such as coder_options.num_bits=256 or encoder_options.num_hidden_layers=3. Options are added to "
        "the variant's own if its splitter, coder or front end stays. ngrams are those that have a feature, for "
        "the coders lsh and lsh-index: a JSON list, most frequent first, or train for the 50 000 most frequent "
        "ones of the training text (HashFormers, 3.3). Stock shapes have size and encoder_options.",
        group="model",
        action="extend",
    )
    encoding: str = flag(
        "utf-8", "Encoding of csv, tsv, jsonl, json and txt files, such as latin-1.", is_rare=True, group="text"
    )
    delimiter: str | None = flag(
        None, "Delimiter of csv and tsv files, such as ';' or tab. None is a comma, in tsv a tab.", is_rare=True
    )

    def __post_init__(self) -> None:
        parse_overrides(self.set or ())

    @property
    def overrides(self) -> dict[str, Any]:
        """What `--set` gives, see `parse_overrides`."""
        return parse_overrides(self.set or ())

    @property
    def ngrams(self) -> str | None:
        """The n-grams that have a feature: a file, `train`, or None for all."""
        return self.overrides.get("ngrams")

    @property
    def text_format(self) -> TextFormat:
        """The format of local text files. Raises ValueError, see `TextFormat`."""
        return TextFormat(self.encoding, self.delimiter)


@dataclass
class ScriptTrainingArguments(TrainingArguments):
    """The Trainer's arguments, for a script that chooses its own output folder and uploads finished runs only.

    bf16 works on a CPU without further flags, and memory is pinned only where there is a GPU.
    """

    output_dir: str | None = flag(None, "Output folder.")
    hub_strategy: HubStrategy | str = flag(
        "end", "When --push_to_hub uploads. The only choice is end: after the run has finished."
    )

    def __post_init__(self) -> None:
        check_limits(vars(self), LIMITS)
        if self.save_only_model:
            raise ValueError("--save_only_model makes checkpoints from which no run can continue; leave it out.")
        output_dir = self.output_dir
        accelerator = getattr(torch, "accelerator", torch.cuda)  # torch 2.5 has no `torch.accelerator`
        if self.bf16 and not accelerator.is_available():
            self.use_cpu = True  # else the Trainer refuses bf16 on a machine without a GPU
        super().__post_init__()
        self.output_dir = output_dir  # the Trainer replaces None by a folder of its own
        self.dataloader_pin_memory = self.dataloader_pin_memory and torch.cuda.is_available()
        # An x86 CPU without AVX-512.
        if self.bf16 and self.device.type == "cpu" and torch.backends.cpu.get_cpu_capability() == "AVX2":
            _LOGGER.warning(
                "--bf16 is 4 to 14 times slower than float32 on this CPU, which has no AVX-512; leave it out."
            )


def run_identity(
    arguments: ModelArguments, training: ScriptTrainingArguments, left_out: Sequence[str]
) -> dict[str, Any]:
    """Returns the arguments that make a run this run and no other, by name.

    `overrides` has what `--set` gives. The number of processes counts: with another one, steps have other examples.
    """
    values = asdict(arguments) | {"overrides": arguments.overrides}
    values |= training.to_sanitized_dict() | {"world_size": training.world_size}
    return {name: value for name, value in values.items() if name not in (*NOT_IDENTIFYING, *left_out)}


def set_logging(training: ScriptTrainingArguments) -> None:
    """Shows progress bars, unless `--disable_tqdm` hides them, and no line for each request to the Hub."""
    if training.disable_tqdm:
        datasets.disable_progress_bars()
        transformers_logging.disable_progress_bar()
    else:
        datasets.enable_progress_bars()
        transformers_logging.enable_progress_bar()
    logging.getLogger("httpx").setLevel(logging.WARNING)
