#include "npy.h"

#include <charconv>
#include <cstring>

#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

// The text behind 'key': up to the matching end of its value.
std::string value_of(const std::string& header, const std::string& key, const std::string& name) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string::npos) throw DatasetError("{}: its .npy header has no '{}'", name, key);
  std::size_t begin = at + key.size() + 3;
  while (begin < header.size() && header[begin] == ' ') ++begin;
  const char closing = header[begin] == '(' ? ')' : header[begin] == '\'' ? '\'' : ',';
  const std::size_t end = header.find(closing, begin + 1);
  if (end == std::string::npos) throw DatasetError("{}: its .npy header is cut off at '{}'", name, key);
  return header.substr(begin, end - begin);
}

std::int64_t item_bytes(const std::string& type) {
  std::int64_t bytes = 0;
  if (type.size() >= 3) std::from_chars(type.data() + 2, type.data() + type.size(), bytes);
  if (type.size() >= 2 && type[1] == 'U') bytes *= 4;
  return bytes;
}

}  // namespace

std::int64_t NpyArray::count() const {
  std::int64_t product = 1;
  for (std::int64_t extent : shape) product *= extent;
  return product;
}

NpyArray parse_npy(std::span<const std::byte> content, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(content.data());
  if (content.size() < 12 || std::memcmp(bytes, "\x93NUMPY", 6) != 0) {
    throw DatasetError("{}: expected a NumPy array", name);
  }
  const bool version1 = bytes[6] == 1;
  std::size_t header_size = bytes[8] + 256u * bytes[9];
  if (!version1) header_size += 65536u * bytes[10] + 16777216u * bytes[11];
  const std::size_t begin = version1 ? 10 : 12;
  if (content.size() - begin < header_size) throw DatasetError("{}: its .npy header is cut off", name);
  const std::string header(reinterpret_cast<const char*>(bytes) + begin, header_size);

  NpyArray array;
  array.type = value_of(header, "descr", name).substr(1);
  const std::string shape = value_of(header, "shape", name);
  for (std::size_t at = 1; at < shape.size();) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(shape.data() + at, shape.data() + shape.size(), extent);
    if (error == std::errc() && (extent < 0 || extent > (std::int64_t{1} << 40))) {
      throw DatasetError("{}: a shape of {} makes no sense", name, extent);
    }
    if (error == std::errc()) array.shape.push_back(extent);
    at = error == std::errc() ? static_cast<std::size_t>(end - shape.data()) + 1 : at + 1;
  }
  if (array.shape.size() > 1 && value_of(header, "fortran_order", name) == "True") {
    throw DatasetError("{}: arrays in Fortran order are not read", name);
  }
  array.data = content.subspan(begin + header_size);
  const std::int64_t item = item_bytes(array.type);
  if (item <= 0 || static_cast<std::int64_t>(array.data.size()) / item < array.count()) {
    throw DatasetError("{}: {} items of type {} need more than the {} bytes that are there", name,
                       array.count(), array.type, array.data.size());
  }
  array.data = array.data.first(static_cast<std::size_t>(array.count() * item));
  return array;
}

std::string npy_header(const std::string& type, std::int64_t count) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type,
                                 count < 0 ? "" : fmt::format("{},", count));
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace warpgrade::datasets
