"""Pipelines for tasks whose stock pipeline expects one id per token, or is no longer in the library.

A checkpoint has this file if its head needs it. The configuration names the classes, so `pipeline(task, model=…,
trust_remote_code=True)` finds them. They take and return the same as the stock pipelines.
"""
# mypy: allow-untyped-calls, no-warn-return-any, disable-error-code=override

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import FillMaskPipeline, TokenClassificationPipeline
from transformers.pipelines.base import ChunkPipeline

Span = tuple[int, int]

MAX_WINDOW = 384  # tokens of a window: the question and a part of the context


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

        Args:
            sentence: the text, or the words of a split text joined by the delimiter.
            input_ids: (S, K).
            scores: (S, labels) array, probabilities.
            offset_mapping: (S, 2), start and end in characters; counted from the start of the word for a split text.
            special_tokens_mask: (S,).
            aggregation_strategy: not used.
            word_ids: index of the word of each token, for a split text.
            word_to_chars_map: start and end of each word in `sentence`, for a split text.
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

        Args:
            inputs: a text with at least one [MASK].
            return_tensors: always "pt".
            tokenizer_kwargs: arguments of the tokenizer, for instance `{"truncation": True}`.

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

        Args:
            model_outputs: `logits` (1, S, target vocabulary), `input_ids` (1, S, K), `text`.
            top_k: number of tokens.
            target_ids: ids to choose from; None is the whole vocabulary.
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
            sequence = left.rstrip() + token_str.removeprefix(prefix) + right
        else:
            sequence = left + token_str.strip() + right
        return {"token_str": token_str, "sequence": sequence}


