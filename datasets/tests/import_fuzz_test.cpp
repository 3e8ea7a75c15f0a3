// Every importer on damaged files: good ones of each format, mutated at random. Whatever comes must be
// refused with a DatasetError that names the file, or be a valid matrix; never a crash, another exception, or
// memory out of proportion. Two seconds in all; WARPGRADE_FUZZ_SECONDS goes on longer, WARPGRADE_TEST_SEED
// elsewhere. A failure keeps the file and says where.
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "bv_encoder.h"
#include "test_support.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

struct Corpus {
  const char* label;
  Format format;                   // asked for; auto where the file tells
  std::string imported;            // the file handed to import_file
  std::vector<std::string> files;  // those that are mutated
};

std::string int32_bytes(const std::vector<int>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4};
}

void append_tar(std::string& archive, const std::string& name, const std::string& content, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(124, 11, fmt::format("{:011o}", content.size()));
  header.replace(136, 11, "00000000000");
  header.replace(148, 8, "        ");
  header[156] = type;
  header.replace(257, 8,
                 std::string("ustar\0"
                             "00",
                             8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
  archive += header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

template <typename T>
void append(std::string& text, T number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// A .zip of deflated members, as SciPy and the publishers of graphs write them.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string file, directory;
  for (const auto& [name, content] : members) {
    std::string packed(compressBound(content.size()), '\0');
    z_stream z = {};
    deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    z.avail_in = static_cast<uInt>(content.size());
    z.next_out = reinterpret_cast<Bytef*>(packed.data());
    z.avail_out = static_cast<uInt>(packed.size());
    deflate(&z, Z_FINISH);
    packed.resize(z.total_out);
    deflateEnd(&z);
    std::string common;  // what both headers have, from "version needed" to the length of the extra field
    for (const std::uint16_t half : {20, 0, 8, 0, 0x21}) append(common, half);
    append(common, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                                                    static_cast<uInt>(content.size()))));
    append(common, static_cast<std::uint32_t>(packed.size()));
    append(common, static_cast<std::uint32_t>(content.size()));
    append(common, static_cast<std::uint16_t>(name.size()));
    append(common, std::uint16_t{0});
    directory += "PK\1\2" + std::string("\x14\0", 2) + common + std::string(10, '\0');
    append(directory, static_cast<std::uint32_t>(file.size()));
    directory += name;
    file += "PK\3\4" + common + name + packed;
  }
  const std::size_t start = file.size();
  file += directory + "PK\5\6" + std::string(4, '\0');
  for (int i = 0; i < 2; ++i) append(file, static_cast<std::uint16_t>(members.size()));
  append(file, static_cast<std::uint32_t>(directory.size()));
  append(file, static_cast<std::uint32_t>(start));
  return file + std::string(2, '\0');
}

template <typename T>
std::string npy(const char* type, const std::vector<T>& items, const std::string& shape) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header.resize(117, ' ');
  header += '\n';
  std::string file("\x93NUMPY\1\0\x76\0", 10);
  return file + header + std::string(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
}

// SciPy's archives of four entries of a 3 x 3 matrix: 64-bit indices and doubles, deflated.
std::string scipys(const std::string& layout) {
  const std::vector<std::int64_t> four = {0, 0, 1, 2}, pointers = {0, 2, 3, 4}, shape = {3, 3};
  const std::vector<double> data = {1, 2, 3, 4};
  std::vector<std::pair<std::string, std::string>> members = {
      {"data.npy", npy("<f8", data, "(4,)")},
      {"shape.npy", npy("<i8", shape, "(2,)")},
      {"format.npy", npy("|S3", std::vector<char>(layout.begin(), layout.end()), "()")}};
  if (layout == "coo") {
    members.emplace_back("row.npy", npy("<i8", four, "(4,)"));
    members.emplace_back("col.npy", npy("<i8", four, "(4,)"));
  } else {
    members.emplace_back("indices.npy", npy("<i8", four, "(4,)"));
    members.emplace_back("indptr.npy", npy("<i8", pointers, "(4,)"));
  }
  return zip_of(members);
}

void write_system_graphs(const fs::path& folder) {
  fs::create_directories(folder / "wordnet");
  fs::create_directories(folder / "apt");
  write_file(folder / "wordnet/data.noun",
             "  1 a licence\n00000010 03 n 01 thing 0 002 ~ 00000020 n 0000 ! 00000020 n 0000 | a\n"
             "00000020 03 n 0a a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 001 @ 00000010 n 0000 | b\n");
  write_file(folder / "wordnet/data.verb",
             "00000100 29 v 02 run 0 jog 0 002 + 00000010 n 0101 & 00000300 s 0000 01 + 08 00 | go\n");
  write_file(folder / "wordnet/data.adj", "00000300 00 s 01 quick 0 000 | fast\n");
  write_file(folder / "wordnet/data.adv", "00000400 02 r 01 fast 0 001 \\ 00000300 a 0101 | quickly\n");
  write_file(folder / "apt/x_Packages",
             "Package: b\nVersion: 1\nDepends: c (>= 2), d:any | absent, c\n\n"
             "Package: a\nPre-Depends: b\nRecommends: d\n\nPackage: c\n\nPackage: d\nDepends: c (<< 3)\n");
  write_gzip(folder / "apt/y_Packages.gz", "Package: e\nDepends: a\n\nPackage: c\nDepends: e\n");
}

// Good files of every format in `folder`.
std::vector<Corpus> write_corpora(const fs::path& folder) {
  const Csr matrix = random_matrix(7, 20, 20);
  std::string market = "%%MatrixMarket matrix coordinate real general\n% a comment\n";
  market += fmt::format("{} {} {}\n", matrix.rows, matrix.cols, matrix.nnz());
  std::string edges = "# Directed graph\n# Nodes: 20 Edges: 30\n", contest = "20 30\n",
              arcs = "c x\np sp 20 30\n", csv;
  std::vector<int> binary = {20, 30};
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i)
      market += fmt::format("{} {} {}\n", row + 1, matrix.columns[i] + 1, matrix.values[i]);
  }
  for (int i = 0; i < 30; ++i) {
    const int from = i * 7 % 20, to = i * 11 % 19;
    edges += fmt::format("{}\t{}\n", from, to);
    contest += fmt::format("{} {} {}\n", from, to, i);
    arcs += fmt::format("a {} {} {}\n", from + 1, to + 1, i);
    csv += fmt::format("{},{}\n", from, to);
    binary.insert(binary.end(), {from, to, i});
  }
  write_file(folder / "m.mtx", market);
  write_gzip(folder / "z.mtx.gz", market);
  write_file(folder / "e.txt", edges);
  write_file(folder / "c.in", contest);
  write_file(folder / "b.bin", int32_bytes(binary));
  write_file(folder / "d.gr", arcs);
  write_csr(folder / "n.npz", matrix, {"n", "s", ""});
  fs::create_directories(folder / "raw");
  write_gzip(folder / "raw/edge.csv.gz", csv);
  write_gzip(folder / "raw/num-node-list.csv.gz", "20\n");
  std::string tar;
  append_tar(tar, "m/m.mtx", market);
  append_tar(tar, "m/readme.txt", "text");
  write_file(folder / "t.tar", tar + std::string(1024, '\0'));
  write_gzip(folder / "t.tar.gz", tar + std::string(1024, '\0'));
  std::string named;  // by the headers that GNU tar and pax write in front
  append_tar(named, "././@LongLink", std::string("m/") + std::string(120, 'n') + ".mtx" + '\0', 'L');
  append_tar(named, "m/n", market);
  append_tar(named, "PaxHeaders/r", "19 path=m/readme.m\n10 size=4\n21 mtime=1.000000001\n", 'x');
  append_tar(named, "r", "text");
  write_file(folder / "named.tar", named + std::string(1024, '\0'));
  const Csr square = build_csr(
      6, 6, {{0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {0, 4, 1}, {1, 2, 1}, {1, 3, 1}, {1, 4, 1}, {4, 0, 1}},
      Duplicates::kKeepAll);
  write_bv_graph(folder / "v", square);
  write_file(folder / "p.config", "6 8\n");
  write_file(folder / "p.graph", "0 4 7 7 7 8 8\n1 2 3 4 2 3 4 0\n");
  write_file(folder / "q.graph.ptrdump", int32_bytes(square.row_offsets));
  write_file(folder / "q.graph.edgedump", int32_bytes(square.columns));
  write_file(folder / "s.zip", zip_of({{"m/m.mtx", market}, {"m/readme.txt", "text"}}));
  for (const char* layout : {"csr", "csc", "coo"})
    write_file(folder / (layout + std::string(".npz")), scipys(layout));
  write_file(folder / "scipy.zip", zip_of({{"adj_full.npz", scipys("csr")}}));
  write_system_graphs(folder);
  return {
      {"zip", Format::kAuto, "s.zip", {"s.zip"}},
      {"deflated csr", Format::kAuto, "csr.npz", {"csr.npz"}},
      {"deflated csc", Format::kAuto, "csc.npz", {"csc.npz"}},
      {"deflated coo", Format::kAuto, "coo.npz", {"coo.npz"}},
      {"npz in a zip", Format::kAuto, "scipy.zip", {"scipy.zip"}},
      {"wordnet", Format::kAuto, "wordnet", {"wordnet/data.noun", "wordnet/data.verb", "wordnet/data.adv"}},
      {"debian packages", Format::kAuto, "apt", {"apt/x_Packages", "apt/y_Packages.gz"}},
      {"matrix market", Format::kAuto, "m.mtx", {"m.mtx"}},
      {"gzipped matrix market", Format::kAuto, "z.mtx.gz", {"z.mtx.gz"}},
      {"edge list", Format::kAuto, "e.txt", {"e.txt"}},
      {"contest", Format::kContest, "c.in", {"c.in"}},
      {"contest binary", Format::kContestBinary, "b.bin", {"b.bin"}},
      {"dimacs", Format::kAuto, "d.gr", {"d.gr"}},
      {"npz", Format::kAuto, "n.npz", {"n.npz"}},
      {"ogb", Format::kAuto, "raw/edge.csv.gz", {"raw/edge.csv.gz", "raw/num-node-list.csv.gz"}},
      {"tar", Format::kAuto, "t.tar", {"t.tar"}},
      {"tar.gz", Format::kAuto, "t.tar.gz", {"t.tar.gz"}},
      {"tar with long names", Format::kAuto, "named.tar", {"named.tar"}},
      {"bvgraph", Format::kAuto, "v.graph", {"v.graph", "v.properties"}},
      {"course text", Format::kAuto, "p.graph", {"p.graph", "p.config"}},
      {"course dumps", Format::kAuto, "q.graph.ptrdump", {"q.graph.ptrdump", "q.graph.edgedump"}}};
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string bytes) {
    for (std::uint64_t i = 0, times = 1 + below(3); i < times; ++i) once(bytes);
    return bytes;
  }
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }

 private:
  void once(std::string& bytes) {
    const std::size_t at = below(bytes.size());
    switch (below(9)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random_());
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, 1 + below(8));
        break;
      case 4:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(64)));
        break;
      case 5:
        bytes.insert(at, kWords[below(std::size(kWords))]);
        break;
      case 6:
        replace_number(bytes, at);
        break;
      case 7:
        for (std::size_t i = at; i < std::min(bytes.size(), at + 4); ++i) bytes[i] = static_cast<char>(0xff);
        break;
      default:
        for (std::size_t i = at; i < std::min(bytes.size(), at + 8); ++i) bytes[i] = '\0';
    }
  }
  // The digits from `at` on become a number that hurts.
  void replace_number(std::string& bytes, std::size_t at) {
    const std::size_t digit = bytes.find_first_of("0123456789", at);
    if (digit == std::string::npos) return;
    const std::size_t end = std::min(bytes.find_first_not_of("0123456789", digit), bytes.size());
    bytes.replace(digit, end - digit, kNumbers[below(std::size(kNumbers))]);
  }

  static constexpr const char* kWords[] = {
      "\r\n", "\n", " ", "#", "%", "-", "nan", "1e999", "\xEF\xBB\xBF", "0 0\n", "%%MatrixMarket"};
  static constexpr const char* kNumbers[] = {"0",
                                             "1",
                                             "-1",
                                             "2147483647",
                                             "2147483648",
                                             "4294967295",
                                             "268435455",
                                             "4194303",
                                             "9223372036854775807",
                                             "18446744073709551616",
                                             "1000000000000000000000000"};
  std::mt19937_64 random_;
};

