// What a boxed process prints reaches the judge before its answer is acted upon.
#include "judge/judging/boxed_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace warpgrade {
namespace {

constexpr int kAnswers = 5;  // the descriptor on which a program answers

TEST(BoxedProcess, WordsPrintedBeforeAnAnswerAreThereWithTheAnswer) {
  int answers[2];
  ASSERT_EQ(pipe2(answers, O_CLOEXEC), 0);
  const FileDescriptor ours(answers[0]);
  FileDescriptor theirs(answers[1]);
  const auto output = std::make_shared<ProgramOutput>(1 << 20);
  BoxedProcess::Options options;
  options.label = "a program that prints and answers";
  // 40,000 numbers at most: it is killed long before.
  options.wrapped.command = {"/bin/sh", "-c", "for i in $(seq 40000); do echo line $i; echo . >&5; done"};
  options.wrapped.environment = {{"PATH", "/usr/bin:/bin"}};
  options.descriptors = {{theirs.get(), kAnswers}};
  options.output = output;
  BoxedProcess program(std::move(options));
  theirs.reset();
  for (int answer = 1; answer <= 3000; ++answer) {
    char mark[2];
    ASSERT_EQ(read(ours.get(), mark, 2), 2);
    program.take_output();
    ASSERT_NE(output->text().find("line " + std::to_string(answer) + "\n"), std::string::npos);
  }
  program.kill();
}

TEST(BoxedProcess, AProgramThatNeverStopsPrintingKeepsNobodyWaiting) {
  const auto output = std::make_shared<ProgramOutput>(4096);
  BoxedProcess::Options options;
  options.label = "a program that prints for ever";
  options.wrapped.command = {"/usr/bin/yes"};
  options.output = output;
  BoxedProcess program(std::move(options));
  while (output->text().find("bytes left out") == std::string::npos) program.take_output();
  for (int turn = 0; turn < 1000; ++turn) program.take_output();
  program.kill();
}

}  // namespace
}  // namespace warpgrade
