// Inputs that must be refused, each with a message that says where and why.
#include <sys/resource.h>

#include "test_support.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {

const std::string kBanner = "%%MatrixMarket matrix coordinate real general\n";

struct BadInput {
  const char* label;
  std::string file, content;
  std::vector<std::string> fragments;
};

void PrintTo(const BadInput& input, std::ostream* out) {
  *out << input.label;
}

class RefusedText : public testing::TestWithParam<BadInput> {};

TEST_P(RefusedText, NamesPlaceAndReason) {
  const TemporaryFolder folder;
  const BadInput& input = GetParam();
  write_file(folder / input.file, input.content);
  std::vector<std::string> fragments = input.fragments;
  fragments.push_back((folder / input.file).string());
  expect_error([&] { import_file(folder / input.file); }, fragments);
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, RefusedText,
    testing::Values(
        BadInput{"EmptyMatrixMarket", "a.mtx", "", {"the file is empty"}},
        BadInput{"NoBanner", "a.mtx", "1 1 1\n1 1 1\n", {":1:", "%%MatrixMarket", "'1 1 1'"}},
        BadInput{"DenseMatrix",
                 "a.mtx",
                 "%%MatrixMarket matrix array real general\n1 1\n1\n",
                 {":1:", "coordinate"}},
        BadInput{"ComplexField",
                 "a.mtx",
                 "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
                 {":1:", "real, integer or pattern"}},
        BadInput{"Hermitian",
                 "a.mtx",
                 "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n",
                 {":1:", "general, symmetric or skew-symmetric"}},
        BadInput{"NoSizeLine", "a.mtx", kBanner + "% nothing more\n", {"ends before its size line"}},
        BadInput{"BadSizeLine", "a.mtx", kBanner + "3 3\n", {":2:", "rows columns entries", "'3 3'"}},
        BadInput{"ZeroBasedRow", "a.mtx", kBanner + "2 2 1\n0 1 1\n", {":3:", "counts from 1", "'0 1 1'"}},
        BadInput{"ZeroBasedColumn", "a.mtx", kBanner + "2 2 1\n1 0 1\n", {":3:", "counts from 1"}},
        BadInput{"RowTooLarge",
                 "a.mtx",
                 kBanner + "2 3 1\n3 1 1\n",
                 {":3:", "indices from 1 to 2 and 1 to 3", "'3 1 1'"}},
        BadInput{
            "ColumnTooLarge", "a.mtx", kBanner + "2 3 1\n1 4 1\n", {":3:", "indices from 1 to 2 and 1 to 3"}},
        BadInput{"NegativeIndex", "a.mtx", kBanner + "2 3 1\n1 -4 1\n", {":3:", "indices from 1"}},
        BadInput{"FewerEntriesThanClaimed",
                 "a.mtx",
                 kBanner + "2 2 3\n1 1 1\n2 2 1\n",
                 {":4:", "expected 3 entries", "got 2"}},
        BadInput{"MoreEntriesThanClaimed",
                 "a.mtx",
                 kBanner + "2 2 1\n1 1 1\n2 2 1\n",
                 {":4:", "no more than the 1 entries"}},
        BadInput{"TrillionEntries",
                 "a.mtx",
                 kBanner + "2 2 1000000000000\n1 1 1\n",
                 {":2:", "at most 2147483647", "32-bit"}},
        BadInput{"TwoBillionEntriesThatAreNotThere",
                 "a.mtx",
                 kBanner + "2 2 2000000000\n1 1 1\n",
                 {":3:", "expected 2000000000 entries", "got 1"}},
        BadInput{"NegativeSizes", "a.mtx", kBanner + "-2 2 1\n1 1 1\n", {":2:", "rows and columns from 0"}},
        BadInput{"NotANumber", "a.mtx", kBanner + "2 2 1\n1 1 nan\n", {":3:", "finite value", "nan"}},
        BadInput{"Infinity", "a.mtx", kBanner + "2 2 1\n1 1 -inf\n", {":3:", "finite value"}},
        BadInput{"TooLargeForFloat", "a.mtx", kBanner + "2 2 1\n1 1 1e300\n", {":3:", "finite value"}},
        BadInput{"MissingValue", "a.mtx", kBanner + "2 2 1\n1 1\n", {":3:", "'row column value'"}},
        BadInput{
            "WordForAnIndex", "a.mtx", kBanner + "2 2 1\n1 x 1\n", {":3:", "'row column value'", "'1 x 1'"}},
        BadInput{"FractionForAnIndex", "a.mtx", kBanner + "2 2 1\n1.5 1 1\n", {":3:", "'row column value'"}},
        BadInput{"ValueInAPattern",
                 "a.mtx",
                 "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 7\n",
                 {":3:", "'row column'"}},
        BadInput{"SkewSymmetricDiagonal",
                 "a.mtx",
                 "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n",
                 {":3:", "nothing on the diagonal"}},
        BadInput{
            "BytesThatATerminalObeys", "a.txt", "\x1b[2J\xff\xc2\x9b \xc3\xa9\n", {"'?[2J??? \xc3\xa9'"}},
        BadInput{"EmptyEdgeList", "a.txt", "# Nodes: 0 Edges: 0\n", {"no edge in it"}},
        BadInput{"Prose", "a.txt", "# x\nnot a matrix\n", {":2:", "an edge: 'from to'", "'not a matrix'"}},
        BadInput{"OneId", "a.txt", "0 1\n5\n", {":2:", "an edge: 'from to'"}},
        BadInput{"NegativeId", "a.txt", "0 -1\n", {":1:", "node ids from 0"}},
        BadInput{"IdBeyond32Bits", "a.txt", "0 1\n0 9999999999\n", {":2:", "node ids from 0 to 268435455"}},
        BadInput{"SparseIds", "a.txt", "0 200000000\n", {":1:", "node id 200000000", "without gaps"}},
        BadInput{"NotANpz", "a.npz", "this is no archive at all, merely text", {"end of a zip archive"}},
        BadInput{"EmptyNpz", "a.npz", "", {"empty"}}),
    [](const auto& test) { return std::string(test.param.label); });

