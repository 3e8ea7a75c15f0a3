#include "judge/declaration/python_contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/files.h"
#include "base/yaml_place.h"
#include "judge/declaration/contract_text.h"

namespace warpgrade::declaration {
namespace {

using Kind = CallArgument::Kind;

constexpr const char* kStructure = "structure";
constexpr const char* kUnfilledPython = "raise NotImplementedError";
constexpr const char* kUnfilledCuda = "return cudaErrorNotSupported;";

// As NumPy and torch spell it: "float32".
std::string python_type(Scalar type) {
  switch (type) {
    case Scalar::kFp16:
      return "float16";
    case Scalar::kBf16:
      return "bfloat16";
    case Scalar::kFp32:
      return "float32";
    case Scalar::kFp64:
      return "float64";
    default:
      return facts(type).name;
  }
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kArray:
      return "array";
    case Kind::kParameter:
      return "parameter";
    case Kind::kScalar:
      return "scalar";
    case Kind::kPlan:
      return "plan";
    case Kind::kStream:
      return "stream";
  }
  return "";
}

// The plan that is made is what plan() returns.
std::vector<PythonArgument> python_arguments(const std::vector<CallArgument>& arguments) {
  std::vector<PythonArgument> list;
  for (const CallArgument& argument : arguments)
    list.push_back({argument.name, kind_name(argument.kind), argument.name});
  return list;
}

nlohmann::json arguments_json(const std::vector<PythonArgument>& arguments) {
  nlohmann::json list = nlohmann::json::array();
  for (const PythonArgument& argument : arguments) {
    list.push_back({{"name", argument.name}, {"kind", argument.kind}});
    if (argument.of != argument.name) list.back()["of"] = argument.of;
    if (argument.kind == kStructure) list.back()["fields"] = arguments_json(argument.fields);
  }
  return list;
}

nlohmann::json numbers_json(const std::vector<NumberDeclaration>& numbers) {
  nlohmann::json list = nlohmann::json::array();
  for (const NumberDeclaration& number : numbers)
    list.push_back({{"name", number.name}, {"type", python_type(number.type)}});
  return list;
}

// "in" is a word of Python's: "in_".
std::string python_name(const std::string& name) {
  constexpr std::array<std::string_view, 35> kWords{
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::find(kWords.begin(), kWords.end(), name) == kWords.end() ? name : name + "_";
}

std::string definition(const PythonFunction& function) {
  std::string list;
  for (const PythonArgument& argument : function.arguments)
    list += (list.empty() ? "" : ", ") + python_name(argument.name);
  return fmt::format("def {}({}):\n", function.name, list);
}

// A structure's fields in its place: `a.rows`.
std::vector<CallArgument> leaves(const std::vector<PythonArgument>& arguments,
                                 const std::string& before = "") {
  std::vector<CallArgument> found;
  for (const PythonArgument& argument : arguments) {
    if (argument.kind != kStructure) {
      found.push_back({"", before + argument.name, Kind::kArray, argument.of});
      continue;
    }
    for (CallArgument& field : leaves(argument.fields, argument.name + "."))
      found.push_back(std::move(field));
  }
  return found;
}

// ---- what a written lab's file says ----

class WrittenContract {
 public:
  WrittenContract(const YamlPlace& root, const std::string& name) : python_(root["python"]) {
    python_.only({"parameters", "arrays", "structures", "plan", "functions"});
    contract_.lab = read_written_call(python_, name, root["summary"].text());
  }

  PythonContract read() {
    if (python_["structures"].defined())
      for (const auto& [name, place] : python_["structures"].entries())
        structures_[name] = read_arguments(place);
    contract_.has_plan = true;
    contract_.plan = {"plan", read_arguments(python_["plan"])};
    for (const auto& [name, place] : python_["functions"].entries())
      contract_.functions.push_back({name, read_arguments(place)});
    return std::move(contract_);
  }

 private:
  // [a, k, {y: out}, plan, stream]: `y` is the array that the lab calls `out`.
  std::vector<PythonArgument> read_arguments(const YamlPlace& place) const {
    std::vector<PythonArgument> list;
    for (const YamlPlace& item : place.items("a list of names")) {
      if (!item.is_map()) {
        list.push_back(argument(item, item.text(), item.text()));
        continue;
      }
      for (const auto& [name, of] : item.entries()) list.push_back(argument(of, name, of.text()));
    }
    return list;
  }

  PythonArgument argument(const YamlPlace& place, const std::string& name, const std::string& of) const {
    if (of == "plan" || of == "stream") return {name, of, of};
    if (const auto found = structures_.find(of); found != structures_.end())
      return {name, kStructure, of, found->second};
    if (contract_.lab.array(of) != nullptr) return {name, kind_name(Kind::kArray), of};
    for (const NumberDeclaration& number : contract_.lab.parameters)
      if (number.name == of) return {name, kind_name(Kind::kParameter), of};
    place.refuse(of + " is no array, parameter or structure of this lab");
  }

  YamlPlace python_;
  PythonContract contract_;
  std::map<std::string, std::vector<PythonArgument>> structures_;
};

}  // namespace

PythonContract python_contract(const LabDeclaration& lab) {
  PythonContract contract;
  contract.lab = lab;
  contract.has_plan = !lab.plan_type.empty();
  std::vector<CallArgument> plan = plan_arguments(lab);
  std::erase_if(plan, [](const CallArgument& argument) { return argument.kind == Kind::kPlan; });
  contract.plan = {"plan", python_arguments(plan)};
  contract.functions = {{"run", python_arguments(lab.call)}};
  return contract;
}

PythonContract read_python_contract(const YamlPlace& root, const std::string& lab) {
  return WrittenContract(root, lab).read();
}

std::optional<PythonContract> find_python_contract(const std::string& lab) {
  if (const auto declared = find_declaration(lab)) {
    if (!why_no_python(*declared).empty()) return std::nullopt;
    return python_contract(*declared);
  }
  const std::filesystem::path file = declaration_file(lab);
  if (!std::filesystem::is_regular_file(file)) return std::nullopt;
  const YamlPlace root = YamlPlace::parse(read_text(file), file.string());
  if (!root["python"].defined()) return std::nullopt;
  return read_python_contract(root, lab);
}

std::string why_no_python(const LabDeclaration& lab) {
  for (const ArrayDeclaration& array : lab.arrays)
    if (array.type.is_structure)
      return fmt::format("its array {} holds structures ({}), which Triton does not know", array.name,
                         array.type.name);
  return "";
}

nlohmann::json python_call(const PythonContract& contract) {
  const LabDeclaration& lab = contract.lab;
  nlohmann::json arrays = nlohmann::json::object(), functions = nlohmann::json::object();
  for (const ArrayDeclaration& array : lab.arrays) {
    nlohmann::json shape = nlohmann::json::array();
    for (const Expression& extent : array.shape) shape.push_back(extent.text());
    arrays[array.name] = {{"buffer", array.buffer.empty() ? array.name : array.buffer},
                          {"dtype", python_type(array.type.fields.front().type)},
                          {"shape", shape}};
  }
  nlohmann::json names = nlohmann::json::array();
  functions["plan"] = arguments_json(contract.plan.arguments);
  for (const PythonFunction& function : contract.functions) {
    names.push_back(function.name);
    functions[function.name] = arguments_json(function.arguments);
  }
  return {{"lab", lab.name},
          {"arrays", arrays},
          {"parameters", numbers_json(lab.parameters)},
          {"scalars", numbers_json(lab.scalars)},
          {"runs", names},
          {"functions", functions}};
}

std::map<std::string, std::uint32_t> element_bytes(const PythonContract& contract) {
  std::map<std::string, std::uint32_t> bytes;
  for (const ArrayDeclaration& array : contract.lab.arrays)
    bytes[array.buffer.empty() ? array.name : array.buffer] = static_cast<std::uint32_t>(array.type.bytes);
  return bytes;
}

std::string python_stub(const PythonContract& contract) {
  const LabDeclaration& lab = contract.lab;
  std::string text = fmt::format(
      "# Lab {0}: {1}. Yours to fill, in Python with Triton.\n#\n"
      "# Hand in this file or {0}.cu, not both. As it stands it says that it is not written yet:\n"
      "# `make test` then skips the lab instead of failing it. student/python.md explains what is here.\n#\n"
      "# Try it:  make test LAB={0}\n"
      "import triton\nimport triton.language as tl\n\n\n"
      "@triton.jit\ndef your_kernel(n, BLOCK: tl.constexpr):\n"
      "    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
      "    mask = index < n  # the last program may have more elements than there are\n",
      lab.name, in_comment(lab.summary));
  if (contract.has_plan)
    text +=
        "\n\n# Prepare: make what run() needs, and return it. Leave plan and free out when you need "
        "nothing.\n"
        "# `import warpgrade` gives device memory: warpgrade.empty(shape, \"float32\").\n" +
        definition(contract.plan) + "    return None\n";
  for (const PythonFunction& function : contract.functions)
    text += "\n\n# Called many times, each time with other inputs. This is what is timed.\n" +
            argument_lines(lab, leaves(function.arguments), "#") +
            "# Launch kernels here: kernel[grid](...). They run on `stream`, in order.\n" +
            definition(function) +
            "    raise NotImplementedError  # take this line out when you have written it\n";
  if (contract.has_plan)
    text += "\n\n# Release what plan() made. Device memory goes back by itself.\ndef free(plan):\n    pass\n";
  return text;
}

bool is_unfilled_python(const std::string& text, const PythonContract& contract) {
  std::size_t found = 0;
  for (std::size_t at = text.find(kUnfilledPython); at != std::string::npos;
       at = text.find(kUnfilledPython, at + 1))
    ++found;
  return found >= contract.functions.size();
}
bool is_unfilled_cuda(const std::string& text) {
  return text.find(kUnfilledCuda) != std::string::npos;
}

}  // namespace warpgrade::declaration
