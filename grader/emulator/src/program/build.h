// Builds the program of a kernel from its module.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>

#include "program/linear.h"
#include "program/program.h"

namespace warpgrade::emu {

// A kernel that cannot run here. `path` and `line` name the user's line when it is known.
class BuildError : public std::runtime_error {
 public:
  BuildError(const std::string& message, std::string source_path, uint32_t source_line)
      : std::runtime_error(message), path(std::move(source_path)), line(source_line) {}
  std::string path;
  uint32_t line;
};

std::unique_ptr<Program> build_program(Module& module, const std::string& kernel,
                                       const SymbolTable& variables);

// The user's line of an index into the module's locations.
Program::Place place_of(const Module& module, uint32_t location);

// "void foo<int>(int*)" of a mangled name, without result and parameters: "foo<int>".
std::string kernel_title(const std::string& mangled);
// "tile" of the mangled name of a variable inside a function or namespace.
std::string variable_title(const std::string& mangled);

}  // namespace warpgrade::emu
