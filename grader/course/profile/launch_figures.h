// The figures of one launch, as estimates of time read them.
#pragma once

#include <string>

#include "course/profile/estimate.h"
#include "judge/judging/figures.h"

namespace warpgrade {

// Those of its group over the number of launches.
class LaunchFigures {
 public:
  LaunchFigures(const nlohmann::json& group, Cure cure)
      : group_(group), cure_(cure), launches_(figure(group, "launches")) {}

  double get(const char* name) const { return figure(group_, name) / launches_; }
  double total(const char* name) const { return figure(group_, name); }
  double of_class(const char* name) const {
    const auto classes = group_.find("classes");
    return classes == group_.end() ? 0 : figure(*classes, name) / launches_;
  }
  // Of sectors or passes, as the cure leaves them.
  double cost(const std::string& what, bool ideal) const {
    return get((what + (ideal ? "_ideal" : "")).c_str());
  }
  bool cured(Cure cure) const { return cure_ == cure; }

 private:
  const nlohmann::json& group_;
  const Cure cure_;
  const double launches_;
};

}  // namespace warpgrade
