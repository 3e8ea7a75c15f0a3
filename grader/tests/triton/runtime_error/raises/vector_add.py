def run(a, b, n, c, stream):
    raise ValueError(f"no idea what to do with {a.shape}")
