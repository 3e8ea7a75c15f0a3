#include "judge/labs/declared/kept_answers.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "judge/labs/declared/answer_files.h"
#include "judge/labs/declared/ranges.h"

namespace warpgrade::declared {

void Answer::add(std::span<const std::byte> truth, std::span<const std::byte> magnitudes, int threads) {
  outputs_.push_back({copy_of(truth, threads), copy_of(magnitudes, threads)});
}

Answer::Copy Answer::copy_of(std::span<const std::byte> cells, int threads) {
  if (cells.empty()) return {};
  void* memory =
      mmap(nullptr, cells.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw JudgeFault("no memory of {} MiB to keep an oracle's answer: {}", cells.size() >> 20,
                     std::strerror(errno));
  madvise(memory, cells.size(), MADV_DONTFORK);
  madvise(memory, cells.size(), MADV_HUGEPAGE);  // where there are some
  Copy copy{std::unique_ptr<std::byte, UnmapMemory>(static_cast<std::byte*>(memory), {cells.size()}),
            cells.size()};
  for_ranges(static_cast<std::int64_t>(cells.size()), threads,
             [&](std::int64_t, std::int64_t begin, std::int64_t end) {
               std::copy(cells.begin() + begin, cells.begin() + end, copy.cells.get() + begin);
             });
  return copy;
}

std::size_t Answer::bytes() const {
  std::size_t sum = 0;
  for (const Output& output : outputs_) sum += output.truth.bytes + output.magnitudes.bytes;
  return sum;
}

std::string KeptAnswers::name(std::uint64_t plan, std::uint64_t run) const {
  return fmt::format("answer: {} plan {} run {}", of_case_, plan, run);
}

std::shared_ptr<const Answer> KeptAnswers::find(std::uint64_t plan, std::uint64_t run) const {
  const std::string wanted = name(plan, run);
  if (auto kept = kept_.find<Answer>(wanted)) return kept;
  if (files_ == nullptr) return nullptr;
  auto read = files_->find(wanted);
  return read ? keep(wanted, std::move(*read)) : nullptr;
}

std::shared_ptr<const Answer> KeptAnswers::add(std::uint64_t plan, std::uint64_t run, Answer answer) const {
  if (files_ != nullptr) files_->add(name(plan, run), answer);
  return keep(name(plan, run), std::move(answer));
}

std::shared_ptr<const Answer> KeptAnswers::keep(const std::string& name, Answer answer) const {
  auto kept = std::make_shared<const Answer>(std::move(answer));
  kept_.add(name, kept, kept->bytes(), most_bytes_);
  return kept;
}

}  // namespace warpgrade::declared
