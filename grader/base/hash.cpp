#include "base/hash.h"

#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace warpgrade {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1)
    throw JudgeFault("SHA-256 is not available");
}
Sha256::~Sha256() = default;

Sha256& Sha256::raw(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
  return *this;
}

Sha256& Sha256::part(std::string_view bytes) {
  return raw(fmt::format("{}:", bytes.size())).raw(bytes);
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest;
  unsigned size = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  std::string text;
  for (unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::uint64_t Sha256::number() {
  return std::stoull(hex().substr(0, 16), nullptr, 16);
}

std::string sha256(std::string_view text) {
  return Sha256().raw(text).hex();
}

}  // namespace warpgrade
