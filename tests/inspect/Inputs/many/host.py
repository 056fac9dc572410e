"""Host code without kernels."""
import os

print(os.name)
