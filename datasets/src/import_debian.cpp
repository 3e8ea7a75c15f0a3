// Two graphs that any Debian machine has: WordNet's synsets (package wordnet-base) and the packages'
// dependencies (apt's lists).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "line_reader.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

// Splits by blanks.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

template <typename T>
T number(const LineReader& reader, std::string_view word, int base = 10) {
  T value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc() || end != word.data() + word.size()) reader.fail("a number", word);
  return value;
}

// A synset: its place in the file of its part of speech.
using Synset = std::pair<char, std::int64_t>;

struct Pointer {
  Synset from, to;
};

// One line of data.pos: offset lex_filenum ss_type w_cnt word lex_id [...] p_cnt symbol offset pos
// source/target [...]; see wndb(5WN). w_cnt is hexadecimal, p_cnt decimal; satellites (s) live in
// the adjectives' file.
void read_synset(const LineReader& reader, std::string_view line, std::set<Synset>& nodes,
                 std::vector<Pointer>& pointers) {
  const auto words = words_of(line);
  if (words.size() < 6) reader.fail("a synset as in wndb(5WN)", line);
  const auto file_of = [](char pos) { return pos == 's' ? 'a' : pos; };
  const Synset self{file_of(words[2][0]), number<std::int64_t>(reader, words[0])};
  nodes.insert(self);
  // The counts are compared before they are multiplied: 4 times a false one can overflow to a small number.
  const auto word_count = number<std::size_t>(reader, words[3], 16);
  if (word_count > (words.size() - 5) / 2) reader.fail("as many words as the synset says", line);
  const std::size_t count_at = 4 + 2 * word_count;
  const auto count = number<std::size_t>(reader, words[count_at]);
  if (count > (words.size() - 1 - count_at) / 4) reader.fail("as many pointers as the synset says", line);
  for (std::size_t i = 0; i < count; ++i) {
    const auto offset = words[count_at + 4 * i + 2], pos = words[count_at + 4 * i + 3];
    pointers.push_back({self, {file_of(pos[0]), number<std::int64_t>(reader, offset)}});
  }
}

// "libc6 (>= 2.36), debconf | debconf-2.0" to names.
std::vector<std::string> dependency_names(std::string_view list) {
  std::vector<std::string> names;
  std::string name;
  bool skipping = false;
  for (char c : list) {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '+' || c == '.';
    if (c == ',' || c == '|') {
      if (!name.empty()) names.push_back(std::move(name));
      name.clear();
      skipping = false;
    } else if (part && !skipping) {
      name += c;
    } else if (!name.empty()) {
      skipping = true;  // version, architecture qualifier
    }
  }
  if (!name.empty()) names.push_back(std::move(name));
  return names;
}

using Packages = std::map<std::string, std::set<std::string>>;

void read_packages(LineReader& reader, Packages& packages) {
  std::string package;
  for (std::string_view line; reader.next(line);) {
    const std::size_t colon = line.find(':');
    const std::string_view key = line.substr(0, colon);
    if (colon == std::string_view::npos) continue;
    if (key == "Package") {
      package = line.substr(std::min(colon + 2, line.size()));
      packages[package];
    } else if ((key == "Depends" || key == "Pre-Depends" || key == "Recommends") && !package.empty()) {
      for (std::string& name : dependency_names(line.substr(colon + 1)))
        packages[package].insert(std::move(name));
    }
  }
}

// apt keeps its lists in whatever compression it was told to; its own helper reads them all.
void read_compressed_packages(const fs::path& path, Packages& packages) {
  constexpr const char* kHelper = "/usr/lib/apt/apt-helper";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw DatasetError("no pipe: {}", std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    execl(kHelper, kHelper, "cat-file", path.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  LineReader reader(ends[0], path.string());
  read_packages(reader, packages);
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) throw DatasetError("{} could not read {}", kHelper, path.string());
}

}  // namespace

Csr import_wordnet(const fs::path& folder) {
  std::set<Synset> nodes;
  std::vector<Pointer> pointers;
  for (const char* part : {"noun", "verb", "adj", "adv"}) {
    const fs::path file = folder / (std::string("data.") + part);
    if (!fs::exists(file)) throw DatasetError("{} is not there; apt-get install wordnet-base", file.string());
    LineReader reader(Source{file, ""}, {});
    for (std::string_view line; reader.next(line);) {
      if (!line.empty() && line.front() != ' ')
        read_synset(reader, line, nodes, pointers);  // the licence is indented
    }
  }
  std::map<Synset, int> index;
  for (const Synset& node : nodes) index.emplace(node, static_cast<int>(index.size()));
  std::vector<Entry> entries;
  for (const Pointer& pointer : pointers) {
    const auto to = index.find(pointer.to);
    if (to != index.end()) entries.push_back({index.at(pointer.from), to->second, 1.0f});
  }
  const int n = static_cast<int>(index.size());
  return build_csr(n, n, std::move(entries), Duplicates::kKeepFirst);
}

Csr import_debian_packages(const fs::path& lists) {
  Packages packages;
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(lists, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_Packages") || name.find("_Packages.") != std::string::npos)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    if (file.extension().empty() || file.extension() == ".gz") {
      LineReader reader(Source{file, ""}, {});
      read_packages(reader, packages);
    } else {
      read_compressed_packages(file, packages);
    }
  }
  if (packages.empty())
    throw DatasetError("no package list in {}; run apt-get update on a Debian machine", lists.string());
  std::map<std::string, int> index;
  for (const auto& [name, needs] : packages) index.emplace(name, static_cast<int>(index.size()));
  std::vector<Entry> entries;
  for (const auto& [name, needs] : packages) {
    for (const std::string& need : needs) {
      const auto to = index.find(need);
      if (to != index.end()) entries.push_back({index.at(name), to->second, 1.0f});
    }
  }
  const int n = static_cast<int>(index.size());
  return build_csr(n, n, std::move(entries), Duplicates::kKeepFirst);
}

}  // namespace warpgrade::datasets
