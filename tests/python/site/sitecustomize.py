"""Processes that Triton's tests start have tilec for triton, too, as tilec.pth does where the package is installed."""
import os

if os.environ.get("TILEC_TRITON"):
    __import__("tilec").install()
