// Why a link failed, told from the objects' symbol tables: linkers word it in many ways, and name the judge's
// objects where a student looks for his own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/verdict.h"

namespace warpgrade {

struct LinkedObject {
  std::string source;  // "spmm.cu" of the student; empty: the judge's own
  std::string bytes;   // an ELF object; one that can't be read counts as empty
};

struct LinkProblem {
  Reason reason = Reason::kMissingSymbol;  // or defined twice
  std::string message;                     // one line: which function, and what to do
};

// `words`: the linker's, with shown names (build_messages.h); an undefined symbol counts only where they name
// it, since libraries define many. `contract`: the header that declares what the judge calls,
// "warpgrade/spmm.h". Nothing when the tables show no such problem.
std::optional<LinkProblem> explain_link(const std::vector<LinkedObject>& objects, const std::string& words,
                                        const std::string& contract);

// The same of the words of nvlink, which links the device code of the student's objects.
std::optional<LinkProblem> explain_device_link(const std::string& words);

}  // namespace warpgrade
