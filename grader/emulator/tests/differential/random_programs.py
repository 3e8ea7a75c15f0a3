"""Seeded random kernels: integers and floats, branches, loops, shuffles of whole warps, shared memory with barriers."""

from __future__ import annotations

import random

from kernel import Kernel

INTEGER = (
    "{x} + {y}",
    "{x} - {y}",
    "{x} * {y}",
    "{x} ^ {y}",
    "{x} & {y}",
    "{x} | ~{y}",
    "{x} << ({y} & 31)",
    "{x} >> ({y} & 31)",
    "__umulhi({x}, {y})",
    "{x} / ({y} | 1)",
    "__popc({x}) + {y}",
    "min({x}, {y})",
)
FLOAT = ("{x} + {y}", "{x} - {y}", "{x} * {y}", "fmaf({x}, {y}, 0.5f)", "fminf({x}, {y})", "{x} / (fabsf({y}) + 1.0f)")


class Writer:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []

    def operation(self, indent: str) -> None:
        name = self.draw.choice("xyz") if self.draw.random() < 0.6 else self.draw.choice("fg")
        table, operands = (INTEGER, "xyz") if name in "xyz" else (FLOAT, "fg")
        expression = self.draw.choice(table).format(x=self.draw.choice(operands), y=self.draw.choice(operands))
        self.lines.append(f"{indent}{name} = {expression};")

    def operations(self, indent: str) -> None:
        for _ in range(self.draw.randint(2, 5)):
            self.operation(indent)

    def statement(self) -> None:
        """Only branches diverge; shuffles and barriers stand where all lanes come by."""
        kind = self.draw.choice(("plain", "branch", "loop", "shuffle", "shared", "convert"))
        if kind == "plain":
            self.operations("")
        elif kind == "branch":
            self.lines.append(f"if ({self.draw.choice('xyz')} & {1 << self.draw.randint(0, 7)}) {{")
            self.operations("  ")
            self.lines.append("} else {")
            self.operations("  ")
            self.lines.append("}")
        elif kind == "loop":
            self.lines.append(f"for (unsigned i = 0, n = {self.draw.choice('xyz')} & 7; i < n; ++i) {{")
            self.operations("  ")
            self.lines.append("}")
        elif kind == "shuffle":
            name = self.draw.choice("xyzfg")
            self.lines.append(f"{name} = __shfl_xor_sync(~0u, {name}, {self.draw.randint(1, 31)});")
        elif kind == "shared":
            self.lines += ["__syncthreads();", "s[t] = x;", "__syncthreads();"]
            self.lines.append(f"y ^= s[(t * {self.draw.choice((3, 5, 7))} + {self.draw.randint(0, 255)}) & 255];")
        else:
            self.lines.append("z += (unsigned)__float2int_rz(fminf(fmaxf(g, -1e9f), 1e9f));")

    def kernel(self, seed: int) -> Kernel:
        self.lines = ["__shared__ unsigned s[256];", "unsigned x = a, y = b, z = c ^ t;"]
        self.lines += ["float f = (int)a * 1e-3f, g = (int)b * 1e-6f + 1.0f;"]
        for _ in range(14):
            self.statement()
        # A NaN's payload is the compiler's choice of operand order: only its being one is compared.
        self.lines.append("if (isnan(f)) f = 1.0f;\nif (isnan(g)) g = 2.0f;")
        self.lines.append(
            "d = ((unsigned long long)(x ^ y * 3 ^ z * 5) << 32) | (__float_as_uint(f) ^ __float_as_uint(g) * 3);"
        )
        return Kernel(f"random_{seed:03}", ("u32", "u32", "u32"), "u64", "\n".join(self.lines))


def random_groups() -> dict[str, list[Kernel]]:
    kernels = [Writer(seed).kernel(seed) for seed in range(60)]
    return {"random_programs": kernels}
