#include "judge/compile/notebook.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"
#include "judge/compile/hand_in_name.h"
#include "judge/compile/source_name.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kDeepest = 100, kMostCells = 5000, kMostCodeBytes = 8 << 20;

// Keeps the text of code cells and nothing else: a notebook may be large and deep.
class CellReader : public nlohmann::json_sax<json> {
 public:
  std::vector<std::string> cells;
  std::string why;  // it ended early

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& value) override {
    const std::size_t cell = cell_level();
    if (cell == 0) return true;
    const std::string& key = levels_[cell - 1];
    const bool whole = levels_.size() == cell;
    if (whole && key == "cell_type") is_code_ = value == "code";
    const bool line = levels_.size() == cell + 1 && levels_.back() == kInArray;
    if ((key != "source" && key != "input") || (!whole && !line)) return true;
    bytes_ += value.size();
    if (bytes_ > kMostCodeBytes)
      return stop(fmt::format("its cells have more than {} MiB", kMostCodeBytes >> 20));
    text_ += value;
    return true;
  }
  bool start_object(std::size_t) override {
    if (!enter("")) return false;
    if (cell_level() == levels_.size()) {
      text_.clear();
      is_code_ = false;
    }
    return true;
  }
  bool key(string_t& name) override {
    levels_.back() = name.substr(0, 20);
    return true;
  }
  bool end_object() override {
    if (cell_level() == levels_.size() && is_code_) {
      if (cells.size() == kMostCells) return stop(fmt::format("it has more than {} cells", kMostCells));
      cells.push_back(std::move(text_));
    }
    levels_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return enter(kInArray); }
  bool end_array() override {
    levels_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return stop("it is no JSON text");
  }

 private:
  static constexpr const char* kInArray = "[";

  bool stop(std::string reason) {
    why = std::move(reason);
    return false;
  }
  bool enter(const char* level) {
    if (levels_.size() == kDeepest) return stop(fmt::format("it is nested more than {} levels", kDeepest));
    levels_.emplace_back(level);
    return true;
  }
  // How many levels there are down to the object of the cell in which the reader is; 0: in none.
  std::size_t cell_level() const {
    const auto is = [&](std::size_t at, const char* what) {
      return levels_.size() > at && levels_[at] == what;
    };
    if (is(0, "cells") && is(1, kInArray) && levels_.size() >= 3 && levels_[2] != kInArray) return 3;
    if (is(0, "worksheets") && is(1, kInArray) && is(2, "cells") && is(3, kInArray) && levels_.size() >= 5 &&
        levels_[4] != kInArray)
      return 5;
    return 0;
  }

  std::vector<std::string> levels_;  // the key within each open object; kInArray for an array
  std::string text_;
  std::size_t bytes_ = 0;
  bool is_code_ = false;
};

// Words as a shell splits them; quotes hold together.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = '\0';
  bool open = false;
  for (const char c : line) {
    if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

struct Magic {
  std::string kind, name, group;
  bool append = false;
};

Magic magic_of(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  Magic magic;
  if (words.empty() || !words[0].starts_with("%%")) return magic;
  magic.kind = words[0].substr(2);
  const bool writes = magic.kind == "writefile" || magic.kind == "file";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string option = words[i].substr(0, words[i].find('='));
    const bool joined = option.size() < words[i].size() && option.starts_with("--");
    const auto value = [&] {
      if (joined) return words[i].substr(option.size() + 1);
      return i + 1 < words.size() ? words[++i] : std::string();
    };
    if (writes) {
      if (option == "-a" || option == "--append")
        magic.append = true;
      else if (magic.name.empty())
        magic.name = words[i];
    } else if (option == "-n" || option == "--name") {
      magic.name = value();
    } else if (option == "-g" || option == "--group") {
      magic.group = value();
    }
  }
  return magic;
}

class Writer {
 public:
  explicit Writer(const std::string& stem) : stem_(stem) {}

  void cell(const std::string& text) {
    ++number_;
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const Magic magic = magic_of(std::string_view(text).substr(begin, end - begin));
    const std::string body = end < text.size() ? text.substr(end + 1) : "";
    const bool writes = magic.kind == "writefile" || magic.kind == "file";
    const bool compiles = magic.kind == "cu" || magic.kind == "cuda";
    if (!writes && !compiles && magic.kind != "cuda_group_save") return;
    if (magic.name.empty()) {
      if (compiles) put(fmt::format("{}_cell{}.cu", stem_, number_), body, false, false);
      return;
    }
    fs::path name = name_of(magic.name);
    if (name.empty()) return;
    if (magic.kind == "cuda_group_save" && !magic.group.empty() && magic.group != "shared" &&
        magic.group.find_first_of("/.") == std::string::npos)
      name = magic.group / name;
    put(name, body, magic.append, true);
  }

  NotebookSources take() { return std::move(result_); }

 private:
  // The file's name within the notebook's folder; empty: it is no source.
  fs::path name_of(const std::string& given) {
    const fs::path path = fs::path(given).lexically_normal();
    const fs::path tidied = hand_in_name(path.filename()).name;
    if (!is_source(tidied) && !is_header(tidied)) return {};
    const bool leads_out = path.is_absolute() || *path.begin() == ".." || given.starts_with("~");
    if (!leads_out) return path;
    // Colab's own folder is the notebook's: nothing to tell.
    if (!path.native().starts_with("/content/") || path.native().find("/..") != std::string::npos)
      result_.notes.push_back(
          fmt::format("cell {} writes {}, which is not in the notebook's folder: it was read as {}", number_,
                      plain_line(given, 80), plain_line(path.filename().string(), 80)));
    return path.filename();
  }

  void put(const fs::path& name, std::string body, bool append, bool named) {
    if (!body.empty() && !body.ends_with('\n')) body += '\n';
    const auto known = std::find_if(result_.sources.begin(), result_.sources.end(),
                                    [&](const NotebookSource& each) { return each.name == name; });
    if (known == result_.sources.end()) {
      result_.sources.push_back({name, std::move(body), number_, named});
      return;
    }
    known->text = append ? known->text + body : std::move(body);
    known->cell = number_;
  }

  const std::string& stem_;
  int number_ = 0;
  NotebookSources result_;
};

}  // namespace

NotebookSources read_notebook(const std::string& text, const std::string& stem) {
  CellReader reader;
  NotebookSources unread;
  if (!json::sax_parse(text, &reader)) {
    unread.problem = reader.why.empty() ? "it is no JSON text" : reader.why;
    return unread;
  }
  Writer writer(stem);
  for (const std::string& cell : reader.cells) writer.cell(cell);
  return writer.take();
}

}  // namespace warpgrade
