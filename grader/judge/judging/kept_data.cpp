#include "judge/judging/kept_data.h"

#include <algorithm>

namespace warpgrade {

std::size_t KeptData::bytes() const {
  std::size_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.bytes;
  return sum;
}

std::shared_ptr<const void> KeptData::find_any(const std::string& name) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->data;
}

void KeptData::add(const std::string& name, std::shared_ptr<const void> data, std::size_t bytes,
                   std::size_t most_bytes) {
  entries_.remove_if([&](const Entry& entry) { return entry.name == name; });
  if (name.empty() || bytes > most_bytes) return;
  while (this->bytes() + bytes > most_bytes) entries_.pop_back();
  entries_.push_front({name, std::move(data), bytes});
}

}  // namespace warpgrade
