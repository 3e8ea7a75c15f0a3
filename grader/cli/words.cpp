// `warpgrade words`: the sentences of grader/cli/words in the reader's language. As a filter it says again what a program
// printed, such as the findings of one that ran on the emulator by itself; --check looks at a course's files.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "cli/commands.h"
#include "cli/readers_words.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

void check_words(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    Words words;
    words.add(file);
    tell("{}: {} sentences, {} without words\n", file.string(), words.size(), words.untranslated());
  }
}

void translate(std::istream& input) {
  const Words& words = reader_words();
  for (std::string line; std::getline(input, line);) fmt::print("{}\n", words.of(line));
}

struct WordsOptions {
  fs::path input;  // empty: stdin
  std::vector<fs::path> checked;
};

void say_in_words(const WordsOptions& options) {
  if (!options.checked.empty()) return check_words(options.checked);
  if (options.input.empty()) return translate(std::cin);
  std::ifstream input(options.input);
  translate(input);
}

}  // namespace

void add_words_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<WordsOptions>();
  CLI::App* command = app.add_subcommand("words", "what a program printed, in the reader's language");
  command->add_option("file", options->input, "what was printed; default: stdin")->check(CLI::ExistingFile);
  command->add_option("--check", options->checked,
                      "files of words (PO): is each in order, what does it lack?");
  command->callback([options, &code] {
    say_in_words(*options);
    code = kExitGraded;
  });
}

}  // namespace warpgrade
