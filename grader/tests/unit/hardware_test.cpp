// Counters of a GPU: what ncu printed on an H200 (grader/emulator/tests/hardware/records/h200, ncu 2025.3.1)
// is read and set beside the emulator's; what a report tells of its host is found.
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "base/toolchain.h"
#include "course/hardware/beside.h"
#include "course/hardware/ncu.h"
#include "course/hardware/ncu_table.h"
#include "course/hardware/report_check.h"

namespace warpgrade::hardware {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string recorded(const std::string& name) {
  return read_text(project_root() / "grader/emulator/tests/hardware/records/h200" / (name + ".csv"));
}

json line_of(const json& kernels, const std::string& kernel, const std::string& name) {
  for (const json& each : kernels)
    for (const json& line : each.at("figures"))
      if (each.at("kernel") == kernel && line.at("name") == name) return line;
  return json::object();
}

TEST(HardwareTable, ReadsWhatNcuPrintedOnAnH200) {
  const auto launches = read_ncu_table(recorded("spmm_naive_k32"));
  ASSERT_EQ(launches.size(), 1u) << "the line of units is no launch";
  EXPECT_EQ(base_name(launches[0].kernel), "spmm_naive_kernel");
  EXPECT_EQ(launches[0].metrics.at("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 711424);
  EXPECT_GT(launches[0].metrics.at("gpu__time_duration.sum"), 1000) << "nanoseconds";
}

TEST(HardwareTable, KnowsEveryCounterThatIsComparedUnderNcusName) {
  const auto launches = read_ncu_table(recorded("spmm_optimized_k32"));
  ASSERT_FALSE(launches.empty());
  for (const std::string& metric : wanted_metrics()) {
    // Rates were not recorded there; scripts/check-gpu asks an ncu for them.
    if (!metric.ends_with(".sum") || metric.starts_with("dram")) continue;
    EXPECT_TRUE(launches[0].metrics.contains(metric)) << metric;
  }
}

TEST(HardwareTable, ReadsNothingFromOtherText) {
  EXPECT_TRUE(read_ncu_table("").empty());
  EXPECT_TRUE(read_ncu_table("==ERROR== ERR_NVGPUCTRPERM\n").empty());
  EXPECT_TRUE(read_ncu_table("\"ID\",\"x\"\n\"0\",\"1\"\n").empty()) << "no kernel's name";
  EXPECT_TRUE(read_ncu_table("\"ID\",\"Kernel Name\",\"a__b.sum\"\n\"0\",\"k\"\n").empty())
      << "a line that is cut";
  const auto odd = read_ncu_table(
      "words\n\"ID\",\"Kernel Name\",\"a__b.sum\"\r\n\"0\",\"k<\"\"x\"\", 1>(int)\",\"nan\"\r\n");
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].kernel, "k<\"x\", 1>(int)");
  EXPECT_TRUE(odd[0].metrics.empty());
}

TEST(HardwareTable, CallsAKernelAsBothSidesDo) {
  for (const char* name :
       {"spmm_kernel", "spmm_kernel(int)", "(anonymous namespace)::spmm_kernel<4, 32>(CsrMatrix, int)",
        "<unnamed>::spmm_kernel<4, 32>(CsrMatrix, int)", "void lab::detail::spmm_kernel<T>(const float *)"})
    EXPECT_EQ(base_name(name), "spmm_kernel");
}

// The emulator's figures of this program: two of its launches, where ncu saw one.
TEST(HardwareBeside, ComparesALaunchWithALaunchAndSaysWhatIsApart) {
  const json emulator{{"kernels",
                       {{{"kernel", "(anonymous namespace)::spmm_naive_kernel"},
                         {"launches", 2},
                         {"global_load_requests", 2 * 711424},
                         {"global_load_sectors", 2 * 711424 * 50.0}}}}};
  const json kernels = set_beside(read_ncu_table(recorded("spmm_naive_k32")), emulator);
  ASSERT_EQ(kernels.size(), 1u);
  const json requests = line_of(kernels, "spmm_naive_kernel", "load requests");
  EXPECT_EQ(requests.at("hardware"), 711424.0);
  EXPECT_EQ(requests.at("emulator"), 711424.0);
  EXPECT_EQ(requests.at("within"), true);
  EXPECT_EQ(line_of(kernels, "spmm_naive_kernel", "load sectors/req").at("within"), false);
  EXPECT_FALSE(line_of(kernels, "spmm_naive_kernel", "warp instr.").contains("within"))
      << "machine code and PTX";
  const std::string text = beside_text(kernels);
  EXPECT_NE(text.find("APART"), std::string::npos);
  EXPECT_NE(text.find("1 of 2 counters"), std::string::npos) << text;
}

// 32 lanes add to one word: an H200 counts its sector 32 times.
TEST(HardwareBeside, SaysByWhatACounterThatIsApartIsKnownToDiffer) {
  const json emulator{
      {"kernels", {{{"kernel", "histogram"}, {"launches", 1}, {"global_atomic_sectors", 1}}}}};
  const json kernels = set_beside(read_ncu_table(recorded("counted_histogram_5")), emulator);
  EXPECT_EQ(line_of(kernels, "histogram", "atomic sectors").at("hardware"), 32.0);
  const std::string text = beside_text(kernels);
  EXPECT_NE(text.find("atomic sectors: lanes that update one word take turns"), std::string::npos) << text;
  const json equal{{"kernels", {{{"kernel", "histogram"}, {"launches", 1}, {"global_atomic_sectors", 32}}}}};
  EXPECT_EQ(
      beside_text(set_beside(read_ncu_table(recorded("counted_histogram_5")), equal)).find("take turns"),
      std::string::npos);
}

TEST(HardwareBeside, NamesKernelsThatOneSideSawAlone) {
  const json emulator{{"kernels", {{{"kernel", "ours"}, {"launches", 1}, {"global_load_requests", 5}}}}};
  const json kernels = set_beside({{"theirs(int)", {{"gpu__time_duration.sum", 2000}}}}, emulator);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(line_of(kernels, "theirs", "time (us)").at("hardware"), 2.0);
  EXPECT_FALSE(line_of(kernels, "ours", "load requests").contains("hardware"));
  EXPECT_NE(beside_text(kernels).find("ours: not among the launches"), std::string::npos);
}

// A report consists of messages in protocol buffers: a field's number and kind, its length, its text.
std::string field(char tag, const std::string& text) {
  return std::string(1, tag) + static_cast<char>(text.size()) + text;
}

const HostFacts kHost{{"gpu-7.example.edu", "gpu", "gpu-7"},
                      {"/home", "/run", "/srv"},
                      {{"USER", "prof"}, {"TOKEN", "0123456789ab"}}};

TEST(HardwareReport, FindsNamePathAndEnvironmentOfTheHost) {
  EXPECT_EQ(what_it_tells("x" + field(0x32, "gpu-7.example.edu") + "2", kHost), "the host's name");
  EXPECT_EQ(what_it_tells(field(0x32, "gpu") + "2", kHost), "the host's name") << "short, with its length";
  EXPECT_EQ(what_it_tells("a line about gpu-7 here", kHost), "the host's name");
  EXPECT_EQ(what_it_tells("\"/home/prof/x.cu\"", kHost), "a path in the host's /home");
  EXPECT_EQ(what_it_tells(field('a', "/srv/" + std::string(44, 'x')), kHost), "a path in the host's /srv");
  EXPECT_EQ(what_it_tells(field(0x0a, "/srv/" + std::string(60, 'x')), kHost), "a path in the host's /srv")
      << "its length is the letter A";
  EXPECT_EQ(what_it_tells("/run/user/0/x", kHost), "a path in the host's /run");
  EXPECT_EQ(what_it_tells("USER=prof", kHost), "the value of the variable USER");
  EXPECT_EQ(what_it_tells("a0123456789ab", kHost), "the value of the variable TOKEN");
  std::string wide;
  for (const char c : std::string("gpu-7.example.edu")) wide += std::string(1, c) + '\0';
  EXPECT_EQ(what_it_tells(std::string("\n") + '\0' + wide + " ", kHost), "the host's name") << "UTF-16";
}

TEST(HardwareReport, LetsABoxsOwnWordsThrough) {
  const HostFacts account{{}, {}, {{"USER", "warpgrade"}}};
  EXPECT_EQ(what_it_tells(field(0x0a, "/run/warpgrade/case/program"), account), "")
      << "a word of the box's own";
  EXPECT_NE(what_it_tells("USER=warpgrade", account), "");
  EXPECT_EQ(what_it_tells(field(0x0a, "runner") + field(0x12, "/run/warpgrade/source/home/spmm.cu"), kHost),
            "");
  EXPECT_EQ(what_it_tells(
                "gpu__time_duration.sum gpu_time /usr/lib/x86_64-linux-gnu/libcuda.so.1 /tmp/x prof", kHost),
            "");
}

// Each fact about this machine is found, and the box's words are free of them.
TEST(HardwareReport, KnowsThisMachine) {
  const HostFacts facts = host_facts();
  for (const std::string& name : facts.names) EXPECT_NE(what_it_tells(field(0x0a, name), facts), "") << name;
  for (const std::string& folder : facts.folders)
    EXPECT_NE(what_it_tells(field(0x0a, folder + "/x"), facts), "") << folder;
  EXPECT_FALSE(facts.folders.empty());
  EXPECT_EQ(what_it_tells(field(0x0a, "/run/warpgrade/case/program"), facts), "");
}

void put(const fs::path& file, const std::string& text = "") {
  make_directories(file.parent_path());
  write_text(file, text);
}

// As NVIDIA's driver writes it: https://developer.nvidia.com/ERR_NVGPUCTRPERM, and
// /proc/driver/nvidia/params of 580.159.04.
TEST(HardwareNcu, AsksTheDriverWhetherABoxMayCount) {
  const TemporaryDirectory root("hardware-test");
  EXPECT_EQ(permission_refusal(root.path()), "") << "no driver: something else says so";
  const fs::path file = root.path() / "proc/driver/nvidia/params";
  put(file, "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nPreserveVideoMemoryAllocations: 1\n");
  EXPECT_NE(permission_refusal(root.path()).find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  put(file, "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\nPreserveVideoMemoryAllocations: 1\n");
  EXPECT_EQ(permission_refusal(root.path()), "");
}

TEST(HardwareNcu, IsFoundBesideTheToolkitAndTheNewestOfSeveral) {
  const TemporaryDirectory root("hardware-test");
  const char* program = "target/linux-desktop-glibc_2_11_3-x64/ncu";
  const char* other = "target/linux-desktop-t210-a64/ncu";
  for (const char* version : {"nsight-compute-2025.3.1", "nsight-compute-2025.10.0"})
    for (const char* each : {program, other}) put(root.path() / version / each);
  const auto found = find_ncu(root.path());
  ASSERT_TRUE(found);
  const bool of_path = !found->folder.string().starts_with(root.path().string());  // unless this machine has
                                                                                   // one in its PATH
  EXPECT_TRUE(of_path || found->folder.filename() == "nsight-compute-2025.10.0");
}

// The beginnings of lines as `ncu --query-metrics` prints them.
TEST(HardwareNcu, AsksForNoCounterThatThisNcuLacks) {
  const auto all = wanted_metrics();
  const auto some = wanted_metrics(
      "Device NVIDIA H200 (GH100)\ndram__bytes   Counter  byte  # of bytes\nsmsp__inst_executed  Counter\n");
  EXPECT_EQ(some, (std::vector<std::string>{"smsp__inst_executed.sum", "dram__bytes.sum"}));
  EXPECT_EQ(wanted_metrics("no such list"), all) << "better all than none";
}

}  // namespace
}  // namespace warpgrade::hardware