Csr read(const fs::path& file, const ImportOptions& options) {
  if (file.filename() == "wordnet") return import_wordnet(file);
  if (file.filename() == "apt") return import_debian_packages(file);
  return import_file(file, options, nullptr);
}

// Empty when all is well.
std::string verdict(const fs::path& file, const ImportOptions& options) {
  try {
    const Csr matrix = read(file, options);
    const bool shaped = matrix.row_offsets.size() == static_cast<std::size_t>(matrix.rows) + 1 &&
                        matrix.row_offsets.front() == 0 && matrix.row_offsets.back() == matrix.nnz() &&
                        matrix.values.size() == matrix.columns.size();
    if (!shaped) return "a matrix whose arrays do not fit together";
    for (int row = 0; row < matrix.rows; ++row) {
      if (matrix.row_offsets[row] > matrix.row_offsets[row + 1]) return "a row that ends before it begins";
      for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i) {
        if (matrix.columns[i] < 0 || matrix.columns[i] >= matrix.cols) return "a column out of range";
        if (i > matrix.row_offsets[row] && matrix.columns[i - 1] > matrix.columns[i])
          return "a row that is not sorted";
        if (!std::isfinite(matrix.values[i])) return "a value that is not finite";
      }
    }
    return "";
  } catch (const DatasetError& error) {
    const std::string text = error.what();
    if (text.find(file.parent_path().string()) == std::string::npos)
      return "an error that names no file: " + text;
    return "";
  } catch (const std::exception& error) {
    return std::string("another exception: ") + error.what();
  }
}

