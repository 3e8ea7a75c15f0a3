// Blocks that tell each other by an atomic operation or a flag of what they have stored without a fence
// between: programs/told_between_blocks.cu says by which rule of PTX's memory model.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "run_and_expect.h"

namespace {

constexpr const char* kProgram = "told_between_blocks";
constexpr const char* kBehindStore = "Put __threadfence() between the write and the atomic operation";
constexpr const char* kBeforeLoad = "Put __threadfence() behind the atomic operation";
constexpr const char* kModes[] = {"WARPEMU_NATIVE=0 ", "WARPEMU_NATIVE=always ", "WARPEMU_THREADS=4 ",
                                  "WARPEMU_SCHEDULE=reversed ", "WARPEMU_SCHEDULE=one_ahead "};

struct Form {
  const char* name;
  const char* form;
};

void PrintTo(const Form& f, std::ostream* out) {
  *out << f.name << " " << f.form;
}

// Forms of one kernel share its lines.
std::string line_of(const Form& f, const char* word) {
  const std::string name = f.name, kernel = name.starts_with("given_back") ? "lock_in_a_loop" : name;
  return std::to_string(marked_line(std::string(kProgram) + ".cu", kernel, word));
}

class ToldBetweenBlocks : public testing::TestWithParam<Form> {};

TEST_P(ToldBetweenBlocks, without_a_fence_is_a_race_at_the_load_with_the_line_of_the_store) {
  const Form& f = GetParam();
  for (const std::string mode : kModes) {
    const Result r = run(kProgram, std::string(f.name) + " " + f.form, mode + kEveryCheck);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_NE(r.output.find("emulator: global_race at told_between_blocks.cu:" + line_of(f, "LOAD") + " "),
              std::string::npos)
        << mode << "\n"
        << r.output;
    EXPECT_NE(r.output.find("wrote at told_between_blocks.cu:" + line_of(f, "STORE") + " "),
              std::string::npos)
        << mode << "\n"
        << r.output;
    EXPECT_NE(r.output.find(std::string(f.form) == "unread" ? kBeforeLoad : kBehindStore), std::string::npos)
        << mode << "\n"
        << r.output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, ToldBetweenBlocks,
    testing::Values(Form{"last_block", "wrong"}, Form{"last_block", "before_store"},
                    Form{"last_block", "behind_count"}, Form{"rows", "wrong"}, Form{"spin_lock", "wrong"},
                    Form{"spin_lock", "taken"}, Form{"lock_of_lanes", "wrong"},
                    Form{"exchange_lock", "wrong"}, Form{"chained_sums", "wrong"},
                    Form{"counted_barrier", "wrong"}, Form{"library", "wrong"},
                    Form{"lock_in_a_loop", "wrong"}, Form{"given_back_by_compare", "wrong"},
                    Form{"given_back_by_store", "wrong"}, Form{"together", "wrong"}, Form{"stores", "wrong"},
                    Form{"stores", "taken"}, Form{"last_thread", "unread"}, Form{"spin_lock", "unread"},
                    Form{"exchange_lock", "unread"}, Form{"lock_in_a_loop", "unread"},
                    Form{"given_back_by_compare", "unread"}, Form{"given_back_by_store", "unread"},
                    Form{"together", "unread"}, Form{"stores", "unread"}, Form{"chained_sums", "unread"},
                    Form{"counted_barrier", "unread"}, Form{"bounded_queue", "unread"}),
    [](const auto& test) { return std::string(test.param.name) + "_" + test.param.form; });

TEST(ToldBetweenBlocks, with_a_fence_is_no_race) {
  for (const char* name :
       {"last_block", "last_thread", "rows", "spin_lock", "lock_of_lanes", "exchange_lock", "lock_in_a_loop",
        "given_back_by_compare", "given_back_by_store", "together", "stores", "chained_sums",
        "counted_barrier", "bounded_queue", "library", "table", "search", "flags", "components"}) {
    for (const std::string mode : kModes) {
      const Result r = run(kProgram, std::string(name) + " right", mode + kEveryCheck);
      EXPECT_EQ(r.exit_code, 0) << r.output;
      EXPECT_EQ(r.output, "") << name << " " << mode;
    }
  }
}

}  // namespace
