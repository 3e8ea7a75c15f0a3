"""Writes the CUDA programs of the differential suite: generate.py FOLDER, or generate.py --list for their names."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from instructions import GROUPS
from kernel import Kernel
from random_programs import random_groups

C_TYPES = {
    "u16": "unsigned short",
    "f16": "unsigned short",
    "bf16": "unsigned short",
    "u32": "unsigned int",
    "f32": "unsigned int",
    "turn": "unsigned int",
    "u64": "unsigned long long",
    "f64": "unsigned long long",
}


def kernel_text(kernel: Kernel) -> str:
    """The kernel's CUDA source: a, b, c are loaded, the body sets d."""
    lines = [f"__global__ void k_{kernel.name}(const uint64_t* in, uint64_t* out, uint64_t* scratch) {{"]
    lines.append("  const unsigned t = threadIdx.x;")
    for index, (variable, kind) in enumerate(zip("abc", kernel.inputs, strict=False)):
        lines.append(f"  const {C_TYPES[kind]} {variable} = ({C_TYPES[kind]})in[{index} * 256 + t];")
    lines.append(f"  {C_TYPES[kernel.output]} d = 0;")
    lines.append("  " + kernel.body.replace("\n", "\n  "))
    lines.append("  out[t] = d;\n}")
    return "\n".join(lines)


def program_text(kernels: list[Kernel]) -> str:
    """One program with its table of cases."""
    texts = [kernel_text(kernel) for kernel in kernels]
    rows = []
    for kernel, text in zip(kernels, texts, strict=True):
        digest = hashlib.sha256((text + " ".join(kernel.inputs)).encode()).hexdigest()[:12]
        kinds = ", ".join(f"Kind::{kind}" for kind in (*kernel.inputs, "u32", "u32", "u32")[:3])
        rows.append(f'    {{"{kernel.name}", "{kernel.compare}", "{digest}", k_{kernel.name}, {{{kinds}}}}},')
    return "\n\n".join(
        [
            '#include "harness.h"\n\nusing differential::Kind;',
            *texts,
            "constexpr differential::Case kCases[] = {\n" + "\n".join(rows) + "\n};",
            "int main(int argc, char** argv) { return differential::run_all(kCases, argc, argv); }\n",
        ]
    )


def main() -> None:
    groups = {**GROUPS, **random_groups()}
    names = [kernel.name for kernels in groups.values() for kernel in kernels]
    if len(names) != len(set(names)):
        raise SystemExit(f"kernels named twice: {sorted({n for n in names if names.count(n) > 1})}")
    if sys.argv[1:] == ["--list"]:
        print(";".join(groups), end="")
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, kernels in groups.items():
        (folder / f"{name}.cu").write_text(program_text(kernels))
    print(f"{len(names)} kernels in {len(groups)} programs")


if __name__ == "__main__":
    main()
