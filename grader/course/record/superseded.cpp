#include "course/record/superseded.h"

#include "base/files.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

fs::path superseded_folder(const RunFolder& folder, int number) {
  return folder.root() / "superseded" / std::to_string(number);
}

int latest_superseded(const RunFolder& folder) {
  int number = 0;
  while (fs::exists(superseded_folder(folder, number + 1))) ++number;
  return number;
}

int begin_superseded(const RunFolder& folder, const json& request) {
  const int number = latest_superseded(folder) + 1;
  make_directories(superseded_folder(folder, number));
  write_superseded_request(folder, number, request);
  return number;
}

void write_superseded_request(const RunFolder& folder, int number, const json& request) {
  write_text(superseded_folder(folder, number) / "request.json", request.dump(1) + "\n");
}

void supersede(const RunFolder& folder, int number, const std::string& submission,
               const std::string& case_id) {
  const fs::path place = superseded_folder(folder, number) / submission;
  make_directories(place);
  fs::rename(folder.case_file(submission, case_id), place / (case_id + ".json"));
}

}  // namespace warpgrade
