#include "base/build_id.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

namespace warpgrade {
namespace {

constexpr std::size_t kMostSegments = 64, kMostNoteBytes = 4096;

// The `bytes` bytes at `offset`; fewer where the file ends.
std::string part_of(std::ifstream& file, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

template <typename T>
std::optional<T> value_at(const std::string& bytes, std::size_t offset) {
  T value;
  if (offset + sizeof value > bytes.size()) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

std::optional<std::string> id_in(const std::string& notes) {
  for (std::size_t at = 0;;) {
    const auto note = value_at<Elf64_Nhdr>(notes, at);
    if (!note || note->n_namesz > kMostNoteBytes || note->n_descsz > kMostNoteBytes) return std::nullopt;
    const std::size_t name = at + sizeof *note, content = name + padded(note->n_namesz);
    if (content + note->n_descsz > notes.size()) return std::nullopt;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz > 0 && notes.compare(name, 4, "GNU\0", 4) == 0) {
      std::string hex;
      for (std::size_t i = 0; i < note->n_descsz; ++i)
        hex += fmt::format("{:02x}", static_cast<unsigned char>(notes[content + i]));
      return hex;
    }
    at = content + padded(note->n_descsz);
  }
}

}  // namespace

std::optional<std::string> build_id(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const auto header = value_at<Elf64_Ehdr>(part_of(file, 0, sizeof(Elf64_Ehdr)), 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  const std::size_t count = std::min<std::size_t>(header->e_phnum, kMostSegments);
  const std::string segments = part_of(file, header->e_phoff, count * sizeof(Elf64_Phdr));
  for (std::size_t i = 0; i < count; ++i) {
    const auto segment = value_at<Elf64_Phdr>(segments, i * sizeof(Elf64_Phdr));
    if (!segment || segment->p_type != PT_NOTE) continue;
    if (auto id =
            id_in(part_of(file, segment->p_offset, std::min<std::size_t>(segment->p_filesz, kMostNoteBytes))))
      return id;
  }
  return std::nullopt;
}

}  // namespace warpgrade
