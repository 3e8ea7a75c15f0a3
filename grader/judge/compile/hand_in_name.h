// The names that files have after a download, a mail and a file manager, as sources are named.
//
//   vector_add (1).cu, vector_add(1).cu   browsers          spmm.cu.txt         editors and mail programs
//   Copy of spmm.cu, spmm - Copy (2).cu   Drive, Windows    SPMM.CU             file systems without case
//   spmm copy 2.cu                        macOS             spmm v2.cu, Übung 3/spmm.cu
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace warpgrade {

struct HandInName {
  std::filesystem::path
      name;  // a safe name, where there is one; else the name as it is (source_name.h refuses it)
  std::filesystem::path plain;  // the same without a copy's number: "vector_add.cu" of "vector_add (1).cu"
};

// Of a relative path. Spaces, brackets and letters beyond ASCII become _; what means something to a shell
// stays, and is refused later: nobody's file manager makes such a name.
HandInName hand_in_name(const std::filesystem::path& given);

// The name of each file, none twice. A file has its plain name where no other has a claim to it. `given` in
// any order: the result depends on the names alone.
std::map<std::filesystem::path, std::filesystem::path> names_of_hand_in(
    std::vector<std::filesystem::path> given);

}  // namespace warpgrade
