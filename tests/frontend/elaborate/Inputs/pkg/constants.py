import os

OFFSET = 40 + 2
DEBUG = os.environ.get("DEBUG")


def host_only():
    return torch.zeros(1)