double seconds_to_fuzz() {
  const char* text = std::getenv("WARPGRADE_FUZZ_SECONDS");
  return text != nullptr ? std::strtod(text, nullptr) : 2.0;
}

TEST(Fuzz, DamagedFilesAreRefusedOrGiveAValidMatrix) {
  const TemporaryFolder folder;
  const std::vector<Corpus> corpora = write_corpora(folder.path());
  std::map<std::string, std::string> good;
  for (const Corpus& corpus : corpora) {
    ImportOptions options;
    options.format = corpus.format;
    ASSERT_NO_THROW(read(folder / corpus.imported, options)) << corpus.label;
    for (const std::string& file : corpus.files) good[file] = read_file(folder / file);
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds_to_fuzz());
  std::uint64_t rounds = 0;
  for (std::uint64_t seed = base_seed() * 1000000; Clock::now() < end; ++seed) {
    for (const Corpus& corpus : corpora) {
      Mutator mutator(seed);
      const std::string& file = corpus.files[mutator.below(corpus.files.size())];
      const std::string bytes = mutator.mutate(good[file]);
      write_file(folder / file, bytes);
      ImportOptions options;
      options.format = corpus.format;
      const std::string wrong = verdict(folder / corpus.imported, options);
      if (!wrong.empty()) {
        const fs::path kept = fs::temp_directory_path() /
                              fmt::format("warpgrade-fuzz-{}-{}", seed, fs::path(file).filename().string());
        write_file(kept, bytes);
        FAIL() << corpus.label << ", seed " << seed << ": " << wrong << "; the file is kept as " << kept;
      }
      write_file(folder / file, good[file]);
      ++rounds;
    }
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss >> 10, 1500)
      << "MB: a file of a few hundred bytes cost far more memory than it can be worth";
  EXPECT_GT(rounds, corpora.size());
  std::printf("%llu files, %ld MB at most\n", static_cast<unsigned long long>(rounds), usage.ru_maxrss >> 10);
}

}  // namespace
}  // namespace warpgrade::datasets
