// Files of others that grader/tests/fuzz found to end the program, or to end it with words of a library's.
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "base/files.h"
#include "course/ingest/layout.h"
#include "course/ingest/roster.h"
#include "course/ingest/times.h"
#include "judge/declaration/npy_file.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text) {
  make_directories(path.parent_path());
  write_text(path, text);
}

Layout layout_of(const fs::path& folder, const std::string& name) {
  LayoutOptions options;
  options.name = name;
  options.lab = "spmm";
  return read_layout(folder, options);
}

std::string refusal_of(const fs::path& folder, const std::string& name) {
  try {
    layout_of(folder, name);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

const std::string kLongLine(1 << 19, 'a');

// std::regex recurses once for each character that a repetition takes.
TEST(ForeignFiles, ALongTextIsNoTime) {
  EXPECT_EQ(parse_time(std::string(1 << 20, '\t') + "2026-03-18"), std::nullopt);
  EXPECT_EQ(parse_time("2026-03-18 02:17:21." + std::string(1 << 20, '0')), std::nullopt);
  EXPECT_THROW(TimeZone::named("Europe/" + kLongLine), UsageError);
}

// Such a deadline was written with two figures, and was gone when the class was read again.
TEST(ForeignFiles, ATimeBefore1970IsNone) {
  EXPECT_EQ(parse_time("0052-10-25 02:30"), std::nullopt);
  EXPECT_EQ(parse_time("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_time("9999-12-31T23:59:59Z"), parse_time(format_time(253402300799)));
}

TEST(ForeignFiles, ASourceOfOneLongLineEndsNoClass) {
  const TemporaryDirectory folder("canvas");
  put(folder.path() / "lovelaceada_101_9001_spmm-1.cu",
      "#include \"" + kLongLine + "\"\n#" + std::string(1 << 18, ' ') + "include <tile.h>\n");
  put(folder.path() / "lovelaceada_101_9002_tile-2.h", "\n");
  const Layout layout = layout_of(folder.path(), "canvas");
  ASSERT_EQ(layout.attempts.size(), 1u);
  std::set<std::string> names;
  for (const RawFile& file : layout.attempts[0].files) names.insert(file.name);
  EXPECT_EQ(names, (std::set<std::string>{"spmm.cu", "tile.h"}));
}

TEST(ForeignFiles, GradescopesMetadataIsRefusedWithItsLine) {
  const TemporaryDirectory folder("gradescope");
  const auto refused = [&](const std::string& metadata) {
    put(folder.path() / "submission_metadata.yml", metadata);
    return refusal_of(folder.path(), "gradescope");
  };
  EXPECT_NE(refused("? [a]\n: b\n").find("expected a word as the key"), std::string::npos);
  EXPECT_NE(refused("submission_1:\n  :submitters:\n    :name: Ada\n").find("a list of people"),
            std::string::npos);
  for (const char* name : {"../../etc", "/etc", "..", "a/b"}) {
    const std::string words = refused(std::string("submission_1: {}\n'") + name + "': {}\n");
    EXPECT_NE(words.find("submission_metadata.yml:2: "), std::string::npos) << words;
    EXPECT_NE(words.find("the name of a folder beside this file"), std::string::npos) << words;
  }
}

std::string npy_refusal(const fs::path& file, std::string header) {
  header.resize(std::max<std::size_t>(header.size(), 118), ' ');
  const auto length = static_cast<char>(header.size() & 0xff), high = static_cast<char>(header.size() >> 8);
  write_text(file, "\x93NUMPY\x01" + std::string({'\0', length, high}) + header);
  try {
    declaration::read_npy_header(file);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ForeignFiles, NumPysHeaderIsRefusedInWords) {
  const TemporaryDirectory folder("npy");
  const fs::path file = folder.path() / "a.npy";
  const auto refused = [&](const std::string& type, const std::string& shape) {
    return npy_refusal(file, "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }");
  };
  EXPECT_EQ(refused("<f4", "2, 3"), "");
  EXPECT_EQ(refused("<f4", "3,"), "");
  EXPECT_EQ(refused("<f4", ""), "");
  EXPECT_NE(refused("<f4", "99999999999999999999").find("the shape"), std::string::npos);
  EXPECT_NE(refused("<f4", "-3").find("the shape"), std::string::npos);
  EXPECT_NE(refused("", "2").find("'descr'"), std::string::npos);
  EXPECT_NE(refused(std::string(60'000, 'x'), "2").find("'descr'"), std::string::npos);
}

}  // namespace
}  // namespace warpgrade
