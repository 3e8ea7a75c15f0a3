// Tells a later call at which submission this program died.
#pragma once

#include <filesystem>

namespace warpgrade {

// Counts one more death of the program at this submission while the object lives. Its destructor takes that
// back, also after an exception; a signal that ends the program does not. forget() when all is done.
class AttemptMark {
 public:
  // `folder` is submissions/<id> of the run. A mark that cannot be written is none: nothing depends on it.
  explicit AttemptMark(const std::filesystem::path& folder);
  ~AttemptMark();
  AttemptMark(const AttemptMark&) = delete;
  AttemptMark& operator=(const AttemptMark&) = delete;

  // How often a call has died while it handled the submission.
  static int deaths(const std::filesystem::path& folder);
  static void forget(const std::filesystem::path& folder);

 private:
  std::filesystem::path folder_;
  int before_;
};

// So many deaths, and the submission is set aside for one call, which then gets to all the others.
inline constexpr int kMostDeaths = 2;

}  // namespace warpgrade
