#include "npy_reader.h"

#include <cstring>

#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

template <typename From, typename To>
void convert(std::span<const std::byte> bytes, std::span<To> into) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    into[i] = static_cast<To>(value);
  }
}

}  // namespace

NpyReader::NpyReader(std::unique_ptr<ByteStream> stream, std::uint64_t bytes, std::string name)
    : stream_(std::move(stream)), name_(std::move(name)), chunk_(12) {
  read_exactly(*stream_, chunk_, name_, 0);
  const std::size_t size = npy_header_bytes(chunk_, name_);
  if (size > bytes) throw DatasetError("{}: its .npy header is cut off", name_);
  chunk_.resize(std::max<std::size_t>(size, 12));
  read_exactly(*stream_, std::span(chunk_).subspan(12), name_, 12);
  header_ = parse_npy_header(chunk_, bytes, name_);
  offset_ = chunk_.size();
}

std::span<const std::byte> NpyReader::next(std::size_t items) {
  chunk_.resize(items * static_cast<std::size_t>(header_.item_bytes));
  read_exactly(*stream_, chunk_, name_, offset_);
  offset_ += chunk_.size();
  return chunk_;
}

void NpyReader::whole(std::span<std::int64_t> into) {
  const std::string& type = header_.type;
  if (type != "<i4" && type != "<i8")
    throw DatasetError("{}: indices of type {} are not read; int32 and int64 are", name_, type);
  const auto bytes = next(into.size());
  type == "<i4" ? convert<std::int32_t>(bytes, into) : convert<std::int64_t>(bytes, into);
}

void NpyReader::real(std::span<float> into) {
  const std::string& type = header_.type;
  if (type == "<f4") return convert<float>(next(into.size()), into);
  if (type == "<f8") return convert<double>(next(into.size()), into);
  if (type == "<i4") return convert<std::int32_t>(next(into.size()), into);
  if (type == "<i8") return convert<std::int64_t>(next(into.size()), into);
  if (type == "|i1") return convert<std::int8_t>(next(into.size()), into);
  if (type == "|u1") return convert<std::uint8_t>(next(into.size()), into);
  if (type != "|b1") {
    throw DatasetError("{}: values of type {} are not read; float32, float64, integers and bool are", name_,
                       type);
  }
  const auto bytes = next(into.size());
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = bytes[i] != std::byte{0} ? 1.0f : 0.0f;
}

std::string NpyReader::word() {
  if (header_.count() != 1 || header_.item_bytes > 64) throw DatasetError("{}: expected one word", name_);
  std::string text;
  for (const std::byte byte : next(1)) {
    const auto c = static_cast<char>(byte);
    if (c != 0) text += c < 32 ? '?' : c;
  }
  return text;
}

void NpyReader::finish() {
  std::byte rest[64];
  if (stream_->read(rest) > 0)
    throw DatasetError("{}: byte {}: expected the array's end, but more follows", name_, offset_);
}

}  // namespace warpgrade::datasets
