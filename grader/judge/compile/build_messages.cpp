#include "judge/compile/build_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "judge/compile/demangle.h"
#include "judge/compile/manifest.h"

namespace warpgrade {
namespace {

constexpr std::size_t kLongestMessage = 240;
constexpr std::array kErrorWords{"error", "fatal", "undefined reference", "multiple definition"};

bool ends_a_path(char c) {
  return c == ' ' || c == '\t' || c == '\'' || c == '"' || c == '`';
}

// "/run/runner/a.o:/run/runner/a.cpp:25: undefined ..." is "the judge's program: undefined ...".
void hide_own_path(std::string& line, const std::string& folder) {
  for (std::size_t at; (at = line.find(folder)) != std::string::npos;) {
    std::size_t begin = at, end = at;
    while (begin > 0 && !ends_a_path(line[begin - 1])) --begin;
    while (end < line.size() && !ends_a_path(line[end])) ++end;
    if (line[end - 1] == ':') --end;
    line.replace(begin, end - begin, kJudgesProgram);
  }
}

// "_Z1fi" in quotes, as ptxas names a function: "f(int)".
std::string with_demangled_names(const std::string& line) {
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = line.find("_Z", at)) != std::string::npos;) {
    const std::size_t end = std::min(line.find_first_of("'\" ,;:()`", at), line.size());
    names.push_back(line.substr(at, end - at));
    at = end;
  }
  std::string result = line;
  if (names.empty()) return result;
  for (const auto& [name, demangled] : demangle(std::move(names))) replace_all(result, name, demangled);
  return result;
}

// ptxas sees one source at a time, and says of a device function that stands in another one only its name.
std::string unresolved_on_the_gpu(const std::string& line, const std::string& source) {
  constexpr std::array kinds{std::pair("function", "calls the device function"),
                             std::pair("variable", "uses the device variable")};
  for (const auto& [kind, uses] : kinds) {
    const std::string words = fmt::format("Unresolved extern {} '", kind);
    const std::size_t begin = line.find(words);
    if (begin == std::string::npos) continue;
    const std::size_t name = begin + words.size(), end = std::min(line.find('\'', name), line.size());
    return fmt::format("{} {} {}, which this file does not define", source, uses,
                       line.substr(name, end - name));
  }
  return {};
}

// What nvcc asks for: the flag, as submission.yaml gives it to the judge, and what else helps.
struct Advice {
  std::string_view words;
  const char* flag;
  std::string_view instead;
};
constexpr std::string_view kLaunchFromTheHost = "launch kernels from the host";
constexpr std::string_view kDefineItThere = "define it in the same .cu file, or in a header";
constexpr std::string_view kNotHere = "this course does not take the flag; write it without";
constexpr std::array kAdvice{Advice{"separate compilation mode", kRelocatable, kLaunchFromTheHost},
                             Advice{"Unresolved extern", kRelocatable, kDefineItThere},
                             Advice{"--extended-lambda", "--extended-lambda", kNotHere},
                             Advice{"--expt-relaxed-constexpr", "--expt-relaxed-constexpr", kNotHere},
                             Advice{"identifier \"concept\" is undefined", "-std=c++20", kNotHere},
                             Advice{"identifier \"requires\" is undefined", "-std=c++20", kNotHere},
                             Advice{"-std=c++20", "-std=c++20", kNotHere}};

std::string advice_on(const std::string& line, const std::set<std::string>& forbidden) {
  for (const auto& [words, flag, instead] : kAdvice) {
    if (line.find(words) == std::string::npos) continue;
    if (forbidden.contains(flag)) return fmt::format("; {}", instead);
    const std::string asked = fmt::format("write into submission.yaml: flags: [{}]", flag);
    return instead == kNotHere ? "; " + asked : fmt::format("; {}, or {}", instead, asked);
  }
  return {};
}

}  // namespace

std::string with_shown_names(const std::string& words, const ShownNames& names) {
  std::istringstream lines(words);
  std::string shown;
  for (std::string line; std::getline(lines, line);) {
    const bool own = std::any_of(names.own_folders.begin(), names.own_folders.end(),
                                 [&](const std::string& folder) { return line.find(folder) != line.npos; });
    if (own && line.ends_with(':') && line.find(": in function") != std::string::npos) continue;
    for (const std::string& folder : names.own_folders) hide_own_path(line, folder);
    for (const auto& [prefix, instead] : names.prefixes) replace_all(line, prefix, instead);
    shown += line + '\n';
  }
  return shown;
}

std::string first_error(const std::string& log, const std::string& source,
                        const std::set<std::string>& forbidden) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("collect2:")) continue;  // it says only that the linker failed
    const bool is_error = std::any_of(kErrorWords.begin(), kErrorWords.end(),
                                      [&](const char* word) { return line.find(word) != std::string::npos; });
    if (!is_error) continue;
    line = with_demangled_names(line);
    const std::string on_gpu = unresolved_on_the_gpu(line, source);
    return plain_line(on_gpu.empty() ? line : on_gpu, kLongestMessage) + advice_on(line, forbidden);
  }
  return {};
}

}  // namespace warpgrade
