// One case of a lab, as lists, runs and judges know it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace warpgrade {

struct CaseSpec {
  std::string id;       // "cora-k32": unique in the lab, safe as a file name
  std::string dataset;  // a name in the catalogue or of an imported graph; what is drawn: the pattern's
  int k = 0;            // the width by which cases of one dataset differ: K, n, fan-out ...
  std::string kind;     // "correctness" or "speed"
  // "public" (students have it), "hidden", "large" (needs memory), "real", "real-large", "stand-in", "timed",
  // or a word of a lab's or a policy's own
  std::string set;
  std::string why;     // what it exercises
  bool drawn = false;  // the judge draws the whole input: `dataset` names a pattern, not a file
  // What of it the lab's older interface was never promised; empty: nothing. A submission to that interface
  // is not judged on it.
  std::string beyond_older = {};
  // Its buffers are sparse files that only the emulator has: as memory of a GPU they would fill it.
  bool emulator_only = false;
  // What the lab's own judge needs to know beside these, for it alone to read: {"pattern": "ring"}.
  nlohmann::json details = nlohmann::json::object();
  std::string place = {};  // "policy.yaml:12: cases[0]": where it stands, for messages
};

}  // namespace warpgrade
