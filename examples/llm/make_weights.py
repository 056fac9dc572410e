"""make_weights.py FOLDER [--dtype fp32|fp16|bf16] [--seed N] [--layers N ...]: a small model of Llama's form with random
weights, as config.json and model.safetensors. Its tokens are bytes."""
import argparse
import json
import os

import numpy as np

TYPES = {"fp32": "F32", "fp16": "F16", "bf16": "BF16"}


def bits(array, dtype):
    """The array's bytes in the type, rounded to nearest even."""
    array = array.astype(np.float32)
    if dtype == "fp32":
        return array.tobytes()
    if dtype == "fp16":
        return array.astype(np.float16).tobytes()
    word = array.view(np.uint32)
    return ((word + 0x7FFF + (word >> 16 & 1)) >> 16).astype(np.uint16).tobytes()


def weights(config, random):
    """Name and values of each tensor; products keep the size of what they take."""
    width, hidden, heads_k = config["hidden_size"], config["intermediate_size"], config["num_key_value_heads"]
    keys = width // config["num_attention_heads"] * heads_k

    def matrix(outputs, inputs):
        return random.standard_normal((outputs, inputs)) / np.sqrt(inputs)

    def scale():
        return 1 + 0.1 * random.standard_normal(width)

    yield "model.embed_tokens.weight", random.standard_normal((config["vocab_size"], width))
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        yield layer + "input_layernorm.weight", scale()
        for name, outputs in ("q", width), ("k", keys), ("v", keys), ("o", width):
            yield f"{layer}self_attn.{name}_proj.weight", matrix(outputs, width) * (2 if name in "qk" else 1)
        yield layer + "post_attention_layernorm.weight", scale()
        yield layer + "mlp.gate_proj.weight", matrix(hidden, width)
        yield layer + "mlp.up_proj.weight", matrix(hidden, width)
        yield layer + "mlp.down_proj.weight", matrix(width, hidden)
    yield "model.norm.weight", scale()
    yield "lm_head.weight", 2 * matrix(config["vocab_size"], width)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--dtype", choices=TYPES, default="fp16")
    parser.add_argument("--seed", type=int, default=1)
    for name, size in ("layers", 2), ("width", 64), ("hidden", 176), ("heads", 4), ("heads_k", 2), ("vocabulary", 256), ("positions", 4096):
        parser.add_argument(f"--{name}", type=int, default=size)
    args = parser.parse_args()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": args.width, "intermediate_size": args.hidden,
              "max_position_embeddings": args.positions, "num_attention_heads": args.heads, "num_hidden_layers": args.layers,
              "num_key_value_heads": args.heads_k, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False,
              "torch_dtype": {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}[args.dtype], "vocab_size": args.vocabulary}
    head, data, place = {}, [], 0
    for name, values in weights(config, np.random.default_rng(args.seed)):
        data.append(bits(values, args.dtype))
        head[name] = {"dtype": TYPES[args.dtype], "shape": list(values.shape), "data_offsets": [place, place + len(data[-1])]}
        place += len(data[-1])
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(args.folder, exist_ok=True)
    with open(os.path.join(args.folder, "model.safetensors"), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.writelines(data)
    with open(os.path.join(args.folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)


if __name__ == "__main__":
    main()
