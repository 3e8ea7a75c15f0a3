#include "judge/declaration/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/page_part.h"
#include "base/text.h"
#include "judge/declaration/contract_text.h"

namespace warpgrade::declaration {
namespace {

using Kind = CallArgument::Kind;

constexpr PagePart kCasesPart{"## Cases", "<!-- cases: made from lab.yaml by `warpgrade labs pages` -->",
                              "<!-- end of cases -->"};

std::string shape_text(const ArrayDeclaration& array) {
  std::string text;
  for (const Expression& extent : array.shape) text += (text.empty() ? "" : ", ") + extent.text();
  return "[" + text + "]";
}

const char* state_text(const ArrayDeclaration& array) {
  if (array.role == Role::kInput) return "device, read-only";
  if (array.role == Role::kInPlace) return "device, worked on in place";
  return "device: holds garbage on entry, so write every element";
}

bool given_to_plan(const LabDeclaration& lab, const CallArgument& argument) {
  if (argument.kind == Kind::kParameter || argument.kind == Kind::kStream) return true;
  const ArrayDeclaration* array = lab.array(argument.name);
  return array != nullptr && array->seen_by_plan;
}

bool in_call(const LabDeclaration& lab, const std::string& name) {
  return std::any_of(lab.call.begin(), lab.call.end(),
                     [&](const CallArgument& argument) { return argument.name == name; });
}

}  // namespace

std::string in_comment(const std::string& text) {
  const std::string line = plain_line(text, 1000);
  return line.ends_with('\\') || line.ends_with("?\?/") ? line + " ." : line;
}

std::vector<CallArgument> plan_arguments(const LabDeclaration& lab) {
  std::vector<CallArgument> arguments;
  for (const ArrayDeclaration& array : lab.arrays) {
    if (array.seen_by_plan && !in_call(lab, array.name))
      arguments.push_back({"const " + array.type.c_type() + "*", array.name, Kind::kArray});
  }
  for (const CallArgument& argument : lab.call) {
    if (argument.kind == Kind::kStream) arguments.push_back({lab.plan_type + "**", "plan", Kind::kPlan});
    if (given_to_plan(lab, argument)) arguments.push_back(argument);
  }
  return arguments;
}

std::string argument_lines(const LabDeclaration& lab, const std::vector<CallArgument>& arguments,
                           const std::string& mark) {
  std::size_t widest = 0;
  for (const CallArgument& argument : arguments) widest = std::max(widest, argument.name.size());
  std::string text;
  const auto add = [&](const std::string& name, const std::string& what, const std::string& about) {
    text += fmt::format("{}   {:<{}}  {}{}\n", mark, name, widest, what,
                        about.empty() ? "" : ": " + in_comment(about));
  };
  for (const CallArgument& argument : arguments) {
    const std::string& meant = argument.of.empty() ? argument.name : argument.of;
    if (const ArrayDeclaration* array = lab.array(meant)) {
      add(argument.name, fmt::format("{} {}, {}", shape_text(*array), array->type.name, state_text(*array)),
          array->about);
      continue;
    }
    for (const auto& [numbers, what] : {std::pair{&lab.parameters, "the same in all runs"},
                                        std::pair{&lab.scalars, "another one in each run"}}) {
      for (const NumberDeclaration& number : *numbers)
        if (number.name == meant)
          add(argument.name, fmt::format("{}, {}", facts(number.type).name, what), number.about);
    }
  }
  return text;
}

namespace {

// A declaration, broken into lines of 110 columns.
std::string function_text(const std::string& head, const std::vector<CallArgument>& arguments) {
  std::string text = head + "(", line = text;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument =
        arguments[i].type + " " + arguments[i].name + (i + 1 < arguments.size() ? "," : ")");
    if (i > 0 && line.size() + 1 + argument.size() > 105) {
      line = std::string(head.size() + 1, ' ');
      text += "\n" + line;
    } else if (i > 0) {
      text += " ";
      line += " ";
    }
    text += argument;
    line += argument;
  }
  return text;
}

std::string run_text(const LabDeclaration& lab) {
  return function_text(fmt::format("cudaError_t {}_run", lab.name), lab.call);
}
std::string plan_text(const LabDeclaration& lab) {
  return function_text(fmt::format("cudaError_t {}_plan", lab.name), plan_arguments(lab));
}
std::string free_text(const LabDeclaration& lab) {
  return fmt::format("void {}_free({}* plan)", lab.name, lab.plan_type);
}

bool uses(const LabDeclaration& lab, Scalar type) {
  const auto holds = [&](const ElementType& element) {
    return std::any_of(element.fields.begin(), element.fields.end(),
                       [&](const Field& field) { return field.type == type; });
  };
  return std::any_of(lab.arrays.begin(), lab.arrays.end(),
                     [&](const ArrayDeclaration& array) { return holds(array.type); }) ||
         std::any_of(lab.scalars.begin(), lab.scalars.end(),
                     [&](const NumberDeclaration& number) { return number.type == type; }) ||
         std::any_of(lab.parameters.begin(), lab.parameters.end(),
                     [&](const NumberDeclaration& number) { return number.type == type; });
}

std::string includes(const LabDeclaration& lab) {
  std::string text;
  if (uses(lab, Scalar::kBf16)) text += "#include <cuda_bf16.h>\n";
  if (uses(lab, Scalar::kFp16)) text += "#include <cuda_fp16.h>\n";
  return text + "#include <cuda_runtime.h>\n\n#include <cstddef>\n#include <cstdint>\n";
}

std::string structures(const LabDeclaration& lab) {
  std::string text;
  for (const ElementType& structure : lab.structures) {
    text += fmt::format("\nstruct {} {{\n", structure.name);
    for (const Field& field : structure.fields)
      text += fmt::format("  {} {};\n", facts(field.type).c_type, field.name);
    text += fmt::format("}};\nstatic_assert(sizeof({}) == {}, \"{} is laid out as the judge does\");\n",
                        structure.name, structure.bytes, structure.name);
  }
  return text;
}

// ---- the runner's part ----

// A declaration's number from a command's argument: whole, or the bits of a double.
std::string number_from(const NumberDeclaration& number, std::size_t place, const CallArgument& argument) {
  if (facts(number.type).is_float)
    return fmt::format("number_from_bits<{}>(command.arguments[{}])", argument.type, place);
  return fmt::format("static_cast<{}>(command.arguments[{}])", argument.type, place);
}

std::size_t place_of(const std::vector<NumberDeclaration>& numbers, const std::string& name) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i].name == name) return i;
  return numbers.size();
}

