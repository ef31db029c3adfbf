"""The heads: losses, gradients and their accumulation, inputs, configurations, and errors."""

import inspect

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from vocabless.modeling import modeling_vocabless
from vocabless.modeling.configuration_vocabless import AUTO_MAP
from vocabless.modeling.front_ends import FRONT_ENDS
from vocabless.modeling.modeling_vocabless import (
    VocablessForMaskedLM,
    VocablessForMultipleChoice,
    VocablessForPreTraining,
    VocablessForQuestionAnswering,
    VocablessForSequenceClassification,
    VocablessForTokenClassification,
    VocablessModel,
)

B, S, K = 4, 9, 12


def labels_with_gaps(classes: int) -> torch.Tensor:
    """(B, S): 1, 3, 5 and 8 labels in the four texts, −100 elsewhere."""
    labels = torch.arange(B * S).view(B, S) % classes
    for text, count in enumerate((1, 3, 5, 8)):
        labels[text, count:] = -100
    return labels


def assert_every_parameter_learns(model: nn.Module) -> None:
    """Each parameter has a finite gradient that is not zero."""
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        if not name.endswith("key.bias"):  # attention does not depend on it: its gradient is rounding error
            assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize(("num_labels", "labels", "loss"), [
    (3, [0, 2, 1, 1], F.cross_entropy),
    (3, [[1.0, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], F.binary_cross_entropy_with_logits),
    (1, [[0.5], [4.0], [2.0], [-1.0]], F.mse_loss),
], ids=["single label", "multi label", "regression"])  # fmt: skip
def test_loss_of_a_classifier_is_that_of_its_problem(num_labels: int, labels: list, loss, config_of, blocks) -> None:
    model, labels = VocablessForSequenceClassification(config_of(num_labels=num_labels)), torch.tensor(labels)
    output = model(blocks, labels=labels if num_labels > 1 else labels[:, 0])
    assert output.logits.shape == (B, num_labels)
    assert output.loss.item() == pytest.approx(loss(output.logits, labels).item())
    output.loss.backward()
    assert_every_parameter_learns(model)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_mean_pooling_reads_the_states_of_all_tokens_but_padding(front_end: str, config_of, blocks_of) -> None:
    config = config_of("bert", front_end, classifier_pooling="mean")
    model, blocks = VocablessForSequenceClassification(config).eval(), blocks_of(config, 2, 5)
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    with torch.no_grad():
        states = model.vocabless(blocks, attention_mask=mask).last_hidden_state
        logits = model(blocks, attention_mask=mask).logits
        pooled = torch.stack([states[0, :3].mean(dim=0), states[1].mean(dim=0)])
        torch.testing.assert_close(logits, model.classifier.out_proj(torch.tanh(model.classifier.dense(pooled))))
        torch.testing.assert_close(model(blocks[1:]).logits, logits[1:])  # no mask: no padding
        choices = VocablessForMultipleChoice(config).eval()
        choices.load_state_dict(
            {name: value for name, value in model.state_dict().items() if "out_proj" not in name}, strict=False
        )
        scores = choices(blocks[None], attention_mask=mask[None]).logits[0]
        hidden = torch.tanh(choices.classifier.dense(pooled))
        torch.testing.assert_close(scores, choices.classifier.out_proj(hidden).flatten())


HEADS_WITH_EMBEDDINGS = [VocablessForSequenceClassification, VocablessForTokenClassification, VocablessForMaskedLM]


@pytest.mark.parametrize("encoder", ["bert", "albert"])  # albert's embeddings are narrower than its states
def test_embeddings_can_be_appended_to_the_states(encoder: str, config_of, blocks_of, tmp_path) -> None:
    config = config_of(encoder, append_embeddings=True)
    model, blocks = VocablessModel(config).eval(), blocks_of(config, 2, 5)
    width = config.encoder_config.hidden_size
    assert config.hidden_size == width + config.embedding_size
    with torch.no_grad():
        states, embeddings = model(blocks).last_hidden_state, model.front_end(blocks)
        torch.testing.assert_close(states[..., width:], embeddings)
        torch.testing.assert_close(states[..., :width], model.encoder(inputs_embeds=embeddings).last_hidden_state)
        torch.testing.assert_close(model(inputs_embeds=embeddings).last_hidden_state, states)
    model.save_pretrained(tmp_path)
    for head in HEADS_WITH_EMBEDDINGS:
        trained = head.from_pretrained(tmp_path)
        trained(blocks).logits.sum().backward()
        assert_every_parameter_learns(trained.vocabless)


TOKEN_HEADS = [VocablessForTokenClassification, VocablessForPreTraining, VocablessForMaskedLM]


@pytest.mark.parametrize("head", TOKEN_HEADS)
def test_loss_of_token_heads_is_the_mean_over_labelled_tokens(head, config, blocks) -> None:
    model = head(config)
    classes = {VocablessForMaskedLM: 19}.get(head, 3)
    labels = labels_with_gaps(classes)
    output = model(blocks, labels=labels)
    assert output.logits.shape == (B, S, classes)
    expected = F.cross_entropy(output.logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
    assert output.loss.item() == pytest.approx(expected.item(), rel=1e-5)
    output.loss.backward()
    assert_every_parameter_learns(model)


@pytest.mark.parametrize("head", TOKEN_HEADS)
@pytest.mark.parametrize("sparse", [True, False])
def test_a_batch_without_labels_has_loss_zero(head, sparse: bool, config, blocks) -> None:
    config.sparse_prediction = sparse
    model = head(config)
    loss = model(blocks, labels=torch.full((B, S), -100)).loss
    assert loss.item() == 0
    loss.backward()
    for name, parameter in model.named_parameters():  # distributed training waits for a gradient of each
        assert parameter.grad is not None and parameter.grad.abs().sum() == 0, name


def test_sparse_prediction_has_the_same_loss_and_gradients(config, blocks) -> None:
    model = VocablessForMaskedLM(config)
    labels = labels_with_gaps(19)
    losses, gradients = [], []
    for sparse in (False, True):
        model.config.sparse_prediction = sparse
        model.zero_grad()
        output = model(blocks, labels=labels)
        output.loss.backward()
        losses.append(output.loss.item())
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    assert output.logits.shape == (17, 19)
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(*gradients, strict=True))
    assert model(blocks).logits.shape == (B, S, 19)


def test_question_answering_loss_is_the_mean_over_both_ends(config, blocks) -> None:
    model = VocablessForQuestionAnswering(config)
    start, end = torch.tensor([0, 3, 2, 99]), torch.tensor([1, 3, 8, 99])
    output = model(blocks, start_positions=start, end_positions=end)
    assert output.start_logits.shape == output.end_logits.shape == (B, S)
    expected = [
        F.cross_entropy(logits[:3], position[:3])
        for logits, position in ((output.start_logits, start), (output.end_logits, end))
    ]
    assert output.loss.item() == pytest.approx((sum(expected) / 2).item(), rel=1e-5)
    output.loss.backward()
    assert_every_parameter_learns(model)


def test_multiple_choice_scores_each_choice_independently(config, blocks_of) -> None:
    model = VocablessForMultipleChoice(config).eval()
    blocks, mask = blocks_of(config, 2, 5, S), torch.ones(2, 5, S, dtype=torch.int64)
    mask[1, :, 6:] = 0
    labels = torch.tensor([4, 0])
    output = model(blocks, attention_mask=mask, token_type_ids=torch.zeros_like(mask), labels=labels)
    assert output.logits.shape == (2, 5)
    assert output.loss.item() == pytest.approx(F.cross_entropy(output.logits, labels).item())
    alone = model(blocks[1:, 3:4], attention_mask=mask[1:, 3:4]).logits
    assert alone.item() == pytest.approx(output.logits[1, 3].item(), abs=1e-5)
    output.loss.backward()
    assert_every_parameter_learns(model)
    with pytest.raises(ValueError, match=r"shape \(5, 9, 12\); multiple choice needs \(batch, choices, seq, K\)"):
        model(blocks[0])


@pytest.mark.parametrize(("pooling", "num_parts"), [("cls", None), ("mean", 1), ("siamese", 4)])
@pytest.mark.parametrize("head", [VocablessForSequenceClassification, VocablessForMultipleChoice])
def test_a_head_that_reads_means_starts_with_the_spread_that_keeps_its_scale(
    head, pooling: str, num_parts: int | None, config_of, tmp_path
) -> None:
    """With `cls` it starts as the encoder does. Once trained it keeps its weights."""
    VocablessModel(config_of("bert", classifier_pooling=pooling, num_labels=50)).save_pretrained(tmp_path / "encoder")
    model = head.from_pretrained(tmp_path / "encoder")
    inputs = {model.classifier.dense: (num_parts or 0) * 32}
    if head is VocablessForSequenceClassification:
        inputs[model.classifier.out_proj] = 32
    spreads = [size**-0.5 if num_parts else 0.02 for size in inputs.values()]
    assert [layer.weight.std().item() for layer in inputs] == pytest.approx(spreads, rel=0.1)
    assert not model.classifier.dense.bias.any()
    model.save_pretrained(tmp_path / "head")
    assert torch.equal(head.from_pretrained(tmp_path / "head").classifier.dense.weight, model.classifier.dense.weight)


def train_one_step(model: nn.Module, examples: list[dict], folder, batch: int) -> list[torch.Tensor]:
    """Returns the weights after one step of SGD over all examples, `batch` at a time."""
    from transformers import Trainer, TrainingArguments, default_data_collator

    arguments = TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=batch, gradient_accumulation_steps=len(examples) // batch,
        max_steps=1, learning_rate=0.1, lr_scheduler_type="constant", optim="sgd", max_grad_norm=0.0, report_to=[],
        save_strategy="no", use_cpu=True, disable_tqdm=True,
    )  # fmt: skip
    Trainer(model=model, args=arguments, train_dataset=examples, data_collator=default_data_collator).train()
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("head", [VocablessForTokenClassification, VocablessForPreTraining])
def test_states_are_dropped_before_the_output_layer_as_in_the_stock_head(head, config_of) -> None:
    """HashFormers, Table 4: dropout 0.1, also before the 3-way layer; `AutoModelForTokenClassification` has it."""
    model = head(config_of(num_labels=3, classifier_dropout=0.1))
    states = torch.ones(1, 2000, model.config.hidden_size)
    output = model.classifier if head is VocablessForTokenClassification else model.dense
    kept = []
    output.register_forward_pre_hook(lambda _, inputs: kept.append((inputs[0] != 0).float().mean().item()))
    model.eval().predict(states, None, None)
    model.train().predict(states, None, None)
    assert kept == [1.0, pytest.approx(0.9, abs=0.01)]


