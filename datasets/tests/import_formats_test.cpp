// Each importer on small files in the exact layout of what it reads, and on random matrices in that layout.
#include <algorithm>
#include <cstring>

#include "bv_encoder.h"
#include "test_support.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {

// 0 -> 1, 0 -> 2, 1 -> 2, 2 -> 0
const Csr kFour{3, 3, {0, 2, 3, 4}, {1, 2, 2, 0}, {1, 1, 1, 1}};

Csr read(const std::filesystem::path& path, const ImportOptions& options = {},
         ImportReport* report = nullptr) {
  Csr matrix = import_file(path, options, report);
  expect_valid(matrix);
  return matrix;
}

Csr square_ones(std::uint64_t seed, int most = 40) {
  Csr matrix = random_matrix(seed, most, most);
  matrix.rows = matrix.cols = std::max(matrix.rows, matrix.cols);
  matrix.row_offsets.resize(static_cast<std::size_t>(matrix.rows) + 1, matrix.row_offsets.back());
  std::fill(matrix.values.begin(), matrix.values.end(), 1.0f);
  return matrix;
}

std::string int32_bytes(const std::vector<int>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4};
}

// ---- SNAP ----

TEST(Snap, ReadsItsHeadAndChecksIt) {
  const TemporaryFolder folder;
  write_gzip(folder / "g.txt.gz",
             "# Directed graph (each unordered pair of nodes is saved once): g.txt\n# A test\n# Nodes: 3 "
             "Edges: 4\n# "
             "FromNodeId\tToNodeId\n0\t1\n0\t2\n1\t2\n2\t0\n");
  ImportReport report;
  expect_equal(read(folder / "g.txt.gz", {}, &report), kFour);
  EXPECT_EQ(report.format, Format::kEdgeList);
  EXPECT_EQ(report.lines, 4);
  EXPECT_TRUE(report.notes.empty());
}

TEST(Snap, MovesIdsFromOneDownAndSaysSo) {  // as in web-Stanford.txt.gz
  const TemporaryFolder folder;
  write_file(folder / "g.txt", "# Nodes: 3 Edges: 4\n1\t2\n1\t3\n2\t3\n3\t1\n");
  ImportReport report;
  expect_equal(read(folder / "g.txt", {}, &report), kFour);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("count from 1"), std::string::npos);
}

TEST(Snap, RenumbersIdsWithGapsAndSaysSo) {  // as in com-dblp.ungraph.txt.gz
  const TemporaryFolder folder;
  write_file(folder / "g.txt", "# Nodes: 3 Edges: 4\n5\t70\n5\t900\n70\t900\n900\t5\n");
  ImportReport report;
  expect_equal(read(folder / "g.txt", {}, &report), kFour);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("with gaps"), std::string::npos);
}

TEST(Snap, MirrorsUndirectedGraphsOnRequest) {
  const TemporaryFolder folder;
  write_file(folder / "g.txt", "0 1\n1 2\n2 2\n");
  ImportOptions options;
  options.mirror = Mirror::kOnce;
  expect_equal(read(folder / "g.txt", options), {3, 3, {0, 1, 3, 5}, {1, 0, 2, 1, 2}, {1, 1, 1, 1, 1}});
  options.mirror = Mirror::kTwice;
  options.keep_duplicates = true;
  expect_equal(read(folder / "g.txt", options), {3, 3, {0, 1, 3, 6}, {1, 0, 2, 1, 2, 2}, {1, 1, 1, 1, 1, 1}});
}

TEST(Snap, CountsDuplicatesAndSelfEdges) {
  const TemporaryFolder folder;
  write_file(folder / "g.txt", "0 1\r\n0 1\r\n1 1\r\n0 1\r\n");
  ImportReport report;
  EXPECT_EQ(read(folder / "g.txt", {}, &report).nnz(), 2);
  EXPECT_EQ(report.duplicates, 2);
  EXPECT_EQ(report.self_edges, 1);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0], "line ends are CRLF");
  ImportOptions options;
  options.drop_self_edges = true;
  EXPECT_EQ(read(folder / "g.txt", options).nnz(), 1);
}

TEST(Snap, RefusesCountsThatTheLinesDoNotGive) {
  const TemporaryFolder folder;
  write_file(folder / "edges.txt", "# Nodes: 3 Edges: 5\n0 1\n0 2\n1 2\n2 0\n");
  expect_error([&] { read(folder / "edges.txt"); },
               {"edges.txt:5:", "5 edges", "line 1", "got 4", "--ignore-counts"});
  write_file(folder / "nodes.txt", "# Nodes: 2 Edges: 4\n0 1\n0 2\n1 2\n2 0\n");
  expect_error([&] { read(folder / "nodes.txt"); },
               {"nodes.txt:1:", "2 nodes", "3 different ids from 0 to 2"});
  ImportOptions options;
  options.ignore_counts = true;
  expect_equal(read(folder / "edges.txt", options), kFour);
  expect_equal(read(folder / "nodes.txt", options), kFour);
}

