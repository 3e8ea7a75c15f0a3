#include "judge/compile/link_problem.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "base/text.h"
#include "judge/compile/build_messages.h"
#include "judge/compile/demangle.h"
#include "judge/compile/elf_symbols.h"

namespace warpgrade {
namespace {

constexpr std::size_t kLongestProblem = 480, kMostNamed = 4, kMostTyposTried = 20'000;

// As a student writes it.
std::string readable(std::string name) {
  replace_all(name, "CUstream_st*", "cudaStream_t");
  return name;
}

// "spmm_run" of "spmm_run(CsrMatrix const&, int)".
std::string without_parameters(const std::string& name) {
  return name.substr(0, name.find('('));
}

// "spmm_run" of "_Z8spmm_runRK9CsrMatrixi": a function in no namespace. Empty for other names.
std::string_view plain_function(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return {};
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(mangled.data() + 2, mangled.data() + mangled.size(), length);
  const auto rest = static_cast<std::size_t>(mangled.data() + mangled.size() - end);
  if (error != std::errc() || length > rest) return {};
  return {end, length};
}

// Whether two names differ by letters' case, or by at most two letters put in, left out or changed.
bool is_nearly(std::string_view a, std::string_view b) {
  constexpr std::size_t kMostChanges = 2;
  if (a.size() > b.size() + kMostChanges || b.size() > a.size() + kMostChanges || b.size() <= kMostChanges)
    return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<std::size_t> row(b.size() + 1);  // Wagner and Fischer's
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()] <= kMostChanges;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t shown = std::min(names.size(), kMostNamed);
  for (std::size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

class Explanation {
 public:
  Explanation(const std::vector<LinkedObject>& objects, const std::string& words, const std::string& contract)
      : objects_(objects), words_(words), contract_(contract) {
    for (const LinkedObject& object : objects) tables_.push_back(read_elf_symbols(object.bytes));
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      for (const ElfSymbol& symbol : tables_[i].symbols) {
        if (!symbol.defined || symbol.binding == STB_LOCAL) continue;
        defined_.insert(symbol.name);
        if (symbol.binding == STB_GLOBAL) places_[symbol.name].push_back(i);
      }
    }
  }

  std::optional<LinkProblem> find() {
    const std::map<std::string, std::string> missing = missing_names();
    for (const bool of_the_judge : {true, false}) {
      if (auto problem = missing_for(missing, of_the_judge)) return problem;
    }
    return defined_twice();
  }

 private:
  // Whether the linker speaks of it, in whatever quotes.
  bool is_told(const std::string& name) const {
    if (name.empty()) return false;
    for (std::size_t at = 0; (at = words_.find(name, at)) != std::string::npos; at += name.size()) {
      const char before = at == 0 ? '\n' : words_[at - 1];
      const std::size_t end = at + name.size();
      const char behind = end < words_.size() ? words_[end] : '\n';
      if ((before == '`' || before == '\'' || before == ' ') && (behind == '\'' || behind == '\n'))
        return true;
    }
    return false;
  }

  // What is used and stands nowhere, mangled, with the demangled name.
  std::map<std::string, std::string> missing_names() const {
    std::vector<std::string> candidates;
    for (const ElfSymbols& table : tables_) {
      for (const ElfSymbol& symbol : table.symbols) {
        if (!symbol.defined && symbol.binding == STB_GLOBAL && !defined_.contains(symbol.name))
          candidates.emplace_back(symbol.name);
      }
    }
    std::map<std::string, std::string> missing;
    const std::map<std::string, std::string> demangled = demangle(candidates);
    for (const std::string& name : candidates) {
      const auto found = demangled.find(name);
      const std::string& shown = found == demangled.end() ? name : found->second;
      if (is_told(shown) || is_told(name)) missing[name] = shown;
    }
    return missing;
  }

  // What the judge calls, or what a file of the student uses.
  std::optional<LinkProblem> missing_for(const std::map<std::string, std::string>& missing,
                                         bool of_the_judge) const {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (objects_[i].source.empty() != of_the_judge) continue;
      std::vector<std::string> names;
      for (const ElfSymbol& symbol : tables_[i].symbols) {
        const auto found = symbol.defined ? missing.end() : missing.find(std::string(symbol.name));
        if (found != missing.end()) names.push_back(found->second);
      }
      if (names.empty()) continue;
      return LinkProblem{Reason::kMissingSymbol,
                         plain_line(of_the_judge ? contract_is_missing(names) : helper_is_missing(names, i),
                                    kLongestProblem)};
    }
    return std::nullopt;
  }

  std::string contract_is_missing(std::vector<std::string> names) const {
    std::sort(names.begin(), names.end());
    const std::string first = without_parameters(names[0]);
    if (names.size() == 1) {
      if (const std::string hint = what_stands_there_instead(first); !hint.empty())
        return fmt::format("{} is missing: {}. {} declares it as {}", first, hint, contract_,
                           readable(names[0]));
      return fmt::format(
          "{} is missing: none of your files defines it. Define it in a .cu file, as {} declares it: {}",
          first, contract_, readable(names[0]));
    }
    std::vector<std::string> short_names;
    for (const std::string& name : names) short_names.push_back(without_parameters(name));
    return fmt::format(
        "{} are missing: none of your files defines them. Define them in a .cu file, as {} declares them",
        listed(short_names), contract_);
  }

  std::string helper_is_missing(const std::vector<std::string>& names, std::size_t object) const {
    const std::string place = place_of(names[0], objects_[object].source);
    return fmt::format(
        "{} uses {}, which none of your files defines. Define it, or hand in the file that defines it", place,
        readable(names[0]));
  }

