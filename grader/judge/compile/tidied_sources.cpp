#include "judge/compile/tidied_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "judge/compile/build_file.h"
#include "judge/compile/candidates.h"
#include "judge/compile/hand_in_name.h"
#include "judge/compile/include_names.h"
#include "judge/compile/notebook.h"
#include "judge/compile/older_interface.h"
#include "judge/compile/python_sources.h"
#include "judge/compile/source_name.h"
#include "judge/compile/source_text.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFiles = 200, kMostNotebooks = 20, kMostBuildFiles = 50, kFilesNamed = 10;
constexpr std::size_t kMostBytes = 4 << 20, kMostNotes = 20;

bool is_hidden_name(const std::string& name) {
  return name.starts_with(".") || name == "__MACOSX";
}

bool is_skipped(const std::string& name) {
  return is_hidden_name(name) || is_folder_of_others(name);
}

std::string shown_name(const fs::path& name) {
  return plain_line(name.string(), 100);
}

std::string too_much() {
  return fmt::format("more than {} source files or {} MiB", kMostFiles, kMostBytes >> 20);
}

bool is_notebook(const fs::path& file) {
  return file.extension() == ".ipynb";
}

bool has_code_name(const fs::path& file) {
  const fs::path name = hand_in_name(file.filename()).name;
  return is_source(name) || is_header(name);
}

struct Read {
  fs::path given;  // in the folder; of a notebook's cell beside the notebook
  std::string text;
  bool is_program = false;  // an unnamed cell
};

class Tidying {
 public:
  Tidying(const UntrustedFolder& folder, const std::string& lab) : folder_(folder), lab_(lab) {
    result_.interface = lab + ".h";
  }

  TidiedSources run() {
    result_.manifest = read_manifest(folder_);
    if (result_.manifest.problem) fail(*result_.manifest.problem);
    if (list()) read_all();
    if (!result_.problem || !read_.empty()) make();
    if (result_.notes.size() > kMostNotes) {
      const std::size_t more = result_.notes.size() - kMostNotes;
      result_.notes.resize(kMostNotes);
      result_.notes.push_back(fmt::format("And {} more changes of this kind.", more));
    }
    return std::move(result_);
  }

 private:
  bool fail(std::string why) {
    if (!result_.problem) result_.problem = std::move(why);
    return false;
  }
  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  // ---- what is there

  bool list() {
    const ListingLimits limits;
    const UntrustedListing listing = folder_.list(limits, is_skipped);
    std::vector<std::string> left_out;
    for (const UntrustedEntry& entry : listing.entries) {
      const std::string name = entry.name.filename().string();
      if (is_hidden_name(name)) continue;
      if (entry.kind == UntrustedEntry::Kind::kFolder && is_folder_of_others(name)) {
        left_out.push_back(shown_name(entry.name) + "/");
      } else if (!take(entry)) {
        return false;
      }
    }
    if (!left_out.empty())
      note(fmt::format("Left out, as folders of other people's code or of a build: {}.",
                       fmt::join(left_out, ", ")));
    if (listing.too_many)
      return fail(fmt::format("more than {} files and folders; hand in the sources only", limits.entries));
    if (listing.too_deep)
      return fail(fmt::format("folders more than {} levels deep; hand in the sources only", limits.depth));
    return true;
  }

  bool take(const UntrustedEntry& entry) {
    using Kind = UntrustedEntry::Kind;
    const bool code = has_code_name(entry.name);
    if (entry.kind == Kind::kUnreadable)
      return fail(describe(UntrustedState::kUnreadable, entry.name, kMostBytes));
    if (code && entry.kind == Kind::kLink)
      return fail(describe(UntrustedState::kLink, entry.name, kMostBytes));
    if (code && entry.kind == Kind::kOther)
      return fail(describe(UntrustedState::kNotRegular, entry.name, kMostBytes));
    if (entry.kind != Kind::kFile) return true;
    has_python_ |= entry.name.filename() == lab_ + ".py";
    if (++files_ <= kFilesNamed) first_files_.push_back(shown_name(entry.name));
    if (code) {
      bytes_ += entry.bytes;
      if (codes_.size() == kMostFiles || bytes_ > kMostBytes) return fail(too_much());
      codes_.push_back(entry.name);
    } else if (is_notebook(entry.name) && notebooks_.size() < kMostNotebooks) {
      notebooks_.push_back(entry.name);
    } else if (is_build_file(entry.name) && build_names_.size() < kMostBuildFiles) {
      build_names_.push_back(entry.name);
    }
    return true;
  }

