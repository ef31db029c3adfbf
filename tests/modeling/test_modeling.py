"""The heads: losses, gradients and their accumulation, what they read, and inputs that are refused."""

import inspect

import pytest
import torch
from front_end_blocks import make_blocks, make_config
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import Trainer, TrainingArguments, default_data_collator

from vocabless.modeling import modeling_vocabless
from vocabless.modeling.configuration_vocabless import AUTO_MAP
from vocabless.modeling.front_ends import FRONT_ENDS
from vocabless.modeling.modeling_vocabless import (
    VocablessForMaskedLM,
    VocablessForPreTraining,
    VocablessForSequenceClassification,
    VocablessForTokenClassification,
    VocablessModel,
)

B, S, K = 4, 9, 12
TOKEN_HEADS = [VocablessForTokenClassification, VocablessForPreTraining, VocablessForMaskedLM]


def labels_with_gaps(classes: int) -> Tensor:
    """(B, S): 1, 3, 5 and 8 labels in the four texts, −100 elsewhere."""
    labels = torch.arange(B * S).view(B, S) % classes
    for text, count in enumerate((1, 3, 5, 8)):
        labels[text, count:] = -100
    return labels


def assert_every_parameter_learns(model: nn.Module) -> None:
    """Each parameter has a finite gradient that is not zero, if the loss depends on it."""
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0 or name.endswith("key.bias"), name


def token_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=-100)


SINGLE, MULTI = [0, 2, 1, 1], [[1.0, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]]
# Head, its configuration, its labels, the shape of its logits, and its loss.
LOSSES = {
    "single label": (VocablessForSequenceClassification, {}, SINGLE, (B, 3), F.cross_entropy),
    "multi label": (VocablessForSequenceClassification, {}, MULTI, (B, 3), F.binary_cross_entropy_with_logits),
    "regression": (
        VocablessForSequenceClassification, {"num_labels": 1}, [0.5, 4.0, 2.0, -1.0], (B, 1),
        lambda logits, labels: F.mse_loss(logits[:, 0], labels),
    ),
    "siamese": (
        VocablessForSequenceClassification, {"classifier_pooling": "siamese"}, SINGLE, (B, 3), F.cross_entropy,
    ),
    "tokens": (VocablessForTokenClassification, {}, labels_with_gaps(3), (B, S, 3), token_loss),
    "pre-training": (VocablessForPreTraining, {}, labels_with_gaps(3), (B, S, 3), token_loss),
    "masked": (VocablessForMaskedLM, {}, labels_with_gaps(19), (B, S, 19), token_loss),
}  # fmt: skip


def example_of(name: str) -> tuple[nn.Module, dict[str, Tensor]]:
    """A model in training mode without dropout, and its inputs."""
    head, options, labels, *_ = LOSSES[name]
    config = make_config(**{"num_labels": 3, "classifier_dropout": 0.0, **options})
    return head(config).train(), {"input_ids": make_blocks(config, B, S), "labels": torch.as_tensor(labels)}


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_of_a_head_is_that_of_its_problem_and_every_parameter_learns(name: str) -> None:
    (_, _, _, shape, loss), (model, inputs) = LOSSES[name], example_of(name)
    output = model(**inputs)
    assert output.logits.shape == shape
    assert output.loss.item() == pytest.approx(loss(output.logits, inputs["labels"]).item(), rel=1e-5)
    output.loss.backward()
    assert_every_parameter_learns(model)


