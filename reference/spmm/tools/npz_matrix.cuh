// Square matrices in device memory from the datasets' working format: .npz whose members are stored,
// not deflated.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "powerlaw_matrix.cuh"

namespace bench {

// By name.
inline std::vector<std::filesystem::path> npz_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".npz") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw std::runtime_error(folder + ": no .npz files");
  return files;
}

struct NpyMember {
  std::string type;
  const char* data = nullptr;
  std::int64_t count = 0;
};

// The members in the order in which they lie: each local header is followed by an array that says its
// own size.
inline std::map<std::string, NpyMember> npy_members(const std::vector<char>& file, const std::string& name) {
  std::map<std::string, NpyMember> members;
  const auto read16 = [&](std::size_t at) {
    std::uint16_t value = 0;
    std::memcpy(&value, file.data() + at, sizeof value);
    return std::size_t{value};
  };
  std::size_t at = 0;
  while (at + 30 < file.size() && std::memcmp(file.data() + at, "PK\3\4", 4) == 0) {
    if (read16(at + 8) != 0) throw std::runtime_error(name + ": deflated; run `warpgrade data import` on it");
    const std::string member(file.data() + at + 30, read16(at + 26));
    at += 30 + read16(at + 26) + read16(at + 28);
    if (at + 10 > file.size() || std::memcmp(file.data() + at, "\x93NUMPY\1", 7) != 0)
      break;  // warpgrade.json
    const std::string head(file.data() + at + 10, std::min(read16(at + 8), file.size() - at - 10));
    at += 10 + read16(at + 8);
    NpyMember array;
    const std::size_t quote = head.find("'<") + 1, shape = head.find("'shape': (") + 10;
    if (quote == 0 || shape == 9) {  // a member of another type than ours: only the text "csr"
      at += 3;
      continue;
    }
    array.type = head.substr(quote, 3);
    array.count = std::strtoll(head.c_str() + shape, nullptr, 10);
    array.data = file.data() + at;
    at += static_cast<std::size_t>(array.count) * (array.type.back() - '0');
    if (at > file.size()) throw std::runtime_error(name + ": ends within " + member);
    members[member] = array;
  }
  return members;
}

inline DeviceCsr read_npz_matrix(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto members = npy_members(file, path.string());
  const auto array = [&](const char* member, const char* type) {
    const auto found = members.find(member);
    if (found == members.end() || found->second.type != type)
      throw std::runtime_error(path.string() + ": expected " + member + " of type " + type);
    return found->second;
  };
  const NpyMember offsets = array("indptr.npy", "<i4"), columns = array("indices.npy", "<i4");
  const NpyMember values = array("data.npy", "<f4"), shape = array("shape.npy", "<i8");
  std::int64_t size[2];
  std::memcpy(size, shape.data, sizeof size);
  if (offsets.count != size[0] + 1 || columns.count != values.count)
    throw std::runtime_error(path.string() + ": expected a matrix whose arrays fit together");
  DeviceCsr a{static_cast<int>(size[0]), static_cast<int>(size[1]), static_cast<int>(columns.count)};
  const auto upload = [](auto** to, const NpyMember& from) {
    const auto bytes = static_cast<std::size_t>(from.count) * sizeof(**to);
    BENCH_CHECK(cudaMalloc(to, bytes));
    BENCH_CHECK(cudaMemcpy(*to, from.data, bytes, cudaMemcpyHostToDevice));
  };
  upload(&a.row_offsets, offsets);
  upload(&a.columns, columns);
  upload(&a.values, values);
  return a;
}

}  // namespace bench