  // A definition that was meant to be `wanted`, and what is wrong with it; empty: there is none.
  std::string what_stands_there_instead(const std::string& wanted) const {
    const std::string coded = std::to_string(wanted.size()) + wanted;
    std::string_view misspelt;
    std::size_t tried = 0;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (objects_[i].source.empty()) continue;
      const std::string& source = objects_[i].source;
      for (const ElfSymbol& symbol : tables_[i].symbols) {
        if (!symbol.defined || symbol.type != STT_FUNC) continue;
        if (symbol.name == wanted) return source + " declares it extern \"C\"; remove extern \"C\"";
        if (symbol.name.starts_with("_ZL" + coded))
          return source + " makes it static; remove the word static";
        const std::string_view plain = plain_function(symbol.name);
        if (plain == wanted)
          return fmt::format("{} defines it with other parameters, {}; copy the declaration from the header",
                             source, readable(demangled(symbol.name)));
        if (symbol.name.starts_with("_ZN") && symbol.name.find(coded) != std::string_view::npos)
          return fmt::format("{} defines {}; move it out of its namespace or class", source,
                             without_parameters(demangled(symbol.name)));
        if (misspelt.empty() && !plain.empty() && ++tried < kMostTyposTried && is_nearly(plain, wanted))
          misspelt = plain;
      }
    }
    return misspelt.empty() ? std::string()
                            : fmt::format("you define {}; if this is the function, rename it", misspelt);
  }

  static std::string demangled(std::string_view name) {
    const std::map<std::string, std::string> found = demangle({std::string(name)});
    return found.empty() ? std::string(name) : found.begin()->second;
  }

  // "spmm.cu:9" where a line of the linker's tells it, else "spmm.cu".
  std::string place_of(const std::string& name, const std::string& source) const {
    std::istringstream lines(words_);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(source + ":") || line.find(name) == std::string::npos) continue;
      std::size_t end = source.size() + 1;
      while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
      if (end > source.size() + 1) return line.substr(0, end);
    }
    return source;
  }

  std::optional<LinkProblem> defined_twice() const {
    for (const auto& [name, objects] : places_) {
      // Of a kernel there are two functions: its own, and one that nvcc made.
      if (objects.size() < 2 || name.find("__device_stub__") != std::string_view::npos) continue;
      const std::string shown = demangled(name);
      if (!is_told(shown) && !is_told(std::string(name))) continue;
      return LinkProblem{Reason::kDefinedTwice, plain_line(twice(shown, objects), kLongestProblem)};
    }
    return std::nullopt;
  }

  std::string twice(const std::string& name, const std::vector<std::size_t>& objects) const {
    std::vector<std::string> sources;
    for (const std::size_t i : objects) {
      if (!objects_[i].source.empty()) sources.push_back(objects_[i].source);
    }
    if (sources.size() == objects.size())
      return fmt::format(
          "{} is defined in {}; keep one of them, or list your sources in submission.yaml, as in: sources: "
          "[{}] (if it is a function in a header, make it inline)",
          readable(name), listed(sources), sources[0]);
    const std::string place = sources.empty() ? kJudgesProgram : place_of(name, sources[0]);
    return fmt::format("{} defines {}, but {} defines it too; rename yours, or make it static", place,
                       readable(name), kJudgesProgram);
  }

  const std::vector<LinkedObject>& objects_;
  const std::string& words_;
  const std::string& contract_;
  std::vector<ElfSymbols> tables_;
  std::set<std::string_view> defined_;
  std::map<std::string_view, std::vector<std::size_t>> places_;  // of strong definitions, by object
};

// What stands between the first two quotes behind `begin`, which moves behind them.
std::string quoted(const std::string& line, std::size_t& begin) {
  const std::size_t open = std::min(line.find('\'', begin), line.size());
  const std::size_t close = std::min(line.find('\'', std::min(open + 1, line.size())), line.size());
  begin = std::min(close + 1, line.size());
  return open < close ? line.substr(open + 1, close - open - 1) : std::string();
}

}  // namespace

std::optional<LinkProblem> explain_device_link(const std::string& words) {
  constexpr std::string_view kMissing = "Undefined reference to ", kTwice = "Multiple definition of ";
  std::istringstream lines(words);
  for (std::string line; std::getline(lines, line);) {
    const bool is_missing = line.find(kMissing) != std::string::npos;
    std::size_t at = line.find(is_missing ? kMissing : kTwice);
    if (!line.starts_with("nvlink") || at == std::string::npos) continue;
    const std::string mangled = quoted(line, at), source = quoted(line, at), first = quoted(line, at);
    const auto demangled = demangle({mangled});
    const std::string name = demangled.empty() ? mangled : readable(demangled.begin()->second);
    if (is_missing)
      return LinkProblem{Reason::kMissingSymbol,
                         plain_line(fmt::format("{} uses {} on the GPU, which none of your files defines for "
                                                "it. Define it as __device__, or hand in the file that does",
                                                source, name),
                                    kLongestProblem)};
    return LinkProblem{
        Reason::kDefinedTwice,
        plain_line(
            fmt::format(
                "{} is defined for the GPU in {} and {}; keep one of them, or make it static or inline", name,
                first, source),
            kLongestProblem)};
  }
  return std::nullopt;
}

std::optional<LinkProblem> explain_link(const std::vector<LinkedObject>& objects, const std::string& words,
                                        const std::string& contract) {
  return Explanation(objects, words, contract).find();
}

}  // namespace warpgrade
