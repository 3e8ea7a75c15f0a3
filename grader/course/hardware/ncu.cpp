#include "course/hardware/ncu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

namespace warpgrade::hardware {
namespace fs = std::filesystem;

namespace {

#if defined(__aarch64__)
constexpr const char* kTarget = "linux-desktop-*-a64";
#else
constexpr const char* kTarget = "linux-desktop-*-x64";
#endif

std::vector<fs::path> below(const fs::path& folder, const char* pattern) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (fnmatch(pattern, entry.path().filename().c_str(), 0) == 0) found.push_back(entry.path());
  return found;
}

std::optional<Ncu> in_version(const fs::path& folder) {
  std::error_code none;
  for (const fs::path& target : below(folder / "target", kTarget))
    if (fs::is_regular_file(target / "ncu", none)) return Ncu{folder, target / "ncu"};
  return std::nullopt;
}

// "2025.3.1": its numbers, so that 2025.10 is newer than 2025.3.
std::vector<int> numbers_in(const std::string& name) {
  std::vector<int> numbers;
  std::string digits;
  for (const char c : name + " ") {
    if (c >= '0' && c <= '9' && digits.size() < 8)
      digits += c;
    else if (!digits.empty())
      numbers.push_back(std::stoi(std::exchange(digits, "")));
  }
  return numbers;
}

std::optional<Ncu> newest(std::vector<fs::path> versions) {
  std::sort(versions.begin(), versions.end(), [](const fs::path& a, const fs::path& b) {
    return numbers_in(a.filename().string()) > numbers_in(b.filename().string());
  });
  for (const fs::path& version : versions)
    if (const auto found = in_version(version)) return found;
  return std::nullopt;
}

// Of a program `ncu` in a folder `bin`, or at the top of a version.
std::optional<Ncu> of_program(const fs::path& named) {
  std::error_code none;
  const fs::path program = fs::canonical(named, none);
  if (none) return std::nullopt;
  const fs::path folder = program.parent_path();
  if (const auto found = in_version(folder)) return found;
  // The program itself: target/linux-.../ncu of a version.
  if (const auto found = in_version(folder.parent_path().parent_path())) return found;
  return newest(below(folder.parent_path(), "nsight-compute-*"));
}

std::optional<Ncu> in_path() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (const auto found = of_program(fs::path(folder) / "ncu")) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Ncu> find_ncu(const fs::path& toolkit) {
  if (const char* named = std::getenv("WARPGRADE_NCU"); named != nullptr && *named != '\0')
    return of_program(named);
  if (const auto found = in_path()) return found;
  std::vector<fs::path> versions = below(toolkit, "nsight-compute-*");
  for (const char* folder : {"/usr/local/cuda", "/usr/local", "/opt"})
    for (fs::path& version : below(folder, "nsight-compute-*")) versions.push_back(std::move(version));
  for (fs::path& version : below("/opt/nvidia/nsight-compute", "*")) versions.push_back(std::move(version));
  return newest(std::move(versions));
}

// A box has no capabilities, root's neither: so only the setting for all users counts there.
std::string permission_refusal(const fs::path& root) {
  std::ifstream parameters(root / "proc/driver/nvidia/params");
  for (std::string line; std::getline(parameters, line);) {
    if (line.starts_with("RmProfilingAdminOnly:") && line.find('1', line.find(':')) != std::string::npos)
      return "the driver gives performance counters to administrators alone, and a program in a box is none; "
             "as root: echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 "
             ">/etc/modprobe.d/counters.conf, make the initramfs anew, and reboot";
  }
  return "";
}

std::vector<std::string> wanted_metrics(const std::string& known) {
  std::vector<std::string> wanted;
  for (const char* op : {"ld", "st"})
    for (const char* name :
         {"l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum",
          "smsp__inst_executed_op_shared_{}.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum",
          "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"})
      wanted.push_back(fmt::format(fmt::runtime(name), op));
  for (const char* op : {"atom", "red"})
    wanted.push_back(fmt::format("l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", op));
  for (const char* name :
       {"smsp__inst_executed.sum", "smsp__thread_inst_executed_per_inst_executed.ratio",
        "gpu__time_duration.sum", "dram__bytes.sum", "lts__t_sector_hit_rate.pct",
        "l1tex__t_sector_hit_rate.pct", "sm__warps_active.avg.pct_of_peak_sustained_active"})
    wanted.push_back(name);
  std::istringstream words(known);
  const std::set<std::string> names{std::istream_iterator<std::string>(words), {}};
  // ncu --query-metrics lists the names without what is done with them. Where it lists none of ours it
  // was not understood.
  const auto lacks = [&](const std::string& metric) {
    return !names.contains(metric.substr(0, metric.find('.')));
  };
  if (!std::all_of(wanted.begin(), wanted.end(), lacks)) std::erase_if(wanted, lacks);
  return wanted;
}

std::vector<std::string> collecting(const std::vector<std::string>& metrics, const std::string& sources,
                                    const std::string& sections, const std::string& report) {
  std::vector<std::string> words{"--profile-from-start", "off",
                                 "--clock-control",      "none",
                                 "--launch-count",       std::to_string(kMostLaunches),
                                 "--import-source",      "yes",
                                 "--source-folders",     sources,
                                 "--section-folder",     sections};
  for (const char* section : {"SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "LaunchStats",
                              "WarpStateStats", "SourceCounters"})
    words.insert(words.end(), {"--section", section});
  words.insert(words.end(), {"--metrics", fmt::format("{}", fmt::join(metrics, ",")), "--force-overwrite",
                             "--export", report});
  return words;
}

}  // namespace warpgrade::hardware
