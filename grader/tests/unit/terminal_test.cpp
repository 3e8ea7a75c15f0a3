// Whether lines are written over, on a real pseudo-terminal.
#include "base/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace warpgrade {
namespace {

class Terminal : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(manager_, 0);
    ASSERT_EQ(grantpt(manager_) + unlockpt(manager_), 0);
    terminal_ = open(ptsname(manager_), O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal_, 0);
    const char* term = std::getenv("TERM");
    if (term != nullptr) before_ = term;
    unsetenv("NO_COLOR");
  }
  void TearDown() override {
    setenv("TERM", before_.c_str(), 1);
    close(terminal_);
    close(manager_);
  }

  int manager_ = posix_openpt(O_RDWR | O_NOCTTY), terminal_ = -1;
  std::string before_ = "dumb";
};

TEST_F(Terminal, that_is_dumb_or_unnamed_gets_no_escape_codes) {
  setenv("TERM", "xterm-256color", 1);
  EXPECT_TRUE(takes_escape_codes(terminal_));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(takes_escape_codes(terminal_));
  unsetenv("TERM");
  EXPECT_FALSE(takes_escape_codes(terminal_));
}

TEST_F(Terminal, whose_user_wants_plain_text_gets_no_escape_codes) {
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(takes_escape_codes(terminal_));
  unsetenv("NO_COLOR");
  EXPECT_TRUE(takes_escape_codes(terminal_));
}

TEST_F(Terminal, is_none_where_output_goes_to_a_file) {
  setenv("TERM", "xterm", 1);
  const int file = open("/dev/null", O_WRONLY);
  EXPECT_FALSE(takes_escape_codes(file));
  close(file);
}

}  // namespace
}  // namespace warpgrade
