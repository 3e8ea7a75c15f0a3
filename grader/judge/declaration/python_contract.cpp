#include "judge/declaration/python_contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "judge/declaration/contract_text.h"

namespace warpgrade::declaration {
namespace {

using Kind = CallArgument::Kind;

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
std::vector<CallArgument> python_plan_arguments(const LabDeclaration& lab) {
  std::vector<CallArgument> arguments = plan_arguments(lab);
  std::erase_if(arguments, [](const CallArgument& argument) { return argument.kind == Kind::kPlan; });
  return arguments;
}

nlohmann::json call_json(const std::vector<CallArgument>& arguments) {
  nlohmann::json list = nlohmann::json::array();
  for (const CallArgument& argument : arguments)
    list.push_back({{"name", argument.name}, {"kind", kind_name(argument.kind)}});
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

std::string definition(const std::string& function, std::vector<CallArgument>& arguments) {
  std::string list;
  for (CallArgument& argument : arguments) {
    argument.name = python_name(argument.name);
    list += (list.empty() ? "" : ", ") + argument.name;
  }
  return fmt::format("def {}({}):\n", function, list);
}

}  // namespace

std::string why_no_python(const LabDeclaration& lab) {
  for (const ArrayDeclaration& array : lab.arrays)
    if (array.type.is_structure)
      return fmt::format("its array {} holds structures ({}), which Triton does not know", array.name,
                         array.type.name);
  return "";
}

nlohmann::json python_call(const LabDeclaration& lab) {
  nlohmann::json arrays = nlohmann::json::object();
  for (const ArrayDeclaration& array : lab.arrays) {
    nlohmann::json shape = nlohmann::json::array();
    for (const Expression& extent : array.shape) shape.push_back(extent.text());
    arrays[array.name] = {{"dtype", python_type(array.type.fields.front().type)}, {"shape", shape}};
  }
  return {{"lab", lab.name},
          {"has_plan", !lab.plan_type.empty()},
          {"arrays", arrays},
          {"parameters", numbers_json(lab.parameters)},
          {"scalars", numbers_json(lab.scalars)},
          {"run", call_json(lab.call)},
          {"plan", call_json(python_plan_arguments(lab))}};
}

std::string python_stub(const LabDeclaration& lab) {
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
  std::vector<CallArgument> run = lab.call;
  if (!lab.plan_type.empty()) {
    std::vector<CallArgument> plan = python_plan_arguments(lab);
    std::string declared = definition("plan", plan);
    text +=
        "\n\n# Prepare: make what run() needs, and return it. Leave plan and free out when you need "
        "nothing.\n"
        "# `import warpgrade` gives device memory: warpgrade.empty(shape, \"float32\").\n" +
        declared + "    return None\n";
  }
  const std::string lines = argument_lines(lab, lab.call, "#");
  const std::string declared = definition("run", run);
  text += "\n\n# Called many times, each time with other inputs. This is what is timed.\n" + lines +
          "# Launch kernels here: kernel[grid](...). They run on `stream`, in order.\n" + declared +
          "    raise NotImplementedError  # take this line out when you have written it\n";
  if (!lab.plan_type.empty())
    text += "\n\n# Release what plan() made. Device memory goes back by itself.\ndef free(plan):\n    pass\n";
  return text;
}

bool is_unfilled_python(const std::string& text) {
  return text.find(kUnfilledPython) != std::string::npos;
}
bool is_unfilled_cuda(const std::string& text) {
  return text.find(kUnfilledCuda) != std::string::npos;
}

}  // namespace warpgrade::declaration
