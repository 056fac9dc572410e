"""`import triton` in kernels.py means tilec, whatever else is installed: the one line that switches a project."""
import tilec

tilec.install()
