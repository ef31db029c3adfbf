"""Models with what the libraries offer: tuples, hooks, saving, bfloat16, torch.compile and export, PEFT, FSDP2."""

import pytest
import torch
import transformers
from front_end_blocks import ENCODERS, make_blocks, make_config
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForSequenceClassification

from vocabless import VocablessForPreTraining, load_config, load_tokenizer
from vocabless.modeling.front_ends import FRONT_ENDS, FrontEnd
from vocabless.modeling.modeling_vocabless import (
    VocablessForMaskedLM,
    VocablessForSequenceClassification,
    VocablessModel,
)

B, S = 4, 9
RECENT = not transformers.__version__.startswith("5.0.")  # its CANINE lacks bfloat16


@pytest.mark.parametrize("head", [VocablessModel, VocablessForSequenceClassification, VocablessForMaskedLM])
def test_return_dict_false_returns_a_tuple(head, config, blocks) -> None:
    model = head(config).eval()
    expected, by_argument = model(blocks)[0], model(blocks, return_dict=False)
    config.return_dict = config.encoder_config.return_dict = False
    for output in (by_argument, model(blocks)):
        assert type(output) is tuple and torch.equal(output[0], expected)


def test_the_front_end_takes_the_place_of_the_word_table(config, blocks) -> None:
    model = VocablessForMaskedLM(config).eval()
    front_end, expected = model.get_input_embeddings(), model(blocks).logits
    assert isinstance(front_end, FrontEnd) and model.get_output_embeddings() is model.decoder
    assert model.resize_token_embeddings(1000) is front_end and torch.equal(model(blocks).logits, expected)
    with front_end.register_forward_hook(lambda module, inputs, output: output + torch.rand(B, S, 32)):
        assert not torch.allclose(model(blocks).logits, expected, atol=1e-3)  # as NEFTune adds noise
    assert front_end.weight.shape == (config.vocab_size, config.embedding_size)
    assert not any("front_end.weight" in name for name in model.state_dict())
    other = VocablessModel(config).front_end
    model.set_input_embeddings(other)
    assert model.vocabless.front_end is other


@pytest.mark.parametrize(("counted", "tokens"), [("all", 24), ("non_padding", 22)])
def test_the_librarys_trainer_counts_tokens_and_not_the_bytes_of_blocks(config, tmp_path, counted, tokens) -> None:
    mask = torch.ones(4, dtype=torch.int64)
    rows = [{"input_ids": make_blocks(config, 1, 4)[0], "attention_mask": mask, "labels": 0} for _ in range(6)]
    rows[1]["attention_mask"] = torch.tensor([1, 1, 0, 0])
    given = []
    options = {"max_steps": 3, "logging_steps": 1, "eval_strategy": "steps", "include_for_metrics": ["inputs"]}
    arguments = transformers.TrainingArguments(
        tmp_path, use_cpu=True, report_to="none", per_device_train_batch_size=2, save_strategy="no",
        include_num_input_tokens_seen=counted, **options,
    )  # fmt: skip
    model = VocablessForSequenceClassification(config)
    trainer = transformers.Trainer(
        model, arguments, train_dataset=rows, eval_dataset=rows[:2],
        compute_metrics=lambda evaluation: given.append(evaluation.inputs.shape) or {},
    )  # fmt: skip
    trainer.train()
    assert trainer.state.num_input_tokens_seen == tokens
    assert trainer.state.total_flos == 6 * 24 * model.num_parameters(exclude_embeddings=True)
    assert given == 3 * [(2, 4, config.block_size)] and type(model).main_input_name == "input_ids"


