// Where this process may make control groups, on machines with version 2, version 1 or both. Found by
// trying: a group is made, a child joins it, limits are written. What one machine or the other refuses is
// told in words.
//
// As root groups are made below this process's own. Without rights that works where the own group was
// delegated (`systemd-run --user --scope -p Delegate=yes`, some Slurm sites) or in a container whose
// /sys/fs/cgroup can be written. Version 2 gives controllers only to the children of a group that holds no
// process itself, so this process (and its parents, which share the group) moves into a leaf `warpgrade.self`
// first, where that may be done.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace warpgrade {

// One mounted hierarchy and this process's group in it.
struct CgroupHierarchy {
  int version = 2;
  std::set<std::string>
      controllers;  // that a group made here limits by: memory, pids, cpu, freezer (version 1 only)
  std::filesystem::path base;  // groups are made in this folder
  bool operator==(const CgroupHierarchy&) const = default;
};

struct CgroupPlace {
  std::vector<CgroupHierarchy> hierarchies;  // those in which groups can be made; empty: none
  std::string why_not;                       // what was refused, for people; may be set beside hierarchies
  std::string how;                           // "as root", "delegated", "in a container"

  bool can_limit(const std::string& controller) const;
  bool can_freeze() const;  // version 2, or version 1's freezer
  bool can_kill() const;    // as a group: version 2's cgroup.kill, or version 1's freezer or pids
  std::string version()
      const;  // "2", "1", "1+2" (limits from version 1, freezing and killing from 2), "none"
};

// The place of this process, found once; leftovers of dead owners are removed then.
// WARPGRADE_CGROUPS=none pretends that there is none, =v1 leaves version 2 out; for tests, and for
// machines where cgroups make trouble.
const CgroupPlace& cgroup_place();

// What the texts of /proc/self/mountinfo and /proc/self/cgroup say: own groups, not yet tried. Version 1
// hierarchies without a controller that is used here are left out.
std::vector<CgroupHierarchy> own_cgroups(const std::string& mountinfo, const std::string& cgroup);

// Names of groups: `warpgrade.<pid namespace>.<owner's pid>.<owner's start time>.<number>`.
std::string new_cgroup_name();
// Whether the name is one of ours whose owner, a process of this pid namespace, is dead.
bool is_abandoned_cgroup(const std::string& name);
// Ends what is in such groups and removes them; returns how many were removed.
int remove_abandoned_cgroups(const std::vector<CgroupHierarchy>& hierarchies);

}  // namespace warpgrade
