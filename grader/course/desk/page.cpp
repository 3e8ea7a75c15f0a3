#include "course/desk/page.h"

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;

void pack_feedback(const fs::path& pages, const fs::path& run_folder) {
  const TemporaryDirectory scratch("warpgrade-page");
  ProcessOptions pack;
  pack.command = {"tar",         "--create",
                  "--gzip",      "--format=ustar",
                  "--file",      (scratch.path() / "page.tar.gz").string(),
                  "--directory", pages.string(),
                  "feedback"};
  const ProcessResult packed = run_process(pack);
  if (!packed.ok()) throw JudgeFault("tar: {} ({})", packed.standard_error, packed.describe());
  write_text(run_folder / "page.tar.gz", read_text(scratch.path() / "page.tar.gz"));
}

}  // namespace warpgrade::desk
