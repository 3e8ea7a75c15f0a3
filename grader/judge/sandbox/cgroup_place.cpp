#include "judge/sandbox/cgroup_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/process.h"
#include "judge/sandbox/cgroup_files.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "warpgrade.";
constexpr const char* kSelf = "warpgrade.self";
constexpr std::array kLimiting{"memory", "pids", "cpu"};
constexpr std::array kUsed{"memory", "pids", "cpu", "freezer"};

// Spaces and backslashes stand as \040 in mountinfo.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The group as a folder: `path` is seen from the root of this process's cgroup namespace, `root` is what
// is mounted.
fs::path folder_of_group(const std::string& mount_point, const std::string& root, const std::string& path) {
  if (root == "/") return fs::path(mount_point) / path.substr(std::min<size_t>(1, path.size()));
  if (path == root || path.starts_with(root + "/")) return mount_point + path.substr(root.size());
  return mount_point;  // a container: its own group is what is mounted
}

struct OwnPaths {
  std::map<std::string, std::string> v1;  // by controller
  std::string v2;
  bool has_v2 = false;
};

OwnPaths own_paths(const std::string& cgroup) {
  OwnPaths own;
  std::istringstream lines(cgroup);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      path = line.substr(second + 1);
    if (controllers.empty()) {
      own.v2 = path;
      own.has_v2 = true;
    }
    for (const std::string& controller : cgroup_words(controllers, ',')) own.v1[controller] = path;
  }
  return own;
}

std::string start_time_of(const std::string& pid) {
  const std::string stat = cgroup_text("/proc/" + pid + "/stat");
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return {};
  const std::vector<std::string> fields = cgroup_words(stat.substr(end + 1));
  constexpr size_t kStartTime = 22 - 3;  // field 22 of proc(5); those after the name begin with field 3
  return fields.size() > kStartTime ? fields[kStartTime] : std::string();
}

std::string pid_namespace() {
  struct stat status = {};
  return stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : "0";
}

// ---- version 2: controllers are given by the parent, which may hold no process ----

// The first group of the hierarchy has no such file.
bool is_real_root(const fs::path& base) {
  return !fs::exists(base / "cgroup.events");
}

bool is_delegated(const fs::path& base) {
  struct stat status = {};
  if (geteuid() != 0 && stat(base.c_str(), &status) == 0 && status.st_uid == geteuid()) return true;
  for (const char* name : {"trusted.delegate", "user.delegate"}) {
    char value[8] = {};
    if (getxattr(base.c_str(), name, value, sizeof value - 1) > 0 && value[0] == '1') return true;
  }
  return false;
}

bool is_namespace_root(const fs::path& base) {
  return !is_real_root(base) && own_paths(cgroup_text("/proc/self/cgroup")).v2 == "/";
}

// Moves every process of the group, this one among them, to the leaf `warpgrade.self` below it.
void move_into_leaf(const fs::path& base) {
  std::error_code error;
  fs::create_directory(base / kSelf, error);
  if (error) return;
  for (const std::string& pid : cgroup_words(cgroup_text(base / "cgroup.procs"), '\n'))
    write_cgroup(base / kSelf / "cgroup.procs", pid);
}

std::set<std::string> words_in(const fs::path& file) {
  const std::vector<std::string> words = cgroup_words(cgroup_text(file));
  return {words.begin(), words.end()};
}

// Gives the children of `base` the controllers that it has to give, all or none: with pids and cpu alone a
// group that holds processes would become one for threads, whose children hold no processes. Returns 0 or
// the errno.
int enable_controllers(const fs::path& base) {
  const std::set<std::string> given = words_in(base / "cgroup.subtree_control");
  const std::set<std::string> there = words_in(base / "cgroup.controllers");
  std::string wanted;
  for (const char* controller : kLimiting) {
    if (there.contains(controller) && !given.contains(controller)) wanted += std::string(" +") + controller;
  }
  return wanted.empty() ? 0 : write_cgroup(base / "cgroup.subtree_control", wanted.substr(1));
}

