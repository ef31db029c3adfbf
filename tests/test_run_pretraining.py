import json

import pytest
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer, TrainerCallback

import run_pretraining
from vocabless.training import pretraining

QUICK = ["--max_steps", "6", "--save_steps", "2", "--logging_steps", "2", "--per_device_train_batch_size", "4",
         "--max_seq_length", "16", "--max_eval_samples", "8", "--preprocessing_num_workers", "1", "--use_cpu", "true",
         "--disable_tqdm", "true"]  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    file = tmp_path_factory.mktemp("corpus") / "text.txt"
    words = "the quick brown fox jumps over lazy dogs while seven small cats sleep near old walls".split()
    lines = [" ".join(words[(i * k) % len(words)] for k in range(1, 30)) + "." for i in range(1, 80)]
    file.write_text("\n".join(lines))
    return str(file)


def test_a_run_leaves_a_checkpoint_that_loads_anywhere(corpus, tmp_path, capsys):
    folder = tmp_path / "run"
    run_pretraining.main(["--corpus", corpus, "--output_dir", str(folder), *QUICK])
    results = json.loads((folder / "results.json").read_text())
    assert results["loads_without_package_bit_equal"]
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]
    assert set(results["after"]) >= {"eval_majority", "eval_accuracy_intact", "eval_accuracy_replaced"}
    assert all(line["tokens_per_second"] > 0 for line in results["log"] if "loss" in line)
    printed = capsys.readouterr().out
    assert "strongest suspicions" in printed
    assert "bit-equal" in printed
    card = (folder / "README.md").read_text()
    assert "hashformer-lsh-proj-tiny" in card and "library_name: transformers" in card
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    hidden = AutoModel.from_pretrained(folder, trust_remote_code=True)(**tokenizer("a word", return_tensors="pt"))
    assert hidden.last_hidden_state.shape == (1, 4, 128)
    with pytest.raises(SystemExit, match="is finished"):
        run_pretraining.main(["--corpus", corpus, "--output_dir", str(folder), *QUICK])


def test_an_interrupted_run_ends_with_the_same_weights(corpus, tmp_path, monkeypatch):
    run_pretraining.main(["--corpus", corpus, "--output_dir", str(tmp_path / "whole"), *QUICK])

    class Interrupt(pretraining.Speed):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step == 5:
                raise KeyboardInterrupt

    arguments = ["--corpus", corpus, "--output_dir", str(tmp_path / "broken"), *QUICK]
    with monkeypatch.context() as patched:
        patched.setattr(run_pretraining, "Speed", Interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_pretraining.main(arguments)
    assert not (tmp_path / "broken" / "model.safetensors").exists()
    run_pretraining.main(arguments)
    whole, broken = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "broken"))
    assert whole.keys() == broken.keys()
    assert all((whole[name] == broken[name]).all() for name in whole)
    assert issubclass(Interrupt, TrainerCallback)


def test_masked_lm_trains_its_own_subwords_and_its_loss_falls(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "eelbert-tiny"  # where a run goes that is not told where
    arguments = ["--variant", "eelbert-tiny", "--subword", "train", "--subword_vocab_size", "300"]
    run_pretraining.main(["--corpus", corpus, *arguments, *QUICK])
    results = json.loads((folder / "results.json").read_text())
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]
    assert (folder / "subword.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--variant", "hashformer-lsh-proj-tinny"], "unknown variant.*hashformer-lsh-proj-tiny"),
        (["--corpus", "no/such/file.txt"], "'no/such/file.txt' does not exist"),
        (["--max_seq_length", "4096"], "at most 512"),
        (["--objective", "nonsense"], "unknown objective.*shuffle-random"),
        (["--objective", "mlm"], "--subword"),
        (["--validation_split_percentage", "0"], "cannot be held out"),
        (["--variant", "eelbert-tiny", "--subword", "/no/such/tokenizer.json"], "subword"),
    ],
)
def test_a_mistake_ends_with_one_sentence(corpus, tmp_path, arguments, sentence, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    given = ["--corpus", corpus, "--output_dir", str(tmp_path / "run"), *QUICK, *arguments]
    with pytest.raises(SystemExit, match=sentence) as raised:
        run_pretraining.main(given)
    assert "\n" not in str(raised.value)


def test_a_folder_of_another_run_is_left_alone(corpus, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SystemExit, match="holds other files"):
        run_pretraining.main(["--corpus", corpus, "--output_dir", str(tmp_path), *QUICK])