def weights_after_a_step(model: nn.Module, examples: list[dict], folder, batch: int) -> list[Tensor]:
    """Trains one step of SGD over all examples, `batch` at a time."""
    arguments = TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=batch, gradient_accumulation_steps=len(examples) // batch,
        max_steps=1, learning_rate=0.1, lr_scheduler_type="constant", optim="sgd", max_grad_norm=0.0, report_to=[],
        save_strategy="no", use_cpu=True, disable_tqdm=True,
    )  # fmt: skip
    Trainer(model=model, args=arguments, train_dataset=examples, data_collator=default_data_collator).train()
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("name", ["single label", "tokens", "pre-training", "masked"])
def test_gradient_accumulation_equals_one_large_batch(name: str, tmp_path) -> None:
    one, inputs = example_of(name)
    examples = [{key: value[i] for key, value in inputs.items()} for i in range(B)]
    many = type(one)(one.config)
    many.load_state_dict(one.state_dict())
    initial = [parameter.detach().clone() for parameter in one.parameters()]
    whole, accumulated = (weights_after_a_step(each, examples, tmp_path, n) for each, n in ((one, B), (many, 1)))
    assert any(not torch.equal(a, b) for a, b in zip(initial, whole, strict=True))
    for expected, got in zip(whole, accumulated, strict=True):
        assert torch.allclose(expected, got, atol=1e-6)


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


def test_sparse_prediction_has_the_same_loss_and_gradients() -> None:
    model, inputs = example_of("masked")
    losses, gradients = [], []
    for sparse in (False, True):
        model.config.sparse_prediction = sparse
        model.zero_grad()
        output = model(**inputs)
        output.loss.backward()
        losses.append(output.loss.item())
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    assert output.logits.shape == (17, 19)
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in zip(*gradients, strict=True))
    assert model(inputs["input_ids"]).logits.shape == (B, S, 19)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_head_reads_the_first_state_or_the_mean_of_all_states_but_padding(front_end: str, pooling: str) -> None:
    config = make_config("bert", front_end, classifier_pooling=pooling)
    model, blocks = VocablessForSequenceClassification(config).eval(), make_blocks(config, 2, 5)
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    with torch.no_grad():
        states = model.vocabless(blocks, attention_mask=mask).last_hidden_state
        logits = model(blocks, attention_mask=mask).logits
        means = torch.stack([states[0, :3].mean(dim=0), states[1].mean(dim=0)])
        hidden = torch.tanh(model.classifier.dense(means if pooling == "mean" else states[:, 0]))
        torch.testing.assert_close(logits, model.classifier.out_proj(hidden))
        torch.testing.assert_close(model(blocks[1:]).logits, logits[1:])  # no mask: no padding


def test_a_head_may_divide_what_the_output_layer_reads_by_its_root_mean_square() -> None:
    config = make_config("bert", classifier_pooling="mean", classifier_activation="rms_norm")
    model, blocks = VocablessForSequenceClassification(config).eval(), make_blocks(config, 2, 5)
    with torch.no_grad():
        hidden = model.classifier.dense(model.vocabless(blocks).last_hidden_state.mean(dim=1))
        unit = torch.stack([row / (sum(number**2 for number in row.tolist()) / len(row)) ** 0.5 for row in hidden])
        torch.testing.assert_close(model(blocks).logits, model.classifier.out_proj(unit))
        for parameter in model.classifier.dense.parameters():
            parameter.zero_()
        torch.testing.assert_close(model(blocks).logits, model.classifier.out_proj.bias.expand(2, -1))


@pytest.mark.parametrize("encoder", ["bert", "albert"])  # albert's embeddings are narrower than its states
def test_embeddings_can_be_appended_to_the_states(encoder: str, tmp_path) -> None:
    config = make_config(encoder, append_embeddings=True)
    model, blocks = VocablessModel(config).eval(), make_blocks(config, 2, 5)
    width = config.encoder_config.hidden_size
    assert config.hidden_size == width + config.embedding_size
    with torch.no_grad():
        states, embeddings = model(blocks).last_hidden_state, model.front_end(blocks)
        encoded = model.encoder(inputs_embeds=embeddings).last_hidden_state
        torch.testing.assert_close(states, torch.cat([encoded, embeddings], dim=-1))
        torch.testing.assert_close(model(inputs_embeds=embeddings).last_hidden_state, states)
    model.save_pretrained(tmp_path)
    for head in (VocablessForSequenceClassification, VocablessForTokenClassification, VocablessForMaskedLM):
        trained = head.from_pretrained(tmp_path)
        trained(blocks).logits.sum().backward()
        assert_every_parameter_learns(trained.vocabless)


