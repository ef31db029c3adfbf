"""No path of this machine stands in a file that is uploaded."""

import run_glue
import run_pretraining
from vocabless.conversion.__main__ import main

SHORT = "--per_device_train_batch_size 8 --max_seq_length 16 --use_cpu true".split()


def paths_in(hub, private: str) -> list[str]:
    """The uploaded files that hold `private`."""
    files = [(repo_id, file) for repo_id, repository in hub.repositories.items() for file in repository.files.items()]
    return [f"{repo_id}: {name}" for repo_id, (name, content) in files if private.encode() in content]


def test_no_uploaded_file_holds_a_path_of_this_machine(stock_folder, hub, tmp_path) -> None:
    private = tmp_path / "home-of-me"
    private.mkdir()
    table = private / "colours.csv"
    table.write_text("text,label\n" + "".join(f"{c} stone {n},{c}\n" for n in range(12) for c in ("red", "blue")))
    push = ["--push_to_hub", "true", "--output_dir"]
    pre = "--variant eelbert-word-uno --max_steps 2 --preprocessing_num_workers 1 --corpus".split()
    run_pretraining.main([*pre, str(table), *SHORT, *push, str(private / "pre")])
    tune = ["--train_file", str(table), "--validation_file", str(table), "--num_train_epochs", "1", *SHORT]
    tune += ["--save_strategy", "epoch"]
    run_glue.main([*tune, "--model_name_or_path", str(private / "pre"), *push, str(private / "tuned")])
    teacher = next((private / "tuned").rglob("model.safetensors")).parent
    taught = ["--teacher", str(teacher), "--model_name_or_path", "eelbert-word-uno", *push, str(private / "taught")]
    run_glue.main([*tune, *taught])
    (private / "source").symlink_to(stock_folder("bert"))
    words = str(private / "words")
    main(["encoder", str(private / "source"), words, "--variant", "eelbert-word-tiny"])
    main(["hub", words, "me-words", "--push"])
    assert len(hub.repositories) == 4
    assert paths_in(hub, str(tmp_path)) == []