class VocablessQuestionAnsweringPipeline(ChunkPipeline):
    """Finds the answer to a question in a context. A long context is read in overlapping windows.

    Call it with `question=` and `context=`, texts or lists of texts, or with dicts that have these two keys.
    """

    tokenizer: Any
    _load_tokenizer: Any = True
    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False

    def __call__(self, inputs: Any = None, *, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answers one or several questions.

        Args:
            inputs: a dict with `question` and `context`, or a list of such dicts.
            question: in place of `inputs`, a text or a list of texts.
            context: a text for all questions, or a list with one text for each question.
            kwargs: `top_k`, the number of answers (1); `max_answer_len`, the most tokens of an answer (15);
                `handle_impossible_answer`, whether the answer may be empty (False); `max_seq_len`, the most tokens of a
                window (384, or the model's maximum if that is less); `doc_stride`, the tokens that two windows share (a
                quarter of `max_seq_len`); `align_to_words`, whether answers consist of whole words (True).

        Returns:
            A dict with `score`, `answer`, and its `start` and `end` in characters of the context. If `top_k` is above
            1, a list of such dicts. For several questions, a list of these results.

        Raises:
            ValueError: a question or context is empty, or the numbers of questions and contexts differ.
        """
        if inputs is None:
            if isinstance(question, str) or question is None:
                inputs = {"question": question, "context": context}
            else:
                contexts = [context] * len(question) if isinstance(context, str) else list(context)
                if len(contexts) != len(question):
                    raise ValueError(
                        f"there are {len(question)} questions and {len(contexts)} contexts; "
                        "give one context, or one for each question."
                    )
                inputs = [{"question": q, "context": c} for q, c in zip(question, contexts, strict=True)]
        return super().__call__(inputs, **kwargs)

    def _sanitize_parameters(
        self,
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        align_to_words: bool | None = None,
        top_k: int | None = None,
        max_answer_len: int | None = None,
        handle_impossible_answer: bool | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        preprocess = {"max_seq_len": max_seq_len, "doc_stride": doc_stride, "align_to_words": align_to_words}
        postprocess = {
            "top_k": top_k,
            "max_answer_len": max_answer_len,
            "handle_impossible_answer": handle_impossible_answer,
        }
        return _without_none(preprocess), {}, _without_none(postprocess)

    def preprocess(
        self,
        inputs: dict[str, str],
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        align_to_words: bool = True,
    ) -> Iterator[dict[str, Any]]:
        """Yields windows: the inputs for the question and a part of the context, and the characters of each token."""
        for name in ("question", "context"):
            if not inputs.get(name):
                raise ValueError(f"the {name} is {inputs.get(name)!r}; give a text that is not empty.")
        max_length = max_seq_len or min(self.tokenizer.model_max_length, MAX_WINDOW)
        windows = self.tokenizer(
            inputs["question"],
            inputs["context"],
            truncation="only_second",
            max_length=max_length,
            stride=max_length // 4 if doc_stride is None else doc_stride,
            return_overflowing_tokens=True,
            padding=True,
            return_tensors="pt",
        )
        encodings = windows.encodings
        for index, encoding in enumerate(encodings):
            yield {
                "is_last": index == len(encodings) - 1,
                "context": inputs["context"],
                "spans": _answer_spans(encoding, align_to_words),
                **{name: windows[name][index : index + 1] for name in self.tokenizer.model_input_names},
            }

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        outputs = self.model(**{name: model_inputs[name] for name in self.tokenizer.model_input_names})
        window = {name: model_inputs[name] for name in ("is_last", "context", "spans", "input_ids")}
        return {"start": outputs["start_logits"], "end": outputs["end_logits"], **window}

    def postprocess(
        self,
        model_outputs: Sequence[dict[str, Any]],
        top_k: int = 1,
        max_answer_len: int = 15,
        handle_impossible_answer: bool = False,
    ) -> Any:
        """Returns the best answers of all windows, as `__call__` describes."""
        score_of: dict[Span, float] = {}
        no_answer_score = 1.0
        for window in model_outputs:
            start, end, score = self._probabilities(window)
            no_answer_score = min(no_answer_score, score)
            # Whole words can make several pairs of tokens one answer, so take more than `top_k`.
            for span, score in _best_spans(window["spans"], start, end, max_answer_len, 2 * top_k + 10):
                score_of[span] = max(score, score_of.get(span, 0.0))
        context = model_outputs[0]["context"]
        answers = [
            {"score": score, "start": start, "end": end, "answer": context[start:end]}
            for (start, end), score in score_of.items()
        ]
        if handle_impossible_answer or not answers:
            answers.append({"score": no_answer_score, "start": 0, "end": 0, "answer": ""})
        answers.sort(key=lambda answer: -answer["score"])
        return answers[0] if top_k == 1 else answers[:top_k]

    def _probabilities(self, window: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor, float]:
        """Returns the probabilities that the answer starts and ends at each token, and that there is no answer.

        Only tokens of the context and [CLS], which stands for no answer, have a probability; that of [CLS] is in the
        third result alone.
        """
        spans = window["spans"]
        # A batch may be padded, on the left or on the right.
        tokens = slice(-len(spans), None) if self.tokenizer.padding_side == "left" else slice(len(spans))
        is_context = torch.tensor([span is not None for span in spans])
        is_cls = window["input_ids"][0, tokens, 0] == self.tokenizer.cls_token_id
        start, end = (
            window[name][0, tokens].float().masked_fill(~(is_context | is_cls), -torch.inf).softmax(dim=-1)
            for name in ("start", "end")
        )
        return start * is_context, end * is_context, float((start * end)[is_cls].sum())


def _best_spans(
    spans: Sequence[Span | None], start: torch.Tensor, end: torch.Tensor, max_answer_len: int, count: int
) -> Iterator[tuple[Span, float]]:
    """Yields up to `count` answers with the highest scores, as characters of the context and a score.

    Args:
        spans: characters of each token, None outside the context.
        start: (S,) probabilities that the answer starts at a token.
        end: (S,) probabilities that it ends at a token.
        max_answer_len: most tokens of an answer.
        count: number of pairs of tokens to look at.
    """
    scores = torch.outer(start, end).triu().tril(max_answer_len - 1).flatten()
    best = scores.topk(min(count, len(scores)))
    for score, index in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        first, last = spans[index // len(spans)], spans[index % len(spans)]
        if score > 0 and first is not None and last is not None:
            yield (first[0], last[1]), score


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def _answer_spans(encoding: Any, align_to_words: bool) -> list[Span | None]:
    """Returns start and end of each token in the context, or of the token's whole word; None for other tokens."""
    tokens = zip(encoding.offsets, encoding.word_ids, encoding.sequence_ids, strict=True)
    spans = [(span, word if align_to_words else span) if sequence == 1 else None for span, word, sequence in tokens]
    span_of_word: dict[Any, Span] = {}
    for (start, end), word in filter(None, spans):
        first, last = span_of_word.get(word, (start, end))
        span_of_word[word] = (min(first, start), max(last, end))
    return [None if span is None else span_of_word[span[1]] for span in spans]
