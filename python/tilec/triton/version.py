"""The version of Triton whose language and host code this package speaks: what environments check for."""
__version__ = "3.6.0"