@pytest.mark.parametrize(
    ("encoder", "front_end"), [*(("roberta", name) for name in FRONT_ENDS), *((name, "add") for name in ENCODERS)]
)
def test_a_saved_model_loads_bit_for_bit_and_in_bfloat16(encoder, front_end, tmp_path) -> None:
    """Each front end with one encoder, and each encoder with one front end.

    A loaded model is built without values: buffers that are not saved come from `init_weights` alone.
    """
    model = VocablessForMaskedLM(make_config(encoder, front_end)).eval()
    blocks = make_blocks(model.config, B, S - 1)
    model.save_pretrained(tmp_path)
    again = VocablessForMaskedLM.from_pretrained(tmp_path).eval()
    expected = dict([*model.named_parameters(), *model.named_buffers()])
    got = dict([*again.named_parameters(), *again.named_buffers()])
    assert expected.keys() == got.keys()
    assert all(torch.equal(got[name], value) for name, value in expected.items())
    assert torch.equal(again(blocks).logits, model(blocks).logits)
    changed = {"dtype", "architectures", "transformers_version", "_name_or_path"}
    before, after = (each.config.encoder_config.to_dict() for each in (model, again))
    assert all(value == before.get(name) for name, value in after.items() if name not in changed)

    rounded = VocablessForMaskedLM.from_pretrained(tmp_path, dtype=torch.bfloat16).eval()
    for name, buffer in rounded.base_model.front_end.named_buffers():  # integers stay
        of_model = model.base_model.front_end.get_buffer(name)
        assert buffer.dtype == of_model.dtype and torch.equal(buffer, of_model), name
    assert {parameter.dtype for parameter in rounded.parameters()} == {torch.bfloat16}
    if RECENT or encoder != "canine":
        inputs = {"input_ids": blocks, "attention_mask": torch.ones(B, S - 1, dtype=torch.int64)}
        states, exact = (each.base_model(**inputs).last_hidden_state for each in (rounded, model))
        assert states.dtype == torch.bfloat16 and torch.allclose(states.float(), exact, atol=0.1)


def one_layer_of(encoder: str, front_end: str) -> VocablessForSequenceClassification:
    """A classifier whose encoder has one layer, because a graph takes long to trace."""
    config = make_config(encoder, front_end)
    config.encoder_config.num_hidden_layers = 1
    return VocablessForSequenceClassification(config).eval()


@pytest.mark.slow  # by default, test_front_ends.py compiles the front ends alone
@pytest.mark.parametrize(
    ("encoder", "front_end"), [("roberta", "projection"), ("bert", "ngram"), ("bert", "elementwise")]
)
def test_the_compiled_model_agrees(encoder: str, front_end: str) -> None:
    model = one_layer_of(encoder, front_end)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    with torch.no_grad():
        for shape in ((2, 7), (3, 11)):
            blocks, mask = make_blocks(model.config, *shape), torch.ones(shape, dtype=torch.int64)
            mask[0, 5:] = 0
            expected = model(blocks, attention_mask=mask).logits
            assert torch.allclose(compiled(blocks, attention_mask=mask).logits, expected, atol=1e-5)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.slow  # by default, test_front_ends.py compiles some, and the tests of graphs export some
