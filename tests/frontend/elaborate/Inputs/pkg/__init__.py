import torch
from .constants import *
