// Arithmetic over a lab's parameters: the shapes of arrays ("ceil_div(n, 40)"), the work of a case
// ("2*m*n*k"). Operators + - * / %, parentheses, and the functions below, with C's precedence.
//
// Evaluated as whole numbers (shapes) or as real ones (work): "/" rounds towards minus infinity in
// the former.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "record/case.h"

namespace warpgrade::declaration {

class Expression {
 public:
  // Throws std::invalid_argument saying what is wrong and at which column.
  explicit Expression(const std::string& text);

  const std::string& text() const { return text_; }
  const std::set<std::string>& names() const { return names_; }  // the parameters in it

  // Throw std::domain_error: a parameter without a value or that is not whole, division by zero, a number
  // beyond 64 bits.
  std::int64_t whole(const Values& values) const;
  double real(const Values& values) const;

  // "ceil_div(a, b)", ... for messages.
  static std::string functions();

  struct Node;

 private:
  std::string text_;
  std::set<std::string> names_;
  std::shared_ptr<const Node> root_;
};

}  // namespace warpgrade::declaration