std::set<std::string> limiting_controllers(const fs::path& base) {
  std::set<std::string> controllers = words_in(base / "cgroup.subtree_control");
  std::erase_if(controllers, [](const std::string& name) {
    return std::find(kLimiting.begin(), kLimiting.end(), name) == kLimiting.end();
  });
  return controllers;
}

bool gives_all(const fs::path& base, const std::set<std::string>& wanted) {
  const std::set<std::string> given = limiting_controllers(base);
  return std::includes(given.begin(), given.end(), wanted.begin(), wanted.end());
}

// The folder below which groups of version 2 get the controllers that the machine has to give.
fs::path place_in_v2(const fs::path& own) {
  if (own.filename() == kSelf) return own.parent_path();  // an earlier process of this run has moved here
  std::set<std::string> wanted = words_in(own / "cgroup.controllers");
  std::erase_if(wanted, [](const std::string& name) {
    return std::find(kLimiting.begin(), kLimiting.end(), name) == kLimiting.end();
  });
  if (enable_controllers(own) == EBUSY && (is_delegated(own) || is_namespace_root(own))) {
    move_into_leaf(own);
    enable_controllers(own);
  }
  if (gives_all(own, wanted) || is_real_root(own)) return own;
  // Not ours to rearrange: a sibling has the limits of all groups above, and what the parent gives.
  const fs::path parent = own.parent_path();
  if (!fs::exists(parent / "cgroup.controllers")) return own;
  enable_controllers(parent);
  return limiting_controllers(parent).size() > limiting_controllers(own).size() ? parent : own;
}

// ---- trying ----

