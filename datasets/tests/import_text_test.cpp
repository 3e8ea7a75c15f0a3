// Matrix Market files and edge lists that are as they should be.
#include "test_support.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {

Csr import_text(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  write_file(folder / name, text);
  return import_file(folder / name);
}

TEST(MatrixMarket, ReadsRealGeneral) {
  const Csr matrix = import_text("a.mtx",
                                 "%%MatrixMarket matrix coordinate real general\n% a remark\n\n2 3 3\n"
                                 "2 1 -1e-1\n1 3 2.5\n1 1 4\n");
  expect_equal(matrix, {2, 3, {0, 2, 3}, {0, 2, 0}, {4.0f, 2.5f, -0.1f}});
}

TEST(MatrixMarket, PatternEntriesBecomeOne) {
  expect_equal(import_text("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 2\n"),
               {2, 2, {0, 1, 2}, {1, 1}, {1.0f, 1.0f}});
}

TEST(MatrixMarket, ExpandsSymmetricTrianglesButNotTheDiagonal) {
  expect_equal(
      import_text("a.mtx",
                  "%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 5\n3 1 7\n3 2 9\n"),
      {3, 3, {0, 2, 3, 5}, {0, 2, 2, 0, 1}, {5, 7, 9, 7, 9}});
}

TEST(MatrixMarket, NegatesTheOtherTriangleOfSkewSymmetric) {
  expect_equal(import_text("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n"),
               {2, 2, {0, 1, 2}, {1, 0}, {-3.0f, 3.0f}});
}

TEST(MatrixMarket, AddsUpDuplicates) {
  expect_equal(
      import_text("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 2 3\n1 2 1\n1 1 4\n1 2 2\n"),
      {1, 2, {0, 2}, {0, 1}, {4.0f, 3.0f}});
}

TEST(MatrixMarket, AcceptsCrLfTabsAnyCaseAndNoLastLineEnd) {
  expect_equal(
      import_text("a.mtx",
                  "%%MatrixMarket MATRIX Coordinate Real General\r\n%x\r\n1 2 2\r\n1\t1\t2\r\n1  2  3"),
      {1, 2, {0, 2}, {0, 1}, {2.0f, 3.0f}});
}

TEST(MatrixMarket, AcceptsMatricesWithoutEntries) {
  expect_equal(import_text("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 0\n"),
               {3, 2, {0, 0, 0, 0}, {}, {}});
}

TEST(MatrixMarket, IsKnownByItsContentWhateverItsName) {
  expect_equal(import_text("a.txt", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n"),
               {1, 1, {0, 1}, {0}, {1.0f}});
}

TEST(MatrixMarket, ReadsGzip) {
  const TemporaryFolder folder;
  write_gzip(folder / "a.mtx.gz", "%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n");
  expect_equal(import_file(folder / "a.mtx.gz"), {1, 2, {0, 1}, {1}, {1.0f}});
}

TEST(MatrixMarket, ReportsProgressUpToTheWholeFile) {
  const TemporaryFolder folder;
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n1000 1000 300000\n";
  for (int i = 0; i < 300000; ++i) text += fmt::format("{} {}\n", 1 + i % 1000, 1 + i / 1000);
  write_file(folder / "a.mtx", text);
  std::uint64_t last = 0, calls = 0, whole = 0;
  import_file(folder / "a.mtx", [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, 2 * text.size());  // it is read twice
    EXPECT_GE(done, last);
    whole = total;
    last = done;
    ++calls;
  });
  EXPECT_EQ(last, whole);
  EXPECT_GE(calls, 2u);
}

TEST(MatrixMarket, StopsWhenProgressThrows) {
  const TemporaryFolder folder;
  write_file(folder / "a.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n");
  EXPECT_THROW(
      import_file(folder / "a.mtx", [](std::uint64_t, std::uint64_t) { throw std::runtime_error("stop"); }),
      std::runtime_error);
}

TEST(EdgeList, ReadsSnapsCommentsTabsAndBlanks) {
  expect_equal(import_text("a.txt", "# Nodes: 4 Edges: 3\n# From\tTo\n0\t3\n2 0\n\n0 1\n"),
               {4, 4, {0, 2, 2, 3, 3}, {1, 3, 0}, {1.0f, 1.0f, 1.0f}});
}

TEST(EdgeList, DropsDuplicateEdges) {
  expect_equal(import_text("a.txt", "0 1\n0 1\n1 1\n0 1\n"), {2, 2, {0, 1, 2}, {1, 1}, {1.0f, 1.0f}});
}

TEST(EdgeList, AcceptsCrLfAndGzip) {
  const TemporaryFolder folder;
  write_gzip(folder / "a.txt.gz", "# x\r\n0\t1\r\n1\t0\r\n");
  expect_equal(import_file(folder / "a.txt.gz"), {2, 2, {0, 1, 2}, {1, 0}, {1.0f, 1.0f}});
}

}  // namespace
}  // namespace warpgrade::datasets
