"""Writes a GGUF file of the Qwen2 shape with random weights in 32 bit floats: `python llama-cpp-model.py '<shape>' <file>`."""

import json
import sys

import gguf
import numpy as np

shape = json.loads(sys.argv[1])
hidden, width, vocabulary = shape["hiddenSize"], shape["feedForwardSize"], shape["vocabularySize"]
keys = hidden // shape["heads"] * shape["keyValueHeads"]
draw = np.random.default_rng(1)


def random(*size):
    return draw.standard_normal(size, dtype=np.float32) * np.float32(0.02)


writer = gguf.GGUFWriter(sys.argv[2], "qwen2")
writer.add_context_length(8192)
writer.add_embedding_length(hidden)
writer.add_block_count(shape["layers"])
writer.add_feed_forward_length(width)
writer.add_head_count(shape["heads"])
writer.add_head_count_kv(shape["keyValueHeads"])
writer.add_layer_norm_rms_eps(1e-6)
writer.add_rope_freq_base(1e6)
writer.add_file_type(gguf.LlamaFileType.ALL_F32)
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("qwen2")
writer.add_token_list([f"w{token}" for token in range(vocabulary)])
writer.add_token_types([gguf.TokenType.NORMAL] * vocabulary)
writer.add_token_merges(["w 1"])
writer.add_tensor("token_embd.weight", random(vocabulary, hidden))
writer.add_tensor("output_norm.weight", np.ones(hidden, np.float32))
for layer in range(shape["layers"]):
    at = f"blk.{layer}."
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"{at}{name}.weight", np.ones(hidden, np.float32))
    for name, outputs in (("attn_q", hidden), ("attn_k", keys), ("attn_v", keys)):
        writer.add_tensor(f"{at}{name}.weight", random(outputs, hidden))
        writer.add_tensor(f"{at}{name}.bias", random(outputs))
    writer.add_tensor(f"{at}attn_output.weight", random(hidden, hidden))
    writer.add_tensor(f"{at}ffn_gate.weight", random(width, hidden))
    writer.add_tensor(f"{at}ffn_up.weight", random(width, hidden))
    writer.add_tensor(f"{at}ffn_down.weight", random(hidden, width))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