const CallArgument* argument_named(const LabDeclaration& lab, const std::string& name) {
  for (const CallArgument& argument : lab.call)
    if (argument.name == name) return &argument;
  return nullptr;
}

std::string passed(const LabDeclaration& lab, const CallArgument& argument) {
  switch (argument.kind) {
    case Kind::kArray:
      return fmt::format("static_cast<{}>(buffers.at(\"{}\"))", argument.type, argument.name);
    case Kind::kScalar: {
      const std::size_t place = place_of(lab.scalars, argument.name);
      return number_from(lab.scalars[place], place, argument);
    }
    case Kind::kParameter:
      return "values_." + argument.name;
    case Kind::kPlan:
      return "plan_";
    case Kind::kStream:
      return "stream";
  }
  return "";
}

std::string call_text(const LabDeclaration& lab, const std::string& function,
                      const std::vector<CallArgument>& arguments) {
  std::string text;
  for (const CallArgument& argument : arguments) {
    const bool out = argument.kind == Kind::kPlan && argument.type.ends_with("**");
    text += (text.empty() ? "" : ",\n        ") + (out ? "&plan_" : passed(lab, argument));
  }
  return fmt::format("    return ::{}(\n        {});\n", function, text);
}

// What a student has to expect besides the cases.
std::string hard_inputs_text(const LabDeclaration& lab) {
  if (lab.hard.empty()) return "";
  std::string text = "\nSome runs of every case have other inputs than the table says:\n\n";
  for (const HardInputs& hard : lab.hard) text += fmt::format("- `{}`: {}\n", hard.id, hard.why);
  return text;
}

}  // namespace