@pytest.mark.parametrize(
    "head",
    [*TOKEN_HEADS, VocablessForSequenceClassification, VocablessForQuestionAnswering, VocablessForMultipleChoice],
)
def test_gradient_accumulation_equals_one_large_batch(head, config_of, blocks_of, tmp_path) -> None:
    pytest.importorskip("accelerate")
    config = config_of(num_labels=3, classifier_dropout=0.0)
    blocks = blocks_of(config, B, 3, S) if head is VocablessForMultipleChoice else blocks_of(config, B, S)
    labels = {"labels": torch.tensor([0, 2, 1, 1])}
    if head in TOKEN_HEADS:
        labels = {"labels": labels_with_gaps(3)}
    if head is VocablessForQuestionAnswering:
        labels = {"start_positions": torch.arange(B), "end_positions": torch.arange(B) + 2}
    examples = [{"input_ids": blocks[i], **{name: value[i] for name, value in labels.items()}} for i in range(B)]

    one, many = head(config), head(config)
    many.load_state_dict(one.state_dict())
    initial = [parameter.detach().clone() for parameter in one.parameters()]
    whole, accumulated = train_one_step(one, examples, tmp_path, B), train_one_step(many, examples, tmp_path, 1)
    assert any(not torch.equal(a, b) for a, b in zip(initial, whole, strict=True))
    for expected, got in zip(whole, accumulated, strict=True):
        assert torch.allclose(expected, got, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x[0], rf"shape \({S}, {K}\); blocks have shape \(batch, seq, {K}\): use the tokenizer"),
        (lambda x: x.float(), r"is torch\.float32; blocks are integers 0–260, pass embeddings as inputs_embeds"),
        (lambda x: x[:0], r"shape \(0, .* and holds no token; give at least one text"),
        (lambda x: x + 250, r"contains (26[1-9]|[3-5]\d\d); elements of a block are 0–260: use the tokenizer"),
    ],
)
def test_inputs_that_are_not_blocks_are_refused(change, message: str, config, blocks) -> None:
    with pytest.raises(ValueError, match=message) as error:
        VocablessModel(config)(change(blocks))
    assert "\n" not in str(error.value)


