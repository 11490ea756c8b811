"""What users do with runs and artifacts of wandb; run by wandb-python.ts."""

import base64
import json
import os
import tempfile
import urllib.request

import wandb

ENTITY, PROJECT = "acme", "python-wandb"
directory = tempfile.mkdtemp()
os.chdir(directory)


def passed(what):
    print(f"  ok: {what}")


def heddle(path, body=None, media_type="application/octet-stream"):
    """A request to the interface of the service itself."""
    request = urllib.request.Request(os.environ["WANDB_BASE_URL"] + path, data=body)
    request.add_header("authorization", "Bearer " + os.environ["WANDB_API_KEY"])
    if body is not None:
        request.add_header("content-type", media_type)
    with urllib.request.urlopen(request) as response:
        return response.read()


def log_rows(name, run_id, rows, **more):
    """As fine-tuning from a training library sends its data: one file of JSON lines, one artifact for each data set."""
    with wandb.init(project=PROJECT, entity=ENTITY, id=run_id, resume="allow", **more) as run:
        path = os.path.join(directory, "train.jsonl")
        with open(path, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        artifact = wandb.Artifact(name, type="dataset", metadata={"format": "jsonl", "num_trajectories": len(rows)})
        artifact.add_file(path, name="train.jsonl")
        run.log_artifact(artifact)
        return artifact.wait()


rows = [{"messages": [{"role": "user", "content": f"é {n}"}, {"role": "assistant", "content": "yes"}]} for n in range(3)]
artifact = log_rows("tutor-sft-data-0123456789ab", "tutor", rows)
assert artifact.version == "v0" and "latest" in artifact.aliases, (artifact.version, artifact.aliases)
assert artifact.metadata == {"format": "jsonl", "num_trajectories": 3}, artifact.metadata
stored = heddle(f"/v1/artifacts/{ENTITY}/{PROJECT}/tutor-sft-data-0123456789ab/versions/v0/file?path=train.jsonl")
assert [json.loads(line) for line in stored.splitlines()] == rows
passed("a data set is logged in a run, and the service has it")

again = log_rows("tutor-sft-data-0123456789ab", "tutor", rows)
assert again.version == "v0", again.version
changed = log_rows("tutor-sft-data-0123456789ab", "tutor", rows[:1])
assert changed.version == "v1", changed.version
passed("the run is resumed; equal content makes no version, other content the next")

with wandb.init(project=PROJECT, entity=ENTITY, id="tutor", resume="allow") as run:
    run.log({"loss": 1.5})
    run.log({"loss": 0.5})
    used = run.use_artifact(f"{ENTITY}/{PROJECT}/tutor-sft-data-0123456789ab:v0")
    target = used.download(root=os.path.join(directory, "downloaded"))
with open(os.path.join(target, "train.jsonl")) as file:
    assert [json.loads(line) for line in file] == rows
passed("metrics are logged, and an artifact is used and downloaded")

large = os.urandom(30_000_000)
with wandb.init(project=PROJECT, entity=ENTITY) as run:
    os.makedirs("many/deep", exist_ok=True)
    for n in range(60):
        with open(f"many/deep/{n}.txt", "w") as file:
            file.write(f"file {n}")
    with open("many/large.bin", "wb") as file:
        file.write(large)
    artifact = wandb.Artifact("many", type="files")
    artifact.add_dir("many")
    run.log_artifact(artifact, aliases=["best"]).wait()
api = wandb.Api()
found = api.artifact(f"{ENTITY}/{PROJECT}/many:best")
target = found.download(root=os.path.join(directory, "many-downloaded"))
assert len(os.listdir(os.path.join(target, "deep"))) == 60
with open(os.path.join(target, "large.bin"), "rb") as file:
    assert file.read() == large
assert found.verify(root=target) is None
passed("an artifact of many files and a large one is found by its alias, downloaded and verified")

content = json.loads(heddle(f"/v1/artifact-contents/{ENTITY}/{PROJECT}", b"weights"))
commit = {
    "name": "tutor",
    "type": "lora",
    "files": [{"path": "adapter_model.safetensors", "sha256": content["sha256"]}],
    "aliases": ["step1"],
}
heddle(f"/v1/artifacts/{ENTITY}/{PROJECT}", json.dumps(commit).encode(), "application/json")
checkpoint = api.artifact(f"{ENTITY}/{PROJECT}/tutor:step1", type="lora")
with open(os.path.join(checkpoint.download(root="checkpoint"), "adapter_model.safetensors"), "rb") as file:
    assert file.read() == b"weights"
passed("weights that the service keeps are downloaded by their step")

assert not api.artifact_exists(f"{ENTITY}/{PROJECT}/tutor:step9")
try:
    api.artifact(f"{ENTITY}/other/tutor:step1")
    raise AssertionError("found what is not there")
except wandb.errors.CommError:
    passed("what is not there is reported as missing")
assert base64.b64decode(found.id).startswith(b"Artifact:")
