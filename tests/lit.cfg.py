# Text tests: `RUN:` lines in .tir, .tile and .test files. Started by CTest (see CMakeLists.txt here).
import os
import shutil

import lit.formats

config.name = "tilec"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tir", ".tile", ".test", ".ptx"]
config.excludes = ["Inputs", "corpus", "kernels", "ptx"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["exec_root"]

llvm_bin = lit_config.params["llvm_bin"]
source_dir = os.path.dirname(config.test_source_root)
config.substitutions += [
    ("%tilec", lit_config.params["tilec"]),
    ("%build", os.path.dirname(os.path.dirname(os.path.dirname(lit_config.params["tilec"])))),
    ("%kernels", os.path.join(source_dir, "kernels")),
    ("%python", "/usr/bin/python3"),
]
if not lit_config.params.get("sanitized"):
    config.available_features.add("limits")
if lit_config.params.get("checked") != "1":
    config.available_features.add("unchecked")  # passes are not held to their contract in every compilation
if "fake_cuda" in lit_config.params:
    config.substitutions.append(("%fake_cuda", lit_config.params["fake_cuda"]))
    config.available_features.add("fake-cuda")
sim_driver = os.path.join(os.path.dirname(os.path.dirname(lit_config.params["tilec"])), "simdriver", "libtilec-cuda-sim.so")
if os.path.exists(sim_driver):
    config.substitutions.append(("%sim_driver", os.path.abspath(sim_driver)))
    config.available_features.add("sim-driver")
config.environment["PATH"] = os.pathsep.join([llvm_bin, os.environ["PATH"]])
config.environment["TILEC_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "CUDA_HOME", "TILEC_PTXAS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
for name in ("groff", "zsh", "fish"):
    if shutil.which(name):
        config.available_features.add(name)
if any(
    os.access(os.path.join(d, "ptxas"), os.X_OK)
    for d in os.environ["PATH"].split(os.pathsep) + ["/usr/local/cuda/bin"]
):
    config.available_features.add("ptxas")
