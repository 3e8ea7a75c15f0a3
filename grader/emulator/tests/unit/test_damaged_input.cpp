// Damaged fat binaries and malformed PTX: each is refused with a message that names what is wrong.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "loader/fatbin.h"
#include "program/build.h"
#include "ptx/parser.h"

namespace warpgrade::emu {
namespace {

// A fat binary of one container with one PTX entry, whose fields tests overwrite.
class Fatbin {
 public:
  explicit Fatbin(const std::string& ptx) : container_(kContainerHeader + kEntryHeader, 0) {
    put<uint32_t>(0, 0xba55ed50);
    put<uint16_t>(6, kContainerHeader);
    put<uint64_t>(8, kEntryHeader + ptx.size());
    put<uint16_t>(kContainerHeader, 1);
    put<uint32_t>(kContainerHeader + 4, kEntryHeader);
    put<uint64_t>(kContainerHeader + 8, ptx.size());
    put<uint32_t>(kContainerHeader + 28, 80);
    container_.insert(container_.end(), ptx.begin(), ptx.end());
  }

  template <class T>
  void put(size_t at, T value) {
    std::memcpy(container_.data() + at, &value, sizeof value);
  }

  FatbinPtx read() const { return read(container_.data()); }

  static FatbinPtx read(const uint8_t* container) {
    const struct {
      uint32_t magic, version;
      const uint8_t* container;
      const uint8_t* const* more;
    } wrapper{0x466243b1, 1, container, nullptr};
    return ptx_of_fatbin(&wrapper, 80);
  }

  static constexpr size_t kContainerHeader = 16, kEntryHeader = 64;
  static constexpr size_t kEntryHeaderBytes = kContainerHeader + 4, kPayloadBytes = kContainerHeader + 8;

 private:
  std::vector<uint8_t> container_;
};

TEST(DamagedFatbin, whole_one_is_read) {
  EXPECT_EQ(Fatbin(".version 8.0").read().text, ".version 8.0");
}

TEST(DamagedFatbin, payload_size_that_wraps_is_refused) {
  Fatbin fatbin(".version 8.0");
  fatbin.put<uint16_t>(Fatbin::kContainerHeader, 2);  // machine code, which is passed over
  fatbin.put<uint64_t>(Fatbin::kPayloadBytes, 0 - uint64_t(Fatbin::kEntryHeader));
  EXPECT_NE(fatbin.read().problem.find("18446744073709551552 bytes stands where 76 are left"),
            std::string::npos)
      << fatbin.read().problem;
}

TEST(DamagedFatbin, payload_beyond_the_container_is_refused) {
  Fatbin fatbin(".version 8.0");
  fatbin.put<uint64_t>(Fatbin::kPayloadBytes, 13);
  EXPECT_EQ(fatbin.read().text, "");
  EXPECT_NE(fatbin.read().problem.find("64 + 13 bytes stands where 76 are left"), std::string::npos);
}

TEST(DamagedFatbin, entry_header_of_no_size_is_refused) {
  Fatbin fatbin(".version 8.0");
  fatbin.put<uint32_t>(Fatbin::kEntryHeaderBytes, 0);
  EXPECT_NE(fatbin.read().problem.find("damaged"), std::string::npos);
}

TEST(DamagedFatbin, missing_container_is_refused) {
  EXPECT_NE(Fatbin::read(nullptr).problem.find("container is missing"), std::string::npos);
}

// Why PTX with this body of a kernel is refused, "" when it is not.
std::string refusal(const std::string& body, const std::string& declarations = "") {
  try {
    const auto module = parse_module(".version 8.0\n.target sm_80\n.address_size 64\n" + declarations +
                                     ".visible .entry k()\n{\n" + body + "\n}\n");
    build_program(*module, "k", {});
  } catch (const PtxError& error) {
    return error.what();
  } catch (const BuildError& error) {
    return error.what();
  }
  return "";
}

std::string repeated(const std::string& word, size_t times) {
  std::string text;
  for (size_t k = 0; k < times; ++k) text += word;
  return text;
}

TEST(MalformedPtx, initializer_that_begins_with_plus_is_refused) {
  EXPECT_NE(refusal("ret;", ".global .b8 x[4] = {+ 1};\n").find("begins with '+'"), std::string::npos);
}

TEST(MalformedPtx, array_whose_size_wraps_is_refused) {
  EXPECT_NE(refusal("ret;", ".global .b8 x[4294967296][4294967297];\n").find("2^40"), std::string::npos);
}

TEST(MalformedPtx, array_larger_than_its_memory_is_refused) {
  EXPECT_NE(refusal(".local .b8 x[4294967304]; ret;").find("local memory"), std::string::npos);
  EXPECT_NE(refusal(".shared .b8 x[4294967304]; ret;").find("shared memory"), std::string::npos);
}

TEST(MalformedPtx, alignment_that_is_no_power_of_two_is_refused) {
  EXPECT_NE(refusal(".local .align 0 .b8 x[4]; ret;").find("power of two"), std::string::npos);
}

TEST(MalformedPtx, deeply_nested_operands_are_refused) {
  for (const char* opening : {"!", "{", "(", "[a, "}) {
    EXPECT_NE(refusal("mov.u32 " + repeated(opening, 400'000) + "1;" +
                      repeated("}", opening[0] == '{' ? 400'000 : 0))
                  .find("nested more than 16 deep"),
              std::string::npos)
        << opening;
  }
}

TEST(MalformedPtx, empty_branch_table_is_refused) {
  EXPECT_NE(refusal(".reg .b32 %r<2>; mov.u32 %r1, 0; T: .branchtargets ; brx.idx %r1, T; ret;")
                .find("branch table T is empty"),
            std::string::npos);
}

TEST(MalformedPtx, branch_without_operands_is_refused) {
  EXPECT_NE(refusal("bra;").find("without its operands"), std::string::npos);
  EXPECT_NE(refusal(".reg .b32 %r<2>; brx.idx %r1;").find("without its operands"), std::string::npos);
}

TEST(MalformedPtx, brace_taken_for_a_name_is_refused) {
  EXPECT_NE(refusal(".reg .b32 %r<2>; @{ ret; } ret;").size(), 0u);
}

// The search for what a kernel writes read the operand behind the last one.
TEST(MalformedPtx, load_and_atomic_of_one_operand_are_refused) {
  EXPECT_NE(refusal(".reg .b64 %rd<3>; ld.param.u64 %rd1;").size(), 0u);
  EXPECT_NE(refusal(".reg .b32 %r<3>; atom.global.add.u32 %r1;").size(), 0u);
  EXPECT_NE(refusal(".reg .b32 %r<3>; red.global.add.u32;").size(), 0u);
}

TEST(MalformedPtx, declaration_that_ends_early_is_refused) {
  EXPECT_NE(refusal(".reg .pred").find("unexpected end"), std::string::npos);
}

}  // namespace
}  // namespace warpgrade::emu
