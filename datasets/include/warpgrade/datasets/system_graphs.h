// Two real graphs that any Debian or Ubuntu machine can make without a download of data.
//
//   wordnet          synsets and the pointers between them, from the package wordnet-base: 117,659 nodes,
//                    361,647 entries, value = kind of relation (1.., in order of first use). Sparse, short
//                    rows.
//   debian-packages  packages by name, an edge for each Depends, Pre-Depends and Recommends on a package of
//   the lists
//                    (every alternative of a | b counts; names that only exist as Provides do not). In-degree
//                    hubs such as libc6. Its size depends on the machine's lists and their date.
#pragma once

#include <filesystem>

#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/progress.h"

namespace warpgrade::datasets {

// `directory` holds data.noun, data.verb, data.adj and data.adv.
HostCsr read_wordnet(const std::filesystem::path& directory = "/usr/share/wordnet",
                     const ProgressFn& progress = {});

// `directory` holds apt's *_Packages files, plain, .gz or .lz4.
HostCsr read_debian_packages(const std::filesystem::path& directory = "/var/lib/apt/lists",
                             const ProgressFn& progress = {});

}  // namespace warpgrade::datasets
