// Pieces of what is made from a declaration, for the contracts in C++ and in Python alike.
#pragma once

#include <string>
#include <vector>

#include "judge/declaration/lab_declaration.h"

namespace warpgrade::declaration {

// A text of lab.yaml within a line comment: it is one line (YamlPlace::text), and a backslash at its end, or
// what older C++ takes for one, would make the next line a part of the comment.
std::string in_comment(const std::string& text);

// What the plan function is given. Arrays that it sees and the run is not given again come first.
std::vector<CallArgument> plan_arguments(const LabDeclaration& lab);

// "//   in   [n] int32, device, read-only", a line an argument. `mark` begins a comment.
std::string argument_lines(const LabDeclaration& lab, const std::vector<CallArgument>& arguments,
                           const std::string& mark = "//");

}  // namespace warpgrade::declaration
