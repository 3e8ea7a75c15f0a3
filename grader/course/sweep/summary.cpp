#include "course/sweep/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/tables.h"

namespace warpgrade {
using nlohmann::json;

namespace {

// A variant on a case; low and high are the interval's ends, the value itself where nothing varies.
struct Cell {
  Verdict verdict;
  std::optional<double> value, low, high;
};

struct Column {
  std::string case_id;
  std::vector<Cell> cells;  // by variant
  std::optional<size_t> best;
};

Cell read_cell(const Record& record, bool timed) {
  Cell cell{record.outcome.verdict, {}, {}, {}};
  if (cell.verdict != Verdict::kAccepted) return cell;
  if (timed && record.timing) {
    cell.value = record.timing->median_us;
    cell.low = record.timing->low_us.value_or(*cell.value);
    cell.high = record.timing->high_us.value_or(*cell.value);
  } else if (!timed && !record.counters.is_null()) {
    cell.value = cell.low = cell.high = record.counters.at("warp_instructions").get<double>();
  }
  return cell;
}

std::vector<Column> read_columns(const Run& run, const std::vector<Record>& records,
                                 const std::vector<SweepVariant>& variants, bool timed) {
  std::map<std::pair<std::string, std::string>, const Record*> by_key;
  for (const Record& record : records) by_key[{record.submission.title, record.test_case.id}] = &record;
  std::vector<Column> columns;
  for (const Case& spec : run.cases) {
    Column column{spec.id, {}, {}};
    for (size_t v = 0; v < variants.size(); ++v) {
      const auto found = by_key.find({variants[v].title(), column.case_id});
      column.cells.push_back(found == by_key.end() ? Cell{Verdict::kNotRun, {}, {}, {}}
                                                   : read_cell(*found->second, timed));
      const Cell& cell = column.cells.back();
      if (cell.value && (!column.best || *cell.value < *column.cells[*column.best].value)) column.best = v;
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

// The titles of variants that can't be told from the best: their intervals overlap its interval.
json as_good(const Column& column, const std::vector<SweepVariant>& variants) {
  json titles = json::array();
  if (!column.best) return titles;
  const Cell& best = column.cells[*column.best];
  for (size_t v = 0; v < variants.size(); ++v) {
    const Cell& cell = column.cells[v];
    if (v != *column.best && cell.value && *cell.low <= *best.high) titles.push_back(variants[v].title());
  }
  return titles;
}

json describe_case(const Column& column, const std::vector<SweepVariant>& variants) {
  json result{{"id", column.case_id}, {"values", json::array()}, {"as_good", as_good(column, variants)}};
  if (column.best) result["best"] = variants[*column.best].title();
  for (const Cell& cell : column.cells) {
    json value{{"verdict", cell.verdict}};
    if (cell.value) {
      value["value"] = *cell.value;
      value["low"] = *cell.low;
      value["high"] = *cell.high;
      value["over_best"] = *cell.value / *column.cells[*column.best].value;
    }
    result["values"].push_back(value);
  }
  return result;
}

// How far a variant stands above each case's best: geometric mean and worst case.
json describe_variant(size_t v, const std::vector<Column>& columns, const SweepVariant& variant) {
  json settings = json::object();
  for (const auto& [name, value] : variant.settings) settings[name] = value;
  json result{{"title", variant.title()}, {"settings", settings}};
  double logs = 0, worst = 1;
  size_t valued = 0, accepted = 0, judged = 0;
  for (const Column& column : columns) {
    const Cell& cell = column.cells[v];
    ++judged;
    accepted += cell.verdict == Verdict::kAccepted;
    if (!cell.value) continue;
    const double over = *cell.value / *column.cells[*column.best].value;
    logs += std::log(over);
    worst = std::max(worst, over);
    ++valued;
  }
  result["accepted"] = accepted;
  result["cases"] = judged;
  if (valued == judged && judged > 0) {
    result["mean_over_best"] = std::exp(logs / static_cast<double>(judged));
    result["worst_over_best"] = worst;
  }
  return result;
}

std::string show(double value, bool timed) {
  if (timed) return value < 1e4 ? fmt::format("{:.1f} us", value) : fmt::format("{:.2f} ms", value / 1e3);
  return value < 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:.2f} M", value / 1e6);
}

std::string best_by_case(const json& summary, bool timed) {
  std::vector<std::vector<std::string>> rows{{"case", "best", timed ? "time" : "warp instr.", "as good"}};
  for (const json& spec : summary.at("by_case")) {
    if (!spec.contains("best")) {
      rows.push_back({spec.at("id"), "none accepted", "-", ""});
      continue;
    }
    double least = 0;
    for (const json& value : spec.at("values")) {
      if (value.value("over_best", 0.0) == 1.0) least = value.at("value");
    }
    const json& others = spec.at("as_good");
    std::string more = others.empty() ? "" : others[0].get<std::string>();
    if (others.size() > 1) more += fmt::format(" and {} more", others.size() - 1);
    rows.push_back({spec.at("id"), spec.at("best"), show(least, timed), more});
  }
  return format_table(rows);
}

std::string variants_by_mean(const json& summary) {
  std::vector<const json*> order;
  for (const json& variant : summary.at("variants")) order.push_back(&variant);
  std::stable_sort(order.begin(), order.end(), [](const json* a, const json* b) {
    return a->value("mean_over_best", HUGE_VAL) < b->value("mean_over_best", HUGE_VAL);
  });
  std::vector<std::vector<std::string>> rows{{"variant", "accepted", "mean over best", "worst over best"}};
  for (const json* variant : order) {
    const bool complete = variant->contains("mean_over_best");
    rows.push_back({variant->at("title"),
                    fmt::format("{}/{}", variant->at("accepted").get<int>(), variant->at("cases").get<int>()),
                    complete ? fmt::format("{:.3f}x", variant->at("mean_over_best").get<double>()) : "-",
                    complete ? fmt::format("{:.3f}x", variant->at("worst_over_best").get<double>()) : "-"});
  }
  return format_table(rows);
}

}  // namespace

json summarize_sweep(const Run& run, const std::vector<Record>& records,
                     const std::vector<SweepVariant>& variants) {
  const bool timed = run.speed_measured;
  const std::vector<Column> columns = read_columns(run, records, variants, timed);
  json summary{{"schema", "warpgrade.sweep.v1"},
               {"run", run.run},
               {"lab", run.lab},
               {"measure", timed ? "time_us" : "warp_instructions"},
               {"variants", json::array()},
               {"by_case", json::array()}};
  for (const Column& column : columns) summary["by_case"].push_back(describe_case(column, variants));
  const json* choice = nullptr;
  for (size_t v = 0; v < variants.size(); ++v)
    summary["variants"].push_back(describe_variant(v, columns, variants[v]));
  for (const json& variant : summary["variants"]) {
    if (!variant.contains("mean_over_best")) continue;
    if (choice == nullptr || variant["mean_over_best"] < (*choice)["mean_over_best"]) choice = &variant;
  }
  if (choice != nullptr) summary["best_single_choice"] = (*choice)["title"];
  return summary;
}

std::string sweep_tables(const json& summary) {
  const bool timed = summary.at("measure") == "time_us";
  std::string text = best_by_case(summary, timed) + "\n" + variants_by_mean(summary) + "\n";
  if (summary.contains("best_single_choice")) {
    text += fmt::format("best single choice: {}\n", summary["best_single_choice"].get<std::string>());
  } else {
    text += "no variant has a value on every case: there is no single choice\n";
  }
  if (!timed) text += "these are instruction counts: the emulator measures no time\n";
  return text;
}

}  // namespace warpgrade