def test_a_model_takes_either_blocks_or_embeddings(config, blocks) -> None:
    model = VocablessModel(config).eval()
    embeddings = model.front_end(blocks)
    assert torch.equal(model(blocks).last_hidden_state, model(inputs_embeds=embeddings).last_hidden_state)
    for both in ({}, {"input_ids": blocks, "inputs_embeds": embeddings}):
        with pytest.raises(ValueError, match=r"give either input_ids, .*or inputs_embeds, not both"):
            model(**both)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_blocks_of_any_integer_type_are_read(dtype: torch.dtype, config, blocks) -> None:
    model, small = VocablessModel(config).eval(), blocks.clamp(max=255)
    assert torch.equal(model(small.to(dtype)).last_hidden_state, model(small).last_hidden_state)


@pytest.mark.parametrize(("options", "message"), [
    ({"front_end_options": [1]}, r"front_end_options is \[1\]; give a dict"),
    ({"classifier_pooling": "max"}, r"classifier_pooling is 'max'; give one of cls, mean, siamese"),
    ({"block_size": "16"}, r"block_size is '16'"),
    ({"encoder_config": {"hidden_size": 8}}, r"keys \['hidden_size'\] but no model_type; add one"),
    ({"front_end": "elementwise", "front_end_options": {}, "block_size": 8},
     r"one attention head for each of the 8 elements .* has 4 attention heads; make num_attention_heads"),
])  # fmt: skip
def test_a_wrong_configuration_is_refused(options: dict, message: str, config_of) -> None:
    with pytest.raises(ValueError, match=message) as error:
        VocablessModel(config_of(**options))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [path.split(".")[1] for path in AUTO_MAP.values() if "modeling" in path])
def test_arguments_have_the_names_and_the_order_of_the_stock_models(name: str) -> None:
    arguments = list(inspect.signature(getattr(modeling_vocabless, name).forward).parameters)
    stock = ["self", "input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds"]
    assert arguments[:6] == stock
