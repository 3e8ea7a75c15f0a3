"""Written labs in Python: their calls are held against the contracts in C++, for which staff and students wrote.

`reference/include/warpgrade/<lab>.h` has the names; `student/<lab>/<lab>.py` is what `labs pages` made from lab.yaml.
"""

from __future__ import annotations

import ast
import re

import pytest
import yaml
from conftest import ROOT

HEADERS = ROOT / "reference/include/warpgrade"
LABS = ["spmm", "histogram", "apsp", "gcn"]
CALL = re.compile(r"^cudaError_t (\w+)\(([^;]*)\);", re.MULTILINE)
STRUCTURES = {"spmm": ("csr.h", "CsrMatrix", "a"), "gcn": ("gcn.h", "GcnGraph", "graph")}


def header(name: str) -> str:
    """A contract without its comments."""
    return re.sub(r"//.*", "", (HEADERS / name).read_text(encoding="utf-8"))


def names_of(arguments: str) -> list[str]:
    """`const float* b, SpmmPlan* plan`: b, plan. The plan that is made is what a function of Python's returns."""
    made = [each for each in arguments.split(",") if "**" not in each]
    return [re.findall(r"\w+", each)[-1] for each in made]


@pytest.mark.parametrize("lab", LABS)
def test_a_stub_has_the_functions_and_arguments_of_the_contract_in_cpp(lab: str) -> None:
    """The names and their order; `free` has the plan alone in both."""
    wanted = {call.removeprefix(f"{lab}_"): names_of(arguments) for call, arguments in CALL.findall(header(f"{lab}.h"))}
    module = ast.parse((ROOT / "student" / lab / f"{lab}.py").read_text(encoding="utf-8"))
    functions = {each.name: each for each in module.body if isinstance(each, ast.FunctionDef)}
    found = {name: [a.arg for a in f.args.args] for name, f in functions.items() if not f.decorator_list}
    assert found.pop("free") == ["plan"]
    assert found == wanted
    assert list(found) == list(wanted)  # a run's number names one of several


@pytest.mark.parametrize("lab", sorted(STRUCTURES))
def test_a_structure_has_the_fields_that_it_has_in_cpp(lab: str) -> None:
    """`a.rows` is `a.rows`."""
    file, structure, name = STRUCTURES[lab]
    body = re.search(rf"struct {structure} {{([^}}]*)}}", header(file))
    assert body is not None
    fields = re.findall(r"(\w+);", body[1])
    declared = yaml.safe_load((ROOT / "reference" / lab / "lab.yaml").read_text(encoding="utf-8"))["python"]
    assert declared["structures"][name] == fields