// Lets one child into a group of each hierarchy, as ControlGroup does, and tells how each went.
class Trial : public ProcessFence {
 public:
  Trial(const std::vector<CgroupHierarchy>& hierarchies, const std::string& name, int answers)
      : hierarchies_(hierarchies), answers_(answers) {
    for (const CgroupHierarchy& hierarchy : hierarchies) {
      const fs::path folder = hierarchy.base / name;
      doors_.push_back((folder / cgroup_door(hierarchy.version)).string());
      if (hierarchy.version == 2)
        cgroup_folder_ = FileDescriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
  }
  int cgroup_folder() const noexcept override { return cgroup_folder_.get(); }
  bool join(bool born_inside) const noexcept override {
    for (size_t i = 0; i < doors_.size(); ++i) {
      int error = 0;
      if (!born_inside || hierarchies_[i].version != 2) {
        const int fd = open(doors_[i].c_str(), O_WRONLY | O_CLOEXEC);
        error = fd >= 0 && write(fd, "0", 1) == 1 ? 0 : errno;
      }
      (void)!write(answers_, &error, sizeof error);
    }
    return true;
  }
  bool kill() noexcept override { return true; }
  std::string met_limit() const override { return {}; }

 private:
  const std::vector<CgroupHierarchy>& hierarchies_;
  int answers_;
  std::vector<std::string> doors_;
  FileDescriptor cgroup_folder_;
};

// Why no group can be made or joined here, for each hierarchy; empty: it can.
std::vector<std::string> refusals(const std::vector<CgroupHierarchy>& hierarchies) {
  std::vector<std::string> why(hierarchies.size());
  const std::string name = new_cgroup_name();
  for (size_t i = 0; i < hierarchies.size(); ++i) {
    if (mkdir((hierarchies[i].base / name).c_str(), 0755) != 0)
      why[i] =
          fmt::format("no group can be made in {} ({})", hierarchies[i].base.string(), std::strerror(errno));
  }
  int answers[2];
  if (pipe2(answers, O_CLOEXEC) != 0) return std::vector<std::string>(hierarchies.size(), "no pipe");
  const FileDescriptor read_end(answers[0]);
  FileDescriptor write_end(answers[1]);
  const Trial trial(hierarchies, name, write_end.get());
  const pid_t child = fork_inside(&trial);
  if (child == 0) _exit(0);
  write_end.reset();
  for (size_t i = 0; i < hierarchies.size(); ++i) {
    int error = EPERM;
    if (read(read_end.get(), &error, sizeof error) != sizeof error) error = EPERM;
    if (why[i].empty() && error != 0)
      why[i] = fmt::format("a process cannot be put into a group of {} ({})", hierarchies[i].base.string(),
                           std::strerror(error));
  }
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  for (const CgroupHierarchy& hierarchy : hierarchies)
    remove_cgroup(hierarchy.base / name, std::chrono::milliseconds(500));
  return why;
}

// What was found is handed to the processes that this one starts: they need not try again.
constexpr const char* kFoundVariable = "WARPGRADE_CGROUPS_FOUND";

// A process elsewhere finds its own place: a job of Slurm gets its submitter's environment, and a container that
// keeps it (Apptainer) mounts no hierarchies.
std::string here() {
  const std::string groups = cgroup_text("/proc/self/cgroup");
  std::string text = cgroup_text("/proc/sys/kernel/random/boot_id") + groups;
  for (const CgroupHierarchy& one : own_cgroups(cgroup_text("/proc/self/mountinfo"), groups))
    text += one.base.string() + "\n";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string written(const CgroupPlace& place) {
  std::string text = here() + "\n" + place.how + "\n" + place.why_not + "\n";
  for (const CgroupHierarchy& one : place.hierarchies) {
    text += std::to_string(one.version) + " ,";
    for (const std::string& controller : one.controllers) text += controller + ",";
    text += " " + one.base.string() + "\n";
  }
  return text;
}

std::optional<CgroupPlace> read_back(const std::string& text) {
  std::istringstream lines(text);
  CgroupPlace place;
  std::string where;
  if (!std::getline(lines, where) || where != here() || !std::getline(lines, place.how) ||
      !std::getline(lines, place.why_not))
    return std::nullopt;
  for (std::string line; std::getline(lines, line);) {
    CgroupHierarchy one;
    std::string controllers;
    std::istringstream words(line);
    if (!(words >> one.version >> controllers)) return std::nullopt;
    for (const std::string& controller : cgroup_words(controllers, ',')) one.controllers.insert(controller);
    std::string base;
    std::getline(words >> std::ws, base);
    one.base = base;
    place.hierarchies.push_back(std::move(one));
  }
  return place;
}

CgroupPlace find_place() {
  CgroupPlace place;
  const char* asked = std::getenv("WARPGRADE_CGROUPS");
  const std::string wish = asked != nullptr ? asked : "";
  if (wish == "none") {
    place.why_not = "WARPGRADE_CGROUPS=none says so";
    return place;
  }
  std::vector<CgroupHierarchy> own =
      own_cgroups(cgroup_text("/proc/self/mountinfo"), cgroup_text("/proc/self/cgroup"));
  if (own.empty()) place.why_not = "no cgroup hierarchy is mounted";
  bool in_container = false;
  std::vector<CgroupHierarchy> tried;
  for (CgroupHierarchy& hierarchy : own) {
    if (hierarchy.version == 2) {
      if (wish == "v1") continue;
      in_container = is_namespace_root(hierarchy.base);
      hierarchy.base = place_in_v2(hierarchy.base);
      hierarchy.controllers = limiting_controllers(hierarchy.base);
    }
    tried.push_back(std::move(hierarchy));
  }
  const std::vector<std::string> why = refusals(tried);
  for (size_t i = 0; i < tried.size(); ++i) {
    if (why[i].empty())
      place.hierarchies.push_back(std::move(tried[i]));
    else
      place.why_not += (place.why_not.empty() ? "" : "; ") + why[i];
  }
  remove_abandoned_cgroups(place.hierarchies);
  place.how = in_container ? "in a container" : geteuid() == 0 ? "as root" : "delegated";
  return place;
}

}  // namespace

bool CgroupPlace::can_limit(const std::string& controller) const {
  return std::any_of(hierarchies.begin(), hierarchies.end(),
                     [&](const CgroupHierarchy& one) { return one.controllers.contains(controller); });
}

bool CgroupPlace::can_freeze() const {
  return std::any_of(hierarchies.begin(), hierarchies.end(), [](const CgroupHierarchy& one) {
    return one.version == 2 || one.controllers.contains("freezer");
  });
}

bool CgroupPlace::can_kill() const {
  return !hierarchies.empty();
}

std::string CgroupPlace::version() const {
  std::set<int> versions;
  for (const CgroupHierarchy& hierarchy : hierarchies) versions.insert(hierarchy.version);
  if (versions.empty()) return "none";
  return versions.size() == 2 ? "1+2" : std::to_string(*versions.begin());
}

const CgroupPlace& cgroup_place() {
  static const CgroupPlace place = [] {
    const char* known = std::getenv(kFoundVariable);
    if (known != nullptr && *known != '\0') {
      if (const std::optional<CgroupPlace> given = read_back(known)) return *given;
    }
    CgroupPlace found = find_place();
    setenv(kFoundVariable, written(found).c_str(), 1);
    return found;
  }();
  return place;
}

std::vector<CgroupHierarchy> own_cgroups(const std::string& mountinfo, const std::string& cgroup) {
  const OwnPaths own = own_paths(cgroup);
  std::vector<CgroupHierarchy> found;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> mount = cgroup_words(line.substr(0, dash)),
                                   type = cgroup_words(line.substr(dash + 3));
    if (mount.size() < 5 || type.empty()) continue;
    const std::string root = unescaped(mount[3]), point = unescaped(mount[4]);
    CgroupHierarchy hierarchy;
    std::string path;
    if (type[0] == "cgroup2" && own.has_v2) {
      path = own.v2;
    } else if (type[0] == "cgroup" && type.size() >= 3) {
      hierarchy.version = 1;
      for (const std::string& option : cgroup_words(type[2], ',')) {
        if (std::find(kUsed.begin(), kUsed.end(), option) == kUsed.end() || !own.v1.contains(option))
          continue;
        hierarchy.controllers.insert(option);
        path = own.v1.at(option);
      }
      if (hierarchy.controllers.empty()) continue;
    } else {
      continue;
    }
    hierarchy.base = folder_of_group(point, root, path);
    // The same hierarchy may be mounted several times: the first one counts.
    const bool known = std::any_of(found.begin(), found.end(), [&](const CgroupHierarchy& one) {
      return one.version == hierarchy.version && one.controllers == hierarchy.controllers;
    });
    if (!known) found.push_back(std::move(hierarchy));
  }
  return found;
}

