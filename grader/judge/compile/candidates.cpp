#include "judge/compile/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostShown = 4;

std::string shown_source(const fs::path& name) {
  return plain_line(name.string(), 100);
}

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t count = std::min(names.size(), kMostShown);
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  return names.size() > count ? fmt::format("{} and {} more", text, names.size() - count) : text;
}

bool any_common(const std::set<std::string>& a, const std::set<std::string>& b) {
  const auto& few = a.size() < b.size() ? a : b;
  const auto& many = a.size() < b.size() ? b : a;
  return std::any_of(few.begin(), few.end(), [&](const std::string& name) { return many.contains(name); });
}

std::string without_space_at_end(const std::string& text) {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

class Choice {
 public:
  Choice(const std::vector<Candidate>& sources, const std::vector<Candidate>& headers,
         const CandidateRules& rules)
      : sources_(sources), headers_(headers), rules_(rules) {}

  ChosenSources run() {
    if (!rules_.listed.empty()) {
      take_listed();
    } else {
      for (std::size_t i = 0; i < sources_.size(); ++i) open_.push_back(i);
      leave_out_included();
      leave_out_equal();
      if (settle_functions()) settle_others();
    }
    for (const std::size_t i : open_) result_.compiled.insert(sources_[i].name);
    keep_included();
    tell_of_main();
    return std::move(result_);
  }

 private:
  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  std::string name(std::size_t i) const { return shown_source(sources_[i].given); }

  // ---- submission.yaml

  void take_listed() {
    std::vector<std::string> left_out;
    std::set<std::string> found;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const auto is_meant = [&](const std::string& listed) {
        return sources_[i].name == fs::path(listed).lexically_normal() || sources_[i].given == listed;
      };
      const auto at = std::find_if(rules_.listed.begin(), rules_.listed.end(), is_meant);
      if (at == rules_.listed.end()) {
        left_out.push_back(name(i));
        continue;
      }
      found.insert(*at);
      open_.push_back(i);
    }
    for (const std::string& each : rules_.listed) {
      if (found.contains(each)) continue;
      std::vector<std::string> there;
      for (std::size_t i = 0; i < sources_.size(); ++i) there.push_back(shown_source(sources_[i].name));
      result_.problem =
          fmt::format("submission.yaml lists the source {}, which is not there; the sources are {}",
                      plain_line(each, 100), there.empty() ? "none" : some_of(there));
      return;
    }
    if (!left_out.empty())
      note(fmt::format("submission.yaml does not list {}: left out.", some_of(left_out)));
  }

  // ---- sources that are part of another one

  // The source that an #include in `from` means.
  std::optional<std::size_t> included_source(const Candidate& from, const std::string& include) const {
    const fs::path beside = (from.name.parent_path() / include).lexically_normal();
    std::optional<std::size_t> by_name;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].name == beside) return i;
      if (sources_[i].name.filename() == fs::path(include).filename() && !by_name) by_name = i;
    }
    return by_name;
  }

  bool has_functions(const SourceScan& scan) const { return any_common(scan.functions, rules_.functions); }

  // A bench that includes the solution is not the program: it has a main and none of the lab's functions.
  bool is_bench(std::size_t i) const {
    return sources_[i].scan.defines("main") && !has_functions(sources_[i].scan);
  }

  void leave_out_included() {
    const auto mark = [&](const Candidate& from) {
      for (const std::string& include : from.scan.includes)
        if (const auto source = included_source(from, include); source && &sources_[*source] != &from)
          part_of_another_.insert(*source);
    };
    for (const Candidate& header : headers_) mark(header);
    for (const std::size_t i : open_)
      if (!is_bench(i)) mark(sources_[i]);
    std::erase_if(open_, [&](std::size_t i) { return part_of_another_.contains(i); });
  }

  // Includers first: what a source includes it defines.
  SourceScan whole(std::size_t i) const {
    SourceScan scan = sources_[i].scan;
    std::set<std::size_t> seen{i};
    std::vector<std::string> includes = scan.includes;
    while (!includes.empty() && seen.size() < 50) {
      const auto source = included_source(sources_[i], includes.back());
      includes.pop_back();
      if (!source || !seen.insert(*source).second || is_bench(i)) continue;
      const SourceScan& part = sources_[*source].scan;
      scan.functions.insert(part.functions.begin(), part.functions.end());
      scan.offers.insert(part.offers.begin(), part.offers.end());
      scan.uses.insert(part.uses.begin(), part.uses.end());
      includes.insert(includes.end(), part.includes.begin(), part.includes.end());
    }
    return scan;
  }

  // ---- the same again

  // Whether a build file names it; then its name on the way, then the shorter path, then the alphabet.
  bool is_before(std::size_t a, std::size_t b) const {
    const auto rank = [&](std::size_t i) {
      return std::tuple(is_named(i) ? 0 : 1, sources_[i].name == sources_[i].given ? 0 : 1,
                        std::distance(sources_[i].name.begin(), sources_[i].name.end()), sources_[i].name);
    };
    return rank(a) < rank(b);
  }

  void leave_out_equal() {
    std::map<std::string, std::size_t> first;
    std::map<std::size_t, std::vector<std::string>> again;
    std::sort(open_.begin(), open_.end(), [&](std::size_t a, std::size_t b) { return is_before(a, b); });
    std::vector<std::size_t> kept;
    for (const std::size_t i : open_) {
      const std::string text = without_space_at_end(*sources_[i].text);
      const auto [known, is_new] = first.try_emplace(text, i);
      if (is_new || text.empty())
        kept.push_back(i);
      else
        again[known->second].push_back(name(i));
    }
    for (const auto& [i, names] : again)
      note(fmt::format("{} {} the same content as {}: left out.", some_of(names),
                       names.size() == 1 ? "has" : "have", name(i)));
    open_ = std::move(kept);
    std::sort(open_.begin(), open_.end());
  }

  // ---- build files

  std::vector<fs::path> open_names() const {
    std::vector<fs::path> names;
    for (const std::size_t i : open_) names.push_back(sources_[i].given);
    return names;
  }

  static bool contains(const std::vector<fs::path>& names, const fs::path& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  bool is_named(std::size_t i) const {
    return std::any_of(rules_.build_files.begin(), rules_.build_files.end(), [&](const BuildFile& file) {
      const auto names = file.named({sources_[i].given});
      return !names.empty();
    });
  }

  // Build files from the top down: the first that names exactly one of the rivals decides. Then what an older
  // interface's own build compiles.
  std::optional<std::size_t> decided(const std::vector<std::size_t>& rivals, std::string& by) const {
    for (const BuildFile& file : rules_.build_files) {
      const std::vector<fs::path> names = file.named(open_names());
      std::vector<std::size_t> named;
      for (const std::size_t i : rivals)
        if (contains(names, sources_[i].given)) named.push_back(i);
      by = shown_source(file.path());
      if (named.size() == 1) return named[0];
      if (named.size() > 1) return std::nullopt;
    }
    std::vector<std::size_t> built;
    for (const std::size_t i : rivals)
      if (rules_.built.contains(sources_[i].name.filename().string())) built.push_back(i);
    by = "the course's own build";
    return built.size() == 1 ? std::optional(built[0]) : std::nullopt;
  }

  // ---- who defines what the judge calls

  // False: a person has to say it.
  bool settle_functions() {
    for (const std::string& function : rules_.functions) {
      std::vector<std::size_t> rivals;
      for (const std::size_t i : open_)
        if (whole(i).defines(function)) rivals.push_back(i);
      if (rivals.size() < 2) continue;
      std::string by;
      const auto winner = decided(rivals, by);
      if (!winner) {
        ask(rivals, function);
        return false;
      }
      std::vector<std::string> others;
      for (const std::size_t i : rivals)
        if (i != *winner) others.push_back(name(i));
      note(fmt::format("{} and {} define {}: {} names {}, which counts; left out: {}.", name(*winner),
                       some_of(others), function, by, name(*winner), some_of(others)));
      std::erase_if(open_, [&](std::size_t i) {
        return i != *winner && std::find(rivals.begin(), rivals.end(), i) != rivals.end();
      });
    }
    return true;
  }

  void ask(const std::vector<std::size_t>& rivals, const std::string& function) {
    std::vector<std::string> names;
    for (const std::size_t i : rivals) names.push_back(name(i));
    result_.problem = fmt::format(
        "{} {}define {}, and it is not known which one counts; leave all but one out of what you hand in, or "
        "add a file submission.yaml with the line: sources: [{}]",
        some_of(names), names.size() == 2 ? "both " : "", function, shown_source(sources_[rivals[0]].name));
  }

  // ---- what else belongs to the program

  void settle_others() {
    std::vector<std::size_t> kept, optional;
    std::set<fs::path> named;
    std::string by;
    SourceScan program;
    for (const std::size_t i : open_) {
      if (!has_functions(whole(i))) continue;
      kept.push_back(i);
      add(program, whole(i));
    }
    if (kept.empty()) return;
    for (const BuildFile& file : rules_.build_files) {
      const std::vector<fs::path> names = file.named(open_names());
      const bool builds_it = std::any_of(kept.begin(), kept.end(),
                                         [&](std::size_t i) { return contains(names, sources_[i].given); });
      if (!builds_it) continue;
      if (by.empty()) by = shown_source(file.path());
      named.insert(names.begin(), names.end());
    }
    for (const std::size_t i : open_) {
      if (std::find(kept.begin(), kept.end(), i) != kept.end()) continue;
      const bool apart = is_bench(i) || sources_[i].is_program;
      const bool unnamed = !named.empty() && !named.contains(sources_[i].given);
      if (apart || unnamed) {
        optional.push_back(i);
      } else {
        kept.push_back(i);
        add(program, whole(i));
      }
    }
    take_needed(kept, optional, program);
    tell_left_out(optional, by);
    open_ = std::move(kept);
    std::sort(open_.begin(), open_.end());
  }

  static void add(SourceScan& program, const SourceScan& part) {
    program.offers.insert(part.offers.begin(), part.offers.end());
    program.uses.insert(part.uses.begin(), part.uses.end());
  }

  // As a linker takes members of an archive: what the program uses and does not define yet.
  void take_needed(std::vector<std::size_t>& kept, std::vector<std::size_t>& optional,
                   SourceScan& program) const {
    for (bool found = true; found;) {
      found = false;
      for (const std::size_t i : optional) {
        const SourceScan scan = whole(i);
        const bool needed =
            std::any_of(scan.offers.begin(), scan.offers.end(), [&](const std::string& offered) {
              return offered != "main" && program.uses.contains(offered) && !program.offers.contains(offered);
            });
        if (!needed) continue;
        kept.push_back(i);
        add(program, scan);
        std::erase(optional, i);
        found = true;
        break;
      }
    }
  }

  void tell_left_out(const std::vector<std::size_t>& optional, const std::string& by) {
    std::map<std::string, std::vector<std::string>> reasons;
    for (const std::size_t i : optional) {
      const char* why = nullptr;
      if (sources_[i].is_program)
        why = "a cell that is a program of its own";
      else if (is_bench(i))
        why = "it has a main function, and the lab's functions need nothing of it";
      reasons[why != nullptr ? why : fmt::format("{} does not name it, and nothing needs it", by)].push_back(
          name(i));
    }
    for (const auto& [why, names] : reasons) note(fmt::format("{}: left out ({}).", some_of(names), why));
  }

  // ---- after the choice

  // Sources that the chosen ones include stay beside them.
  void keep_included() {
    std::vector<const Candidate*> from;
    for (const Candidate& header : headers_) from.push_back(&header);
    for (const std::size_t i : open_) from.push_back(&sources_[i]);
    for (std::size_t k = 0; k < from.size(); ++k) {
      for (const std::string& include : from[k]->scan.includes) {
        const auto source = included_source(*from[k], include);
        if (!source || result_.compiled.contains(sources_[*source].name)) continue;
        if (result_.included.insert(sources_[*source].name).second) from.push_back(&sources_[*source]);
      }
    }
  }

  void tell_of_main() {
    for (const std::size_t i : open_) {
      if (sources_[i].scan.defines("main"))
        note(fmt::format("{} has a main function: the judge's program has its own, and yours was not run.",
                         name(i)));
    }
  }

  const std::vector<Candidate>&sources_, &headers_;
  const CandidateRules& rules_;
  std::vector<std::size_t> open_;  // what is still in
  std::set<std::size_t> part_of_another_;
  ChosenSources result_;
};

}  // namespace

ChosenSources choose_sources(const std::vector<Candidate>& sources, const std::vector<Candidate>& headers,
                             const CandidateRules& rules) {
  return Choice(sources, headers, rules).run();
}

}  // namespace warpgrade
