// The working format: what is written comes back, and what was damaged is noticed.
#include "warpgrade/datasets/csr_file.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "test_support.h"

namespace warpgrade::datasets {
namespace {

Csr sample() {
  return {3, 4, {0, 2, 2, 4}, {0, 3, 1, 2}, {1.5f, -2.0f, 0.25f, 8.0f}};
}

std::uintptr_t misalignment(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % 64;
}

TEST(CsrFile, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string hash = write_csr(folder / "a.npz", sample(), {"a", "a test", "none-1"});
  const CsrFile file = CsrFile::open(folder / "a.npz");
  expect_equal(file, sample());
  EXPECT_EQ(file.nnz(), 4);
  EXPECT_EQ(file.content_hash(), hash);
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(file.origin().name, "a");
  EXPECT_EQ(file.origin().source, "a test");
  EXPECT_EQ(file.origin().generator, "none-1");
  EXPECT_NO_THROW(file.verify());
}

TEST(CsrFile, GivesBackRandomMatrices) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Csr matrix = random_matrix(seed);
    write_csr(folder / "a.npz", matrix, {});
    const CsrFile file = CsrFile::open(folder / "a.npz");
    expect_equal(file, matrix);
    EXPECT_NO_THROW(file.verify());
  }
}

TEST(CsrFile, HoldsMatricesWithoutEntriesOrRows) {
  const TemporaryFolder folder;
  for (const Csr& matrix :
       {Csr{3, 5, {0, 0, 0, 0}, {}, {}}, Csr{0, 5, {0}, {}, {}}, Csr{0, 0, {0}, {}, {}}}) {
    write_csr(folder / "a.npz", matrix, {});
    const CsrFile file = CsrFile::open(folder / "a.npz");
    expect_equal(file, matrix);
    EXPECT_NO_THROW(file.verify());
  }
}

TEST(CsrFile, PlacesArraysAtMultiplesOf64Bytes) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = base_seed(); seed < base_seed() + 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    write_csr(folder / "a.npz", random_matrix(seed), {std::string(seed % 70, 'x'), "", ""});
    const CsrFile file = CsrFile::open(folder / "a.npz");
    EXPECT_EQ(misalignment(file.row_offsets().data()), 0u);
    EXPECT_EQ(misalignment(file.columns().data()), 0u);
    EXPECT_EQ(misalignment(file.values().data()), 0u);
  }
}

TEST(CsrFile, EqualMatricesMakeEqualBytes) {
  const TemporaryFolder folder;
  write_csr(folder / "a.npz", sample(), {"n", "s", "g"});
  write_csr(folder / "b.npz", sample(), {"n", "s", "g"});
  EXPECT_EQ(read_file(folder / "a.npz"), read_file(folder / "b.npz"));
}

TEST(CsrFile, HashDependsOnContentAndGeneratorAndNotOnNameOrSource) {
  const TemporaryFolder folder;
  const std::string hash = write_csr(folder / "a.npz", sample(), {"a", "b", "c"});
  EXPECT_EQ(write_csr(folder / "a.npz", sample(), {"x", "y", "c"}), hash);
  EXPECT_NE(write_csr(folder / "a.npz", sample(), {"x", "y", "another-generator-1"}), hash);
  Csr other = sample();
  other.cols = 5;
  EXPECT_NE(write_csr(folder / "a.npz", other, {}), hash);
  other = sample();
  other.values[2] = -0.25f;
  EXPECT_NE(write_csr(folder / "a.npz", other, {}), hash);
  other = sample();
  other.columns[0] = 1;
  EXPECT_NE(write_csr(folder / "a.npz", other, {}), hash);
  other = sample();
  other.row_offsets = {0, 2, 3, 4};
  EXPECT_NE(write_csr(folder / "a.npz", other, {}), hash);
}

TEST(CsrFile, ArraysOutliveTheObjectThatOpenedThem) {
  const TemporaryFolder folder;
  write_csr(folder / "a.npz", sample(), {});
  CsrFile copy = [&] {
    const CsrFile file = CsrFile::open(folder / "a.npz");
    return file;
  }();
  std::filesystem::remove(folder / "a.npz");
  expect_equal(copy, sample());
}

TEST(CsrFile, VerifyNoticesEveryFlippedArrayByte) {
  const TemporaryFolder folder;
  write_csr(folder / "a.npz", sample(), {});
  const std::string good = read_file(folder / "a.npz");
  const CsrFile file = CsrFile::open(folder / "a.npz");
  // The offset of an array in the file: its bytes occur there and the header before them is padded
  // with blanks.
  for (const auto& array : {std::as_bytes(file.columns()), std::as_bytes(file.values())}) {
    const std::size_t at =
        good.find("\n" + std::string(reinterpret_cast<const char*>(array.data()), array.size())) + 1;
    ASSERT_NE(at, 0u);
    for (std::size_t i = 0; i < array.size(); ++i) {
      SCOPED_TRACE(fmt::format("byte {}", at + i));
      std::string bad = good;
      bad[at + i] = static_cast<char>(bad[at + i] ^ 1);
      write_file(folder / "b.npz", bad);
      expect_error([&] { CsrFile::open(folder / "b.npz").verify(); }, {(folder / "b.npz").string()});
    }
  }
}

