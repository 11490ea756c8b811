"""Samples with transformers from a model with random weights, 32 bit floats, on request of `rows.ts`.

    python transformers-peer.py '<shape as JSON>'

Reads a line `<rows> <prompt tokens> <sampled tokens> <seed>` after the other, and answers each with one JSON object.
"""

import json
import os
import sys
import time

threads = os.environ.setdefault("OMP_NUM_THREADS", "2")
# Threads that wait must not take the cores from the others.
os.environ.update(OMP_WAIT_POLICY="PASSIVE", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")

import torch  # noqa: E402
import transformers  # noqa: E402

shape = json.loads(sys.argv[1])
torch.set_num_threads(int(threads))
torch.manual_seed(1)
transformers.logging.set_verbosity_error()
config = transformers.Qwen2Config(
    vocab_size=shape["vocabularySize"],
    hidden_size=shape["hiddenSize"],
    num_hidden_layers=shape["layers"],
    num_attention_heads=shape["heads"],
    num_key_value_heads=shape["keyValueHeads"],
    intermediate_size=shape["feedForwardSize"],
    max_position_embeddings=1024,
    tie_word_embeddings=True,
    bos_token_id=None,
    eos_token_id=None,
)
model = transformers.Qwen2ForCausalLM(config).float().eval()
print(json.dumps({"versions": f"transformers {transformers.__version__}, torch {torch.__version__}"}), flush=True)

for line in sys.stdin:
    rows, prompt, sampled, seed = map(int, line.split())
    torch.manual_seed(seed)
    tokens = torch.randint(0, shape["vocabularySize"], (rows, prompt))
    start, cpu = time.perf_counter(), time.process_time()
    with torch.inference_mode():
        result = model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            max_new_tokens=sampled,
            min_new_tokens=sampled,
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            pad_token_id=0,
        )
    times = {"seconds": time.perf_counter() - start, "cpuSeconds": time.process_time() - cpu}
    print(json.dumps({"tokens": rows * (result.shape[1] - prompt), **times}), flush=True)
