"""A sentence encoder as one model: encoder, mean of the states, dense layer and division by the length."""
# mypy: no-warn-return-any

from typing import Any, cast

from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

from vocabless.conversion.onnx_program.onnx_model import VECTORS
from vocabless.modeling.blocks import attention_mask_of
from vocabless.modeling.head_layers import mean_state
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.saving.sentence_modules import SentenceModules, read_sentence_modules

STATES = "last_hidden_state"


class SentenceEncoder(VocablessModel):
    """Blocks (B, S, K) → the states of the tokens (B, S, hidden size), and the vector of each text (B, D).

    `with_vectors` makes it.
    """

    dense: nn.Module
    normalizes: bool
    gives_states: bool
    gives_words: bool

    def forward(  # type: ignore[override]
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, **kwargs: Any
    ) -> dict[str, Tensor]:
        """Returns the vectors of the texts, and what is given of the tokens; the arguments are `VocablessModel`'s."""
        if attention_mask is None and input_ids is not None:
            attention_mask = attention_mask_of(input_ids)
        states = super().forward(input_ids, attention_mask, **kwargs).last_hidden_state
        vectors = self.dense(mean_state(states, attention_mask)[0])
        outputs = {VECTORS: F.normalize(vectors) if self.normalizes else vectors}
        if self.gives_words:
            return {"token_embeddings": self.dense(states)} | outputs
        return {STATES: states} | outputs if self.gives_states else outputs


def with_vectors(
    model: PreTrainedModel, modules: SentenceModules, gives_states: bool = True, gives_words: bool = False
) -> SentenceEncoder:
    """Returns a `VocablessModel`, whose tensors are shared, with what follows it.

    The states of the tokens are outputs with `gives_states`. With `gives_words` instead the vectors of the tokens are,
    whose mean is the vector of a text.
    """
    encoder = SentenceEncoder(cast(Any, model).config)
    encoder.load_state_dict(model.state_dict(), assign=True)
    encoder.dense, encoder.normalizes = nn.Identity(), modules.normalizes
    encoder.gives_states, encoder.gives_words = gives_states, gives_words
    if modules.weight is not None:
        dense = nn.Linear(modules.weight.shape[1], modules.weight.shape[0], bias=modules.bias is not None)
        tensors = {"weight": modules.weight, "bias": modules.bias}
        dense.load_state_dict({name: tensor.float() for name, tensor in tensors.items() if tensor is not None})
        encoder.dense = dense
    return encoder.eval()


def sentence_encoder_of(model: PreTrainedModel, source: str) -> PreTrainedModel:
    """Returns a checkpoint's model, with its vectors of texts if it has modules, see `read_sentence_modules`."""
    modules = read_sentence_modules(source) if type(model) is VocablessModel else None
    return model if modules is None else with_vectors(model, modules)
