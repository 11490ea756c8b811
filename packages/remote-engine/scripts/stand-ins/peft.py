"""Replaces peft, which SkyRL's JAX backend uses only to write `adapter_config.json`."""

import json
import pathlib


class LoraConfig:
    def __init__(self, **fields):
        self.fields = {"peft_type": "LORA", **fields}

    def save_pretrained(self, directory):
        path = pathlib.Path(directory)
        path.mkdir(parents=True, exist_ok=True)
        (path / "adapter_config.json").write_text(json.dumps(self.fields))
