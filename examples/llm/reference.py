"""reference.py FOLDER PROGRAM [--prompt TEXT | --tokens 1,2,3] [--steps N] [--temperature T --top-k K --seed S]: runs the program and the same
model in float64, and compares each step's logits and its token.

The bound of the logits' error is stated for the type of the weights and a layer, relative to the largest logit of a step: the program rounds activations
to that type at each operation, float64 does not; sums, norms and the stream of the layers are fp32 there. A token is to be the reference's own, or
one whose logit is nearer to the largest than twice the bound; with a temperature it is to be what the program's own logits and the same random
numbers give."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

BOUNDS = {"F32": 4e-6, "F16": 2e-3, "BF16": 1.6e-2}


def read_tensors(folder):
    """Tensors by name as float64, and the type of the matrices."""
    tensors, dtype = {}, None
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            head, data = json.loads(file.read(size)), file.read()
        for key, tensor in head.items():
            if key == "__metadata__":
                continue
            part = data[slice(*tensor["data_offsets"])]
            if tensor["dtype"] == "BF16":
                values = (np.frombuffer(part, np.uint16).astype(np.uint32) << 16).view(np.float32)
            else:
                values = np.frombuffer(part, {"F16": np.float16, "F32": np.float32}[tensor["dtype"]])
            tensors[key] = values.reshape(tensor["shape"]).astype(np.float64)
            if "q_proj" in key:
                dtype = tensor["dtype"]
    return tensors, dtype


class Model:
    """The model in float64; a cache of keys and values for each layer."""

    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        self.tensors, self.dtype = read_tensors(folder)
        self.heads = self.config["num_attention_heads"]
        self.heads_k = self.config.get("num_key_value_heads", self.heads)
        self.head_dim = self.config.get("head_dim") or self.config["hidden_size"] // self.heads
        self.theta = {**self.config, **(self.config.get("rope_parameters") or {})}.get("rope_theta", 10000.0)
        self.cache = [(np.zeros((self.heads_k, 0, self.head_dim)),) * 2 for _ in range(self.config["num_hidden_layers"])]

    def norm(self, x, name):
        eps = self.config.get("rms_norm_eps", 1e-6)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * self.tensors[name + ".weight"]

    def linear(self, x, name):
        return x @ self.tensors[name + ".weight"].T

    def turn(self, x, places):
        """x: heads, rows, head_dim."""
        half = self.head_dim // 2
        angles = places[:, None] / self.theta ** (np.arange(half) * 2 / self.head_dim)
        low, high = x[..., :half], x[..., half:]
        return np.concatenate([low * np.cos(angles) - high * np.sin(angles), high * np.cos(angles) + low * np.sin(angles)], -1)

    def attend(self, x, layer, index):
        rows, before = len(x), self.cache[index][0].shape[1]
        places = before + np.arange(rows)

        def heads(name, count):
            return self.linear(x, f"{layer}.self_attn.{name}_proj").reshape(rows, count, self.head_dim).swapaxes(0, 1)

        q, k = self.turn(heads("q", self.heads), places), self.turn(heads("k", self.heads_k), places)
        keys, values = np.concatenate([self.cache[index][0], k], 1), np.concatenate([self.cache[index][1], heads("v", self.heads_k)], 1)
        self.cache[index] = keys, values
        group = self.heads // self.heads_k
        keys, values = np.repeat(keys, group, 0), np.repeat(values, group, 0)
        scores = q @ keys.swapaxes(1, 2) / np.sqrt(self.head_dim)
        scores = np.where(np.arange(keys.shape[1]) <= places[:, None], scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ values
        return self.linear(mixed.swapaxes(0, 1).reshape(rows, -1), f"{layer}.self_attn.o_proj")

    def step(self, tokens):
        """The logits behind the last of the tokens, which follow those of earlier steps."""
        x = self.tensors["model.embed_tokens.weight"][tokens]
        for i in range(self.config["num_hidden_layers"]):
            layer = f"model.layers.{i}"
            x = x + self.attend(self.norm(x, layer + ".input_layernorm"), layer, i)
            normed = self.norm(x, layer + ".post_attention_layernorm")
            gate, up = self.linear(normed, layer + ".mlp.gate_proj"), self.linear(normed, layer + ".mlp.up_proj")
            x = x + self.linear(gate / (1 + np.exp(-gate)) * up, layer + ".mlp.down_proj")
        head = "lm_head" if "lm_head.weight" in self.tensors else "model.embed_tokens"
        return self.linear(self.norm(x[-1], "model.norm"), head)


def uniform(seed, count):
    """tl.rand(seed, 0 .. count - 1): the first word of Philox 4x32-10."""
    words = [np.arange(count, dtype=np.uint64)] + [np.zeros(count, np.uint64)] * 3
    low, key = np.uint64(0xFFFFFFFF), [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        a, b = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [b >> np.uint64(32) ^ words[1] ^ np.uint64(key[0]), b & low, a >> np.uint64(32) ^ words[3] ^ np.uint64(key[1]), a & low]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    signed = words[0].astype(np.uint32).view(np.int32).astype(np.int64)
    return np.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10


def scores(row, args, place):
    """What the program takes the largest of: logits with Gumbel noise, of the top_k largest."""
    noise = -np.log(-np.log(np.maximum(uniform(args.seed + place, len(row)), 1e-10)))
    kept = row >= np.sort(row)[-min(args.top_k, len(row))]
    return np.where(kept, row.astype(np.float64) / args.temperature + noise, -np.inf)


def run(args, prompt):
    """The program's tokens behind the prompt, and its logits of each step."""
    with tempfile.TemporaryDirectory() as work:
        logits = os.path.join(work, "logits")
        command = [args.program, args.folder, "--tokens", ",".join(map(str, prompt)), "--steps", str(args.steps), "--profile", "0", "--logits", logits]
        if args.temperature:
            command += ["--temperature", str(args.temperature), "--top-k", str(args.top_k), "--seed", str(args.seed)]
        if args.kernels:
            command += ["--kernels", args.kernels]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(done.returncode)
        rows = np.fromfile(logits, np.float32).reshape(args.steps, -1)
    if rows.shape[1] == 256:
        return list(done.stdout[len(prompt):-1]), rows
    return [int(token) for token in re.findall(rb"\d+", done.stdout)][len(prompt):], rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("program")
    parser.add_argument("--kernels", help="kernels.tile, where it is not in this folder")
    parser.add_argument("--prompt", default="The ")
    parser.add_argument("--tokens")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--top-k", type=int, default=2**31 - 2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    prompt = [int(token) for token in args.tokens.split(",")] if args.tokens else list(args.prompt.encode())
    model = Model(args.folder)
    bound = BOUNDS[model.dtype] * model.config["num_hidden_layers"]
    tokens, rows = run(args, prompt)
    worst, given, same, wrong = 0.0, prompt, 0, 0
    for i, (token, row) in enumerate(zip(tokens, rows)):
        wanted = model.step(given)
        size = np.abs(wanted).max()
        worst = max(worst, np.abs(row - wanted).max() / size)
        near = 2 * bound * size
        if args.temperature:
            wanted, near = scores(row, args, len(prompt) + i), 1e-4
        same += token == wanted.argmax()
        if not wanted.max() - wanted[token] <= near:
            print(f"token {token} instead of {wanted.argmax()}")
            wrong += 1
        given = [token]
    print(f"{same} of {args.steps} tokens are those of float64, {wrong} are wrong; logits within {worst:.2g} of the largest (bound {bound:g})")
    sys.exit(not (len(tokens) == args.steps and worst <= bound and not wrong))


if __name__ == "__main__":
    main()
