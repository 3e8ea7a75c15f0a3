#include "nccl/texts.h"

namespace warpgrade::nccl {

// "ncclAllReduce of 100 float32 with ncclSum"
std::string text_of(const Operation& o) {
  if (o.kind == Kind::split) return o.name;
  std::string text = std::string(o.name) + " of " + std::to_string(o.count) + " " + name_of(o.type);
  constexpr const char* kOperations[] = {"ncclSum", "ncclProd", "ncclMax",
                                         "ncclMin", "ncclAvg",  "a scaled sum"};
  if (o.kind == Kind::all_reduce || o.kind == Kind::reduce || o.kind == Kind::reduce_scatter)
    text += std::string(" with ") + kOperations[o.op];
  if (o.kind == Kind::send) return text + " to rank " + std::to_string(o.root);
  if (o.kind == Kind::receive) return text + " from rank " + std::to_string(o.root);
  return o.root < 0 ? text : text + " with root " + std::to_string(o.root);
}

std::string at(const CallPlace& called) {
  const std::string place = bridge().place(called);
  return place.empty() ? "" : " at " + place;
}

std::string at(const Operation& o) {
  if (o.elsewhere.empty()) return at(o.called);
  return " at " + o.elsewhere;
}

std::string rank_text(const Operation& o) {
  return "rank " + std::to_string(o.comm->rank);
}

// "ranks 0, 2 and 3"
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t k = 0; k < ranks.size(); ++k)
    text += (k == 0 ? "" : k + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[k]);
  return text;
}

}  // namespace warpgrade::nccl
