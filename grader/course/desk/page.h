// What a student gets as files: one folder `feedback`, packed.
#pragma once

#include <filesystem>

namespace warpgrade::desk {

// Packs `pages`/feedback into the run's `page.tar.gz`, which the student's connection sends.
// Throws JudgeFault.
void pack_feedback(const std::filesystem::path& pages, const std::filesystem::path& run_folder);

}  // namespace warpgrade::desk
