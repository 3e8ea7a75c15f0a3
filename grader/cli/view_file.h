// `warpgrade export VIEW.json`: one student's view, as an export or a desk's page has it, in the formats of
// a platform.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "cli/exported_class.h"

namespace warpgrade {

// Formats that a view alone is enough for.
const std::set<std::string>& formats_of_a_view();

// A class of one: the view's. What it holds came from elsewhere: text is made plain, and a file that is no
// view is refused.
ExportedClass class_of_view(const std::filesystem::path& file);

}  // namespace warpgrade
