import torch


def run(a, b, n, c, stream):
    torch.add(a, b, out=c)
