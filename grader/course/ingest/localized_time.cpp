#include "course/ingest/localized_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include "course/ingest/person_name.h"

namespace warpgrade {
namespace {

constexpr std::array<std::string_view, 12> kMonths{
    " january januar janvier enero janeiro januari ",
    " february februar février fevrier febrero fevereiro februari ",
    " march märz maerz mrz mars marzo março marco maart mrt ",
    " april avril abril ",
    " may mai mayo maio mei ",
    " june juni juin junio junho ",
    " july juli juillet julio julho ",
    " august août aout agosto augustus ",
    " september septembre septiembre setiembre setembro sept ",
    " october oktober octobre octubre outubro ",
    " november novembre noviembre novembro ",
    " december dezember décembre decembre diciembre dezembro ",
};

// Between the parts of a date: "18 de marzo de 2026 a las 23:58", "23 h 58", "23:58 Uhr", "1er mars".
const std::set<std::string>& fillers() {
  static const std::set<std::string> words{"de",  "del", "of", "a",  "à",   "às", "as", "las", "at",
                                           "the", "um",  "om", "op", "den", "le", "h",  "uhr", "u",
                                           "er",  "st",  "nd", "rd", "th",  "o",  "em", "min"};
  return words;
}

// 1 to 12 of a month's name or of its beginning, from three bytes on; 0 of anything else.
int month_of(const std::string& word) {
  int found = 0;
  if (word.size() < 3) return 0;
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (kMonths[i].find(" " + word) == std::string_view::npos) continue;
    if (found != 0) return 0;  // "jui" is June and July
    found = static_cast<int>(i) + 1;
  }
  return found;
}

// Runs of digits and runs of letters, folded.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  char kind = ' ';
  for (const char c : folded(text)) {
    const auto byte = static_cast<unsigned char>(c);
    const char now = std::isdigit(byte) ? '0' : byte >= 0x80 || std::isalpha(byte) ? 'a' : ' ';
    if (now != ' ') {
      if (now != kind) tokens.emplace_back();
      tokens.back() += c;
    }
    kind = now;
  }
  return tokens;
}

struct Parts {
  int month = 0;
  std::vector<std::string> numbers;
  char half = 0;  // 'a' or 'p' of a twelve-hour clock
};

// The half of the day that begins at this token: "pm", or "p" and "m" of "p. m."; 0 where none does.
char half_at(const std::vector<std::string>& tokens, std::size_t& at) {
  const std::string& token = tokens[at];
  if (token == "am" || token == "pm") return token[0];
  if ((token == "a" || token == "p") && at + 1 < tokens.size() && tokens[at + 1] == "m") {
    ++at;
    return token[0];
  }
  return 0;
}

std::optional<Parts> parts_of(const std::string& text) {
  Parts parts;
  const std::vector<std::string> tokens = tokens_of(text);
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    const std::string& token = tokens[at];
    if (std::isdigit(static_cast<unsigned char>(token[0]))) {
      parts.numbers.push_back(token);
    } else if (const char half = half_at(tokens, at); half != 0) {
      if (parts.half != 0) return std::nullopt;
      parts.half = half;
    } else if (const int month = month_of(token); month != 0 && !parts.month) {
      parts.month = month;
    } else if (!fillers().contains(token) && !parts.numbers.empty()) {
      return std::nullopt;  // in front of the first number stands the day of the week
    }
  }
  return parts;
}

// "1158", "11" and "58", or "11", "58" and "03".
std::optional<std::array<int, 3>> clock_of(const std::vector<std::string>& numbers, std::size_t from,
                                           char half) {
  std::array<int, 3> clock{};
  const std::size_t count = numbers.size() - from;
  const std::string& first = numbers[from];
  if (count == 1 && (first.size() == 3 || first.size() == 4)) {
    clock[0] = std::stoi(first.substr(0, first.size() - 2));
    clock[1] = std::stoi(first.substr(first.size() - 2));
  } else if (count == 2 || count == 3) {
    for (std::size_t i = 0; i < count; ++i) {
      if (numbers[from + i].size() > 2) return std::nullopt;
      clock[i] = std::stoi(numbers[from + i]);
    }
  } else {
    return std::nullopt;
  }
  if (clock[0] > 23 || clock[1] > 59 || clock[2] > 59) return std::nullopt;
  if (half == 0) return clock;
  if (clock[0] < 1 || clock[0] > 12) return std::nullopt;
  clock[0] = clock[0] % 12 + (half == 'p' ? 12 : 0);
  return clock;
}

}  // namespace

std::optional<std::int64_t> parse_localized_time(const std::string& text, const TimeZone& zone) {
  const auto parts = parts_of(text);
  // Day, year, and the time of the day behind them; the month stands anywhere.
  if (!parts || parts->month == 0 || parts->numbers.size() < 3) return std::nullopt;
  const std::string &day = parts->numbers[0], &year = parts->numbers[1];
  if (day.size() > 2 || year.size() != 4) return std::nullopt;
  const auto clock = clock_of(parts->numbers, 2, parts->half);
  if (!clock) return std::nullopt;
  return parse_time(fmt::format("{}-{:02}-{:02} {:02}:{:02}:{:02}", year, parts->month, std::stoi(day),
                                (*clock)[0], (*clock)[1], (*clock)[2]),
                    zone);
}

}  // namespace warpgrade
