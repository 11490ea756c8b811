"""Prints the wire of SGLang's completions and adapters as its package defines it, as JSON. Imports nothing of the package, which would
need what it requires: reads the fields of its classes and the paths of its routes from their source."""

import ast
import importlib.metadata
import importlib.util
import json
from pathlib import Path

SERVER = Path(importlib.util.find_spec("sglang").origin).parent / "srt"
CLASSES = {
    "entrypoints/openai/protocol.py": ["CompletionRequest", "CompletionResponseChoice", "LogProbs", "ModelCard"],
    "managers/io_struct.py": ["LoadLoRAAdapterReqInput", "UnloadLoRAAdapterReqInput", "LoRAUpdateOutput"],
}
ROUTES = ["/v1/completions", "/v1/models", "/load_lora_adapter", "/unload_lora_adapter"]


def fields_of(path: str, names: list[str]) -> dict[str, list[str]]:
    tree = ast.parse((SERVER / path).read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return {
        name: sorted(each.target.id for each in classes[name].body if isinstance(each, ast.AnnAssign))
        for name in names
    }


def routes() -> list[str]:
    tree = ast.parse((SERVER / "entrypoints/http_server.py").read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return [route for route in ROUTES if route in texts]


contract = {"release": importlib.metadata.version("sglang"), "routes": routes(), "fields": {}}
for path, names in CLASSES.items():
    contract["fields"].update(fields_of(path, names))
print(json.dumps(contract, indent=2))
