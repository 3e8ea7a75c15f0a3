#include "course/batch/attempt_mark.h"

#include <fstream>

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

fs::path mark(const fs::path& folder) {
  return folder / "in-progress";
}

}  // namespace

AttemptMark::AttemptMark(const fs::path& folder) : folder_(folder), before_(deaths(folder)) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  std::ofstream(mark(folder)) << before_ + 1 << "\n";
}

AttemptMark::~AttemptMark() {
  if (before_ == 0)
    forget(folder_);
  else
    std::ofstream(mark(folder_)) << before_ << "\n";
}

int AttemptMark::deaths(const fs::path& folder) {
  int count = 0;
  std::ifstream in(mark(folder));
  return in >> count && count > 0 ? count : 0;
}

void AttemptMark::forget(const fs::path& folder) {
  std::error_code ignored;
  fs::remove(mark(folder), ignored);
}

}  // namespace warpgrade