TEST(Snap, KeepsNodesWithoutEdgesThatItsHeadCounts) {
  const TemporaryFolder folder;
  write_file(folder / "g.txt", "# Nodes: 5 Edges: 1\n0 1\n");
  EXPECT_EQ(read(folder / "g.txt").rows, 5);
}

TEST(Snap, SaysWhichEdgesHaveNoWeight) {
  const TemporaryFolder folder;
  write_file(folder / "g.txt",
             "\xEF\xBB\xBF"
             "0 1 5\n1 0\n");
  ImportReport report;
  expect_equal(read(folder / "g.txt", {}, &report), {2, 2, {0, 1, 2}, {1, 0}, {5, 1}});
  ASSERT_EQ(report.notes.size(), 2u);
  EXPECT_EQ(report.notes[0], "a byte order mark stands in front: left out");
  EXPECT_EQ(report.notes[1], "1 of 2 edges have no weight: read as 1");
}

// ---- what every importer says and refuses ----

TEST(Import, SaysLineEndsOfEveryText) {
  const TemporaryFolder folder;
  write_file(folder / "g.mtx", "%%MatrixMarket matrix coordinate pattern general\r\n2 2 1\r\n1 2\r\n");
  write_file(folder / "g.gr", "p sp 2 1\r\na 1 2 5\r\n");
  write_gzip(folder / "edge.csv.gz", "0,1\r\n");
  write_gzip(folder / "num-node-list.csv.gz", "2\r\n");
  write_file(folder / "c.config", "2 1\r\n");
  write_file(folder / "c.graph", "0 1 1\r\n1\r\n");
  for (const char* file : {"g.mtx", "g.gr", "edge.csv.gz", "c.graph"}) {
    ImportReport report;
    EXPECT_EQ(read(folder / file, {}, &report).nnz(), 1) << file;
    EXPECT_EQ(report.notes, std::vector<std::string>{"line ends are CRLF"}) << file;
  }
}

TEST(Import, RefusesOptionsThatWouldDoNothing) {
  const TemporaryFolder folder;
  write_file(folder / "g.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n");
  write_file(folder / "g.gr", "p sp 2 1\na 1 2 5\n");
  write_csr(folder / "g.npz", kFour, {"g", "test", ""});
  const auto refused = [&](const ImportOptions& options, const char* name,
                           const std::vector<std::string>& files) {
    for (const std::string& file : files)
      expect_error([&] { read(folder / file, options); }, {file, name, "does nothing"});
  };
  ImportOptions mirror, ids, duplicates, counts;
  mirror.mirror = Mirror::kOnce;
  ids.ids = Ids::kCompact;
  duplicates.keep_duplicates = true;
  counts.ignore_counts = true;
  refused(mirror, "--mirror", {"g.mtx", "g.npz"});
  refused(ids, "--ids", {"g.mtx", "g.npz", "g.gr"});
  refused(duplicates, "--keep-duplicates", {"g.mtx"});
  refused(counts, "--ignore-counts", {"g.mtx", "g.npz", "g.gr"});
}

TEST(Import, CountsAndDropsTheDiagonalOfWhatIsReadAsItStands) {
  const TemporaryFolder folder;
  const Csr matrix{3, 3, {0, 3, 3, 5}, {0, 1, 1, 0, 2}, {1, 2, 3, 4, 5}};
  write_csr(folder / "g.npz", matrix, {"g", "test", ""});
  ImportReport report;
  expect_equal(read(folder / "g.npz", {}, &report), matrix);
  EXPECT_EQ(report.self_edges, 2);
  EXPECT_EQ(report.kept_duplicates, 1);
  EXPECT_FALSE(report.self_edges_dropped);
  ImportOptions options;
  options.drop_self_edges = true;
  expect_equal(read(folder / "g.npz", options, &report), {3, 3, {0, 2, 2, 3}, {1, 1, 0}, {2, 3, 4}});
  EXPECT_TRUE(report.self_edges_dropped);
}

// ---- contests ----

