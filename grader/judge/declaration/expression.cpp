#include "judge/declaration/expression.h"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/text.h"

namespace warpgrade::declaration {

struct Expression::Node {
  std::string name;  // of an operator, a function or a parameter
  enum class Kind { kNumber, kParameter, kCall } kind = Kind::kNumber;
  Value number;
  std::vector<std::shared_ptr<const Node>> operands;
};

namespace {

using Node = Expression::Node;
using NodePointer = std::shared_ptr<const Node>;

constexpr int kDeepest = 64;            // of parentheses within each other
constexpr std::size_t kLongest = 2000;  // a sum is evaluated by recursion over its terms

struct Function {
  const char* name;
  std::size_t operands;
  const char* shown;
};
constexpr Function kFunctions[] = {
    {"min", 2, "min(a, b)"}, {"max", 2, "max(a, b)"}, {"ceil_div", 2, "ceil_div(a, b)"},
    {"pow", 2, "pow(a, b)"}, {"sqrt", 1, "sqrt(a)"},  {"log2", 1, "log2(a)"}};

// Recursive descent: sum, product, factor.
class Parser {
 public:
  Parser(const std::string& text, std::set<std::string>& names) : text_(text), names_(names) {}

  NodePointer parse() {
    if (text_.size() > kLongest) fail(fmt::format("more than {} characters", kLongest));
    const NodePointer root = sum();
    skip_space();
    if (at_ < text_.size()) fail(fmt::format("'{}' does not belong here", text_[at_]));
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    // Of a long expression what stands around the place.
    constexpr std::size_t kAround = 40;
    const std::size_t from = text_.size() > 2 * kAround && at_ > kAround ? at_ - kAround : 0;
    const std::string near = text_.substr(from, 2 * kAround);
    throw std::invalid_argument(fmt::format("{} (column {} of '{}{}{}')", what, at_ + 1,
                                            from > 0 ? "..." : "", near,
                                            from + near.size() < text_.size() ? "..." : ""));
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  static NodePointer call(std::string name, std::vector<NodePointer> operands) {
    auto node = std::make_shared<Node>();
    node->name = std::move(name);
    node->kind = Node::Kind::kCall;
    node->operands = std::move(operands);
    return node;
  }

  NodePointer sum() {
    if (++depth_ > kDeepest) fail("too many parentheses within each other");
    NodePointer left = product();
    for (char c = peek(); c == '+' || c == '-'; c = peek()) {
      ++at_;
      left = call(std::string(1, c), {left, product()});
    }
    --depth_;
    return left;
  }

  NodePointer product() {
    NodePointer left = factor();
    for (char c = peek(); c == '*' || c == '/' || c == '%'; c = peek()) {
      ++at_;
      left = call(std::string(1, c), {left, factor()});
    }
    return left;
  }

  NodePointer factor() {
    const char c = peek();
    if (take('-')) {
      if (++depth_ > kDeepest) fail("too many signs");
      const NodePointer operand = factor();
      --depth_;
      return call("negative", {operand});
    }
    if (take('(')) {
      const NodePointer inner = sum();
      if (!take(')')) fail("expected ')'");
      return inner;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return word();
    fail(c == '\0' ? "expected a number, a parameter or '('" : fmt::format("'{}' does not belong here", c));
  }

  NodePointer number() {
    auto node = std::make_shared<Node>();
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    double real = 0;
    const auto as_real = std::from_chars(begin, end, real);
    if (as_real.ec != std::errc()) fail("expected a number");
    std::int64_t whole = 0;
    const auto as_whole = std::from_chars(begin, end, whole);
    if (as_whole.ec == std::errc() && as_whole.ptr == as_real.ptr)
      node->number = Value::of(whole);
    else if (real == std::floor(real) && std::fabs(real) < 0x1p53)
      node->number = Value::of(static_cast<std::int64_t>(real));  // 1e6
    else
      node->number = Value::of_real(real);
    at_ += static_cast<std::size_t>(as_real.ptr - begin);
    return node;
  }

  NodePointer word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string name = text_.substr(begin, at_ - begin);
    if (peek() == '(') return function(name);
    names_.insert(name);
    auto node = std::make_shared<Node>();
    node->name = name;
    node->kind = Node::Kind::kParameter;
    return node;
  }

  NodePointer function(const std::string& name) {
    std::set<std::string> known;
    for (const Function& candidate : kFunctions) {
      known.insert(candidate.name);
      if (name != candidate.name) continue;
      take('(');
      std::vector<NodePointer> operands{sum()};
      while (take(',')) operands.push_back(sum());
      if (!take(')')) fail("expected ')'");
      if (operands.size() != candidate.operands) fail(fmt::format("expected {}", candidate.shown));
      return call(name, std::move(operands));
    }
    const std::string nearest = nearest_word(name, known);
    fail(fmt::format("no function {}{}", name,
                     nearest.empty() ? "; there is " + Expression::functions()
                                     : fmt::format(" (did you mean {}?)", nearest)));
  }

  const std::string& text_;
  std::set<std::string>& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

const Value& value_of(const std::string& name, const Values& values) {
  const auto found = values.find(name);
  if (found == values.end()) throw std::domain_error(fmt::format("{} has no value", name));
  return found->second;
}

[[noreturn]] void too_large() {
  throw std::domain_error("a number beyond 64 bits");
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) throw std::domain_error("division by zero");
  if (b == -1) return a == std::numeric_limits<std::int64_t>::min() ? (too_large(), 0) : -a;
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// What floor_div() leaves: as large as `b` at most, with its sign.
std::int64_t floor_rest(std::int64_t a, std::int64_t b) {
  if (b == 0) throw std::domain_error("division by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = floor_div(a, b);
  return floor_rest(a, b) != 0 ? quotient + 1 : quotient;
}

std::int64_t whole_pow(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 || exponent > 64) throw std::domain_error("pow: expected an exponent from 0 to 64");
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i)
    if (__builtin_mul_overflow(result, base, &result)) too_large();
  return result;
}

std::int64_t whole_sqrt(std::int64_t a) {
  if (a < 0) throw std::domain_error("sqrt of a negative number");
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(a)));
  while (root > 0 && root > a / root) --root;
  while ((root + 1) <= a / (root + 1)) ++root;
  return root;
}

std::int64_t whole_log2(std::int64_t a) {
  if (a <= 0) throw std::domain_error("log2 of a number that is not positive");
  return std::bit_width(static_cast<std::uint64_t>(a)) - 1;
}

std::int64_t apply(const std::string& name, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  if (name == "+") overflows = __builtin_add_overflow(a, b, &result);
  if (name == "-") overflows = __builtin_sub_overflow(a, b, &result);
  if (name == "*") overflows = __builtin_mul_overflow(a, b, &result);
  if (name == "negative") overflows = __builtin_sub_overflow(std::int64_t{0}, a, &result);
  if (overflows) too_large();
  if (name == "/") return floor_div(a, b);
  if (name == "%") return floor_rest(a, b);
  if (name == "min") return std::min(a, b);
  if (name == "max") return std::max(a, b);
  if (name == "ceil_div") return ceil_div(a, b);
  if (name == "pow") return whole_pow(a, b);
  if (name == "sqrt") return whole_sqrt(a);
  if (name == "log2") return whole_log2(a);
  return result;
}

double apply(const std::string& name, double a, double b) {
  if (name == "+") return a + b;
  if (name == "-") return a - b;
  if (name == "*") return a * b;
  if (name == "negative") return -a;
  if (name == "/") return a / b;
  if (name == "%") return a - b * std::floor(a / b);
  if (name == "min") return std::min(a, b);
  if (name == "max") return std::max(a, b);
  if (name == "ceil_div") return std::ceil(a / b);
  if (name == "pow") return std::pow(a, b);
  if (name == "sqrt") return std::sqrt(a);
  return std::log2(a);
}

std::int64_t whole_of(const Node& node, const Values& values) {
  if (node.kind == Node::Kind::kCall) {
    const std::int64_t a = whole_of(*node.operands[0], values);
    return apply(node.name, a, node.operands.size() > 1 ? whole_of(*node.operands[1], values) : 0);
  }
  const bool is_number = node.kind == Node::Kind::kNumber;
  const Value& value = is_number ? node.number : value_of(node.name, values);
  if (!value.is_whole)
    throw std::domain_error(
        fmt::format("{} is not a whole number", is_number ? fmt::format("{}", value.real) : node.name));
  return value.whole;
}

double real_of(const Node& node, const Values& values) {
  if (node.kind == Node::Kind::kNumber) return node.number.real;
  if (node.kind == Node::Kind::kParameter) return value_of(node.name, values).real;
  const double a = real_of(*node.operands[0], values);
  return apply(node.name, a, node.operands.size() > 1 ? real_of(*node.operands[1], values) : 0.0);
}

}  // namespace

Expression::Expression(const std::string& text) : text_(text), root_(Parser(text, names_).parse()) {}

std::int64_t Expression::whole(const Values& values) const {
  return whole_of(*root_, values);
}

double Expression::real(const Values& values) const {
  const double value = real_of(*root_, values);
  if (!std::isfinite(value)) throw std::domain_error("division by zero, or a number that is too large");
  return value;
}

std::string Expression::functions() {
  std::string list;
  for (const Function& function : kFunctions)
    list += (list.empty() ? "" : ", ") + std::string(function.shown);
  return list;
}

}  // namespace warpgrade::declaration
