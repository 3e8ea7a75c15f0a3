// `warpgrade words`: the sentences of words/ in the reader's language. As a filter it says again what a program
// printed, such as the findings of one that ran on the emulator by itself; --check looks at a course's files.
#include "base/words.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "cli/commands.h"

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

void translate_input() {
  const Words& words = reader_words();
  for (std::string line; std::getline(std::cin, line);) std::cout << words.of(line) << '\n' << std::flush;
}

}  // namespace

void add_words_command(CLI::App& app, int& code) {
  const auto files = std::make_shared<std::vector<fs::path>>();
  CLI::App* command = app.add_subcommand("words", "what is read from stdin, in the reader's language");
  command->add_option("--check", *files, "files of words (PO): is each in order, what does it lack?");
  command->callback([files, &code] {
    files->empty() ? translate_input() : check_words(*files);
    code = kExitGraded;
  });
}

}  // namespace warpgrade
