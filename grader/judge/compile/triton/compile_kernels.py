"""In the compile box: imports a submission in Python, records its launches, and has Triton compile them.

    compile_kernels.py JOB.json FOLDER

The job names folders and files as they are seen in the box. A dry run calls plan() and run() once for each case, with
arrays that have an address and no memory. Each launch becomes a key (warpgrade/_specialise.py) and each key a kernel.
What comes out lies in the folder: kernels.json, 0.fatbin, 1.fatbin and so on.

Exit codes: 0, and 1 where the submission does not compile; then standard error says why, as a compiler does:
`vector_add.py:12: error: ...`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

JOB = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
SOURCE, BUILD = Path(JOB["source"]), Path(sys.argv[2])
# Triton's default of 3.9, said aloud: it warns where nobody says it.
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
os.environ["TRITON_CACHE_DIR"] = str(BUILD / "triton")  # empty
sys.path[:0] = [JOB["packages"], JOB["host"]]

import triton  # noqa: E402
from triton._C.libtriton import ir  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from triton.compiler.compiler import make_backend  # noqa: E402
from triton.compiler.errors import CompilationError  # noqa: E402
from triton.runtime.autotuner import Autotuner  # noqa: E402
from triton.runtime.jit import JITFunction  # noqa: E402
from warpgrade._contract import Contract  # noqa: E402
from warpgrade._specialise import Argument, Signature, grid_of, key_of  # noqa: E402
from warpgrade._tensor import use_memory  # noqa: E402

FIRST_ADDRESS, ROOM = 1 << 40, 1 << 36  # of the arrays that have no memory
MOST_KERNELS = 512
DIVISIBLE = [["tt.divisibility", 16]]


class CannotCompileError(Exception):
    """What is wrong, in a line: `vector_add.py:12: error: ...`."""


def shown(file: str) -> str | None:
    """The student's name of one of his files; none of other files."""
    path = Path(file)
    return str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else None


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())


def problem_of(error: BaseException) -> str:
    """Where in the student's files an exception came from, and what it says."""
    if isinstance(error, SyntaxError) and error.filename and shown(error.filename):
        return f"{shown(error.filename)}:{error.lineno}: error: {error.msg}"
    places = [f for f in traceback.extract_tb(error.__traceback__) if shown(f.filename)]
    words = one_line(f"{type(error).__name__}: {error}")
    if not places:
        return f"error: {words}"
    return f"{shown(places[-1].filename)}:{places[-1].lineno}: error: {words}"


@dataclass
class Launch:
    """A launch that was recorded, to be compiled."""

    function: JITFunction[Any]
    arguments: list[Argument]
    values: list[Any]
    options: dict[str, Any]
    is_public: bool = False  # a case that students may know needs it
    is_choice: bool = False  # one of several configurations: another may be taken