TEST(Contest, ReadsTheHeadAsCounts) {
  const TemporaryFolder folder;
  write_file(folder / "g.in", "3 4\n0 1 1\n0 2 1\n1 2 1\n2 0 1\n");
  ImportOptions options;
  options.format = Format::kContest;
  expect_equal(read(folder / "g.in", options), kFour);
  write_file(folder / "one.in", "3 4\n1 2\n1 3\n2 3\n3 1\n");
  ImportReport report;
  expect_equal(read(folder / "one.in", options, &report), kFour);
  EXPECT_FALSE(report.notes.empty());
  write_file(folder / "short.in", "3 5\n0 1 1\n");
  expect_error([&] { read(folder / "short.in", options); }, {"short.in:2:", "5 edges", "got 1"});
  write_file(folder / "huge.in", "9223372036854775807 9223372036854775807\n0 1\n");
  expect_error([&] { read(folder / "huge.in", options); }, {"huge.in:1:", "number of nodes"});
}

TEST(Contest, AHeadThatLooksLikeAnEdgeIsNotGuessed) {
  const TemporaryFolder folder;
  std::string text = "10 9\n";
  for (int i = 0; i < 9; ++i) text += fmt::format("{} {}\n", i, i + 1 - i % 2);
  write_file(folder / "g.txt", text);
  expect_error([&] { read(folder / "g.txt"); }, {"g.txt:1:", "10 nodes, 9 edges", "--format"});
  ImportOptions options;
  options.format = Format::kContest;
  EXPECT_EQ(read(folder / "g.txt", options).rows, 10);
  options.format = Format::kEdgeList;
  EXPECT_EQ(read(folder / "g.txt", options).rows, 11);
  write_file(folder / "short.txt", "3 2\n0 1\n1 2\n");  // two edges fit by chance
  ImportReport report;
  EXPECT_EQ(read(folder / "short.txt", {}, &report).rows, 4);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("--format contest"), std::string::npos) << report.notes[0];
}

TEST(Contest, ReadsBinaryTriples) {
  const TemporaryFolder folder;
  write_file(folder / "g.bin", int32_bytes({3, 4, 0, 1, 7, 0, 2, 5, 1, 2, 3, 2, 0, 9}));
  ImportOptions options;
  options.format = Format::kContestBinary;
  expect_equal(read(folder / "g.bin", options), {3, 3, {0, 2, 3, 4}, {1, 2, 2, 0}, {7, 5, 3, 9}});
  write_file(folder / "cut.bin", int32_bytes({3, 4, 0, 1, 7, 0, 2}));
  expect_error([&] { read(folder / "cut.bin", options); }, {"cut.bin", "byte 28", "too early"});
  write_file(folder / "long.bin", int32_bytes({3, 1, 0, 1, 7, 0}));
  expect_error([&] { read(folder / "long.bin", options); }, {"long.bin", "byte 20", "more follows"});
}

// ---- DIMACS ----

TEST(Dimacs, ReadsTheChallengesLayout) {
  const TemporaryFolder folder;
  write_gzip(folder / "g.gr.gz",
             "c 9th DIMACS Implementation Challenge\nc\np sp 3 5\nc graph contains 3 nodes\na 1 2 "
             "803\na 1 3 158\na 2 3 774\na 3 1 158\na 1 2 700\n");
  ImportReport report;
  expect_equal(read(folder / "g.gr.gz", {}, &report),
               {3, 3, {0, 2, 3, 4}, {1, 2, 2, 0}, {700, 158, 774, 158}});
  EXPECT_EQ(report.format, Format::kDimacs);
  EXPECT_EQ(report.duplicates, 1);
}

TEST(Dimacs, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  const auto refuse = [&](const char* text, const std::vector<std::string>& fragments) {
    write_file(folder / "g.gr", text);
    expect_error([&] { read(folder / "g.gr"); }, fragments);
  };
  refuse("c x\na 1 2 3\n", {":2:", "'p sp nodes arcs' before any arc"});
  refuse("p sp 2 1\na 0 1 3\n", {":2:", "nodes from 1 to 2", "counts from 0"});
  refuse("p sp 2 2\na 1 2 3\n", {":2:", "expected 2 arcs", "got 1"});
  refuse("p sp 2 0\na 1 2 3\n", {":2:", "no more than the 0 arcs"});
  refuse("p max 2 1\n", {":1:", "'p sp nodes arcs'"});
  refuse("p sp 9223372036854775807 1\n", {":1:", "number of nodes"});
}

// ---- OGB ----

void write_ogb(const std::filesystem::path& raw) {
  std::filesystem::create_directories(raw);
  write_gzip(raw / "edge.csv.gz", "0,1\n0,2\n1,2\n0,1\n");
  write_gzip(raw / "num-node-list.csv.gz", "4\n");
  write_gzip(raw / "num-edge-list.csv.gz", "4\n");
}

