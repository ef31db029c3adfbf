"""Pipelines for tasks whose stock pipeline expects one id per token.

A checkpoint has this file if its head needs it. The configuration names the classes, so `pipeline(task, model=…,
trust_remote_code=True)` finds them. They take and return the same as the stock pipelines. `pipeline(task, model=model,
tokenizer=tokenizer)` does not read the configuration of a loaded model. It asks the library's table of tasks, which
gives our models our pipelines, and all others the stock ones, once this file is imported.
"""
# mypy: no-warn-return-any, disable-error-code=override

from collections.abc import Sequence
from typing import Any

import torch
from transformers import FillMaskPipeline, TokenClassificationPipeline
from transformers.pipelines import PIPELINE_REGISTRY

Span = tuple[int, int]


class VocablessTokenClassificationPipeline(TokenClassificationPipeline):
    """Labels tokens and joins them to entities. The `word` of an entity is the text from its `start` to its `end`."""

    tokenizer: Any

    def check_model_type(self, supported_models: Any) -> None:
        """Accepts any model. The stock pipeline logs an error for models that are not part of the library."""

    def gather_pre_entities(
        self,
        sentence: str,
        input_ids: Any,
        scores: Any,
        offset_mapping: Any,
        special_tokens_mask: Any,
        aggregation_strategy: Any,
        word_ids: Sequence[int | None] | None = None,
        word_to_chars_map: Sequence[Span] | None = None,
    ) -> list[dict[str, Any]]:
        """Returns a dict for each ordinary token: scores, characters in `sentence`, whether it continues a word.

        `word_ids` and `word_to_chars_map`, the start and end of each word in `sentence`, come with a split text. Its
        offsets are counted from the start of the word.
        """
        spans = [(start, end) for start, end in torch.as_tensor(offset_mapping).tolist()]
        if word_ids is None or word_to_chars_map is None:
            splitter = self.tokenizer.unit_splitter
            words = dict(zip(splitter.spans(sentence), splitter.word_ids(sentence), strict=True))
            word_ids = [words.get(span) for span in spans]
        else:
            padding = [None] * (len(spans) - len(word_ids))  # the batch may be padded
            word_ids = [*padding, *word_ids] if self.tokenizer.padding_side == "left" else [*word_ids, *padding]
            word_starts = [0 if word is None else word_to_chars_map[word][0] for word in word_ids]
            spans = [(start + shift, end + shift) for (start, end), shift in zip(spans, word_starts, strict=True)]
        entities, previous = [], None
        for index, ((start, end), word) in enumerate(zip(spans, word_ids, strict=True)):
            if special_tokens_mask[index]:
                continue
            entity = {"word": sentence[start:end], "scores": scores[index], "start": start, "end": end, "index": index}
            entities.append({**entity, "is_subword": word is not None and word == previous})
            previous = word
        return entities

    def postprocess(self, all_outputs: Any, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """Returns the entities, as the stock pipeline does."""
        sentence = all_outputs[0]["sentence"]
        entities = super().postprocess(all_outputs, *args, **kwargs)
        return [{**entity, "word": sentence[entity["start"] : entity["end"]]} for entity in entities]


class VocablessFillMaskPipeline(FillMaskPipeline):
    """Fills [MASK] with tokens of the target vocabulary, that of `tokenizer.target_tokenizer`.

    In the returned `sequence`, only the mask differs from the input text.
    """

    tokenizer: Any

    def check_model_type(self, supported_models: Any) -> None:
        """Accepts any model, see `VocablessTokenClassificationPipeline`."""

    def preprocess(
        self, inputs: str, return_tensors: str = "pt", tokenizer_kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns the blocks of a text that contains [MASK].

        Raises:
            PipelineException: the text has no mask, or truncation has removed all of them.
        """
        kwargs = {**(tokenizer_kwargs or {}), "split_special_tokens": False}
        encoded = self.tokenizer(inputs, return_tensors=return_tensors, **kwargs)
        self.ensure_exactly_one_mask_token(encoded)
        return {**encoded, "text": inputs}

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        text = model_inputs.pop("text")
        return {**super()._forward(model_inputs), "text": text}

    def postprocess(self, model_outputs: dict[str, Any], top_k: int = 5, target_ids: Any = None) -> list[Any]:
        """Returns the `top_k` most probable tokens of the mask, or a list of them for each of several masks.

        `target_ids` are the ids to choose from; None is the whole vocabulary.
        """
        masked = model_outputs["input_ids"][0, :, 0] == self.tokenizer.mask_token_id
        scores = model_outputs["logits"][0, masked].float().softmax(dim=-1)  # (masks, target vocabulary)
        ids = torch.arange(scores.shape[-1]) if target_ids is None else torch.as_tensor(target_ids)
        best = scores[:, ids].topk(min(top_k, len(ids)))
        filled = [
            [
                {"score": score, "token": token, **self._fill(model_outputs["text"], mask, token)}
                for score, token in zip(values.tolist(), ids[indices].tolist(), strict=True)
            ]
            for mask, (values, indices) in enumerate(zip(*best, strict=True))
        ]
        return filled[0] if len(filled) == 1 else filled

    def get_target_ids(self, targets: str | list[str]) -> Any:
        """Returns the sorted ids of `targets` in the target vocabulary.

        A text that is not a token of the vocabulary is tokenized, and its first token is taken.

        Raises:
            ValueError: there are no targets, or one of them has no token.
        """
        targets = [targets] if isinstance(targets, str) else targets
        vocabulary = self._target_tokenizer
        ids: list[int] = []
        for target in targets:
            token_id = vocabulary.token_to_id(target)
            ids += vocabulary.encode(target, add_special_tokens=False).ids[:1] if token_id is None else [token_id]
        if not targets or len(ids) < len(targets):
            raise ValueError(f"targets is {targets!r}; give texts that each have a token in the target vocabulary.")
        return sorted(set(ids))

    @property
    def _target_tokenizer(self) -> Any:  # tokenizers.Tokenizer
        target_tokenizer = self.tokenizer.target_tokenizer
        size = self.model.config.target_vocab_size
        if target_tokenizer is None or target_tokenizer.get_vocab_size() != size:
            raise ValueError(
                f"the model predicts a vocabulary of {size} tokens, which the tokenizer does not have; "
                "load the tokenizer with target_file=, the tokenizer.json that the model was trained with."
            )
        return target_tokenizer

    def _fill(self, text: str, mask: int, token: int) -> dict[str, str]:
        """Returns the token as a string, and the text with this token in place of mask number `mask`."""
        vocabulary, name = self._target_tokenizer, self.tokenizer.mask_token
        token_str = vocabulary.decode([token], skip_special_tokens=False)
        pieces = text.split(name)
        left, right = name.join(pieces[: mask + 1]), name.join(pieces[mask + 1 :])
        prefix = getattr(vocabulary.model, "continuing_subword_prefix", None)
        if prefix and token_str.startswith(prefix):
            return {"token_str": token_str, "sequence": left.rstrip() + token_str.removeprefix(prefix) + right}
        return {"token_str": token_str, "sequence": left + token_str.strip() + right}


def _by_model(stock: Any, ours: Any) -> Any:
    """Returns a class that makes a pipeline of `ours` for a model of ours, and of `stock` for any other."""

    class ByModel(stock):
        def __new__(cls, *args: Any, model: Any, **kwargs: Any) -> Any:
            is_ours = getattr(getattr(model, "config", None), "model_type", None) == "vocabless"
            return (ours if is_ours else stock)(*args, model=model, **kwargs)

    return ByModel


# A folder names its pipelines in `custom_pipelines`, which `pipeline` reads only with `trust_remote_code=True`, also
# where the classes are registered. Its table of tasks is the one place that needs no flag.
PIPELINE_REGISTRY.supported_tasks["token-classification"]["impl"] = _by_model(
    TokenClassificationPipeline, VocablessTokenClassificationPipeline
)
PIPELINE_REGISTRY.supported_tasks["fill-mask"]["impl"] = _by_model(FillMaskPipeline, VocablessFillMaskPipeline)
