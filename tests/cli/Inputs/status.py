"""Runs a command and says whether it ends with the status that is expected; its output goes to standard output.

status.py STATUS COMMAND..."""
import subprocess
import sys

expected = int(sys.argv[1])
process = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
sys.stdout.buffer.write(process.stdout)
if process.returncode != expected:
    print(f"status.py: exit status {process.returncode}, wanted {expected}")
    sys.exit(1)