@pytest.mark.parametrize(("pooling", "num_parts"), [("cls", None), ("mean", 1), ("siamese", 4)])
def test_a_head_that_reads_means_starts_with_the_spread_that_keeps_its_scale(
    pooling: str, num_parts: int | None, tmp_path
) -> None:
    """With `cls` it starts as the encoder does. Once trained it keeps its weights."""
    VocablessModel(make_config(classifier_pooling=pooling, num_labels=50)).save_pretrained(tmp_path / "encoder")
    head = VocablessForSequenceClassification
    model = head.from_pretrained(tmp_path / "encoder")
    inputs = {model.classifier.dense: (num_parts or 0) * 32, model.classifier.out_proj: 32}
    spreads = [size**-0.5 if num_parts else 0.02 for size in inputs.values()]
    assert [layer.weight.std().item() for layer in inputs] == pytest.approx(spreads, rel=0.1)
    assert not model.classifier.dense.bias.any()
    model.save_pretrained(tmp_path / "head")
    assert torch.equal(head.from_pretrained(tmp_path / "head").classifier.dense.weight, model.classifier.dense.weight)


@pytest.mark.parametrize("head", [VocablessForTokenClassification, VocablessForPreTraining])
def test_states_are_dropped_before_the_output_layer_as_in_the_stock_head(head) -> None:
    """HashFormers, Table 4: dropout 0.1, also before the 3-way layer; `AutoModelForTokenClassification` has it."""
    model = head(make_config(num_labels=3, classifier_dropout=0.1))
    states = torch.ones(1, 2000, model.config.hidden_size)
    output = model.classifier if head is VocablessForTokenClassification else model.dense
    kept = []
    output.register_forward_pre_hook(lambda _, inputs: kept.append((inputs[0] != 0).float().mean().item()))
    model.eval().predict(states, None, None)
    model.train().predict(states, None, None)
    assert kept == [1.0, pytest.approx(0.9, abs=0.01)]


@pytest.mark.parametrize(("change", "message"), [
    (lambda x: {"input_ids": x[0]}, rf"shape \({S}, {K}\); blocks have shape \(batch, seq, {K}\): use the tokenizer"),
    (lambda x: {"input_ids": x.float()}, r"is torch\.float32; blocks are integers 0–260, pass embeddings as inputs_e"),
    (lambda x: {"input_ids": x[:0]}, r"shape \(0, .* and holds no token; give at least one text"),
    (lambda x: {"input_ids": x + 1}, r"contains 261; elements of a block are 0–260: use the tokenizer"),
    (lambda x: {"input_ids": x - 1}, r"contains -1; elements of a block are 0–260: use the tokenizer"),
    (lambda x: {}, r"give either input_ids, .*or inputs_embeds, not both"),
    (lambda x: {"input_ids": x, "inputs_embeds": x}, r"give either input_ids, .*or inputs_embeds, not both"),
])  # fmt: skip
def test_inputs_that_are_not_blocks_are_refused(change, message: str, config, blocks) -> None:
    blocks[0, 1, 0] = 260
    with pytest.raises(ValueError, match=message) as error:
        VocablessModel(config)(**change(blocks))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_blocks_of_any_integer_type_and_embeddings_are_read(dtype: torch.dtype, config, blocks) -> None:
    model, small = VocablessModel(config).eval(), blocks.clamp(max=255)
    expected = model(small).last_hidden_state
    assert torch.equal(model(small.to(dtype)).last_hidden_state, expected)
    assert torch.equal(model(inputs_embeds=model.front_end(small)).last_hidden_state, expected)


@pytest.mark.parametrize("name", [path.split(".")[1] for path in AUTO_MAP.values() if "modeling" in path])
def test_arguments_have_the_names_and_the_order_of_the_stock_models(name: str) -> None:
    arguments = list(inspect.signature(getattr(modeling_vocabless, name).forward).parameters)
    stock = ["self", "input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds"]
    assert arguments[:6] == stock
