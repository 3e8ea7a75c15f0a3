#include "digest.h"

#include <openssl/evp.h>

#include <array>
#include <vector>

#include "byte_stream.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr);
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_));
}

void Sha256::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest.data(), nullptr);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_of(const std::string& text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.hex();
}

std::string sha256_of_file(const std::filesystem::path& path, const Progress& progress) {
  const Source source{path, ""};
  const auto stream = source.open_raw();
  Sha256 hash;
  std::vector<std::byte> chunk(1 << 18);
  while (const std::size_t n = stream->read(chunk)) {
    hash.add(std::span(chunk).first(n));
    if (progress) progress(stream->consumed(), source.file_bytes());
  }
  return hash.hex();
}

}  // namespace warpgrade::datasets
