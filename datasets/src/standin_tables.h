// The tables of a stand-in in host memory.
#pragma once

#include <vector>

#include "standin_core.h"
#include "warpgrade/datasets/standin.h"

namespace warpgrade::datasets {

class HostTables {
 public:
  explicit HostTables(const StandInSpec& spec);  // throws DatasetError
  HostTables(const HostTables&) = delete;
  HostTables& operator=(const HostTables&) = delete;

  const StandInTables& view() const { return view_; }
  const std::vector<int>& row_offsets() const { return row_offsets_; }
  const std::vector<u64>& by_id() const { return by_id_; }
  const std::vector<u64>& by_place() const { return by_place_; }
  const std::vector<int>& guide() const { return guide_; }
  const std::vector<int>& place_of() const { return place_of_; }
  const std::vector<int>& id_at() const { return id_at_; }

 private:
  void choose_windows(const StandInSpec& spec);

  std::vector<int> row_offsets_, guide_, place_of_, id_at_;
  std::vector<u64> by_id_, by_place_;
  StandInTables view_;
};

}  // namespace warpgrade::datasets
