#include "program/instruction_class.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "ptx/types.h"

namespace warpgrade::emu {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::array<const char*, kInstructionClasses> kNames = {
    "fp32",  "fp64",     "fp16",    "integer",   "conversion", "special", "matrix", "global",  "shared",
    "local", "constant", "generic", "parameter", "atomic",     "barrier", "warp",   "control", "other",
};

Words words_of(std::string_view opcode) {
  Words words;
  for (size_t begin = 0; begin <= opcode.size();) {
    const size_t end = std::min(opcode.find('.', begin), opcode.size());
    words.push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Operations whose name alone decides.
struct Named {
  std::string_view op;
  InstructionClass is;
};
constexpr Named kNamed[] = {
    {"atom", InstructionClass::atomic},        {"red", InstructionClass::atomic},
    {"bar", InstructionClass::barrier},        {"barrier", InstructionClass::barrier},
    {"mbarrier", InstructionClass::barrier},   {"membar", InstructionClass::barrier},
    {"fence", InstructionClass::barrier},      {"shfl", InstructionClass::warp},
    {"vote", InstructionClass::warp},          {"match", InstructionClass::warp},
    {"redux", InstructionClass::warp},         {"activemask", InstructionClass::warp},
    {"elect", InstructionClass::warp},         {"bra", InstructionClass::control},
    {"brx", InstructionClass::control},        {"call", InstructionClass::control},
    {"ret", InstructionClass::control},        {"exit", InstructionClass::control},
    {"trap", InstructionClass::control},       {"cvt", InstructionClass::conversion},
    {"cvta", InstructionClass::other},         {"mov", InstructionClass::other},
    {"selp", InstructionClass::other},         {"slct", InstructionClass::other},
    {"prefetch", InstructionClass::other},     {"prefetchu", InstructionClass::other},
    {"createpolicy", InstructionClass::other}, {"isspacep", InstructionClass::other},
    {"nanosleep", InstructionClass::other},    {"mma", InstructionClass::matrix},
    {"wmma", InstructionClass::matrix},        {"wgmma", InstructionClass::matrix},
    {"ldmatrix", InstructionClass::shared},    {"stmatrix", InstructionClass::shared},
    {"sin", InstructionClass::special},        {"cos", InstructionClass::special},
    {"lg2", InstructionClass::special},        {"ex2", InstructionClass::special},
    {"tanh", InstructionClass::special},       {"rcp", InstructionClass::special},
    {"sqrt", InstructionClass::special},       {"rsqrt", InstructionClass::special},
    {"div", InstructionClass::special},        {"tex", InstructionClass::global},
    {"tld4", InstructionClass::global},        {"suld", InstructionClass::global},
    {"sust", InstructionClass::global},
};

InstructionClass space_of(const Words& words) {
  for (const std::string_view w : words) {
    if (w == "global") return InstructionClass::global;
    if (w.substr(0, 6) == "shared") return InstructionClass::shared;
    if (w == "local") return InstructionClass::local;
    if (w == "const") return InstructionClass::constant;
    if (w.substr(0, 5) == "param") return InstructionClass::parameter;
  }
  return InstructionClass::generic;
}

bool has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

InstructionClass by_type(const Words& words) {
  for (auto w = words.rbegin(); w != std::prev(words.rend()); ++w) {
    const auto type = parse_type(*w);
    if (!type) continue;
    if (*type == Type::f64) return InstructionClass::fp64;
    if (*type == Type::f32) return InstructionClass::fp32;
    return is_float(*type) ? InstructionClass::fp16 : InstructionClass::integer;
  }
  return InstructionClass::other;
}

}  // namespace

const char* name_of(InstructionClass c) {
  return kNames[static_cast<size_t>(c)];
}

bool is_arithmetic(InstructionClass c) {
  return c <= InstructionClass::matrix;
}

bool is_memory(InstructionClass c) {
  return c == InstructionClass::global || c == InstructionClass::shared || c == InstructionClass::local ||
         c == InstructionClass::generic || c == InstructionClass::atomic;
}

InstructionClass classify(std::string_view opcode) {
  const Words words = words_of(opcode);
  const std::string_view op = words.front();
  if (op == "ld" || op == "ldu" || op == "st") return space_of(words);
  if (op == "cp") return has(words, "global") ? InstructionClass::global : InstructionClass::barrier;
  // An integer division is a short program of integer instructions, not a special function.
  if (op == "div" && by_type(words) == InstructionClass::integer) return InstructionClass::integer;
  const auto named =
      std::find_if(std::begin(kNamed), std::end(kNamed), [&](const Named& n) { return n.op == op; });
  return named != std::end(kNamed) ? named->is : by_type(words);
}

}  // namespace warpgrade::emu
