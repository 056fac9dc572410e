"""Wheels of what CMake installs as component `python`.

TILEC_BUILD names a build folder in which `tilec_python` is built; without it CMake builds one. The platform of a wheel is that
of the newest version of glibc's symbols that the two libraries ask for: manylinux_2_28_x86_64."""
import glob
import os
import re
import subprocess

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(tilec VERSION ([0-9.]+)", file.read()).group(1)


class Build(build_py):
    def run(self):
        build = os.environ.get("TILEC_BUILD")
        if not build:
            build = os.path.abspath(os.path.join(self.build_lib, "..", "cmake"))
            subprocess.check_call(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DTILEC_TESTS=OFF", "-DTILEC_PYTHON=on",
                                   "-DCMAKE_BUILD_TYPE=Release"])
            subprocess.check_call(["cmake", "--build", build, "--target", "tilec_python"])
        subprocess.check_call(["cmake", "--install", os.path.join(ROOT, build), "--strip", "--component", "python", "--prefix",
                               os.path.abspath(self.build_lib)])


class Binary(Distribution):
    def has_ext_modules(self):
        return True

    def has_pure_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        """Behind the build: of what lies in its folder."""
        newest = 17
        for path in glob.glob(os.path.join(self.bdist_dir, "tilec", "*.so*")):
            with open(path, "rb") as file:
                newest = max([newest, *(int(minor) for minor in re.findall(rb"\0GLIBC_2\.([0-9]+)\b", file.read()))])
        return "cp310", "abi3", f"manylinux_2_{newest}_{os.uname().machine}"


setup(version=version(), distclass=Binary, cmdclass={"build_py": Build, "bdist_wheel": Wheel})
