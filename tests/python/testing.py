"""What tests of the package share: it is imported from the build folder, and its devices are fakes or the simulator's."""
import os
import subprocess
import sys
import tempfile


def run(*words, env=None, cwd=None):
    """A Python of its own in an empty folder; what it printed, both streams, and its status."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, *words], env=os.environ | (env or {}), cwd=cwd or folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout, done.returncode