  // ---- their texts

  void read_all() {
    std::uint64_t left = kMostBytes;
    for (const fs::path& name : codes_) {
      UntrustedFile file = folder_.read(name, left);
      if (file.state == UntrustedState::kTooLarge) {  // it has grown since it was listed
        fail(too_much());
        return;
      }
      if (!file.ok()) {
        fail(describe(file.state, name, kMostBytes));
        return;
      }
      left -= file.bytes.size();
      SourceText8 text = as_utf8(std::move(file.bytes));
      if (text.problem) fail(fmt::format("{} {}", shown_name(name), *text.problem));
      if (!text.was.empty())
        note(fmt::format("{} is {}: it was read as plain UTF-8.", shown_name(name), text.was));
      read_.push_back({name, std::move(text.text)});
      result_.taken.push_back(name);
    }
    for (const fs::path& name : notebooks_) read_cells(name);
    for (const fs::path& name : build_names_) {
      const UntrustedFile file = folder_.read(name, kMostBuildFileBytes);
      if (!file.ok()) continue;
      rules_.build_files.emplace_back(name, as_utf8(file.bytes).text);
      if (const auto& libraries = rules_.build_files.back().libraries(); !libraries.empty())
        note(
            fmt::format("{} links {}: the judge links no vendor's library. That costs nothing; a call of one "
                        "would be refused.",
                        shown_name(name), fmt::join(libraries, ", ")));
    }
    std::stable_sort(rules_.build_files.begin(), rules_.build_files.end(), [](const auto& a, const auto& b) {
      return std::distance(a.path().begin(), a.path().end()) <
             std::distance(b.path().begin(), b.path().end());
    });
  }

  void read_cells(const fs::path& name) {
    UntrustedFile file = folder_.read(name, kMostNotebookBytes);
    NotebookSources cells;
    if (file.ok())
      cells = read_notebook(as_utf8(std::move(file.bytes)).text, name.stem().string());
    else
      cells.problem = file.state == UntrustedState::kTooLarge
                          ? fmt::format("it has more than {} MiB", kMostNotebookBytes >> 20)
                          : describe(file.state, name.filename(), kMostNotebookBytes);
    if (cells.problem) {
      note(fmt::format("The notebook {} was left out: {}.", shown_name(name), *cells.problem));
      return;
    }
    for (const std::string& each : cells.notes) note(fmt::format("In {}, {}.", shown_name(name), each));
    if (cells.sources.empty()) {
      note(fmt::format(
          "The notebook {} has no cell that begins with %%cu, %%cuda or %%writefile <name>.cu: left out.",
          shown_name(name)));
      return;
    }
    std::vector<std::string> made;
    for (NotebookSource& source : cells.sources) {
      bytes_ += source.text.size();
      if (read_.size() == kMostFiles || bytes_ > kMostBytes) {
        fail(too_much());
        return;
      }
      fs::path given = name.parent_path() / source.name;
      while (std::any_of(read_.begin(), read_.end(), [&](const Read& each) { return each.given == given; }))
        given = given.parent_path() / (name.stem().string() + "_" + given.filename().string());
      made.push_back(fmt::format("{} (code cell {})", shown_name(given), source.cell));
      read_.push_back({given, std::move(source.text), !source.is_named});
    }
    result_.taken.push_back(name);
    note(fmt::format("From the notebook {} were taken: {}.", shown_name(name), fmt::join(made, ", ")));
  }

  // ---- names, and the choice

  void make() {
    std::vector<fs::path> given;
    for (const Read& each : read_) given.push_back(each.given);
    names_ = names_of_hand_in(given);
    leave_out_harness();
    for (const Read& each : read_) {
      const auto bad = source_name_problem(names_.at(each.given));
      if (bad) fail(fmt::format("{}: {}; {}", shown_name(each.given), bad->what, bad->next_step));
    }
    for (Read& each : read_) each.text = with_tidied_includes(each.text, each.given, names_);
    if (std::none_of(read_.begin(), read_.end(),
                     [&](const Read& each) { return is_source(names_.at(each.given)); }))
      fail(no_source());
    choose();
    std::sort(result_.files.begin(), result_.files.end(),
              [](const SubmittedFile& a, const SubmittedFile& b) { return a.name < b.name; });
    std::sort(result_.taken.begin(), result_.taken.end());
    tell_names();
  }

