#include "judge/declaration/npy_file.h"

#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "base/text.h"

namespace warpgrade::declaration {
namespace {

constexpr std::size_t kLongestHeader = 1 << 16, kLongestType = 40;
constexpr std::size_t kMostDimensions = 64;  // NumPy 2's

// The header is a literal of Python's: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }. What
// stands behind a key, from `begin` to before one of `ends`.
std::string_view value_of(std::string_view header, const std::string& key, std::string_view begin,
                          std::string_view ends, const char* what) {
  const std::string quoted = "'" + key + "':";
  const std::size_t at = header.find(quoted);
  std::string_view value = at == std::string_view::npos ? "" : header.substr(at + quoted.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  const std::size_t end = value.find_first_of(ends, begin.size());
  if (!value.starts_with(begin) || end == std::string_view::npos)
    throw std::invalid_argument(std::string("its header does not say ") + what);
  return value.substr(begin.size(), end - begin.size());
}

// "2, 3" and "3," and "".
std::vector<std::int64_t> extents_of(std::string_view shape) {
  std::vector<std::int64_t> extents;
  while (!shape.empty()) {
    std::string_view extent = shape.substr(0, shape.find(','));
    shape.remove_prefix(std::min(extent.size() + 1, shape.size()));
    extent.remove_prefix(std::min(extent.find_first_not_of(' '), extent.size()));
    if (extent.empty() && shape.empty()) break;
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(extent.data(), extent.data() + extent.size(), number);
    if (extents.size() == kMostDimensions || error != std::errc() || number < 0 ||
        end != extent.data() + extent.size())
      throw std::invalid_argument("its header does not say the shape: expected whole numbers, got '" +
                                  plain_line(extent, 40) + "'");
    extents.push_back(number);
  }
  return extents;
}

// The header's length, in its first bytes behind the magic word and the version.
std::size_t header_length(std::ifstream& file, int version) {
  unsigned char bytes[4] = {};
  file.read(reinterpret_cast<char*>(bytes), version == 1 ? 2 : 4);
  return bytes[0] | std::size_t{bytes[1]} << 8 | std::size_t{bytes[2]} << 16 | std::size_t{bytes[3]} << 24;
}

}  // namespace

NpyHeader read_npy_header(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[8] = {};
  if (!file.read(magic, sizeof magic) || std::string(magic, 6) != "\x93NUMPY" || magic[6] < 1 || magic[6] > 3)
    throw std::invalid_argument("it is no .npy file (numpy.save writes one)");
  const std::size_t length = header_length(file, magic[6]);
  if (length > kLongestHeader) throw std::invalid_argument("its header is too long");
  std::string header(length, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(length)))
    throw std::invalid_argument("it ends within its header");
  NpyHeader result;
  result.offset = static_cast<std::size_t>(file.tellg());
  result.dtype = value_of(header, "descr", "'", "'", "a type of plain numbers ('descr')");
  if (result.dtype.size() < 2 || result.dtype.size() > kLongestType)
    throw std::invalid_argument("its header does not say a type of plain numbers ('descr')");
  if (value_of(header, "fortran_order", "", ",}", "the order ('fortran_order')") != "False")
    throw std::invalid_argument("it is in Fortran's order: save numpy.ascontiguousarray(...) of it");
  result.shape = extents_of(value_of(header, "shape", "(", ")", "the shape"));
  return result;
}

}  // namespace warpgrade::declaration
