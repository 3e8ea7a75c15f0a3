// The C++ signature that a lab declares for its run function, taken apart.
#pragma once

#include <string>
#include <vector>

namespace warpgrade::declaration {

struct Signature {
  struct Argument {
    std::string type, name;  // "const int*", "in"; spaces as clang-format sets them
  };
  std::string returns, function;
  std::vector<Argument> arguments;
};

// Throws std::invalid_argument saying what is wrong.
Signature parse_signature(const std::string& text);

}  // namespace warpgrade::declaration
