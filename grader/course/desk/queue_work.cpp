// The queue as workers and the supervisor use it.
#include <algorithm>
#include <map>
#include <queue>

#include "base/files.h"
#include "course/desk/queue_database.h"

namespace warpgrade::desk {

using nlohmann::json;

namespace {

constexpr int kMostDeaths = 2;   // of judges at a run: it is repeated once
constexpr int kMostStarts = 50;  // however often the machine itself went down

// What may be begun: of profiles none once their class has ended.
const std::string kTakable = fmt::format(
    "state = 'queued' AND (kind = 'run' OR NOT EXISTS (SELECT 1 FROM settings WHERE name = '{}' AND value <> "
    "''))",
    kCountersEnded);

}  // namespace

std::optional<Request> Queue::take(const std::string& worker, double now) {
  // A look first: a transaction would wait for others, and mostly there is nothing to take.
  const bool any = impl_->guarded([&] {
    return impl_->query(fmt::format("SELECT 1 FROM requests WHERE {} LIMIT 1", kTakable)).executeStep() &&
           impl_->setting("pause").empty();
  });
  if (!any) return std::nullopt;
  return impl_->alone([&]() -> std::optional<Request> {
    auto next =
        impl_->one(kTakable +
                   " AND student NOT IN (SELECT student FROM requests WHERE state = 'running') ORDER BY "
                   "(SELECT served FROM students s WHERE s.student = requests.student), id LIMIT 1");
    if (!next) return std::nullopt;
    const std::int64_t turn = 1 + std::atoll(impl_->setting("turn").c_str());
    impl_->set("turn", std::to_string(turn));
    impl_->query("UPDATE students SET served = ? WHERE student = ?", turn, next->student).exec();
    impl_
        ->query(
            "UPDATE requests SET state = 'running', worker = ?, started = ?, starts = starts + 1, place = 0 "
            "WHERE id = ?",
            worker, now, next->id)
        .exec();
    return impl_->one("id = ?", next->id);
  });
}

bool Queue::add_event(const Request& request, const std::string& key, const json& body) {
  return impl_->alone([&] {
    const auto now = impl_->one("id = ? AND state = 'running' AND starts = ?", request.id, request.starts);
    return now && impl_->add_event(request.id, key, body);
  });
}

bool Queue::cancel_asked(std::int64_t id) const {
  return impl_->guarded([&] { return impl_->one("id = ? AND cancel_asked = 1", id).has_value(); });
}

bool Queue::end(const Request& request, const std::string& state, const std::string& verdict,
                const std::string& message, double now) {
  return impl_->alone([&] {
    const auto held = impl_->one("id = ? AND state = 'running' AND starts = ?", request.id, request.starts);
    return held && impl_->end(request.id, state, verdict, message, now);
  });
}

void Queue::give_back(const Request& request, bool blamed, double now) {
  impl_->alone([&] {
    const auto held = impl_->one("id = ? AND state = 'running' AND starts = ?", request.id, request.starts);
    if (!held) return false;
    impl_
        ->query(
            "UPDATE requests SET state = 'queued', worker = '', kept = -1, deaths = deaths + ? WHERE id = ?",
            blamed ? 1 : 0, request.id)
        .exec();
    // Its student had no turn of it: it is the next one of theirs, and comes before who was served since.
    impl_->query("UPDATE students SET served = 0 WHERE student = ?", held->student).exec();
    if (held->cancel_asked) return impl_->end(request.id, "cancelled", "", "you cancelled it", now);
    const bool died = impl_->one(fmt::format("id = ? AND deaths >= {}", kMostDeaths), request.id).has_value();
    if (died || held->starts >= kMostStarts)
      impl_->end(
          request.id, "failed", "",
          fmt::format("the desk tried twice and could not judge it; it does not count as one of your runs. "
                      "Tell your instructor: run {}",
                      request.id),
          now);
    return true;
  });
}

void Queue::see_worker(const Worker& worker, double now) {
  impl_->alone([&] {
    return impl_
        ->query(
            "INSERT INTO workers VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO UPDATE SET device = ?2, "
            "request = ?3, since = ?4, seen = ?5",
            worker.name, worker.device, worker.request, worker.since, now)
        .exec();
  });
}

void Queue::end_counters(const std::string& why, double now) {
  impl_->alone([&] {
    impl_->set(kCountersEnded, why);
    for (const Request& request : impl_->many("state = 'queued' AND kind = ?", kProfile))
      impl_->end(request.id, "failed", "",
                 "the desk counts no more on its GPU: " + why + "; it does not count", now);
    return true;
  });
}

// ---- the supervisor

std::vector<Request> Queue::running() const {
  return impl_->guarded([&] { return impl_->many("state = 'running' ORDER BY id"); });
}

std::optional<Request> Queue::running_at(const std::string& worker) const {
  return impl_->guarded([&] { return impl_->one("state = 'running' AND worker = ?", worker); });
}

// The same choice as take() makes, again and again.
std::vector<Request> Queue::waiting() const {
  return impl_->guarded([&] {
    std::map<std::string, std::int64_t> served;
    auto students = impl_->query("SELECT student, served FROM students");
    while (students.executeStep())
      served[students.getColumn(0).getString()] = students.getColumn(1).getInt64();
    std::map<std::string, std::vector<Request>> of;
    for (Request& request : impl_->many("state = 'queued' ORDER BY id DESC"))
      of[request.student].push_back(std::move(request));
    using Turn = std::tuple<std::int64_t, std::int64_t, std::string>;  // served, id, student
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    for (const auto& [student, requests] : of) turns.emplace(served[student], requests.back().id, student);
    std::int64_t turn = 1 + std::atoll(impl_->setting("turn").c_str());
    std::vector<Request> order;
    while (!turns.empty()) {
      const std::string student = std::get<2>(turns.top());
      turns.pop();
      order.push_back(std::move(of[student].back()));
      of[student].pop_back();
      if (!of[student].empty()) turns.emplace(turn++, of[student].back().id, student);
    }
    return order;
  });
}

void Queue::write_places(int workers) {
  const std::vector<Request> order = waiting();
  if (order.empty()) return;
  impl_->alone([&] {
    auto mean = impl_->query(
        "SELECT avg(ended - started) FROM (SELECT ended, started FROM requests WHERE state = 'judged' AND "
        "kind = 'run' ORDER BY ended DESC LIMIT 20)");
    mean.executeStep();
    const double each = mean.isColumnNull(0) ? 0 : mean.getColumn(0).getDouble();
    int place = 0;
    for (const Request& request : order) {
      ++place;
      impl_
          ->query(
              "UPDATE requests SET place = ?, wait_s = ? WHERE id = ? AND state = 'queued' AND place <> ?",
              place, each * place / std::max(1, workers), request.id, place)
          .exec();
    }
    return true;
  });
}

std::vector<Worker> Queue::workers() const {
  return impl_->guarded([&] {
    std::vector<Worker> all;
    auto rows = impl_->query("SELECT name, device, request, since, seen FROM workers ORDER BY name");
    while (rows.executeStep())
      all.push_back({rows.getColumn(0).getString(), rows.getColumn(1).getString(),
                     rows.getColumn(2).getInt64(), rows.getColumn(3).getDouble(),
                     rows.getColumn(4).getDouble()});
    return all;
  });
}

void Queue::forget_worker(const std::string& name) {
  impl_->alone([&] { return impl_->query("DELETE FROM workers WHERE name = ?", name).exec(); });
}

json Queue::counts() const {
  return impl_->guarded([&] {
    json counts{{"queued", 0}, {"running", 0}, {"judged", 0}, {"failed", 0}, {"cancelled", 0}};
    auto states = impl_->query("SELECT state, count(*) FROM requests GROUP BY state");
    while (states.executeStep()) counts[states.getColumn(0).getString()] = states.getColumn(1).getInt64();
    auto waits = impl_->query(
        "SELECT started - arrived FROM requests WHERE started > 0 ORDER BY started DESC LIMIT 100");
    std::vector<double> seconds;
    while (waits.executeStep()) seconds.push_back(waits.getColumn(0).getDouble());
    std::sort(seconds.begin(), seconds.end());
    if (!seconds.empty()) {
      counts["wait_median_s"] = seconds[seconds.size() / 2];
      counts["wait_p95_s"] = seconds[(seconds.size() * 95 - 1) / 100];
    }
    return counts;
  });
}

void Queue::set_kept(std::int64_t id, std::int64_t bytes) {
  impl_->alone([&] { return impl_->query("UPDATE requests SET kept = ? WHERE id = ?", bytes, id).exec(); });
}

// The files first: whoever dies between leaves a row that is measured or dropped again.
void Queue::drop_files(std::int64_t id) {
  remove_tree(folder_of(id));
  set_kept(id, 0);
}

std::vector<std::int64_t> Queue::ended_and_not_measured() const {
  return impl_->guarded([&] {
    std::vector<std::int64_t> ids;
    auto rows = impl_->query("SELECT id FROM requests WHERE kept < 0 AND state NOT IN ('queued', 'running')");
    while (rows.executeStep()) ids.push_back(rows.getColumn(0).getInt64());
    return ids;
  });
}

std::int64_t Queue::kept_bytes(const std::string& student) const {
  return impl_->guarded([&] { return impl_->kept_bytes(student); });
}

std::vector<Request> Queue::ended_since(std::int64_t after_id, double since) const {
  return impl_->guarded([&] { return impl_->many("ended > ? AND id > ? ORDER BY ended", since, after_id); });
}

std::vector<Request> Queue::latest_judged(const std::string& lab) const {
  return impl_->guarded([&] {
    return impl_->many(
        "id IN (SELECT max(id) FROM requests WHERE state = 'judged' AND kind = 'run' AND lab = ? GROUP BY "
        "student) ORDER BY student",
        lab);
  });
}

std::vector<Request> Queue::latest_judged(const std::string& lab, const std::vector<std::string>& cases,
                                          double before) const {
  return impl_->guarded([&] {
    return impl_->many(
        "id IN (SELECT max(id) FROM requests WHERE state = 'judged' AND kind = 'run' AND lab = ? AND cases = "
        "? AND arrived < ? GROUP BY student) ORDER BY student",
        lab, json(cases).dump(), before);
  });
}

std::vector<Request> Queue::all_judged(const std::string& lab, const std::vector<std::string>& cases,
                                       double before) const {
  return impl_->guarded([&] {
    return impl_->many(
        "state = 'judged' AND kind = 'run' AND lab = ? AND cases = ? AND arrived < ? ORDER BY id", lab,
        json(cases).dump(), before);
  });
}

}  // namespace warpgrade::desk
