"""A model that FSDP2 shards over one process."""

import pytest
import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from vocabless import VocablessForPreTraining, load_config, load_tokenizer


@pytest.fixture
def mesh():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
@pytest.mark.parametrize(
    "name", ["hashformer-lsh-proj-tiny", "hashformer-md5-pool-tiny", "eelbert-word-tiny", "ewe-bert-tiny"]
)
def test_a_sharded_model_has_the_same_loss_and_gradients_as_a_whole_one(mesh, name):
    whole, sharded = (VocablessForPreTraining(load_config(name)).eval() for _ in range(2))
    sharded.load_state_dict(whole.state_dict())
    for layer in sharded.base_model.encoder.encoder.layer:
        fully_shard(layer, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    inputs = load_tokenizer(name)(["a few words", "and two more here"], padding=True, return_tensors="pt")
    labels = torch.arange(inputs["attention_mask"].numel()).view_as(inputs["attention_mask"]) % 3
    losses = []
    for model in (whole, sharded):
        loss = model(**inputs, labels=labels).loss
        loss.backward()
        losses.append(loss.item())
    assert losses[0] == losses[1]
    for (parameter, one), other in zip(whole.named_parameters(), sharded.parameters(), strict=True):
        assert type(other).__name__ == "DTensor"
        assert torch.equal(one.grad, other.grad.full_tensor()), parameter
