"""A wheel named `triton`, of the version whose language and host code tilec speaks, that needs the tilec of its own version."""
import os
import re

from setuptools import setup

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def first(path, pattern):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return re.search(pattern, file.read()).group(1)


setup(version=first("python/tilec/triton/version.py", r'__version__ = "([^"]+)"'),
      install_requires=["tilec==" + first("CMakeLists.txt", r"project\(tilec VERSION ([0-9.]+)")])
