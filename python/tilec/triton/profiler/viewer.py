"""Shows what sessions wrote: parse(metrics, file) and print_tree(tree, metrics); python -m triton.profiler.viewer -m time/ms FILE."""
import json
import re
import sys

_SECONDS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_SCALES = {"": 1.0, "g": 1e-9, "t": 1e-12}


def _total(node, wanted):
    """Of a node and all below it: the sum of the metrics that `wanted(name)` holds of."""
    own = sum(value for name, value in node["metrics"].items() if wanted(name))
    return own + sum(_total(child, wanted) for child in node["children"])


def _metric(name):
    """A function of a node. ValueError: there is no such metric."""
    def seconds(node):
        return _total(node, "time (ns)".__eq__) / 1e9

    time = re.fullmatch(r"(avg_)?time/(s|ms|us|ns)", name)
    if time:
        scale = _SECONDS[time.group(2)]
        return lambda node: seconds(node) * scale / (max(_total(node, "count".__eq__), 1) if time.group(1) else 1)
    rate = re.fullmatch(r"([gt]?)(flop(8|16|32|64)?|byte)/s", name)
    if rate:
        kind = "bytes" if rate.group(2) == "byte" else f"flops{rate.group(3) or ''}"

        def wanted(metric):
            return metric == kind or kind == "flops" and metric.startswith("flops")

        return lambda node: _total(node, wanted) * _SCALES[rate.group(1)] / seconds(node) if seconds(node) else 0.0
    if name == "util":
        raise ValueError("util is not in tilec: a peak would have to be known; tflop16/s and tbyte/s are")
    return lambda node: _total(node, name.__eq__)


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """(tree, metrics): of a file, each node with the values of `metrics`; `include`, `exclude`: expressions that names match;
    `threshold`: nodes with less of the first metric are left out."""
    with open(filename, encoding="utf-8") as file:
        root = json.load(file)[0]
    functions = [_metric(name) for name in metrics]

    def keeps(node):
        if exclude and re.search(exclude, node["frame"]["name"]):
            return False
        return not include or re.search(include, node["frame"]["name"]) or any(map(keeps, node["children"]))

    def made(node):
        values = [function(node) for function in functions]
        children = [made(child) for child in node["children"] if keeps(child)]
        return {"name": node["frame"]["name"], "values": values,
                "children": [child for child in children if threshold is None or child["values"][0] >= threshold]}

    return made(root), [*metrics]


def format_tree(tree, metrics):
    """Lines: the first metric of each node and its name."""
    lines = [" ".join(metrics)]

    def add(node, before, branch):
        lines.append(f"{before}{branch}{' '.join(f'{value:.3f}' for value in node['values'])} {node['name']}")
        below = before + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        for i, child in enumerate(node["children"]):
            add(child, below, "└─ " if i == len(node["children"]) - 1 else "├─ ")

    add(tree, "", "")
    return "\n".join(lines)


def print_tree(tree, metrics, *unused, **also_unused):
    print(format_tree(tree, metrics))


def main(words=None):
    import argparse

    parser = argparse.ArgumentParser(prog="proton-viewer", description="Shows a profile of triton.profiler.")
    parser.add_argument("-m", "--metrics", default="time/ms", help="separated by commas: time/ms, avg_time/us, tflop16/s, tbyte/s, count")
    parser.add_argument("-i", "--include")
    parser.add_argument("-e", "--exclude")
    parser.add_argument("-t", "--threshold", type=float)
    parser.add_argument("file")
    given = parser.parse_args(words)
    print_tree(*parse(given.metrics.split(","), given.file, given.include, given.exclude, given.threshold))
    return 0


if __name__ == "__main__":
    sys.exit(main())
