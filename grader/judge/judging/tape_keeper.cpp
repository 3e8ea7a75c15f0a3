#include "judge/judging/tape_keeper.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "judge/protocol/call_tape.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

void write_payload(std::ofstream& file, const SharedBuffer& buffer) {
  std::vector<char> chunk(std::min<std::size_t>(buffer.bytes, 1 << 20));
  for (std::size_t done = 0; done < buffer.bytes;) {
    const std::size_t want = std::min(chunk.size(), buffer.bytes - done);
    const ssize_t n = pread(buffer.fd, chunk.data(), want, static_cast<off_t>(buffer.offset + done));
    if (n <= 0) throw JudgeFault("the case's buffer {} cannot be read", buffer.name);
    file.write(chunk.data(), n);
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace

void keep_calls(const fs::path& folder, const fs::path& program, const std::vector<SharedBuffer>& buffers,
                const std::vector<std::int64_t>& plan, const std::vector<std::int64_t>& run) {
  std::size_t bytes = 0;
  for (const SharedBuffer& buffer : buffers) bytes += buffer.bytes;
  if (bytes > kMostTapeBytes) return;  // whoever asked for it finds none, and says so
  fs::copy_file(program, folder / "program", fs::copy_options::overwrite_existing);
  const fs::path staged = folder / "calls.new";
  {
    std::ofstream file(staged, std::ios::binary);
    protocol::TapeHead head;
    head.buffers = static_cast<std::uint32_t>(buffers.size());
    std::copy(plan.begin(), plan.end(), head.plan);
    std::copy(run.begin(), run.end(), head.run);
    file.write(reinterpret_cast<const char*>(&head), sizeof head);
    for (const SharedBuffer& buffer : buffers) {
      protocol::TapeBuffer about;
      std::strncpy(about.name, buffer.name.c_str(), sizeof about.name - 1);
      about.bytes = buffer.bytes;
      file.write(reinterpret_cast<const char*>(&about), sizeof about);
      write_payload(file, buffer);
    }
    if (!file.flush()) throw JudgeFault("{}: cannot be written; is the disk full?", staged.string());
  }
  fs::rename(staged, folder / "calls");
}

}  // namespace warpgrade