TEST(Ogb, ReadsItsRawFolderAndKeepsRepeatedEdges) {
  const TemporaryFolder folder;
  write_ogb(folder / "arxiv/raw");
  ImportReport report;
  const Csr want{4, 4, {0, 3, 4, 4, 4}, {1, 1, 2, 2}, {1, 1, 1, 1}};
  expect_equal(read(folder / "arxiv", {}, &report), want);
  EXPECT_EQ(report.format, Format::kOgb);
  expect_equal(read(folder / "arxiv/raw/edge.csv.gz"), want);
  ImportOptions options;
  options.mirror = Mirror::kTwice;
  EXPECT_EQ(read(folder / "arxiv", options).nnz(), 8);
}

TEST(Ogb, ChecksItsCounts) {
  const TemporaryFolder folder;
  write_ogb(folder / "raw");
  write_gzip(folder / "raw/num-edge-list.csv.gz", "5\n");
  expect_error([&] { read(folder.path()); }, {"edge.csv.gz", "expected 5 edges", "got 4"});
  write_gzip(folder / "raw/num-node-list.csv.gz", "2\n");
  expect_error([&] { read(folder.path()); }, {"edge.csv.gz:2:", "nodes from 0 to 1", "'0,2'"});
  write_gzip(folder / "raw/num-node-list.csv.gz", "2\n2\n");
  expect_error([&] { read(folder.path()); }, {"num-node-list.csv.gz:2:", "several graphs"});
  std::filesystem::remove(folder / "raw/num-node-list.csv.gz");
  expect_error([&] { read(folder.path()); }, {"num-node-list.csv.gz beside it"});
}

// ---- the course's pair ----

TEST(Course, ReadsTextAndDumps) {
  const TemporaryFolder folder;
  write_file(folder / "g.config", "3 4\n");
  write_file(folder / "g.graph", "0 2 3 4\n1 2 2 0\n");
  write_file(folder / "g.graph.ptrdump", int32_bytes({0, 2, 3, 4}));
  write_file(folder / "g.graph.edgedump", int32_bytes({1, 2, 2, 0}));
  for (const char* name : {"g.config", "g.graph", "g.graph.ptrdump", "g.graph.edgedump"}) {
    SCOPED_TRACE(name);
    expect_equal(read(folder / name), kFour);
  }
  std::filesystem::remove(folder / "g.graph");
  expect_equal(read(folder / "g.config"), kFour);
}

TEST(Course, SurvivesRandomMatrices) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 30; ++seed) {
    SCOPED_TRACE(fmt::format("WARPGRADE_TEST_SEED={}", seed));
    const Csr matrix = square_ones(seed);
    write_file(folder / "g.config", fmt::format("{} {}", matrix.rows, matrix.nnz()));
    write_file(folder / "g.graph",
               fmt::format("{} \n{} \n", fmt::join(matrix.row_offsets, " "), fmt::join(matrix.columns, " ")));
    expect_equal(read(folder / "g.graph"), matrix);
  }
}

TEST(Course, NamesTheByteThatDoesNotFit) {
  const TemporaryFolder folder;
  const auto refuse = [&](const char* config, const char* graph, const std::vector<std::string>& fragments) {
    write_file(folder / "g.config", config);
    write_file(folder / "g.graph", graph);
    expect_error([&] { read(folder / "g.graph"); }, fragments);
  };
  refuse("3 4", "0 2 3 4\n1 2 2 3\n", {"g.graph: byte 14", "column 3 of 4", "count from 1", "got 3"});
  refuse("3 4", "1 2 3 4\n1 2 2 0\n", {"g.graph: byte 0", "row offset 0", "expected 0, got 1"});
  refuse("3 4", "0 2 1 4\n1 2 2 0\n", {"row offset 2", "expected 2 to 4, got 1"});
  refuse("3 4", "0 2 3 4\n1 2 2\n", {"got 7 numbers", "cut off"});
  refuse("3 4", "0 2 3 4\n1 2 2 0 0\n", {"expected the end"});
  refuse("3 4", "0 2 x 4\n1 2 2 0\n", {"byte 4", "'x'"});
  refuse("3", "0 2 3 4\n1 2 2 0\n", {"g.config", "two numbers"});
  refuse("3 9223372036854775807", "0\n", {"g.config", "beyond 2^63"});
  refuse("3 2000000000", "0\n", {"g.config", "can hold"});
  write_file(folder / "h.graph.ptrdump", int32_bytes({0, 2}) + "x");
  write_file(folder / "h.graph.edgedump", int32_bytes({0, 0}));
  expect_error([&] { read(folder / "h.graph.ptrdump"); }, {"h.graph.ptrdump", "byte 8", "int32"});
}

