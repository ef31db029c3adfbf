"""Pipelines for the tasks whose stock ones take a token for one number, or are gone from the library.

They travel with a checkpoint: its configuration names them, so that `pipeline(task, model=…, trust_remote_code=True)`
finds them. What they are called with and what they return is the stock pipelines' own.
"""
# mypy: allow-untyped-calls, no-warn-return-any, disable-error-code=override

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import FillMaskPipeline, TokenClassificationPipeline
from transformers.pipelines.base import ChunkPipeline

Span = tuple[int, int]

LONGEST_WINDOW = 384  # tokens of a question and the part of its context that is read at once


class VocablessTokenClassificationPipeline(TokenClassificationPipeline):
    """Labels tokens and joins them to entities; an entity's `word` is the text between its `start` and `end`."""

    tokenizer: Any

    def check_model_type(self, supported_models: Any) -> None:
        """Takes any model: the stock pipeline knows those of the library alone, and complains of others."""

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
        """Returns each ordinary token with its scores, its place in `sentence`, and whether it continues a word.

        Args:
            sentence: the text, or its words joined by the delimiter.
            input_ids: (S, K).
            scores: (S, labels) array, probabilities.
            offset_mapping: (S, 2), characters; in their word, where words were given.
            special_tokens_mask: (S,).
            aggregation_strategy: of the call.
            word_ids: (S), where words were given: the word of each token.
            word_to_chars_map: where words were given: the characters of each.
        """
        spans = [(start, end) for start, end in torch.as_tensor(offset_mapping).tolist()]
        if word_ids is None or word_to_chars_map is None:
            splitter = self.tokenizer.unit_splitter
            words = dict(zip(splitter.spans(sentence), splitter.word_ids(sentence), strict=True))
            word_ids = [words.get(span) for span in spans]
        else:
            padding = [None] * (len(spans) - len(word_ids))  # of a batch
            word_ids = [*padding, *word_ids] if self.tokenizer.padding_side == "left" else [*word_ids, *padding]
            shifts = [0 if word is None else word_to_chars_map[word][0] for word in word_ids]
            spans = [(start + shift, end + shift) for (start, end), shift in zip(spans, shifts, strict=True)]
        entities, previous = [], None
        for index, ((start, end), word) in enumerate(zip(spans, word_ids, strict=True)):
            if special_tokens_mask[index]:
                continue
            entity = {"word": sentence[start:end], "scores": scores[index], "start": start, "end": end, "index": index}
            entities.append({**entity, "is_subword": word is not None and word == previous})
            previous = word
        return entities

    def postprocess(self, all_outputs: Any, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """Returns the entities, see the stock pipeline."""
        sentence = all_outputs[0]["sentence"]
        entities = super().postprocess(all_outputs, *args, **kwargs)
        return [{**entity, "word": sentence[entity["start"] : entity["end"]]} for entity in entities]


class VocablessFillMaskPipeline(FillMaskPipeline):
    """Fills [MASK] with tokens of the vocabulary that the masked-LM head predicts.

    `tokenizer.target_tokenizer` has them. In a `sequence` everything but the filled mask is the text as it was given.
    """

    tokenizer: Any

    def check_model_type(self, supported_models: Any) -> None:
        """Takes any model, see `VocablessTokenClassificationPipeline`."""

    def preprocess(
        self, inputs: str, return_tensors: str = "pt", tokenizer_kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Returns the blocks of a text, with the mask's where its name stands.

        Args:
            inputs: a text with [MASK] in it.
            return_tensors: "pt", nothing else.
            tokenizer_kwargs: for the tokenizer, for instance `{"truncation": True}`.

        Raises:
            PipelineException: no mask stands in the text, or none in what truncation leaves of it.
        """
        before, *after = _pieces(inputs, self.tokenizer.mask_token)
        pieces = [before, *(piece for right in after for piece in ("x", right))]  # one unit where a mask is to stand
        encoded = self.tokenizer(
            pieces, is_split_into_words=True, return_tensors=return_tensors, **(tokenizer_kwargs or {})
        )
        masked = [place for place, piece in enumerate(encoded.word_ids()) if piece is not None and piece % 2]
        encoded["input_ids"][0, masked] = 0
        encoded["input_ids"][0, masked, 0] = self.tokenizer.mask_token_id
        self.ensure_exactly_one_mask_token(encoded)
        return {**encoded, "text": inputs}

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        text = model_inputs.pop("text")
        return {**super()._forward(model_inputs), "text": text}

    def postprocess(self, model_outputs: dict[str, Any], top_k: int = 5, target_ids: Any = None) -> list[Any]:
        """Returns the `top_k` likeliest tokens of a mask; of several masks, a list for each.

        Args:
            model_outputs: `logits` (1, S, target vocabulary), `input_ids` (1, S, K), `text`.
            top_k: how many.
            target_ids: of the tokens to choose from; None is all.
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
        """Returns the ids of tokens in the target vocabulary; of a text that is none of them, its first token's.

        Raises:
            ValueError: no target, or one without a token.
        """
        targets = [targets] if isinstance(targets, str) else targets
        vocabulary = self._target_tokenizer
        ids: list[int] = []
        for target in targets:
            found = vocabulary.token_to_id(target)
            ids += vocabulary.encode(target, add_special_tokens=False).ids[:1] if found is None else [found]
        if not targets or len(ids) < len(targets):
            raise ValueError(f"the targets {targets!r} must each be a text with a token in the target vocabulary.")
        return sorted(set(ids))

    @property
    def _target_tokenizer(self) -> Any:  # tokenizers.Tokenizer
        found = self.tokenizer.target_tokenizer
        size = self.model.config.target_vocab_size
        if found is None or found.get_vocab_size() != size:
            raise ValueError(
                f"the model predicts {size} tokens, but the tokenizer does not know them; "
                "give it target_file=, the tokenizer.json that the model was trained with."
            )
        return found

    def _fill(self, text: str, mask: int, token: int) -> dict[str, str]:
        """Returns the printed form of a token, and the text with it in place of a mask."""
        vocabulary, name = self._target_tokenizer, self.tokenizer.mask_token
        printed = vocabulary.decode([token], skip_special_tokens=False)
        pieces = text.split(name)
        left, right = name.join(pieces[: mask + 1]), name.join(pieces[mask + 1 :])
        prefix = getattr(vocabulary.model, "continuing_subword_prefix", None)
        if prefix and printed.startswith(prefix):
            sequence = left.rstrip() + printed.removeprefix(prefix) + right
        else:
            sequence = left + printed.strip() + right
        return {"token_str": printed, "sequence": sequence}


class VocablessQuestionAnsweringPipeline(ChunkPipeline):
    """Finds the answer to a question in a context, which is read in windows where it is long.

    Call it with `question=` and `context=`, texts or lists of texts, or with dicts of the two.
    """

    tokenizer: Any
    _load_tokenizer: Any = True
    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False

    def __call__(self, inputs: Any = None, *, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answers.

        Args:
            inputs: a dict with `question` and `context`, or several.
            question: in place of `inputs`: a text, or several.
            context: a text, or one for each question.
            kwargs: `top_k` answers (1); `max_answer_len`, tokens of an answer (15); `handle_impossible_answer`, whether
                there may be none (False); `max_seq_len`, tokens of a window (384, or what the model takes if less);
                `doc_stride`, tokens that windows share (a quarter of that); `align_to_words`, whether answers are whole
                words (True).

        Returns:
            A dict with `score`, `start` and `end` (characters of the context) and `answer`; a list of them for `top_k`
            above 1; a list of these for several questions.

        Raises:
            ValueError: an empty question or context, or not as many contexts as questions.
        """
        if inputs is None:
            if isinstance(question, str) or question is None:
                inputs = {"question": question, "context": context}
            else:
                contexts = [context] * len(question) if isinstance(context, str) else list(context)
                if len(contexts) != len(question):
                    raise ValueError(
                        f"{len(question)} questions came with {len(contexts)} contexts; give one for each."
                    )
                inputs = [{"question": one, "context": text} for one, text in zip(question, contexts, strict=True)]
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
        before = {"max_seq_len": max_seq_len, "doc_stride": doc_stride, "align_to_words": align_to_words}
        after = {
            "top_k": top_k,
            "max_answer_len": max_answer_len,
            "handle_impossible_answer": handle_impossible_answer,
        }
        return _given(before), {}, _given(after)

    def preprocess(
        self,
        inputs: dict[str, str],
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        align_to_words: bool = True,
    ) -> Iterator[dict[str, Any]]:
        """Yields windows: the question, and a part of the context, with the characters of each token."""
        for name in ("question", "context"):
            if not inputs.get(name):
                raise ValueError(f"the {name} is {inputs.get(name)!r}; give a text.")
        longest = max_seq_len or min(self.tokenizer.model_max_length, LONGEST_WINDOW)
        windows = self.tokenizer(
            inputs["question"],
            inputs["context"],
            truncation="only_second",
            max_length=longest,
            stride=longest // 4 if doc_stride is None else doc_stride,
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
        kept = {name: model_inputs[name] for name in ("is_last", "context", "spans", "input_ids")}
        return {"start": outputs["start_logits"], "end": outputs["end_logits"], **kept}

    def postprocess(
        self,
        model_outputs: Sequence[dict[str, Any]],
        top_k: int = 1,
        max_answer_len: int = 15,
        handle_impossible_answer: bool = False,
    ) -> Any:
        """Returns the best answers of all windows, see `__call__`; [CLS] stands for no answer."""
        found: dict[Span, float] = {}
        nothing = 1.0
        for window in model_outputs:
            spans = window["spans"]
            here = (
                slice(-len(spans), None) if self.tokenizer.padding_side == "left" else slice(len(spans))
            )  # a batch may be padded
            is_answer = torch.tensor([span is not None for span in spans])
            is_nothing = window["input_ids"][0, here, 0] == self.tokenizer.cls_token_id
            ends = [
                window[name][0, here].float().masked_fill(~(is_answer | is_nothing), -torch.inf).softmax(dim=-1)
                for name in ("start", "end")
            ]
            nothing = min(nothing, float((ends[0] * ends[1])[is_nothing].sum()))
            first, last = (end * is_answer for end in ends)
            scores = torch.outer(first, last).triu().tril(max_answer_len - 1).flatten()
            # several pairs of tokens may be one answer, where it is whole words
            best = scores.topk(min(2 * top_k + 10, len(scores)))
            for score, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                if score > 0:
                    span = (spans[place // len(spans)][0], spans[place % len(spans)][1])
                    found[span] = max(score, found.get(span, 0.0))
        context = model_outputs[0]["context"]
        answers = [
            {"score": score, "start": start, "end": end, "answer": context[start:end]}
            for (start, end), score in found.items()
        ]
        if handle_impossible_answer or not answers:
            answers.append({"score": nothing, "start": 0, "end": 0, "answer": ""})
        answers.sort(key=lambda answer: -answer["score"])
        return answers[0] if top_k == 1 else answers[:top_k]


def _pieces(text: str, mask: str) -> list[str]:
    """Returns what stands between the masks of a text; a space before a mask belongs to the mask."""
    *before, last = text.split(mask)
    return [*(piece.rstrip() for piece in before), last]


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def _answer_spans(encoding: Any, align_to_words: bool) -> list[Span | None]:
    """Returns the characters of each token of the context, or of its whole word; None for other tokens."""
    tokens = zip(encoding.offsets, encoding.word_ids, encoding.sequence_ids, strict=True)
    spans = [(span, word if align_to_words else span) if sequence == 1 else None for span, word, sequence in tokens]
    whole: dict[Any, Span] = {}
    for (start, end), word in filter(None, spans):
        first, last = whole.get(word, (start, end))
        whole[word] = (min(first, start), max(last, end))
    return [None if span is None else whole[span[1]] for span in spans]