def test_the_exported_model_agrees_at_every_batch_and_length(front_end: str) -> None:
    model = one_layer_of("bert", front_end)
    batch, seq = torch.export.Dim("batch", max=64), torch.export.Dim("seq", min=2, max=model.vocabless.max_tokens)
    example = {"input_ids": make_blocks(model.config, 2, 7), "attention_mask": torch.ones(2, 7, dtype=torch.int64)}
    dynamic = {"input_ids": {0: batch, 1: seq}, "attention_mask": {0: batch, 1: seq}}
    with torch.no_grad():
        exported = torch.export.export(model, (), example, dynamic_shapes=dynamic).module()
        for shape in ((1, 3), (5, 24)):
            blocks, mask = make_blocks(model.config, *shape), torch.ones(shape, dtype=torch.int64)
            mask[0, 2:] = 0
            expected = model(input_ids=blocks, attention_mask=mask).logits
            assert torch.allclose(exported(input_ids=blocks, attention_mask=mask).logits, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("front_end", "targets", "checkpoints"),
    [("projection", ["query", "value"], True), ("ngram", "all-linear", False)],
)
def test_adapters_train_save_and_load_alone_and_with_their_base(
    front_end: str, targets, checkpoints: bool, tmp_path
) -> None:
    peft = pytest.importorskip("peft")
    config = make_config("bert", front_end, num_labels=3)
    VocablessModel(config).save_pretrained(tmp_path / "base")
    blocks = make_blocks(config, B, S)
    base = VocablessForSequenceClassification.from_pretrained(tmp_path / "base", num_labels=3)
    lora = peft.LoraConfig(target_modules=targets, modules_to_save=["classifier"], task_type="SEQ_CLS")
    model = peft.get_peft_model(base, lora)
    if checkpoints:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 1.0)
    for _ in range(3):
        model.train()(input_ids=blocks, labels=torch.tensor([0, 1, 1, 0])).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(tmp_path / "adapter")
    assert not (tmp_path / "adapter" / "model.safetensors").exists()

    fresh = VocablessForSequenceClassification.from_pretrained(tmp_path / "base", num_labels=3)
    alone = peft.PeftModel.from_pretrained(fresh, tmp_path / "adapter").eval()
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path / "adapter", num_labels=3).eval()
    with torch.no_grad():
        expected, adapted = model(input_ids=blocks).logits, fresh.vocabless(blocks).last_hidden_state
        with alone.disable_adapter():
            assert not torch.allclose(fresh.vocabless(blocks).last_hidden_state, adapted, atol=1e-6)
        for each in (alone, loaded, model.merge_and_unload()):
            assert torch.allclose(each(input_ids=blocks).logits, expected, atol=1e-6)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_an_adapter_that_is_beside_its_tokenizer_loads_by_its_folder(front_end: str, tmp_path, caplog) -> None:
    """As Trainer writes it. PEFT then compares the tokens of the tokenizer with the rows of the embedding."""
    peft = pytest.importorskip("peft")
    VocablessForSequenceClassification(make_config("bert", front_end)).save_pretrained(tmp_path / "base")
    base = VocablessForSequenceClassification.from_pretrained(tmp_path / "base")
    lora = peft.LoraConfig(target_modules=["query"], task_type="SEQ_CLS", init_lora_weights=False)
    model = peft.get_peft_model(base, lora).eval()
    model.save_pretrained(tmp_path / "adapter")
    load_tokenizer("eelbert-word-tiny").save_pretrained(tmp_path / "adapter")
    loaded = peft.AutoPeftModelForSequenceClassification.from_pretrained(tmp_path / "adapter").eval()
    blocks = make_blocks(base.config, B, S)
    with torch.no_grad():
        assert torch.equal(loaded(input_ids=blocks).logits, model(input_ids=blocks).logits)
    assert "no word table" not in caplog.text


@pytest.fixture
def mesh():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
@pytest.mark.parametrize(
    "name", ["hashformer-lsh-proj-tiny", "hashformer-md5-pool-tiny", "eelbert-word-tiny", "ewe-bert-tiny"]
)
def test_a_model_that_fsdp2_shards_has_the_same_loss_and_gradients_as_a_whole_one(mesh, name: str) -> None:
    whole, sharded = (VocablessForPreTraining(load_config(name)).eval() for _ in range(2))
    sharded.load_state_dict(whole.state_dict())
    for part in (*sharded.base_model.encoder.encoder.layer, sharded):
        fully_shard(part, mesh=mesh)
    inputs = load_tokenizer(name)(["a few words", "and two more here"], padding=True, return_tensors="pt")
    labels = torch.arange(inputs["attention_mask"].numel()).view_as(inputs["attention_mask"]) % 3
    losses = [model(**inputs, labels=labels).loss for model in (whole, sharded)]
    sum(losses).backward()
    assert losses[0].item() == losses[1].item()
    for (parameter, one), other in zip(whole.named_parameters(), sharded.parameters(), strict=True):
        assert type(other).__name__ == "DTensor"
        assert torch.equal(one.grad, other.grad.full_tensor()), parameter