// ---- BVGraph ----

TEST(BvGraph, ReadsWhatWebGraphItselfWrote) {
  // The test graph of the package swh.graph 0.3.0 and its transpose, each compressed by the
  // WebGraph framework.
  const TemporaryFolder folder;
  const auto graph = [&](const char* name, std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    write_file(folder / (std::string(name) + ".graph"), bytes);
    write_file(
        folder / (std::string(name) + ".properties"),
        "graphclass=it.unimi.dsi.big.webgraph.BVGraph\nnodes=21\narcs=23\nwindowsize=7\nmaxrefcount=3\n"
        "minintervallength=4\nzetak=3\ncompressionflags=\n");
    return read(folder / (std::string(name) + ".graph"));
  };
  const Csr forward = graph("forward", "5daeebbbf2efb9deac909aa6dbeaabb7a2e4a4bb7ae2763a60");
  const Csr backward = graph("backward", "5abae9f48d7aba5aea1ad1ae9343268e5bea969d755d2eaba5d0");
  EXPECT_EQ(forward.nnz(), 23);
  std::vector<Entry> turned;
  for (int row = 0; row < backward.rows; ++row) {
    for (int i = backward.row_offsets[row]; i < backward.row_offsets[row + 1]; ++i)
      turned.push_back({backward.columns[i], row, 1.0f});
  }
  expect_equal(build_csr(21, 21, turned, Duplicates::kKeepAll), forward);
}

// Neighbouring rows share successors, some in runs, so that every part of the format occurs.
Csr web_like(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const int n = 2 + static_cast<int>(random() % 60);
  std::vector<Entry> entries;
  std::vector<int> before;
  for (int row = 0; row < n; ++row) {
    std::vector<int> now;
    for (const int successor : before) {
      if (random() % 3 != 0) now.push_back(successor);
    }
    const int start = static_cast<int>(random() % static_cast<std::uint64_t>(n));
    for (int i = 0, length = static_cast<int>(random() % 8); i < length && start + i < n; ++i)
      now.push_back(start + i);
    if (random() % 4 == 0) now.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(n)));
    if (random() % 6 == 0) now.clear();
    for (const int successor : now) entries.push_back({row, successor, 1.0f});
    before = now;
  }
  return build_csr(n, n, entries, Duplicates::kKeepFirst);
}

TEST(BvGraph, SurvivesRandomGraphsWithEverySetting) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 40; ++seed) {
    SCOPED_TRACE(fmt::format("WARPGRADE_TEST_SEED={}", seed));
    const Csr matrix = web_like(seed);
    for (const BvSettings settings : {BvSettings{}, BvSettings{0, 4, 3, false}, BvSettings{7, 0, 2, false},
                                      BvSettings{3, 2, 5, true}, BvSettings{1, 1, 1, false}}) {
      write_bv_graph(folder / "g", matrix, settings);
      expect_equal(read(folder / "g.graph"), matrix);
    }
  }
}

TEST(BvGraph, NamesTheBitThatDoesNotFit) {
  const TemporaryFolder folder;
  write_bv_graph(folder / "g", web_like(5));
  const std::string bits = read_file(folder / "g.graph"), properties = read_file(folder / "g.properties");
  write_file(folder / "g.graph", bits.substr(0, bits.size() / 2));
  expect_error([&] { read(folder / "g.graph"); }, {"g.graph: byte", "ends too early"});
  write_file(folder / "g.graph", bits);
  write_file(folder / "g.properties", properties + "arcs=3\n");
  expect_error([&] { read(folder / "g.graph"); }, {"g.graph: byte", "bit", "at most 3 arcs"});
  write_file(folder / "g.properties", properties + "arcs=99999999999999999999\n");
  expect_error([&] { read(folder / "g.graph"); }, {"g.properties", "arcs", "99999999999999999999"});
  write_file(folder / "g.properties", properties + "compressionflags=RESIDUALS_GOLOMB\n");
  expect_error([&] { read(folder / "g.graph"); }, {"g.properties", "RESIDUALS_GOLOMB"});
  std::filesystem::remove(folder / "g.properties");
  expect_error([&] { read(folder / "g.graph"); }, {"g.graph", "g.config", ".properties"});
}

}  // namespace
}  // namespace warpgrade::datasets
