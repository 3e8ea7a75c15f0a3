// What people decide: overrides, and appeals against a grade.
#include <fmt/format.h>

#include <cmath>

#include "course/gradebook/gradebook_file.h"

namespace warpgrade {
using nlohmann::json;

namespace {

bool is_blank_text(const std::string& text) {
  return text.find_first_not_of(" \t\n") == std::string::npos;
}

void bind_optional(SQLite::Statement& statement, int index, const auto& value) {
  if (value)
    statement.bind(index, *value);
  else
    statement.bind(index);
}

}  // namespace

Gradebook::Impl::ByStudentAndLab Gradebook::Impl::overrides() const {
  ByStudentAndLab found;
  SQLite::Statement query(*database,
                          "SELECT student, lab, points, reason, author, at FROM overrides ORDER BY id");
  while (query.executeStep()) {
    const std::pair key(query.getColumn(0).getString(), query.getColumn(1).getString());
    if (query.getColumn(2).isNull()) {
      found.erase(key);
    } else {
      found[key] = {query.getColumn(2).getDouble(), query.getColumn(3).getString(),
                    query.getColumn(4).getString(), query.getColumn(5).getString()};
    }
  }
  return found;
}

void Gradebook::Impl::write_override(const std::string& student, const std::string& lab,
                                     std::optional<double> points, const std::string& reason,
                                     const std::string& author) {
  SQLite::Statement write(
      *database,
      "INSERT INTO overrides (at, author, student, lab, points, reason) VALUES (?, ?, ?, ?, ?, ?)");
  write.bind(1, utc_timestamp());
  write.bind(2, author);
  write.bind(3, student);
  write.bind(4, lab);
  bind_optional(write, 5, points);
  write.bind(6, reason);
  write.exec();
}

void Gradebook::override_grade(const std::string& student, const std::string& lab,
                               std::optional<double> points, const std::string& reason,
                               const std::string& author, bool above_maximum) {
  if (is_blank_text(reason)) throw UsageError("an override needs a --reason: the history keeps it");
  if (is_blank_text(author)) throw UsageError("an override needs an --author: the history keeps it");
  if (points && (!std::isfinite(*points) || *points < 0))
    throw UsageError("--points must be a number from 0 upwards");
  const std::vector<Grade> before = grades({student, lab, {}});
  if (before.empty()) {
    throw UsageError("{}: student '{}' has no grade in lab '{}'; `warpgrade grades` lists who has",
                     impl_->file.string(), student, lab);
  }
  if (points && *points > before.front().max_points && !above_maximum) {
    throw UsageError("--points {:g}: lab '{}' is worth {:g} points; give --above-maximum if you mean more",
                     *points, lab, before.front().max_points);
  }
  if (!points && !before.front().override_by) {
    throw UsageError("{}: there is no override of '{}' in lab '{}' to take back", impl_->file.string(),
                     student, lab);
  }
  impl_->guarded([&] {
    SQLite::Transaction transaction(*impl_->database, SQLite::TransactionBehavior::IMMEDIATE);
    impl_->write_override(student, lab, points, reason, author);
    json what = {{"lab", lab}, {"student", student}, {"reason", reason}};
    const auto points_json = [](const std::optional<double>& p) { return p ? json(*p) : json(); };
    what["before"] = points_json(before.front().points);
    what["after"] = points_json(points ? points : before.front().computed_points);
    impl_->audit(author, points ? "points overridden" : "override withdrawn", what);
    if (points) impl_->close_appeals(student, lab, reason, author);
    transaction.commit();
  });
}

void Gradebook::Impl::write_appeal(const std::string& student, const std::string& lab,
                                   const std::string& text, const std::string& author,
                                   std::optional<std::int64_t> closes) {
  SQLite::Statement write(
      *database, "INSERT INTO appeals (at, author, student, lab, text, closes) VALUES (?, ?, ?, ?, ?, ?)");
  write.bind(1, utc_timestamp());
  write.bind(2, author);
  write.bind(3, student);
  write.bind(4, lab);
  write.bind(5, text);
  bind_optional(write, 6, closes);
  write.exec();
}

std::vector<Appeal> Gradebook::Impl::open_appeals() const {
  SQLite::Statement query(*database, R"sql(
SELECT id, at, author, student, lab, text FROM appeals a
WHERE closes IS NULL AND NOT EXISTS (SELECT 1 FROM appeals c WHERE c.closes = a.id) ORDER BY id)sql");
  std::vector<Appeal> appeals;
  while (query.executeStep()) {
    appeals.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getString(),
                       query.getColumn(2).getString(), query.getColumn(3).getString(),
                       query.getColumn(4).getString(), query.getColumn(5).getString()});
  }
  return appeals;
}

int Gradebook::Impl::close_appeals(const std::string& student, const std::string& lab,
                                   const std::string& reason, const std::string& author) {
  int closed = 0;
  for (const Appeal& appeal : open_appeals()) {
    if (appeal.student != student || appeal.lab != lab) continue;
    write_appeal(student, lab, reason, author, appeal.id);
    audit(author, "appeal closed",
          {{"lab", lab}, {"student", student}, {"before", appeal.text}, {"reason", reason}});
    ++closed;
  }
  return closed;
}

void Gradebook::appeal(const std::string& student, const std::string& lab, const std::string& text,
                       const std::string& author) {
  if (is_blank_text(text)) throw UsageError("an appeal needs a --text: what the student objects to");
  if (is_blank_text(author)) throw UsageError("an appeal needs an --author: the history keeps it");
  if (grades({student, lab, {}}).empty()) {
    throw UsageError("{}: student '{}' has no grade in lab '{}'; `warpgrade grades` lists who has",
                     impl_->file.string(), student, lab);
  }
  impl_->guarded([&] {
    SQLite::Transaction transaction(*impl_->database, SQLite::TransactionBehavior::IMMEDIATE);
    impl_->write_appeal(student, lab, text, author, std::nullopt);
    impl_->audit(author, "appeal opened", {{"lab", lab}, {"student", student}, {"reason", text}});
    transaction.commit();
  });
}

void Gradebook::close_appeal(const std::string& student, const std::string& lab, const std::string& reason,
                             const std::string& author) {
  if (is_blank_text(reason)) throw UsageError("--close needs a reason: the history keeps it");
  if (is_blank_text(author)) throw UsageError("closing an appeal needs an --author: the history keeps it");
  impl_->guarded([&] {
    SQLite::Transaction transaction(*impl_->database, SQLite::TransactionBehavior::IMMEDIATE);
    if (impl_->close_appeals(student, lab, reason, author) == 0) {
      throw UsageError(
          "{}: student '{}' has no open appeal in lab '{}'; `warpgrade grades appeals` lists them",
          impl_->file.string(), student, lab);
    }
    transaction.commit();
  });
}

std::vector<Appeal> Gradebook::open_appeals() const {
  return impl_->guarded([&] { return impl_->open_appeals(); });
}

}  // namespace warpgrade