std::string new_cgroup_name() {
  static std::atomic<unsigned> counter{0};
  const std::string pid = std::to_string(getpid());
  return fmt::format("{}{}.{}.{}.{}", kPrefix, pid_namespace(), pid, start_time_of(pid), counter++);
}

bool is_abandoned_cgroup(const std::string& name) {
  const std::vector<std::string> parts = cgroup_words(name, '.');
  if (!name.starts_with(kPrefix) || parts.size() != 5 || parts[1] != pid_namespace()) return false;
  return start_time_of(parts[2]) != parts[3];
}

int remove_abandoned_cgroups(const std::vector<CgroupHierarchy>& hierarchies) {
  std::vector<fs::path> abandoned;
  for (const CgroupHierarchy& hierarchy : hierarchies) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(hierarchy.base, error)) {
      if (entry.is_directory(error) && is_abandoned_cgroup(entry.path().filename().string()))
        abandoned.push_back(entry.path());
    }
  }
  // All are let go and killed before one is waited for: a process may be frozen by one and limited
  // by another.
  for (const fs::path& folder : abandoned) kill_cgroup_members(folder);
  int removed = 0;
  for (const fs::path& folder : abandoned) {
    if (remove_cgroup(folder, std::chrono::seconds(2))) ++removed;
  }
  return removed;
}

}  // namespace warpgrade
