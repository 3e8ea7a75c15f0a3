// WordNet's and Debian's graphs, from small files whose graph is known and from the machine's own where
// it has them.
#include <fmt/format.h>

#include <set>

#include "test_support.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

void write_wordnet(const TemporaryFolder& folder, const std::string& noun) {
  write_file(folder / "data.noun", "  1 a licence\n" + noun);
  // A pointer to a noun, and a satellite adjective, which other files call 's' and find in data.adj.
  write_file(folder / "data.verb",
             "00000100 29 v 02 run 0 jog 0 002 + 00000010 n 0101 & 00000300 s 0000 01 + 08 00 | go\n");
  write_file(folder / "data.adj", "00000300 00 s 01 quick 0 000 | fast\n");
  write_file(folder / "data.adv", "00000400 02 r 01 fast 0 001 \\ 00000300 a 0101 | quickly\n");
}

TEST(Wordnet, TurnsSynsetsAndPointersIntoAGraph) {
  const TemporaryFolder folder;
  write_wordnet(folder,
                "00000010 03 n 01 thing 0 002 ~ 00000020 n 0000 ! 00000020 n 0000 | a\n"
                "00000020 03 n 0a a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 001 @ 00000010 n 0000 | b\n");
  const Csr graph = import_wordnet(folder.path());
  expect_valid(graph);
  EXPECT_EQ(graph.rows, 5);
  // thing <-> b (two pointers to one synset count once), run -> thing, run -> quick, fast -> quick
  EXPECT_EQ(graph.nnz(), 5);
}

TEST(Wordnet, RefusesALineThatIsNoSynset) {
  const TemporaryFolder folder;
  write_wordnet(folder, "00000010 03 n 01 thing 0 009 ~ 00000020 n 0000 | a\n");
  expect_error([&] { import_wordnet(folder.path()); }, {"data.noun:2:", "pointers"});
}

TEST(Wordnet, RefusesCountsWhoseMultiplesOverflow) {
  for (const char* pointers : {"4611686018427387904", "9223372036854775807", "18446744073709551615"}) {
    const TemporaryFolder folder;
    write_wordnet(folder, fmt::format("00000010 03 n 01 thing 0 {} ~ 00000020 n 0000 | a\n", pointers));
    expect_error([&] { import_wordnet(folder.path()); }, {"data.noun:2:", "pointers"});
  }
  for (const char* words : {"8000000000000000", "ffffffffffffffff"}) {
    const TemporaryFolder folder;
    write_wordnet(folder, fmt::format("00000010 03 n {} thing 0 000 | a\n", words));
    expect_error([&] { import_wordnet(folder.path()); }, {"data.noun:2:", "words"});
  }
}

TEST(Wordnet, NamesThePackageWhenItIsNotInstalled) {
  expect_error([] { import_wordnet("/nonexistent"); },
               {"/nonexistent/data.noun", "apt-get install wordnet-base"});
}

TEST(Wordnet, HasThePublishedSizeOnThisMachine) {
  if (!fs::exists("/usr/share/wordnet/data.noun")) GTEST_SKIP() << "apt-get install wordnet-base to run this";
  const Csr graph = import_wordnet();
  expect_valid(graph);
  EXPECT_EQ(graph.rows, 117659);
  EXPECT_EQ(graph.nnz(), 361647);
}

constexpr const char* kPackages =
    "Package: b\nVersion: 1\nDepends: c (>= 2), d:any | absent, c\n\n"
    "Package: a\nPre-Depends: b\nRecommends: d\nSuggests: c\n\n"
    "Package: c\n\nPackage: d\nDepends: c (<< 3) | c (>> 4)\n";

// Nodes a, b, c, d: a needs b and d, b needs c and d, d needs c.
const Csr kPackageGraph{4, 4, {0, 2, 4, 4, 5}, {1, 3, 2, 3, 2}, {1, 1, 1, 1, 1}};

TEST(DebianPackages, TurnsDependenciesIntoAGraph) {
  const TemporaryFolder folder;
  write_file(folder / "x_main_binary-amd64_Packages", kPackages);
  write_file(folder / "x_InRelease", "Package: not-a-list\n");
  expect_equal(import_debian_packages(folder.path()), kPackageGraph);
}

TEST(DebianPackages, ReadsGzipAndJoinsLists) {
  const TemporaryFolder folder;
  write_gzip(folder / "x_Packages.gz", kPackages);
  write_file(folder / "y_Packages", "Package: e\nDepends: a\n\nPackage: c\nDepends: e\n");
  const Csr graph = import_debian_packages(folder.path());
  EXPECT_EQ(graph.rows, 5);
  EXPECT_EQ(graph.nnz(), 7);
}

TEST(DebianPackages, SaysHowToGetLists) {
  const TemporaryFolder folder;
  expect_error([&] { import_debian_packages(folder.path()); }, {folder.path().string(), "apt-get update"});
}

TEST(DebianPackages, NamesAListThatIsCutOff) {
  const TemporaryFolder folder;
  write_gzip(folder / "x_Packages.gz", kPackages);
  write_file(folder / "x_Packages.gz", read_file(folder / "x_Packages.gz").substr(0, 60));
  expect_error([&] { import_debian_packages(folder.path()); }, {"x_Packages.gz", "cut off"});
}

TEST(DebianPackages, ReadsThisMachinesLists) {
  Csr graph;
  try {
    graph = import_debian_packages();
  } catch (const DatasetError& error) {
    GTEST_SKIP() << error.what();
  }
  expect_valid(graph);
  EXPECT_GT(graph.rows, 10000);
  EXPECT_GT(graph.nnz(), graph.rows);
}

}  // namespace
}  // namespace warpgrade::datasets