TEST(BadInput, MissingFile) {
  expect_error([] { import_file("/nonexistent/a.mtx"); }, {"no such file", "/nonexistent/a.mtx"});
}

TEST(BadInput, Folder) {
  const TemporaryFolder folder;
  expect_error([&] { import_file(folder.path()); }, {"is a folder"});
}

TEST(BadInput, BinaryNoise) {
  const TemporaryFolder folder;
  std::string noise;
  std::mt19937_64 random(base_seed());
  for (int i = 0; i < 5000; ++i) noise += static_cast<char>(random());
  for (const char* name : {"a.mtx", "a.txt", "a.npz"}) {
    write_file(folder / name, noise);
    expect_error([&] { import_file(folder / name); }, {(folder / name).string()});
  }
}

TEST(BadInput, ALineWithoutEnd) {
  const TemporaryFolder folder;
  write_file(folder / "a.mtx", "%%MatrixMarket matrix coordinate real general\n" + std::string(3 << 20, ' '));
  expect_error([&] { import_file(folder / "a.mtx"); }, {":2:", "1 MiB"});
}

// Every possible cut of a compressed file is noticed: no prefix passes for a shorter matrix.
TEST(BadInput, EveryTruncatedGzip) {
  const TemporaryFolder folder;
  std::string text = "# edges\n";
  for (int i = 0; i < 300; ++i) text += fmt::format("{} {}\n", i * 7919 % 300, i * 104729 % 300);
  write_gzip(folder / "a.txt.gz", text);
  const std::string whole = read_file(folder / "a.txt.gz");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(fmt::format("cut to {} of {} bytes", size, whole.size()));
    write_file(folder / "b.txt.gz", whole.substr(0, size));
    expect_error([&] { import_file(folder / "b.txt.gz"); }, {(folder / "b.txt.gz").string()});
  }
}

TEST(BadInput, TruncatedGzipSaysSo) {
  const TemporaryFolder folder;
  write_gzip(folder / "a.mtx.gz", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n");
  const std::string whole = read_file(folder / "a.mtx.gz");
  write_file(folder / "a.mtx.gz", whole.substr(0, whole.size() - 12));
  expect_error([&] { import_file(folder / "a.mtx.gz"); }, {"a.mtx.gz:", "cut off", "fetch it again"});
}

TEST(BadInput, DamagedGzipSaysSo) {
  const TemporaryFolder folder;
  write_gzip(folder / "a.mtx.gz", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n");
  std::string bytes = read_file(folder / "a.mtx.gz");
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] ^ 0x55);  // the checksum
  write_file(folder / "a.mtx.gz", bytes);
  expect_error([&] { import_file(folder / "a.mtx.gz"); }, {"a.mtx.gz:", "damaged"});
}

// A symmetric matrix that is not square has no other triangle: mirrored entries would fall outside.
TEST(BadInput, SymmetricButNotSquare) {
  const TemporaryFolder folder;
  write_file(folder / "a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 5000000 1\n1 5000000 1\n");
  expect_error([&] { import_file(folder / "a.mtx"); }, {":2:", "square"});
}

TEST(BadInput, DuplicatesThatAddUpToInfinity) {
  const TemporaryFolder folder;
  write_file(folder / "a.mtx", kBanner + "1 1 2\n1 1 3e38\n1 1 3e38\n");
  expect_error([&] { import_file(folder / "a.mtx"); }, {"a.mtx", "finite"});
}

// The dimensions are claims as well: two billion rows without entries must not take 24 GB.
TEST(BadInput, RowsThatAreOnlyClaimed) {
  const TemporaryFolder folder;
  write_file(folder / "a.mtx", kBanner + "2147483646 1 0\n");
  rlimit before = {};
  getrlimit(RLIMIT_AS, &before);
  const rlimit small = {rlim_t{4} << 30, before.rlim_max};
  setrlimit(RLIMIT_AS, &small);
  expect_error([&] { import_file(folder / "a.mtx"); }, {"a.mtx"});
  setrlimit(RLIMIT_AS, &before);
}

TEST(BadInput, NpzWithAWrongChecksum) {
  const TemporaryFolder folder;
  write_csr(folder / "a.npz", {1, 2, {0, 2}, {0, 1}, {1.5f, 2.5f}}, {});
  std::string bytes = read_file(folder / "a.npz");
  const float value = 2.5f;
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&value), sizeof value));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 2] = static_cast<char>(bytes[at + 2] ^ 1);
  write_file(folder / "a.npz", bytes);
  expect_error([&] { import_file(folder / "a.npz"); }, {"a.npz", "data.npy"});
}

}  // namespace
}  // namespace warpgrade::datasets
