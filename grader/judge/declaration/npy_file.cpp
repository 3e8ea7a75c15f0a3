#include "judge/declaration/npy_file.h"

#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace warpgrade::declaration {
namespace {

constexpr std::size_t kLongestHeader = 1 << 16;

std::string between(const std::string& text, const std::regex& pattern, const char* what) {
  std::smatch found;
  if (!std::regex_search(text, found, pattern))
    throw std::invalid_argument(std::string("its header does not say ") + what);
  return found[1];
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
  result.dtype = between(header, std::regex("'descr': *'([^']*)'"), "a type of plain numbers ('descr')");
  if (between(header, std::regex("'fortran_order': *(\\w+)"), "the order ('fortran_order')") != "False")
    throw std::invalid_argument("it is in Fortran's order: save numpy.ascontiguousarray(...) of it");
  std::istringstream shape(between(header, std::regex("'shape': *\\(([^)]*)\\)"), "the shape"));
  for (std::string extent; std::getline(shape, extent, ',');)
    if (extent.find_first_of("0123456789") != std::string::npos) result.shape.push_back(std::stoll(extent));
  return result;
}

}  // namespace warpgrade::declaration