std::string contract_header(const LabDeclaration& lab) {
  std::string text =
      fmt::format("// The contract of the lab `{}`: {}.\n//\n", lab.name, in_comment(lab.summary));
  const std::string name = lab.name;
  if (!lab.plan_type.empty()) {
    text += fmt::format(
        "// A submission defines the three functions below. The judge calls them in one process and on one "
        "stream:\n"
        "// {0}_plan, then {0}_run many times with other inputs, then {0}_free; and that more than once. An\n"
        "// unwritten function returns cudaErrorNotSupported.\n",
        name);
  } else {
    text += fmt::format(
        "// A submission defines the function below. The judge calls it many times, each time with other "
        "inputs. An\n"
        "// unwritten function returns cudaErrorNotSupported.\n");
  }
  text += "// Made from lab.yaml.\n#pragma once\n\n" + includes(lab) + structures(lab);
  if (!lab.plan_type.empty()) {
    text += fmt::format("\nstruct {};  // yours: whatever {}_plan made\n\n", lab.plan_type, name);
    text += fmt::format(
        "// Prepare. It sees no input{} of the runs.\n",
        plan_arguments(lab).size() > lab.parameters.size() + 2 ? " but the arrays named here" : "");
    text += argument_lines(lab, plan_arguments(lab));
    text += "//   *plan: what the other functions will be given, or nullptr\n";
    text += plan_text(lab) + ";\n";
  }
  text += "\n// What is judged and timed. Launch on `stream`, and return cudaGetLastError().\n";
  text += argument_lines(lab, lab.call) + run_text(lab) + ";\n";
  if (!lab.plan_type.empty())
    text += fmt::format("\n// Release what {}_plan made; plan may be nullptr.\n{};\n", name, free_text(lab));
  return text;
}

std::string runner_source(const LabDeclaration& lab) {
  std::string values, read;
  for (std::size_t i = 0; i < lab.parameters.size(); ++i) {
    const CallArgument* argument = argument_named(lab, lab.parameters[i].name);
    values += fmt::format("    {} {}{{}};\n", argument->type, argument->name);
    read +=
        fmt::format("    values_.{} = {};\n", argument->name, number_from(lab.parameters[i], i, *argument));
  }
  const bool has_plan = !lab.plan_type.empty();
  std::string text = fmt::format(
      "// Calls the submission's functions on the judge's buffers. Made from reference/{0}/lab.yaml.\n"
      "#include \"warpgrade/{0}.h\"\n\n#include <cstring>\n\n#include \"runner_lab.h\"\n\n"
      "namespace warpgrade::runner {{\nnamespace {{\n\n"
      "template <typename Number>\n[[maybe_unused]] Number number_from_bits(std::int64_t bits) {{\n"
      "  double number;\n  std::memcpy(&number, &bits, sizeof number);\n  return "
      "static_cast<Number>(number);\n}}\n\n"
      "class DeclaredRunner : public LabRunner {{\n public:\n"
      "  cudaError_t plan([[maybe_unused]] const protocol::Command& command, [[maybe_unused]] const Buffers& "
      "buffers,\n"
      "                   [[maybe_unused]] cudaStream_t stream) override {{\n{1}",
      lab.name, read);
  if (has_plan)
    text += "    plan_ = nullptr;\n" + call_text(lab, lab.name + "_plan", plan_arguments(lab));
  else
    text += "    return cudaSuccess;\n";
  text +=
      "  }\n\n  cudaError_t run([[maybe_unused]] const protocol::Command& command, const Buffers& buffers,\n"
      "                  cudaStream_t stream) override {\n" +
      call_text(lab, lab.name + "_run", lab.call) + "  }\n\n  void free() override {\n";
  if (has_plan) text += fmt::format("    ::{}_free(plan_);\n    plan_ = nullptr;\n", lab.name);
  text += "  }\n\n private:\n  struct Values {\n" + values + "  } values_;\n";
  if (has_plan) text += fmt::format("  ::{}* plan_ = nullptr;\n", lab.plan_type);
  return text +
         "};\n\n}  // namespace\n\nstd::unique_ptr<LabRunner> make_lab_runner() {\n"
         "  return std::make_unique<DeclaredRunner>();\n}\n\n}  // namespace warpgrade::runner\n";
}

