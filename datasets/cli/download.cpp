#include "download.h"

#include "warpgrade/datasets/error.h"

#ifndef WARPGRADE_HAVE_CURL

namespace warpgrade::datasets {

bool can_download() {
  return false;
}

Download download(const std::string& url, const std::filesystem::path&, const Progress&) {
  throw DatasetError(
      "this build has no libcurl: get {} yourself and use `warpgrade data import`, or install "
      "libcurl4-openssl-dev "
      "and build again",
      url);
}

}  // namespace warpgrade::datasets

#else

#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "warpgrade/datasets/cache.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

constexpr int kAttempts = 5;

struct Handle {
  Handle() : curl(curl_easy_init()) {
    if (curl == nullptr) throw DatasetError("libcurl does not start");
  }
  ~Handle() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CURL* curl;
  curl_slist* headers = nullptr;
};

struct State {
  std::string validator;  // ETag or Last-Modified of what .part holds
  std::uint64_t total = 0;
};

struct Transfer {
  std::string url;
  fs::path part;
  Progress progress;
  CURL* curl = nullptr;
  int fd = -1;
  std::uint64_t have = 0;  // bytes on disk
  std::uint64_t asked_from = 0;
  bool started = false;
  State state, answered;
  std::uint64_t range_from = UINT64_MAX, range_total = 0;
  std::string failure;  // of our own side
  std::exception_ptr thrown;
};

fs::path state_file(const fs::path& part) {
  return part.string() + ".json";
}

State read_state(const fs::path& part) {
  std::ifstream file(state_file(part));
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object() || !json.value("validator", nlohmann::json()).is_string()) return {};
  return {json["validator"], 0};
}

// "name: value" with the name in lower case; empty when it is another header.
std::string header_value(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return "";
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(line[i])) != name[i]) return "";
  }
  line.remove_prefix(name.size() + 1);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front()))) line.remove_prefix(1);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.remove_suffix(1);
  return std::string(line);
}

void read_content_range(Transfer& transfer, const std::string& text) {  // bytes 5-9/10, bytes */10
  const std::size_t slash = text.find('/'), blank = text.find(' ');
  if (slash == std::string::npos || blank == std::string::npos) return;
  std::from_chars(text.data() + blank + 1, text.data() + text.size(), transfer.range_from);
  std::from_chars(text.data() + slash + 1, text.data() + text.size(), transfer.range_total);
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {  // also of each redirection
    transfer.answered = {};
    transfer.range_from = UINT64_MAX;
    transfer.range_total = 0;
  }
  const std::string etag = header_value(line, "etag"), modified = header_value(line, "last-modified");
  if (!etag.empty() && !etag.starts_with("W/")) transfer.answered.validator = etag;
  if (!modified.empty() && transfer.answered.validator.empty()) transfer.answered.validator = modified;
  const std::string length = header_value(line, "content-length");
  if (!length.empty()) std::from_chars(length.data(), length.data() + length.size(), transfer.answered.total);
  const std::string range = header_value(line, "content-range");
  if (!range.empty()) read_content_range(transfer, range);
  return size;
}

// Before the first byte of an answer with content: goes on, or begins anew.
bool start(Transfer& transfer) {
  transfer.started = true;
  long status = 0;
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  const bool goes_on = status == 206 && transfer.range_from == transfer.have && transfer.have > 0;
  if (status == 206 && !goes_on) {
    transfer.failure =
        fmt::format("the server answers with bytes from {}, not from {}", transfer.range_from, transfer.have);
    return false;
  }
  if (!goes_on) {
    transfer.have = 0;
    if (ftruncate(transfer.fd, 0) != 0 || lseek(transfer.fd, 0, SEEK_SET) != 0) {
      transfer.failure = std::strerror(errno);
      return false;
    }
  }
  transfer.state.validator = transfer.answered.validator;
  transfer.state.total = goes_on ? transfer.range_total : transfer.answered.total;
  std::ofstream(state_file(transfer.part))
      << nlohmann::json{{"url", transfer.url}, {"validator", transfer.state.validator}};
  std::error_code error;
  const auto room = fs::space(transfer.part.parent_path(), error).available;
  if (!error && transfer.state.total > transfer.have && transfer.state.total - transfer.have > room) {
    transfer.failure = fmt::format("{} MB are to come, but {} has room for {} MB",
                                   (transfer.state.total - transfer.have) >> 20,
                                   transfer.part.parent_path().string(), room >> 20);
    return false;
  }
  return true;
}

