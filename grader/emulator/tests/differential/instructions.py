"""The tables of instruction forms, grouped as programs."""

from __future__ import annotations

from kernel import Kernel, asm

ROUNDINGS = ("rn", "rz", "rm", "rp")


def integer() -> list[Kernel]:
    kernels = []
    for kind in ("u16", "u32", "u64"):
        for sign in "us":
            ty = sign + kind[1:]
            two, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
            kernels += [asm(f"{op}.{ty}", two, kind) for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max")]
            kernels += [asm(f"{op}.{ty}", three, kind) for op in ("mad.lo", "mad.hi", "sad")]
            kernels += [asm(f"shr.{ty}", f"{kind} u32", kind)]
        signed = "s" + kind[1:]
        kernels += [asm(f"{op}.{signed}", kind, kind) for op in ("abs", "neg")]
    for ty, kind, wide in (("u16", "u16", "u32"), ("s16", "u16", "u32"), ("u32", "u32", "u64"), ("s32", "u32", "u64")):
        kernels += [asm(f"mul.wide.{ty}", f"{kind} {kind}", wide), asm(f"mad.wide.{ty}", f"{kind} {kind} {wide}", wide)]
    for ty in ("u32", "s32"):
        kernels += [asm(f"mul24.lo.{ty}", "u32 u32", "u32"), asm(f"mul24.hi.{ty}", "u32 u32", "u32")]
    kernels += [asm("add.sat.s32", "u32 u32", "u32"), asm("sub.sat.s32", "u32 u32", "u32")]
    return kernels


def bits() -> list[Kernel]:
    kernels = []
    for kind in ("b16", "b32", "b64"):
        u = "u" + kind[1:]
        kernels += [asm(f"{op}.{kind}", f"{u} {u}", u) for op in ("and", "or", "xor")]
        kernels += [asm(f"not.{kind}", u, u), asm(f"cnot.{kind}", u, u), asm(f"shl.{kind}", f"{u} u32", u)]
    for n in ("32", "64"):
        kernels += [asm(f"{op}.b{n}", f"u{n}", "u32") for op in ("popc", "clz")]
        kernels += [asm(f"brev.b{n}", f"u{n}", f"u{n}")]
        for sign in "us":
            kernels += [asm(f"bfe.{sign}{n}", f"u{n} u32 u32", f"u{n}")]
            kernels += [asm(f"bfind.{sign}{n}", f"u{n}", "u32"), asm(f"bfind.shiftamt.{sign}{n}", f"u{n}", "u32")]
        text = f'asm volatile("bfi.b{n} %0, %1, %2, %3, 11;" : "={"r" if n == "32" else "l"}"(d) : '
        c = "r" if n == "32" else "l"
        kernels += [Kernel(f"bfi_b{n}", (f"u{n}", f"u{n}", "u32"), f"u{n}", text + f'"{c}"(a), "{c}"(b), "r"(c));')]
    kernels += [
        asm(f"prmt.b32{m}", "u32 u32 u32", "u32") for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")
    ]
    kernels += [asm(f"shf.{d}.{m}.b32", "u32 u32 u32", "u32") for d in "lr" for m in ("clamp", "wrap")]
    kernels += [asm("lop3.b32", "u32 u32 u32", "u32", hex(table)) for table in (0x00, 0x1B, 0x80, 0x96, 0xE8, 0xFE)]
    kernels += [asm(f"dp4a.{x}.{y}", "u32 u32 u32", "u32") for x in ("u32", "s32") for y in ("u32", "s32")]
    for x in ("u32", "s32"):
        kernels += [asm(f"dp2a.{half}.{x}.{y}", "u32 u32 u32", "u32") for half in ("lo", "hi") for y in ("u32", "s32")]
    kernels += [asm("fns.b32", "u32 u32 u32", "u32")]
    kernels += [asm(f"bmsk.{m}.b32", "u32 u32", "u32") for m in ("clamp", "wrap")]
    return kernels


def floating(kind: str) -> list[Kernel]:
    kernels = []
    two, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
    endings = [kind] if kind == "f64" else ["f32", "ftz.f32", "sat.f32", "ftz.sat.f32"]
    for ending in endings:
        for rounding in ROUNDINGS:
            kernels += [asm(f"{op}.{rounding}.{ending}", two, kind) for op in ("add", "sub", "mul")]
            kernels += [asm(f"fma.{rounding}.{ending}", three, kind)]
            if "sat" not in ending:
                kernels += [asm(f"div.{rounding}.{ending}", two, kind)]
                kernels += [asm(f"{op}.{rounding}.{ending}", kind, kind) for op in ("rcp", "sqrt")]
    for op in ("min", "max"):
        suffixes = ("",) if kind == "f64" else ("", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs")
        kernels += [asm(f"{op}{suffix}.{kind}", two, kind) for suffix in suffixes]
    kernels += [asm(f"{op}.{kind}", kind, kind) for op in ("abs", "neg")]
    relations = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    kernels += [asm(f"set.{relation}.u32.{kind}", two, "u32") for relation in relations]
    kernels += [asm(f"copysign.{kind}", two, kind)]
    return kernels


def packed(kind: str, register: str) -> list[Kernel]:
    three = f"{register} {register} {register}"
    two = f"{register} {register}"
    kernels = [asm(f"fma.rn.{kind}", three, register), asm(f"fma.rn.relu.{kind}", three, register)]
    for op in ("min", "max"):
        suffixes = ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs")
        kernels += [asm(f"{op}{suffix}.{kind}", two, register) for suffix in suffixes]
    kernels += [asm(f"{op}.{kind}", register, register) for op in ("abs", "neg")]
    if kind.startswith("f16"):
        for suffix in ("", ".rn", ".ftz", ".sat", ".ftz.sat"):
            kernels += [asm(f"{op}{suffix}.{kind}", two, register) for op in ("add", "sub", "mul")]
        kernels += [asm(f"fma.rn{suffix}.{kind}", three, register) for suffix in (".ftz", ".sat", ".ftz.sat")]
    return kernels


def half() -> list[Kernel]:
    return packed("f16", "f16") + packed("f16x2", "u32") + packed("bf16", "bf16") + packed("bf16x2", "u32")


REGISTER = {"8": "u32", "16": "u16", "32": "u32", "64": "u64"}


def float_to_integer() -> list[Kernel]:
    kernels = []
    for source in ("f16", "f32", "f64"):
        for bits_ in ("8", "16", "32", "64"):
            for sign in "us":
                for rounding in ("rni", "rzi", "rmi", "rpi"):
                    kernels.append(asm(f"cvt.{rounding}.{sign}{bits_}.{source}", source, REGISTER[bits_]))
    for sign in "us":
        kernels += [asm(f"cvt.{r}.ftz.{sign}32.f32", "f32", "u32") for r in ("rni", "rzi", "rmi", "rpi")]
        kernels += [asm(f"cvt.rni.sat.{sign}{b}.f32", "f32", REGISTER[b]) for b in ("8", "16", "32")]
    return kernels


def other_conversions() -> list[Kernel]:
    kernels = []
    for target in ("f16", "f32", "f64"):
        for bits_ in ("16", "32", "64"):
            for sign in "us":
                kernels += [asm(f"cvt.{r}.{target}.{sign}{bits_}", f"u{bits_}", target) for r in ROUNDINGS]
    for rounding in ROUNDINGS:
        for pair in ("f32.f64", "ftz.f32.f64", "sat.f32.f64", "f16.f64"):
            kernels.append(asm(f"cvt.{rounding}.{pair}", "f64", "f16" if "f16" in pair else "f32"))
    for rounding in ("rn", "rz"):
        kernels += [asm(f"cvt.{rounding}{m}.bf16.f32", "f32", "bf16") for m in ("", ".relu")]
        kernels += [
            asm(f"cvt.{rounding}{m}.{ty}.f32", "f32 f32", "u32") for ty in ("f16x2", "bf16x2") for m in ("", ".relu")
        ]
        kernels += [asm(f"cvt.{rounding}.f16.f32", "f32", "f16")]
    kernels += [asm("cvt.f64.f32", "f32", "f64"), asm("cvt.f32.f16", "f16", "f32"), asm("cvt.f64.f16", "f16", "f64")]
    kernels += [asm("cvt.rna.tf32.f32", "f32", "u32")]
    kernels += [asm(f"cvt.{r}.{ty}.{ty}", ty, ty) for r in ("rni", "rzi", "rmi", "rpi") for ty in ("f32", "f64")]
    for to in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
        kernels += [asm(f"cvt.sat.{to}.s64", "u64", REGISTER[to[1:]])] if to != "s64" else []
    return kernels


def approximate() -> list[Kernel]:
    """Bounds of the PTX ISA, as relative:absolute powers of two."""
    kernels = []
    for ftz in ("", ".ftz"):
        kernels += [asm(f"rcp.approx{ftz}.f32", "f32", "f32", compare="f32:-23:-149")]
        kernels += [asm(f"sqrt.approx{ftz}.f32", "f32", "f32", compare="f32:-22:-149")]
        kernels += [asm(f"rsqrt.approx{ftz}.f32", "f32", "f32", compare="f32:-22:-149")]
        kernels += [asm(f"ex2.approx{ftz}.f32", "f32", "f32", compare="f32:-22:-149")]
        kernels += [asm(f"lg2.approx{ftz}.f32", "f32", "f32", compare="f32:-22:-22")]
        kernels += [asm(f"{op}.approx{ftz}.f32", "turn", "f32", compare="f32:-24:-20.5") for op in ("sin", "cos")]
        kernels += [asm(f"div.full{ftz}.f32", "f32 f32", "f32", compare="f32:-22:-148")]
    kernels += [asm("tanh.approx.f32", "f32", "f32", compare="f32:-10.98:-149")]
    return kernels


def simd() -> list[Kernel]:
    names = ["vabs2", "vabs4", "vneg2", "vneg4", "vabsss2", "vabsss4", "vnegss2", "vnegss4"]
    kernels = [Kernel(n, ("u32",), "u32", f"d = __{n}(a);") for n in names]
    pairs = [
        f"{op}{n}"
        for n in "24"
        for op in ["vadd", "vaddss", "vaddus", "vsub", "vsubss", "vsubus", "vavgu", "vavgs", "vhaddu", "vabsdiffs"]
    ]
    pairs += [f"{op}{n}" for n in "24" for op in ["vabsdiffu", "vmaxs", "vmaxu", "vmins", "vminu", "vsads", "vsadu"]]
    pairs += [
        f"{op}{n}"
        for n in "24"
        for op in ["vcmpeq", "vcmpges", "vcmpgeu", "vcmpgts", "vcmpgtu", "vcmpne", "vseteq", "vsetlts"]
    ]
    kernels += [Kernel(n, ("u32", "u32"), "u32", f"d = __{n}(a, b);") for n in pairs]
    triples = [
        f"{op}_{ty}{r}"
        for op in ("viaddmax", "viaddmin", "vimax3", "vimin3")
        for ty in ("s32", "u32", "s16x2", "u16x2")
        for r in ("", "_relu")
        if not (r and ty[0] == "u")
    ]
    return kernels + [Kernel(n, ("u32", "u32", "u32"), "u32", f"d = __{n}(a, b, c);") for n in triples]


def warp() -> list[Kernel]:
    kernels = []
    for mode, offset, clamp in (("up", 3, 0), ("down", 5, 31), ("bfly", 9, 31), ("idx", 7, 31), ("bfly", 2, 0x1C03)):
        body = f'asm volatile("shfl.sync.{mode}.b32 %0, %1, {offset}, {clamp}, -1;" : "=r"(d) : "r"(a));'
        kernels.append(Kernel(f"shfl_{mode}_{offset}_{clamp:x}", ("u32",), "u32", body))
    for mode in ("all", "any", "uni"):
        ptx = f"{{ .reg .pred p; setp.lt.s32 p, %1, 0; vote.sync.{mode}.pred p, p, -1; selp.u32 %0, 1, 0, p; }}"
        body = f'asm volatile("{ptx}" : "=r"(d) : "r"(a));'
        kernels.append(Kernel(f"vote_{mode}", ("u32",), "u32", body))
    kernels += [
        Kernel("vote_ballot", ("u32",), "u32", "d = __ballot_sync(~0u, a & 1);"),
        Kernel("match_any_b32", ("u32",), "u32", "d = __match_any_sync(~0u, a & 3);"),
        Kernel("match_any_b64", ("u64",), "u32", "d = __match_any_sync(~0u, a & (3ull << 40));"),
        Kernel("match_all_b32", ("u32",), "u32", "int all; d = __match_all_sync(~0u, t / 48, &all); d ^= all;"),
        Kernel("activemask_branch", ("u32",), "u32", "if (t & 4) d = __activemask() & 0x10101010u;"),
        Kernel("barrier_count", ("u32",), "u32", "d = __syncthreads_count(a & 1);"),
        Kernel("barrier_and", ("u32",), "u32", "d = __syncthreads_and(a & 1);"),
        Kernel("barrier_or", ("u32",), "u32", "d = __syncthreads_or(a & 1);"),
    ]
    for op, ty in [(o, y) for o in ("add", "min", "max") for y in ("u32", "s32")] + [
        (o, "b32") for o in ("and", "or", "xor")
    ]:
        body = f'asm volatile("redux.sync.{op}.{ty} %0, %1, -1;" : "=r"(d) : "r"(a));'
        kernels.append(Kernel(f"redux_{op}_{ty}", ("u32",), "u32", body))
    return kernels


def atomics() -> list[Kernel]:
    """32 threads meet in each word; what stands there does not depend on their order."""
    kernels = []
    ops = [(o, y) for o in ("min", "max") for y in ("u32", "s32", "u64", "s64")]
    ops += [(o, y) for o in ("and", "or", "xor") for y in ("b32", "b64")]
    ops += [("add", y) for y in ("u32", "s32", "u64")] + [(o, "u32") for o in ("inc", "dec")]
    for op, ty in ops:
        kind = "u" + ty[1:]
        operand = "%1" if op not in ("inc", "dec") else "20"
        c = "l" if kind == "u64" else "r"
        for scope in ("", ".cta", ".gpu", ".sys"):
            body = (
                f'asm volatile("red{".relaxed" if scope else ""}{scope}.global.{op}.{ty} [%0], {operand};" : : '
                f'"l"(scratch + t % 8), "{c}"(a) : "memory");\n__syncthreads();\nd = scratch[t % 8];'
            )
            kernels.append(Kernel(f"red_{op}_{ty}{scope.replace('.', '_')}", (kind,), kind, body))
    return kernels


def memory() -> list[Kernel]:
    kernels = []
    for op in ("ca", "cg", "cs", "lu", "cv"):
        body = f'asm volatile("ld.global.{op}.u64 %0, [%1];" : "=l"(d) : "l"(in + (t * 37 & 255)));'
        kernels.append(Kernel(f"ld_global_{op}", ("u64",), "u64", body))
    for ty in ("u8", "s8", "u16", "s16", "u32"):
        body = f'asm volatile("ld.global.{ty} %0, [%1];" : "=r"(d) : "l"((const char*)in + t * 4));'
        kernels.append(Kernel(f"ld_global_{ty}", ("u64",), "u32", body))
    for op in ("wb", "cg", "cs", "wt"):
        body = f'asm volatile("st.global.{op}.u64 [%0], %1;" : : "l"(scratch + t), "l"(a) : "memory");\nd = scratch[t];'
        kernels.append(Kernel(f"st_global_{op}", ("u64",), "u64", body))
    kernels += [
        Kernel(
            "shared_rotation",
            ("u32",),
            "u32",
            "__shared__ unsigned s[256];\ns[t] = a;\n__syncthreads();\nd = s[(t + 77) & 255];",
        ),
        Kernel(
            "local_array",
            ("u32", "u32"),
            "u32",
            "unsigned l[16];\nfor (int i = 0; i < 16; ++i) l[(i + b) & 15] = a * i;\nd = l[t & 15];",
        ),
        Kernel(
            "vector_uint4",
            ("u64",),
            "u32",
            "const uint4 v = ((const uint4*)in)[t & 127];\nd = v.x ^ v.y * 3 ^ v.z * 5 ^ v.w * 7;",
        ),
    ]
    return kernels


GROUPS = {
    "integer": integer(),
    "bits": bits(),
    "float32": floating("f32"),
    "float64": floating("f64"),
    "half": half(),
    "float_to_integer": float_to_integer(),
    "other_conversions": other_conversions(),
    "approximate": approximate(),
    "simd": simd(),
    "warp": warp(),
    "atomics": atomics(),
    "memory": memory(),
}