// A process that has found a file whole believes it for as long as it is the very same file; whoever changes
// it in place can set the time of its contents back, but not that of its last change.
TEST(CsrFile, AFileFoundWholeIsReadAgainWhenItChanged) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "a.npz";
  write_csr(path, sample(), {});
  std::this_thread::sleep_for(std::chrono::milliseconds(3100));  // only an old file's verdict is kept
  const auto written = std::filesystem::last_write_time(path);
  for (int i = 0; i < 2; ++i) EXPECT_NO_THROW(CsrFile::open_verified(path));
  {
    const CsrFile file = CsrFile::open(path);
    const auto values = std::as_bytes(file.values());
    const std::string array(reinterpret_cast<const char*>(values.data()), values.size());
    const std::size_t at = read_file(path).find("\n" + array) + 1;
    ASSERT_NE(at, 0u);
    const float changed = 3.0f;
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.write(reinterpret_cast<const char*>(&changed), sizeof changed);
  }
  std::filesystem::last_write_time(path, written);
  EXPECT_THROW(CsrFile::open_verified(path), DatasetError);
  write_csr(path, sample(), {});  // another file under the same name
  EXPECT_NO_THROW(CsrFile::open_verified(path));
}

TEST(CsrFile, ThreadsThatOpenOneFileAtOnceAllLearnWhetherItIsWhole) {
  const TemporaryFolder folder;
  write_csr(folder / "good.npz", sample(), {"a", "b", "c"});
  std::string bytes = read_file(folder / "good.npz");
  const CsrFile good = CsrFile::open(folder / "good.npz");
  const auto values = std::as_bytes(good.values());
  const std::size_t at =
      bytes.find("\n" + std::string(reinterpret_cast<const char*>(values.data()), values.size())) + 1;
  ASSERT_NE(at, 0u);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  write_file(folder / "bad.npz", bytes);
  std::atomic<int> opened{0}, refused{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, name = i % 2 == 0 ? "good.npz" : "bad.npz"] {
        try {
          CsrFile::open_verified(folder / name);
          ++opened;
        } catch (const DatasetError&) {
          ++refused;
        }
      });
    }
  }
  EXPECT_EQ(opened, 4);
  EXPECT_EQ(refused, 4);
}

TEST(CsrFile, EveryTruncationIsADatasetError) {
  const TemporaryFolder folder;
  write_csr(folder / "a.npz", sample(), {"a", "b", "c"});
  const std::string good = read_file(folder / "a.npz");
  for (std::size_t size = 0; size < good.size(); ++size) {
    SCOPED_TRACE(fmt::format("cut to {} of {} bytes", size, good.size()));
    write_file(folder / "b.npz", good.substr(0, size));
    expect_error([&] { CsrFile::open(folder / "b.npz"); }, {(folder / "b.npz").string()});
  }
}

// Whatever one byte turns into, the file opens or is refused with our own error; nothing crashes.
TEST(CsrFile, FlippedHeaderBytesNeverCrash) {
  const TemporaryFolder folder;
  write_csr(folder / "a.npz", sample(), {"a", "b", "c"});
  const std::string good = read_file(folder / "a.npz");
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ mask);
      write_file(folder / "b.npz", bad);
      try {
        CsrFile::open(folder / "b.npz").verify();
      } catch (const DatasetError&) {
        ++refused;
      } catch (const std::exception& error) {
        ADD_FAILURE() << "byte " << at << " ^ " << mask << ": not a DatasetError: " << error.what();
      }
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(CsrFile, NamesAFileThatIsNotThere) {
  expect_error([] { CsrFile::open("/nonexistent/a.npz"); }, {"/nonexistent/a.npz", "No such file"});
}

TEST(CsrFile, RefusesAFileThatIsNoArchive) {
  const TemporaryFolder folder;
  write_file(folder / "a.npz", std::string(4096, 'x'));
  expect_error([&] { CsrFile::open(folder / "a.npz"); }, {"a.npz", "end of a zip archive"});
}

TEST(CsrFile, VerifyRefusesColumnsOutOfRange) {
  const TemporaryFolder folder;
  Csr bad = sample();
  bad.columns[3] = 4;
  write_csr(folder / "a.npz", bad, {});
  expect_error([&] { CsrFile::open(folder / "a.npz").verify(); }, {"entry 3", "column 4", "0 .. 3"});
}

TEST(CsrFile, VerifyRefusesOffsetsThatFall) {
  const TemporaryFolder folder;
  Csr bad = sample();
  bad.row_offsets = {0, 3, 2, 4};
  write_csr(folder / "a.npz", bad, {});
  expect_error([&] { CsrFile::open(folder / "a.npz").verify(); }, {"row 1"});
}

TEST(CsrFile, RefusesAnOriginThatIsNoText) {
  const TemporaryFolder folder;
  write_csr(folder / "a.npz", sample(), {"abc", "", ""});
  std::string bytes = read_file(folder / "a.npz");
  const std::size_t at = bytes.find("\"abc\"");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 5, "12345");
  write_file(folder / "a.npz", bytes);
  expect_error([&] { CsrFile::open(folder / "a.npz"); }, {"a.npz", "warpgrade.json"});
}

}  // namespace
}  // namespace warpgrade::datasets
