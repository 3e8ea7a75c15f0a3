// The queue as the course's administrators use it: settings, bans, quotas.
#include "course/desk/queue_database.h"

namespace warpgrade::desk {

std::string Queue::setting(const std::string& name) const {
  return impl_->guarded([&] { return impl_->setting(name); });
}

void Queue::set(const std::string& name, const std::string& value) {
  impl_->alone([&] {
    impl_->set(name, value);
    return true;
  });
}

void Queue::ban(const std::string& student, const std::string& why) {
  impl_->alone([&] {
    impl_->know(student);
    return impl_->query("UPDATE students SET banned = ? WHERE student = ?", why, student).exec();
  });
}

void Queue::quota(const std::string& student, std::optional<int> per_hour, std::optional<int> per_day) {
  impl_->alone([&] {
    impl_->know(student);
    SQLite::Statement change(impl_->database,
                             "UPDATE students SET runs_per_hour = ?, runs_per_day = ? WHERE student = ?");
    per_hour ? change.bind(1, *per_hour) : change.bind(1);
    per_day ? change.bind(2, *per_day) : change.bind(2);
    change.bind(3, student);
    return change.exec();
  });
}

std::vector<StudentLine> Queue::students() const {
  return impl_->guarded([&] {
    std::vector<StudentLine> all;
    auto rows = impl_->query(
        "SELECT student, banned, runs_per_hour, runs_per_day, (SELECT count(*) FROM requests r WHERE "
        "r.student = s.student) FROM students s ORDER BY student");
    while (rows.executeStep()) {
      StudentLine line{
          rows.getColumn(0).getString(), rows.getColumn(1).getString(), {}, {}, rows.getColumn(4).getInt()};
      if (!rows.isColumnNull(2)) line.runs_per_hour = rows.getColumn(2).getInt();
      if (!rows.isColumnNull(3)) line.runs_per_day = rows.getColumn(3).getInt();
      all.push_back(std::move(line));
    }
    return all;
  });
}

}  // namespace warpgrade::desk
