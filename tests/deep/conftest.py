"""Tests run two at a time on two cores: each has one thread, or they wait for each other."""

import torch

torch.set_num_threads(1)
