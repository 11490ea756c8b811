"""Loads what the service exports of a checkpoint with `peft`, `transformers` and the reader of GGUF, as PyPI has them.

Usage: exports-scenario.py make <directory with a tokenizer>
       exports-scenario.py check <base url> <directory of the base model> <name of the base model> <entity/project>
"""

import io
import json
import os
import sys
import tarfile
import tempfile
import time
import urllib.request

import numpy
import torch
from gguf import GGUFReader
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

KEY = os.environ.get("HEDDLE_API_KEY", "")
# Log-probabilities are those of 32 bit, computed by two programs.
TOLERANCE = 1e-4


def make(directory):
    """Writes a model with random weights beside the tokenizer."""
    with open(os.path.join(directory, "tokenizer.json")) as file:
        vocabulary = len(json.load(file)["model"]["vocab"]) + 64
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=112,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.2,
    )
    LlamaForCausalLM(config).save_pretrained(directory)


class Service:
    def __init__(self, url):
        self.url = url

    def bytes(self, path, body=None, content_type="application/json"):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {KEY}", "content-type": content_type}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers), timeout=300) as response:
            return response.read()

    def json(self, path, body=None):
        return json.loads(self.bytes(path, body))

    def answer(self, model, **more):
        """An answer with the ids of its prompt, its own ones, and their log-probabilities."""
        completion = self.json(
            "/v1/chat/completions",
            {
                "model": model,
                "messages": [{"role": "user", "content": "yes or no?"}],
                "max_completion_tokens": 12,
                "seed": 3,
                **more,
            },
        )
        return completion["choices"][0]

    def adapter(self, at, version, directory):
        """Downloads a version of a model's artifact."""
        path = f"/v1/artifacts/{at}/versions/{version}"
        os.makedirs(directory)
        for file in self.json(f"{path}/files")["files"]:
            with open(os.path.join(directory, file["path"]), "wb") as target:
                target.write(self.bytes(f"{path}/file?path={file['path']}"))
        return directory


def check(url, base_directory, base_model, project_id):
    service = Service(url)
    entity, project = project_id.split("/")

    def create(name, **more):
        return service.json(
            "/v1/preview/models",
            {"entity": entity, "project": project, "name": name, "base_model": base_model, **more},
        )

    model = create("agent", lora={"rank": 4, "target_modules": ["q_proj", "v_proj", "down_proj"]})
    choices = [service.answer(model["inference_name"], seed=seed) for seed in range(4)]
    trajectories = [
        {"messages_and_choices": [{"role": "user", "content": "yes or no?"}, choice], "reward": seed % 2}
        for seed, choice in enumerate(choices)
    ]
    job = service.json(
        "/v1/preview/training-jobs",
        {
            "model_id": model["id"],
            "trajectory_groups": [{"trajectories": trajectories}],
            "experimental_config": {"learning_rate": 0.02, "num_epochs": 4},
        },
    )
    while job["status"] not in ("COMPLETED", "FAILED"):
        time.sleep(0.2)
        job = service.json(f"/v1/preview/training-jobs/{job['id']}")
    assert job["status"] == "COMPLETED", job

    def base():
        return AutoModelForCausalLM.from_pretrained(base_directory, dtype=torch.float32)

    def difference(loaded, step):
        """How far the log-probabilities of a loaded model are from those with which the service sampled."""
        name = f"{model['inference_name']}:step{step}" if isinstance(step, int) else step
        choice = service.answer(name)
        prompt, sampled = choice["prompt_token_ids"], choice["token_ids"]
        with torch.no_grad():
            logits = loaded(torch.tensor([[*prompt, *sampled]])).logits[0].double()
        rows = torch.log_softmax(logits, -1)[len(prompt) - 1 : -1]
        found = rows[torch.arange(len(sampled)), torch.tensor(sampled)].numpy()
        stated = numpy.array([entry["logprob"] for entry in choice["logprobs"]["content"]])
        assert len(stated) == len(found) > 3, (len(stated), len(found))
        return float(numpy.abs(stated - found).max())

    def expect(what, found):
        assert found < TOLERANCE, f"{what}: {found}"
        print(f"  ok      {what}: {found:.1e}", flush=True)

    at = f"{project_id}/agent"
    with tempfile.TemporaryDirectory() as scratch:
        for version, step in (("v0", 0), ("step0", 0), ("v1", 1), ("step1", 1), ("latest", 1)):
            directory = service.adapter(at, version, os.path.join(scratch, version))
            loaded = PeftModel.from_pretrained(base(), directory)
            expect(f"PEFT loads {version}", difference(loaded, step))
        assert difference(base(), 0) < TOLERANCE < difference(base(), 1), "training changed nothing"

        exported = {}
        for step in (0, 1):
            path = f"/v1/preview/models/{model['id']}/checkpoints/{step}/export?dtype=float32&format="
            directory = os.path.join(scratch, f"merged-{step}")
            with tarfile.open(fileobj=io.BytesIO(service.bytes(f"{path}huggingface"))) as archive:
                archive.extractall(directory)
            merged = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
            expect(f"transformers loads the merged step {step}", difference(merged, step))
            file = os.path.join(scratch, f"step{step}.gguf")
            with open(file, "wb") as target:
                target.write(service.bytes(f"{path}gguf"))
            tensors = {tensor.name: tensor.data for tensor in GGUFReader(file).tensors}
            weights = merged.state_dict()
            names = {
                "token_embd.weight": "model.embed_tokens.weight",
                "output_norm.weight": "model.norm.weight",
                **{
                    f"blk.{layer}.{short}.weight": f"model.layers.{layer}.{long}.weight"
                    for layer in range(2)
                    for short, long in (
                        ("attn_v", "self_attn.v_proj"),
                        ("attn_output", "self_attn.o_proj"),
                        ("ffn_down", "mlp.down_proj"),
                        ("attn_norm", "input_layernorm"),
                    )
                },
            }
            assert len(tensors) == len(weights), (sorted(tensors), sorted(weights))
            for short, long in names.items():
                apart = numpy.abs(tensors[short] - weights[long].numpy()).max()
                assert apart < TOLERANCE, (short, apart, tensors[short].dtype, tensors[short].shape, weights[long].shape)
            print(f"  ok      the reader of GGUF reads step {step}", flush=True)
            exported[step] = tensors["blk.0.attn_v.weight"]
        assert numpy.abs(exported[0] - exported[1]).max() > 1e-4, "the export is not that of the step"

        fork = create("fork", init_from={"model_id": model["id"], "step": 1})
        expect("a fork of step 1", difference(merged, fork["inference_name"]))

        torch.manual_seed(11)
        config = LoraConfig(r=3, lora_alpha=5, target_modules=["k_proj", "o_proj"], init_lora_weights=False)
        own = get_peft_model(base(), config)
        directory = os.path.join(scratch, "own")
        own.save_pretrained(directory)
        files = []
        for path in ("adapter_config.json", "adapter_model.safetensors"):
            with open(os.path.join(directory, path), "rb") as file:
                content = service.bytes(f"/v1/artifact-contents/{project_id}", file.read(), "application/octet-stream")
            files.append({"path": path, "sha256": json.loads(content)["sha256"]})
        version = service.json(f"/v1/artifacts/{project_id}", {"name": "own", "type": "lora", "files": files})
        continued = create("continued", init_from={"artifact": version["version"]["uri"]})
        assert (continued["lora"]["rank"], continued["lora"]["alpha"]) == (3, 5), continued["lora"]
        expect("an adapter that PEFT has written", difference(own, continued["inference_name"]))


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
