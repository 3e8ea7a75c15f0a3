// Where a case's wall time goes: one phase at a time, what belongs to none is "other".
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace warpgrade {

class Phases {
 public:
  // In this phase until the end of the scope, then in the one before.
  class Scope {
   public:
    Scope(Phases& phases, const char* name) : phases_(phases), before_(phases.current_) {
      phases_.enter(name);
    }
    ~Scope() { phases_.enter(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Phases& phases_;
    const char* before_;
  };

  void enter(const char* name) {
    const auto now = std::chrono::steady_clock::now();
    seconds_[current_] += std::chrono::duration<double>(now - since_).count();
    current_ = name;
    since_ = now;
  }
  const std::map<std::string, double>& seconds() {
    enter(current_);
    return seconds_;
  }

 private:
  const char* current_ = "other";
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::map<std::string, double> seconds_;
};

}  // namespace warpgrade
