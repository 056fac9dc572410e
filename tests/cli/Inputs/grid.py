"""grid.py SOURCE MANIFEST GRID: a manifest of vector_add with that grid."""
import json
import sys

source, manifest, grid = sys.argv[1:]
with open(manifest, "w", encoding="ascii") as file:
    json.dump({"code": "ptx", "kernels": [{"file": source, "signatures": "*fp32, *fp32, *fp32, i32, 256", "grid": grid}]}, file)