  void leave_out_harness() {
    std::vector<SourceText> texts;
    for (const Read& each : read_) texts.push_back({names_.at(each.given), each.text});
    InterfaceChoice choice = choose_interface(texts, lab_);
    result_.interface = choice.interface;
    rules_.functions = std::move(choice.functions);
    rules_.built = std::move(choice.built);
    rules_.listed = result_.manifest.sources;
    std::vector<std::string> left_out;
    for (const fs::path& name : choice.left_out) {
      std::erase_if(read_, [&](const Read& each) {
        if (names_.at(each.given) != name) return false;
        left_out.push_back(shown_name(each.given));
        std::erase(result_.taken, each.given);
        return true;
      });
    }
    if (!left_out.empty())
      note(
          fmt::format("Left out, as files of the course's own test program: {}.", fmt::join(left_out, ", ")));
  }

  void choose() {
    std::vector<Candidate> sources, headers;
    for (const Read& each : read_) {
      const fs::path& name = names_.at(each.given);
      Candidate candidate{name, each.given, &each.text, scan_source(each.text), each.is_program};
      (is_source(name) ? sources : headers).push_back(std::move(candidate));
    }
    ChosenSources chosen = choose_sources(sources, headers, rules_);
    if (chosen.problem) fail(*chosen.problem);
    for (std::string& each : chosen.notes) note(std::move(each));
    for (Read& each : read_) {
      const fs::path& name = names_.at(each.given);
      const bool compiled = chosen.compiled.contains(name);
      if (is_source(name) && !compiled && !chosen.included.contains(name) && !chosen.problem) {
        std::erase(result_.taken, each.given);
        continue;
      }
      result_.files.push_back({name, std::move(each.text), compiled});
    }
  }

  void tell_names() {
    for (const Read& each : read_) {
      const fs::path& name = names_.at(each.given);
      const bool kept = std::any_of(result_.files.begin(), result_.files.end(),
                                    [&](const SubmittedFile& file) { return file.name == name; });
      if (kept && name != each.given)
        note(fmt::format("{} is read as {}.", shown_name(each.given), shown_name(name)));
    }
  }

  std::string no_source() const {
    if (files_ == 0)
      return fmt::format("the folder is empty: no source file (.cu, .cpp) was handed in; hand in {}.cu",
                         lab_);
    const std::string no_python = has_python_ ? why_no_python_hand_in(lab_) : "";
    const std::string more = files_ > kFilesNamed ? fmt::format(" and {} more", files_ - kFilesNamed) : "";
    return fmt::format(
        "no source file (.cu, .cpp) was handed in: there {} {}{}{}; hand in {}.cu, or a notebook with a cell "
        "%%writefile {}.cu",
        files_ == 1 ? "is" : "are", fmt::join(first_files_, ", "), more,
        no_python.empty() ? "" : ", and " + no_python, lab_, lab_);
  }

  const UntrustedFolder& folder_;
  const std::string& lab_;
  TidiedSources result_;
  CandidateRules rules_;
  std::vector<fs::path> codes_, notebooks_, build_names_;
  std::vector<std::string> first_files_;
  std::size_t files_ = 0;
  bool has_python_ = false;  // <lab>.py
  std::uint64_t bytes_ = 0;
  std::vector<Read> read_;
  std::map<fs::path, fs::path> names_;
};

}  // namespace

TidiedSources tidied_sources(const UntrustedFolder& folder, const std::string& lab) {
  if (auto python = python_sources(folder, lab)) return std::move(*python);
  return Tidying(folder, lab).run();
}

bool may_hold_source(const fs::path& file) {
  return is_notebook(file) || is_source(hand_in_name(file.filename()).name);
}

bool is_folder_of_others(const std::string& name) {
  static const std::set<std::string> kNames{
      "third_party", "thirdparty", "3rdparty", "external",   "extern",  "googletest",   "googlemock",
      "gtest",       "gmock",      "build",    "CMakeFiles", "_deps",   "node_modules", "__pycache__",
      "venv",        "env",        "x64",      "Debug",      "Release", "__MACOSX",     "site-packages"};
  return kNames.contains(name) || name.starts_with("cmake-build-") || name.starts_with("googletest-");
}

}  // namespace warpgrade
