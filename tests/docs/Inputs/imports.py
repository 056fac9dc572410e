"""imports.py ROOT: every module that a Python file of the project imports, wherever in the file, is Python's, a package that the file may want, or
lies beside it or in a folder that it or a file beside or above it adds to sys.path. A script for a GPU machine is run here by nobody: a folder that was moved is found so."""
import ast
import os
import sys
import types

ROOT = sys.argv[1]
PACKAGES = {"numpy", "torch", "triton", "lit", "tvm_ffi", "setuptools", "pandas", "matplotlib", "mpmath", "pytest"}  # lit's configurations are run by lit
GENERATED = {"tilec.triton.language._table", "tilec._tilec"}  # by CMake, in the build folder
wrong = []


def scripts():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ("build", "corpus", "frontend") and not name.startswith(".")]
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def folders_added(path, tree):
    """The folders that a file puts on sys.path; None if only a run could tell."""
    fake = types.SimpleNamespace(path=[os.path.dirname(path)])
    names = {"os": os, "sys": fake, "__file__": path}
    for statement in ast.walk(tree):
        text = ast.unparse(statement) if isinstance(statement, (ast.Assign, ast.Expr, ast.For)) else ""
        if not ("sys.path" in text or (isinstance(statement, ast.Assign) and "os.path" in text and statement in tree.body)):
            continue
        try:
            exec(compile(ast.Module([statement], []), path, "exec"), names)
        except Exception:
            if "sys.path" in text:
                return None
    return fake.path


def modules(tree):
    """(line, name) of what is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module


def found(name, folders):
    parts = name.split(".")
    folders = [*folders, os.path.join(ROOT, "python")]
    return any(os.path.exists(os.path.join(folder, *parts) + ".py") or os.path.isdir(os.path.join(folder, *parts)) for folder in folders)


trees, added = {}, {}
for path in scripts():
    with open(path, encoding="utf-8") as file:
        trees[path] = ast.parse(file.read(), path)
    added.setdefault(os.path.dirname(path), []).append(folders_added(path, trees[path]))

checked = 0
for path, tree in trees.items():
    folder = os.path.dirname(path)
    sets = added[folder] + added.get(os.path.dirname(folder), [])  # who imports this file has changed sys.path before
    if None in sets:
        continue
    folders = {os.path.normpath(each) for several in sets for each in several}
    wrong.extend(f"{os.path.relpath(path, ROOT)}: no folder {each}" for each in folders if not os.path.isdir(each))
    for line, name in modules(tree):
        checked += 1
        if name.split(".")[0] not in sys.stdlib_module_names | PACKAGES and name not in GENERATED and not found(name, folders):
            wrong.append(f"{os.path.relpath(path, ROOT)}:{line}: no module {name}")
if checked < 400:
    wrong.append(f"only {checked} imports seen")
print("\n".join(sorted(set(wrong))))
sys.exit(bool(wrong))
