"""Prints the wire of SGLang's completions and adapters as its package defines it, as JSON."""

import importlib.metadata
import importlib.util
import json
from pathlib import Path

from package_source import fields_of, routes_of

SERVER = Path(importlib.util.find_spec("sglang").origin).parent / "srt"
CLASSES = {
    "entrypoints/openai/protocol.py": ["CompletionRequest", "CompletionResponseChoice", "LogProbs", "ModelCard"],
    "managers/io_struct.py": ["LoadLoRAAdapterReqInput", "UnloadLoRAAdapterReqInput", "LoRAUpdateOutput"],
}
ROUTES = ["/v1/completions", "/v1/models", "/load_lora_adapter", "/unload_lora_adapter"]

contract = {
    "release": importlib.metadata.version("sglang"),
    "routes": routes_of(SERVER / "entrypoints/http_server.py", ROUTES),
    "fields": {},
}
for path, names in CLASSES.items():
    contract["fields"].update(fields_of(SERVER / path, names))
print(json.dumps(contract, indent=2))
