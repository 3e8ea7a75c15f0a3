// The program around a lab's oracle.cpp: what it defines, and the call of it.
#include <fmt/format.h>

#include "judge/declaration/contract.h"

namespace warpgrade::declaration {
namespace {

using Kind = CallArgument::Kind;

// One argument of the oracle: how it is declared, and how the program takes it from a request.
struct OracleArgument {
  std::string declared, taken;
};

OracleArgument input_argument(const ArrayDeclaration& array) {
  const Scalar type = array.type.fields.front().type;
  if (type == Scalar::kFp16)
    return {"const float* " + array.name, fmt::format("request.half_input(\"{}\")", array.name)};
  if (type == Scalar::kBf16)
    return {"const float* " + array.name, fmt::format("request.bfloat_input(\"{}\")", array.name)};
  const std::string number = facts(type).c_type;
  return {fmt::format("const {}* {}", number, array.name),
          fmt::format("request.input<{}>(\"{}\")", number, array.name)};
}

// Whole numbers in their own type, all others as double.
OracleArgument output_argument(const ArrayDeclaration& array) {
  const Scalar type = array.type.fields.front().type;
  const std::string number = facts(type).is_float ? "double" : facts(type).c_type;
  const std::string name = array.role == Role::kInPlace ? array.name + "_after" : array.name;
  return {fmt::format("{}* {}", number, name),
          fmt::format("request.output<{}>(\"{}\")", number, array.name + "/out")};
}

OracleArgument number_argument(const NumberDeclaration& number) {
  const std::string type = facts(number.type).is_float ? "double" : facts(number.type).c_type;
  return {fmt::format("{} {}", type, number.name),
          fmt::format("request.number<{}>(\"{}\")", type, number.name)};
}

std::vector<OracleArgument> oracle_arguments(const LabDeclaration& lab) {
  std::vector<OracleArgument> arguments;
  const auto in_call = [&](const std::string& name) {
    for (const CallArgument& argument : lab.call)
      if (argument.name == name) return true;
    return false;
  };
  for (const ArrayDeclaration& array : lab.arrays)
    if (!in_call(array.name)) arguments.push_back(input_argument(array));  // the plan's alone
  for (const CallArgument& argument : lab.call) {
    if (const ArrayDeclaration* array = lab.array(argument.name)) {
      if (array->role != Role::kOutput) arguments.push_back(input_argument(*array));
      if (array->role != Role::kInput) arguments.push_back(output_argument(*array));
    }
    for (const auto* numbers : {&lab.parameters, &lab.scalars})
      for (const NumberDeclaration& number : *numbers)
        if (number.name == argument.name) arguments.push_back(number_argument(number));
  }
  for (const ArrayDeclaration* output : lab.outputs())
    if (lab.checks.at(output->name).kind == CheckKind::kBound)
      arguments.push_back({fmt::format("double* {}_magnitude", output->name),
                           fmt::format("request.output<double>(\"{}_magnitude/out\")", output->name)});
  return arguments;
}

}  // namespace

std::string oracle_declaration(const LabDeclaration& lab) {
  std::string list;
  for (const OracleArgument& argument : oracle_arguments(lab))
    list += (list.empty() ? "" : ", ") + argument.declared;
  return fmt::format("void {}({});", lab.name, list);
}

std::string oracle_program(const LabDeclaration& lab) {
  std::string list;
  for (const OracleArgument& argument : oracle_arguments(lab))
    list += (list.empty() ? "" : ", ") + argument.taken;
  return fmt::format(
      "// Made from lab.yaml.\n#include \"oracle_main.h\"\n\n{}\n\n"
      "int main() {{\n  return warpgrade_oracle::serve([](warpgrade_oracle::Request& request) {{ {}({}); "
      "}});\n}}\n",
      oracle_declaration(lab), lab.name, list);
}

}  // namespace warpgrade::declaration
