// What the queue's files share: the open database, transactions, and what reads its rows.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "course/desk/queue.h"

namespace warpgrade::desk {

inline constexpr const char* kRequestColumns =
    "id, student, lab, hash, state, message, verdict, cases, arrived, started, ended, place, wait_s, starts, "
    "cancel_asked, kind";

Request read_request(SQLite::Statement& row);
std::vector<Request> read_requests(SQLite::Statement& query);

struct Queue::Impl {
  std::filesystem::path file;
  SQLite::Database database;

  Impl(const std::filesystem::path& path, int flags);

  // Runs `work` and says which file SQLite complained about.
  template <typename Work>
  auto guarded(const Work& work) {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      throw JudgeFault("{}: the queue could not be read or written: {}", file.string(), error.what());
    }
  }

  // The same, all or nothing, and with nobody else writing.
  template <typename Work>
  auto alone(const Work& work) {
    return guarded([&] {
      SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      auto result = work();
      transaction.commit();
      return result;
    });
  }

  template <typename... Values>
  SQLite::Statement query(const std::string& text, const Values&... values) {
    SQLite::Statement statement(database, text);
    int index = 0;
    (statement.bind(++index, values), ...);
    return statement;
  }

  template <typename... Values>
  std::optional<Request> one(const std::string& where, const Values&... values) {
    auto rows = query(fmt::format("SELECT {} FROM requests WHERE {}", kRequestColumns, where), values...);
    if (!rows.executeStep()) return std::nullopt;
    return read_request(rows);
  }

  template <typename... Values>
  std::vector<Request> many(const std::string& where, const Values&... values) {
    auto rows = query(fmt::format("SELECT {} FROM requests WHERE {}", kRequestColumns, where), values...);
    return read_requests(rows);
  }

  void upgrade();  // a queue of an earlier version

  std::string setting(const std::string& name);
  void set(const std::string& name, const std::string& value);

  // Once a key; false: it is there already.
  bool add_event(std::int64_t id, const std::string& key, const nlohmann::json& body);
  bool end(std::int64_t id, const std::string& state, const std::string& verdict, const std::string& message,
           double now);

  void know(const std::string& student);
  // Why this student may not have another run now.
  std::optional<Refusal> refusal(const std::string& student, Limits limits, double now);
  std::int64_t kept_bytes(const std::string& student);  // "": of all
  // Adds the student's oldest ended runs, whose files are to go, until the new run's bytes are allowed; else
  // tells why they are not.
  std::optional<Refusal> make_room(const NewRequest& request, const Limits& limits,
                                   std::vector<std::int64_t>& dropped);
};

}  // namespace warpgrade::desk
