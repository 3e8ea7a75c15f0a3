// An oracle's answers for public cases in the cache folder: a student's next run on the same inputs starts no
// oracle. They are named by all that they follow from, so a changed oracle, lab or judge finds none of them.
// No box shows the folder, and only its owner can write to it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "judge/declaration/lab_declaration.h"
#include "judge/judging/judge_context.h"
#include "judge/labs/declared/kept_answers.h"
#include "record/case.h"

namespace warpgrade::declared {

class AnswerFiles {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20, kMostOfOne = std::size_t{32} << 20;

  // `content`: a hash of what the answers follow from, their names aside.
  explicit AnswerFiles(std::string content, std::size_t most_bytes = kMostBytes);

  // What was kept under this name; nothing where there is none, or the file is damaged.
  std::optional<Answer> find(const std::string& name) const;
  // Keeps it and gives up the files that were asked for least recently. A folder that cannot be written is no
  // mistake: the oracle answers again.
  void add(const std::string& name, const Answer& answer) const;

 private:
  std::string file_name(const std::string& name) const;
  void give_up_oldest() const;

  std::optional<std::filesystem::path> folder_;  // none: nothing is kept
  std::string content_;
  std::size_t most_bytes_;
};

// Of the cache. Nothing where it cannot be made, or others than its owner can write to it.
std::optional<std::filesystem::path> answers_folder();

// Of the case's answers in this run; nothing where they are not kept: a case that is timed, hidden or on a
// graph, a run that no other repeats, or on a GPU.
std::optional<AnswerFiles> answer_files(const declaration::LabDeclaration& lab, const Case& spec,
                                        const JudgeContext& context);

}  // namespace warpgrade::declared
