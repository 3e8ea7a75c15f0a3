#include "judge/compile/python_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/text.h"
#include "judge/compile/hand_in_name.h"
#include "judge/compile/source_name.h"
#include "judge/compile/source_text.h"
#include "judge/declaration/lab_declaration.h"
#include "judge/declaration/python_contract.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostPythonFiles = 100, kMostPythonBytes = 2 << 20;

bool is_passed_over(const std::string& name) {
  return name.starts_with(".") || is_folder_of_others(name);
}

struct FoundSources {
  std::vector<fs::path> python, cuda;  // files, sorted
  std::optional<fs::path> module;      // <lab>.py, the one that lies highest
};

FoundSources look_for_sources(const UntrustedFolder& folder, const std::string& lab) {
  FoundSources found;
  for (const UntrustedEntry& entry : folder.list({}, is_passed_over).entries) {
    if (entry.kind != UntrustedEntry::Kind::kFile || entry.name.filename().string().starts_with("."))
      continue;
    if (is_source(hand_in_name(entry.name.filename()).name)) found.cuda.push_back(entry.name);
    if (entry.name.extension() != ".py") continue;
    found.python.push_back(entry.name);
    const auto depth = [](const fs::path& name) { return std::distance(name.begin(), name.end()); };
    if (entry.name.filename() == lab + ".py" && (!found.module || depth(entry.name) < depth(*found.module)))
      found.module = entry.name;
  }
  return found;
}

// Of the CUDA sources one that somebody wrote; nothing where there are stubs alone.
std::optional<fs::path> filled_cuda(const UntrustedFolder& folder, const std::vector<fs::path>& files) {
  for (const fs::path& name : files) {
    const UntrustedFile file = folder.read(name, kMostPythonBytes);
    if (!file.ok() || !declaration::is_unfilled_cuda(file.bytes)) return name;
  }
  return std::nullopt;
}

class PythonReading {
 public:
  PythonReading(const UntrustedFolder& folder, const FoundSources& found, const std::string& lab)
      : folder_(folder), found_(found) {
    result_.interface = lab + ".py";
    result_.manifest = read_manifest(folder);
    if (result_.manifest.problem) fail(*result_.manifest.problem);
  }

  TidiedSources run() {
    if (found_.python.size() > kMostPythonFiles)
      fail(fmt::format("more than {} Python files", kMostPythonFiles));
    for (const fs::path& name : found_.python) {
      if (result_.problem) break;
      read(name);
    }
    return std::move(result_);
  }

  void fail(std::string why) {
    if (!result_.problem) result_.problem = std::move(why);
  }

 private:
  void read(const fs::path& name) {
    if (const auto bad = source_name_problem(name))
      return fail(fmt::format("{}: {}; {}", plain_line(name.string(), 100), bad->what, bad->next_step));
    const UntrustedFile file = folder_.read(name, kMostPythonBytes - bytes_);
    if (!file.ok()) return fail(describe(file.state, name, kMostPythonBytes));
    bytes_ += file.bytes.size();
    SourceText8 text = as_utf8(file.bytes);
    if (text.problem) return fail(fmt::format("{} {}", plain_line(name.string(), 100), *text.problem));
    result_.files.push_back({name, std::move(text.text)});
    result_.taken.push_back(name);
  }

  const UntrustedFolder& folder_;
  const FoundSources& found_;
  TidiedSources result_;
  std::size_t bytes_ = 0;
};

}  // namespace

namespace {

std::string reason_against_python(const std::string& lab) {
  if (declaration::find_python_contract(lab)) return "";
  const auto declared = declaration::find_declaration(lab);
  const std::string why = declared ? declaration::why_no_python(*declared) : "";
  return fmt::format("lab {} takes CUDA C++ alone{}", lab, why.empty() ? "" : ", since " + why);
}

}  // namespace

// Asked for each hand-in of a class, and half of the time to take one in was lab.yaml, read anew.
std::string why_no_python_hand_in(const std::string& lab) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(lab);
  return found != known.end() ? found->second : known.emplace(lab, reason_against_python(lab)).first->second;
}

std::optional<TidiedSources> python_sources(const UntrustedFolder& folder, const std::string& lab) {
  if (!why_no_python_hand_in(lab).empty()) return std::nullopt;
  const FoundSources found = look_for_sources(folder, lab);
  if (!found.module) return std::nullopt;
  const UntrustedFile module = folder.read(*found.module, kMostPythonBytes);
  const auto contract = declaration::find_python_contract(lab);
  const bool filled = !module.ok() || !contract || !declaration::is_unfilled_python(module.bytes, *contract);
  // A stub beside sources in CUDA is what the hand-out has.
  if (!filled && !found.cuda.empty()) return std::nullopt;
  PythonReading reading(folder, found, lab);
  if (const auto cuda = filled_cuda(folder, found.cuda); cuda && filled)
    reading.fail(fmt::format("{} and {} are both written: hand in one language, and leave the other file out",
                             plain_line(found.module->string(), 100), plain_line(cuda->string(), 100)));
  return reading.run();
}

}  // namespace warpgrade