std::size_t on_data(char* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  long status = 0;
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200 && status != 206) return size;  // an error's page
  if (!transfer.started && !start(transfer)) return 0;
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = ::write(transfer.fd, data + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      transfer.failure =
          fmt::format("cannot write {}: {}", transfer.part.string(), std::strerror(n < 0 ? errno : ENOSPC));
      return 0;
    }
    done += static_cast<std::size_t>(n);
  }
  transfer.have += size;
  try {
    if (transfer.progress) transfer.progress(transfer.have, transfer.state.total);
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 0;
  }
  return size;
}

void set_options(Handle& handle, Transfer& transfer) {
  CURL* curl = handle.curl;
  curl_easy_setopt(curl, CURLOPT_URL, transfer.url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 30L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1000L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "warpgrade-data/1");
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  if (transfer.have > 0 && !transfer.state.validator.empty()) {
    handle.headers =
        curl_slist_append(handle.headers, fmt::format("Range: bytes={}-", transfer.have).c_str());
    handle.headers = curl_slist_append(handle.headers, ("If-Range: " + transfer.state.validator).c_str());
  }
  handle.headers = curl_slist_append(handle.headers, "Accept-Encoding: identity");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, handle.headers);
}

enum class Outcome { kDone, kAgain };

// One request. `why` says what went wrong when another one may help; throws when none will.
Outcome attempt(Transfer& transfer, std::string& why) {
  Handle handle;
  transfer.curl = handle.curl;
  transfer.started = false;
  if (transfer.state.validator.empty())
    transfer.have = 0;  // nothing tells whether the server's file is the same
  lseek(transfer.fd, static_cast<off_t>(transfer.have), SEEK_SET);
  set_options(handle, transfer);
  const CURLcode code = curl_easy_perform(handle.curl);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  if (!transfer.failure.empty()) throw DatasetError("{}: {}", transfer.url, transfer.failure);
  long status = 0;
  curl_easy_getinfo(handle.curl, CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_OK && status == 416) {
    if (transfer.range_total == transfer.have && transfer.have > 0) return Outcome::kDone;
    transfer.state.validator.clear();
    why = "the server has no such range";
    return Outcome::kAgain;
  }
  if (code == CURLE_OK && status == 200 && !transfer.started) start(transfer);  // an empty file
  if (code == CURLE_OK && (status == 200 || status == 206)) {
    if (transfer.state.total == 0 || transfer.have == transfer.state.total) return Outcome::kDone;
    why = fmt::format("{} of {} bytes came", transfer.have, transfer.state.total);
    return Outcome::kAgain;
  }
  if (code == CURLE_OK && status < 500 && status != 408 && status != 429)
    throw DatasetError("{}: the server answers {}; is the address still right? See the dataset's page",
                       transfer.url, status);
  const bool hopeless = code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
                        code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_PEER_FAILED_VERIFICATION;
  why = code == CURLE_OK ? fmt::format("the server answers {}", status) : curl_easy_strerror(code);
  if (hopeless) throw DatasetError("{}: {}", transfer.url, why);
  return Outcome::kAgain;
}

std::string file_name_of(const std::string& url) {
  std::string name = url.substr(0, url.find_first_of("?#"));
  name = name.substr(name.rfind('/') + 1);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') c = '_';
  }
  if (name.empty() || name.front() == '.') throw DatasetError("{}: the address ends in no file name", url);
  return name;
}

}  // namespace

bool can_download() {
  return true;
}

Download download(const std::string& url, const fs::path& folder, const Progress& progress) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw DatasetError("cannot make the folder {}: {}", folder.string(), error.message());
  const fs::path file = folder / file_name_of(url), part = file.string() + ".part";
  const FileLock lock(part.string() + ".lock");
  if (fs::exists(file))
    return {file, fs::file_size(file), fs::file_size(file)};  // another process was faster

  Transfer transfer;
  transfer.url = url;
  transfer.part = part;
  transfer.progress = progress;
  transfer.fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (transfer.fd < 0) throw DatasetError("cannot write {}: {}", part.string(), std::strerror(errno));
  const std::unique_ptr<int, void (*)(int*)> closing(&transfer.fd, [](int* fd) { close(*fd); });
  transfer.state = read_state(part);
  transfer.have = transfer.state.validator.empty() ? 0 : fs::file_size(part);
  const std::uint64_t resumed_at = transfer.have;
  std::string why;
  for (int i = 0; attempt(transfer, why) == Outcome::kAgain; ++i) {
    if (i + 1 == kAttempts) {
      throw DatasetError("{}: {} ({} attempts); the same command goes on from byte {}", url, why, kAttempts,
                         transfer.state.validator.empty() ? 0 : transfer.have);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200 << i));
  }
  if (fsync(transfer.fd) != 0 || rename(part.c_str(), file.c_str()) != 0)
    throw DatasetError("cannot write {}: {}", file.string(), std::strerror(errno));
  fs::remove(state_file(part), error);
  return {file, transfer.have, resumed_at};
}

}  // namespace warpgrade::datasets

#endif
