#include "warpgrade/datasets/pins.h"

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <fstream>

#include "warpgrade/datasets/cache.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace fs = std::filesystem;

PinFile::PinFile(fs::path path) : path_(std::move(path)) {
  read();
}

void PinFile::read() {
  pins_.clear();
  if (!fs::exists(path_)) return;
  std::string name;
  try {
    for (const auto& item : YAML::LoadFile(path_.string())) {
      name = item.first.as<std::string>();
      Pin pin;
      pin.content = item.second["content"].as<std::string>();
      pin.pinned = item.second["pinned"].as<std::string>();
      for (const auto& file : item.second["files"]) {
        pin.files.push_back({file["url"].as<std::string>(), file["sha256"].as<std::string>(),
                             file["bytes"].as<std::uint64_t>()});
      }
      pins_[name] = pin;
    }
  } catch (const YAML::Exception& error) {
    throw DatasetError("{}:{}: {}: {}; mend the line, or delete the file to pin anew", path_.string(),
                       error.mark.line + 1, name, error.msg);
  }
}

std::optional<Pin> PinFile::find(const std::string& name) const {
  const auto found = pins_.find(name);
  return found == pins_.end() ? std::nullopt : std::optional(found->second);
}

void PinFile::set(const std::string& name, const Pin& pin) {
  std::error_code error;
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), error);
  fs::path lock_path = path_;
  const FileLock lock(lock_path += ".held");
  read();  // what others pinned meanwhile
  pins_[name] = pin;
  YAML::Emitter out;
  out << YAML::Comment(
      "What published files hashed to when first fetched; `warpgrade data fetch` refuses others.");
  out << YAML::Newline << YAML::BeginMap;
  for (const auto& [key, value] : pins_) {
    out << YAML::Key << key << YAML::Value << YAML::BeginMap;
    out << YAML::Key << "files" << YAML::Value << YAML::BeginSeq;
    for (const PinnedFile& file : value.files) {
      out << YAML::BeginMap << YAML::Key << "url" << YAML::Value << file.url << YAML::Key << "sha256"
          << YAML::Value << file.sha256 << YAML::Key << "bytes" << YAML::Value << file.bytes << YAML::EndMap;
    }
    out << YAML::EndSeq << YAML::Key << "content" << YAML::Value << value.content << YAML::Key << "pinned"
        << YAML::Value << value.pinned << YAML::EndMap;
  }
  out << YAML::EndMap;
  fs::path temporary = path_;
  temporary += ".tmp-" + std::to_string(getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << out.c_str() << "\n";
  file.close();
  if (!file) {
    fs::remove(temporary, error);
    throw DatasetError("cannot write {}", path_.string());
  }
  fs::rename(temporary, path_);
}

}  // namespace warpgrade::datasets
