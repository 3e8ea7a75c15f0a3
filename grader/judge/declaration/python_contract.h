// The contract of a lab for submissions in Python: the call as data, and the student's stub. A declared lab's
// follows from its declaration; a written lab's stands under `python` in its lab.yaml (reference/README.md).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/declaration/lab_declaration.h"

namespace warpgrade::declaration {

struct PythonArgument {
  std::string name;
  std::string kind;                         // as in lab.json: "array", "structure", ...
  std::string of;                           // the array or parameter that it is
  std::vector<PythonArgument> fields = {};  // of a structure
};

struct PythonFunction {
  std::string name;
  std::vector<PythonArgument> arguments;
};

struct PythonContract {
  LabDeclaration lab;     // of a written lab name, summary, parameters and arrays alone
  bool has_plan = false;  // whether run is given what plan returns; a module may define plan in any case
  PythonFunction plan;
  // What is timed: run; where there are several, a run's first number chooses.
  std::vector<PythonFunction> functions;
};

PythonContract python_contract(const LabDeclaration& lab);
// Of a written lab, from the root of its file. Throws UsageError naming file, line, key and what was expected.
PythonContract read_python_contract(const YamlPlace& root, const std::string& lab);
// The contract of any lab; nothing where it takes no Python.
std::optional<PythonContract> find_python_contract(const std::string& lab);

// Why a declared lab takes no Python; empty: it does. Arrays of structures mean nothing to Triton.
std::string why_no_python(const LabDeclaration& lab);

// lab.json (judge/runner/triton/warpgrade/_contract.py): what the functions are called with.
nlohmann::json python_call(const PythonContract& contract);
// Of an array's elements, by the name of the judge's buffer.
std::map<std::string, std::uint32_t> element_bytes(const PythonContract& contract);

// student/<lab>/<lab>.py: can be judged, and says that it is not written yet.
std::string python_stub(const PythonContract& contract);

// Whether a source in Python, or one in CUDA, is a stub that nobody has filled: no function of several.
bool is_unfilled_python(const std::string& text, const PythonContract& contract);
bool is_unfilled_cuda(const std::string& text);

}  // namespace warpgrade::declaration