@dataclass
class Recorder:
    """Takes the launches of a dry run."""

    launches: dict[str, Launch] = field(default_factory=dict)
    signatures: dict[int, Signature] = field(default_factory=dict)
    is_public: bool = True
    is_choice: bool = False

    def record(self, function: JITFunction[Any], args: tuple[Any, ...], grid: object, kwargs: dict[str, Any]) -> None:
        """In the place of JITFunction.run."""
        kwargs.pop("warmup", None)
        if id(function) not in self.signatures:
            self.signatures[id(function)] = Signature(
                function.fn, function.do_not_specialize, function.do_not_specialize_on_alignment
            )
        signature = self.signatures[id(function)]
        values, options = signature.bind(args, kwargs)
        arguments = signature.arguments(values)
        grid_of(grid, signature.names, values)
        key = key_of(function.fn, arguments, options)
        known = self.launches.setdefault(key, Launch(function, arguments, values, options, is_choice=self.is_choice))
        known.is_public |= self.is_public
        known.is_choice &= self.is_choice
        if len(self.launches) > MOST_KERNELS:
            raise CannotCompileError(f"error: more than {MOST_KERNELS} different launches: use fewer constants")

    def record_all(self, tuner: Autotuner, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """In the place of Autotuner.run: every configuration."""
        before = self.is_choice
        self.is_choice = len(tuner.configs) > 1
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        try:
            for config in tuner.prune_configs(kwargs):
                tuner.fn.run(*args, **{**kwargs, **config.all_kwargs()})
        finally:
            self.is_choice = before


class NoMemory:
    """Addresses of arrays that are never touched."""

    def __init__(self) -> None:
        self.next = FIRST_ADDRESS

    def allocate(self, size: int) -> int:
        """Another address, as aligned as the runtime's are."""
        address = self.next
        self.next += max(ROOM, size + 4096 & ~4095)
        return address

    def release(self, address: int) -> None:
        """Nothing is held."""

    def clear(self, address: int, size: int) -> None:
        """Nothing is there."""


@contextlib.contextmanager
def in_silence() -> Iterator[None]:
    """What a dry run prints could tell of cases that nobody is to know."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def dry_run(module: ModuleType, contract: Contract, memory: NoMemory, values: dict[str, int | float]) -> None:
    """What the judge calls for one case. An exception of its own the submission raises again when it is judged."""
    addresses = {each["buffer"]: memory.allocate(1) for each in contract.description["arrays"].values()}
    scalars = {each["name"]: 0.5 if "float" in each["type"] else 3 for each in contract.description["scalars"]}
    plan = None
    if hasattr(module, "plan"):
        plan = module.plan(*contract.arguments("plan", values, addresses.__getitem__, None, 0))
    run = contract.run_of(int(values.get("function", 0)))
    getattr(module, run)(*contract.arguments(run, values | scalars, addresses.__getitem__, plan, 0))
    if hasattr(module, "free"):
        module.free(plan)


def record_cases(module: ModuleType, contract: Contract, recorder: Recorder) -> None:
    """A dry run for each case."""
    memory = NoMemory()
    use_memory(memory)
    for case in JOB["cases"]:
        recorder.is_public = case["public"]
        with in_silence():
            try:
                dry_run(module, contract, memory, case["values"])
            except CannotCompileError:
                raise
            except BaseException:  # noqa: S112  # it happens again when the case is judged, and is told then
                continue


def with_true_lines(ptx: str) -> str:
    """LLVM counts the lines of assembly within a statement as lines of the source: all are the statement's."""
    kept, inside, lines = [], False, 0
    for line in ptx.split("\n"):
        text = line.strip()
        if text == "// begin inline asm":
            inside, lines = True, 0
        elif text == "// end inline asm":
            inside = False
        elif inside and text.startswith(".loc"):
            lines += 1
            if lines > 1:
                continue
        kept.append(line)
    return "\n".join(kept)


def called(function: Callable[..., object], *arguments: object) -> None:
    """Call a function of Triton's, which has fewer parameters in older versions."""
    function(*arguments[: len(inspect.signature(function).parameters)])


class Builder:
    """Triton's stages, one after the other, without its cache and its driver."""

    def __init__(self) -> None:
        self.target = GPUTarget("cuda", int(JOB["architecture"]), 32)
        self.backend = make_backend(self.target)

    def build(self, launch: Launch) -> tuple[bytes, dict[str, Any]]:
        """The code, PTX or a cubin, and what Triton says of it."""
        signature = {
            name: argument.type for name, argument in zip(launch.function.arg_names, launch.arguments, strict=True)
        }
        constants = {
            (k,): launch.values[k] for k, argument in enumerate(launch.arguments) if argument.type == "constexpr"
        }
        attributes = {
            (k,): DIVISIBLE
            for k, argument in enumerate(launch.arguments)
            if argument.type != "constexpr" and argument.hint == "D"
        }
        source = ASTSource(launch.function, signature, constants, attributes)
        options = self.backend.parse_options(dict(launch.options, **source.parse_options()))
        unknown = set(launch.options) - set(options.__dict__)
        if unknown:
            raise KeyError(f"Keyword argument {min(unknown)} was specified but unrecognised")
        context = ir.context()
        ir.load_dialects(context)
        self.backend.load_dialects(context)
        stages: dict[str, Callable[[Any, dict[str, Any]], Any]] = {}
        called(self.backend.add_stages, stages, options, source.language)
        facts: dict[str, Any] = {"hash": "", "target": self.target, **options.__dict__}
        helpers = (options, self.backend.get_codegen_implementation(options), self.backend.get_module_map(), context)
        takes_target = "target" in inspect.signature(source.make_ir).parameters  # not yet before 3.4
        code: Any = source.make_ir(*((self.target, *helpers) if takes_target else helpers))
        for name, stage in stages.items():
            code = stage(code, facts)
            if name == JOB["code"]:
                break
        return code if isinstance(code, bytes) else with_true_lines(code).encode(), facts


def innermost(error: BaseException) -> BaseException:
    """A mistake in a function that a kernel calls stands behind the kernel's own."""
    while isinstance(error.__cause__, CompilationError):
        error = error.__cause__
    return error


def place_of(function: JITFunction[Any], line: int) -> str:
    """A line of a kernel, counted from its `def`, as a line of the student's file."""
    file = function.fn.__code__.co_filename
    source, first = inspect.getsourcelines(function.fn)
    before = next(k for k, text in enumerate(source) if text.lstrip().startswith("def "))
    return f"{shown(file) or 'a library'}:{first + before + line - 1}"


def kernel_problem(error: BaseException, launch: Launch, functions: list[JITFunction[Any]]) -> str:
    """Triton's words, with the student's line."""
    error = innermost(error)
    if isinstance(error, CompilationError) and hasattr(error.node, "lineno"):
        owner = next((f for f in functions if f.src == error.src), launch.function)
        words = error.error_message or type(error.__cause__ or error).__name__
        if error.__cause__ is not None and not error.error_message:
            words = f"{type(error.__cause__).__name__}: {error.__cause__}"
        return f"{place_of(owner, error.node.lineno)}: error: {one_line(str(words))}"
    function = launch.function
    words = one_line(f"{type(error).__name__}: {error}")
    return f"{place_of(function, 1)}: error: in the kernel {function.__name__}: {words}"


def packed(number: int, code: bytes) -> str:
    """The code as a fat binary, which the CUDA runtime takes; its file's name."""
    kind = {"ptx": "ptx", "cubin": "elf"}[JOB["code"]]
    raw, name = BUILD / f"{number}.{kind}", f"{number}.fatbin"
    raw.write_bytes(code)
    subprocess.run(  # noqa: S603  # the toolkit's, with names of our own
        [
            JOB["fatbinary"],
            "-64",
            "--compress=false",
            f"--create={BUILD / name}",
            f"--image3=kind={kind},sm={JOB['architecture']},file={raw}",
        ],
        check=True,
    )
    raw.unlink()
    return name


def described(key: str, launch: Launch, file: str, facts: dict[str, Any]) -> dict[str, Any]:
    """What the run box needs to launch it."""
    if facts.get("tensordesc_meta"):
        raise ValueError("tensor descriptors of the host are not supported: make them in the kernel")
    if facts.get("profile_scratch_size", 0) or facts.get("tmem_size", 0):
        raise ValueError("it needs memory of a kind that the judge does not provide")
    return {
        "key": key,
        "function": launch.function.__name__,
        "name": facts["name"],
        "file": file,
        "warps": facts["num_warps"],
        "ctas": facts["num_ctas"],
        "shared": facts["shared"],
        "scratch": facts.get("global_scratch_size", 0),
        "hidden": 1 + ("profile_scratch_size" in facts),  # parameters that Triton adds, for scratch memory
        "cooperative": bool(facts.get("launch_cooperative_grid")),
        "programmatic": bool(facts.get("launch_pdl")),
    }


def compile_all(recorder: Recorder) -> dict[str, Any]:
    """A kernel for each launch. What a public case needs has to compile."""
    builder = Builder()
    functions = list(vars(triton.runtime.jit).get("_triton_jit_function_registry", {}).values())
    kernels: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for key, launch in recorder.launches.items():
        try:
            code, facts = builder.build(launch)
            kernels.append(described(key, launch, packed(len(kernels), code), facts))
        except Exception as error:
            problem = kernel_problem(error, launch, functions)
            if launch.is_public and not launch.is_choice:
                raise CannotCompileError(problem) from error
            failed.append({"key": key, "message": problem})
    if failed and not kernels:
        raise CannotCompileError(failed[0]["message"])
    return {"kernels": kernels, "failed": failed}


def imported(contract: Contract) -> ModuleType:
    """The student's module."""
    sys.path.insert(0, str(SOURCE / JOB["folder"]))
    try:
        return importlib.import_module(contract.lab)
    except BaseException as error:  # SystemExit, too, is the submission's
        raise CannotCompileError(problem_of(error)) from error


def check_call(module: ModuleType, contract: Contract, call: str) -> None:
    """The function that the judge calls has the contract's parameters, whatever their names."""
    function = getattr(module, call)
    names = [each["name"] for each in contract.description["functions"][call]]
    try:
        signature = inspect.signature(function)
        signature.bind(*names)
    except (TypeError, ValueError) as error:
        code = getattr(inspect.unwrap(function), "__code__", None)
        place = (
            f"{shown(code.co_filename) or contract.lab + '.py'}:{code.co_firstlineno}"
            if code
            else contract.lab + ".py:1"
        )
        wanted = f"{call}({', '.join(names)})"
        raise CannotCompileError(f"{place}: error: the judge calls {wanted}, and {one_line(str(error))}") from error


def main() -> int:
    """Compile the job's submission."""
    contract = Contract(JOB["lab"])
    recorder = Recorder()
    JITFunction.run = lambda function, *args, grid, **kwargs: recorder.record(function, args, grid, kwargs)
    Autotuner.run = lambda tuner, *args, **kwargs: recorder.record_all(tuner, args, kwargs)
    try:
        module = imported(contract)
        for call in contract.functions:
            if hasattr(module, call):
                check_call(module, contract, call)
            elif call != "plan":
                raise CannotCompileError(f"{shown(str(module.__file__))}:1: error: there is no function {call}")
        record_cases(module, contract, recorder)
        made = compile_all(recorder)
    except CannotCompileError as error:
        print(error, file=sys.stderr)
        return 1
    made |= {"schema": "warpgrade.kernels.v1", "triton": triton.__version__}
    (BUILD / "kernels.json").write_text(json.dumps(made), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