std::string student_stub(const LabDeclaration& lab) {
  const auto body = [](const std::vector<CallArgument>& arguments, bool is_plan) {
    std::string text;
    for (const CallArgument& argument : arguments)
      if (!is_plan || argument.kind != Kind::kPlan)
        text += fmt::format("{}(void){}", text.empty() ? "  " : ", ", argument.name);
    text += ";\n";
    if (is_plan) text += "  *plan = nullptr;\n";
    return text + fmt::format("  return cudaErrorNotSupported;{}\n",
                              is_plan ? "  // becomes cudaSuccess when you have written it" : "");
  };
  std::string text = fmt::format(
      "// Lab {0}: {1}. Yours to fill.\n//\n"
      "// `make contract LAB={0}` prints the contract in full. As they stand the functions compile, and\n"
      "// say that they are not written yet: `make test` then skips the lab instead of failing it.\n//\n"
      "// Try it:  make test LAB={0}\n#include \"warpgrade/{0}.h\"\n",
      lab.name, in_comment(lab.summary));
  if (!lab.plan_type.empty()) {
    text += fmt::format(
        "\n// What you want to keep between {0}_plan and {0}_run. Leave it empty when you need nothing.\n"
        "struct {1} {{}};\n\n// Prepare.\n{2} {{\n{3}}}\n",
        lab.name, lab.plan_type, plan_text(lab), body(plan_arguments(lab), true));
  }
  text += "\n// Called many times, each time with other inputs. This is what is timed.\n" +
          argument_lines(lab, lab.call) +
          "// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.\n" +
          run_text(lab) + " {\n" + body(lab.call, false) + "}\n";
  if (!lab.plan_type.empty())
    text += fmt::format("\n// Release what {}_plan made. plan may be nullptr.\n{} {{\n  delete plan;\n}}\n",
                        lab.name, free_text(lab));
  return text;
}

namespace {

std::string case_table(const LabDeclaration& lab) {
  std::string head = "| case |", rule = "|---|", rows;
  for (const NumberDeclaration& parameter : lab.parameters) {
    head += fmt::format(" {} |", parameter.name);
    rule += "---:|";
  }
  for (const Case& c : lab.cases) {
    if (c.set == "hidden") continue;
    rows += fmt::format("| `{}` |", c.id);
    for (const NumberDeclaration& parameter : lab.parameters) {
      const Value& value = c.parameters.at(parameter.name);
      rows += value.is_whole ? fmt::format(" {} |", value.whole) : fmt::format(" {} |", value.real);
    }
    rows += fmt::format(" {} | {} |\n", c.kind == "speed" ? "correctness and speed" : "correctness", c.why);
  }
  return fmt::format("{} judged | what it is for |\n{}---|---|\n{}{}", head, rule, rows,
                     hard_inputs_text(lab));
}

}  // namespace

std::string with_case_table(const std::string& page, const LabDeclaration& lab) {
  return with_part(page, kCasesPart, case_table(lab));
}

}  // namespace warpgrade::declaration
