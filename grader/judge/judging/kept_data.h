// What a judge process keeps of a dataset from case to case and from submission to submission, in memory that
// is the judge's alone: the structure of a matrix on the device, for example, which costs more to copy there
// than all its checks.
//
// What may be kept here is decided by one rule: no program of a submission could ever read or write it.
// Shared buffers are not: they are made anew for each case, since an executor that was killed may have
// kernels that still run, and their memory goes back to the driver, which lends it again only when that
// context is gone. So a kept copy is compared and checked against with the same right as a new one, and
// nothing of one submission can reach another through it.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

namespace warpgrade {

class KeptData {
 public:
  // What was kept under this name as a T, or null. A name says all that the data follows from: kind, content
  // hash, parameters. One name must always be used with one T.
  template <typename T>
  std::shared_ptr<const T> find(const std::string& name) {
    return std::static_pointer_cast<const T>(find_any(name));
  }
  // Keeps it, and gives up what was asked for least recently until all together is within `most_bytes`.
  // Larger data, and data without a name, is not kept. A case that holds something goes on holding it.
  void add(const std::string& name, std::shared_ptr<const void> data, std::size_t bytes,
           std::size_t most_bytes);
  void clear() { entries_.clear(); }
  std::size_t bytes() const;

 private:
  struct Entry {
    std::string name;
    std::shared_ptr<const void> data;
    std::size_t bytes = 0;
  };
  std::shared_ptr<const void> find_any(const std::string& name);

  std::list<Entry> entries_;  // asked for most recently first
};

}  // namespace warpgrade
