"""A model that was given as a path has the same name on every machine."""

import pytest

from scalelens.parsing.model_paths import model_of_path

NAMES = {
    "/p/scratch/models/vicuna-13b-v1.5": "vicuna-13b-v1.5",
    "/p/scratch/models/gpt2/": "gpt2",
    "${ROOT}/models/gpt2": "gpt2",
    "../runs/small-sft/checkpoint-1200": "small-sft",
    "./small-sft/out/step_400.pt": "small-sft",
    f"~/.cache/huggingface/hub/models--org--tiny-1b/snapshots/{'0a' * 20}": "org/tiny-1b",
    "org/tiny-1b": "org/tiny-1b",
    "resnet50": "resnet50",
    "$MODEL": "$MODEL",
    "~/final": "~/final",
    "../models/": "../models/",
}


@pytest.mark.parametrize("path", NAMES)
def test_the_name_of_a_model_is_what_stands_in_its_path(path: str) -> None:
    assert model_of_path(path) == NAMES[path]
