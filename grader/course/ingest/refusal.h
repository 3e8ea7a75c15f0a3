// Why an attempt was not taken. A refusal is the student's to read, never an exception that stops the class.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace warpgrade {

struct Refusal {
  std::string reason;     // a stable word: path_traversal, link, too_large, ... (course/record/README.md)
  std::string message;    // one line: which entry, what it is
  std::string next_step;  // what the student does about it
  std::string entry;      // the name in the archive, made printable

  nlohmann::json to_json() const {
    nlohmann::json json{{"reason", reason}, {"message", message}, {"next_step", next_step}};
    if (!entry.empty()) json["entry"] = entry;
    return json;
  }
};

}  // namespace warpgrade
