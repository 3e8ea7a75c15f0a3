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
  if (begin >= header.size()) throw DatasetError("{}: its .npy header is cut off at '{}'", name, key);
  const char closing = header[begin] == '(' ? ')' : header[begin] == '\'' ? '\'' : ',';
  const std::size_t end = header.find(closing, begin + 1);
  if (end == std::string::npos) throw DatasetError("{}: its .npy header is cut off at '{}'", name, key);
  return header.substr(begin, end - begin);
}

std::int64_t item_bytes(const std::string& type) {
  std::int64_t bytes = 0;
  if (type.size() >= 3) std::from_chars(type.data() + 2, type.data() + type.size(), bytes);
  if (type.size() >= 2 && type[1] == 'U') bytes *= 4;
  return bytes > 0 && bytes <= (1 << 20) ? bytes : 0;
}

}  // namespace

std::int64_t NpyArray::count() const {
  std::int64_t product = 1;
  for (std::int64_t extent : shape) product *= extent;
  return product;
}

std::int64_t NpyHeader::count() const {
  return NpyArray{"", shape, {}}.count();
}

std::size_t npy_header_bytes(std::span<const std::byte> front, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(front.data());
  if (front.size() < 12 || std::memcmp(bytes, "\x93NUMPY", 6) != 0) {
    throw DatasetError("{}: expected a NumPy array", name);
  }
  const bool version1 = bytes[6] == 1;
  std::size_t size = bytes[8] + 256u * bytes[9];
  if (!version1) size += 65536u * bytes[10] + 16777216u * bytes[11];
  if (size > (1 << 16)) throw DatasetError("{}: an .npy header of {} bytes", name, size);
  return size + (version1 ? 10 : 12);
}

NpyHeader parse_npy_header(std::span<const std::byte> front, std::uint64_t total, const std::string& name) {
  NpyHeader parsed;
  parsed.bytes = npy_header_bytes(front, name);
  if (front.size() < parsed.bytes) throw DatasetError("{}: its .npy header is cut off", name);
  const std::size_t begin = front[6] == std::byte{1} ? 10 : 12;
  const std::string header(reinterpret_cast<const char*>(front.data()) + begin, parsed.bytes - begin);
  parsed.type = value_of(header, "descr", name).substr(1);
  const std::string shape = value_of(header, "shape", name);
  std::int64_t product = 1;
  for (std::size_t at = 1; at < shape.size();) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(shape.data() + at, shape.data() + shape.size(), extent);
    if (error == std::errc::result_out_of_range ||
        (error == std::errc() && (extent < 0 || __builtin_mul_overflow(product, extent, &product)))) {
      throw DatasetError("{}: a shape of {} makes no sense", name, shape + ")");
    }
    if (error == std::errc()) parsed.shape.push_back(extent);
    at = error == std::errc() ? static_cast<std::size_t>(end - shape.data()) + 1 : at + 1;
  }
  if (parsed.shape.size() > 1 && value_of(header, "fortran_order", name).starts_with("True")) {
    throw DatasetError("{}: arrays in Fortran order are not read", name);
  }
  parsed.item_bytes = item_bytes(parsed.type);
  const std::uint64_t room = total - parsed.bytes;
  if (parsed.item_bytes <= 0 || total < parsed.bytes ||
      room / static_cast<std::uint64_t>(parsed.item_bytes) < static_cast<std::uint64_t>(product)) {
    throw DatasetError("{}: {} items of type {} need more than the {} bytes that are there", name, product,
                       parsed.type, total);
  }
  return parsed;
}

NpyArray parse_npy(std::span<const std::byte> content, const std::string& name) {
  const NpyHeader header = parse_npy_header(content, content.size(), name);
  return {header.type, header.shape,
          content.subspan(header.bytes, static_cast<std::size_t>(header.count() * header.item_bytes))};
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
