// JUnit's XML. Written by hand: it has four elements and a hundred lines, which is less than another
// library costs to carry on every platform; what XML forbids in a message would have to be replaced before
// a library as well.
#include <fmt/format.h>

#include "course/exports/exports.h"
#include "record/verdict.h"

namespace warpgrade {

namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// XML 1.0 has no place for most control characters, nor for U+FFFE and U+FFFF, not even as references.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
        result += "&#10;";
        break;
      case '\t':
        result += "&#9;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? kReplacement : std::string(1, c);
    }
  }
  for (const char* forbidden : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (size_t at = 0; (at = result.find(forbidden, at)) != std::string::npos;)
      result.replace(at, 3, kReplacement);
  }
  return result;
}

struct Counts {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
};

// Failures are wrong results; errors are programs that did not get that far.
const char* element_of(Verdict verdict) {
  if (is_undecided(verdict)) return "skipped";
  return verdict == Verdict::kRuntimeError || verdict == Verdict::kCompileError ? "error" : "failure";
}

std::string test_case(const View& view, const ScoredCase& line, Counts& counts) {
  const Verdict verdict = line.outcome();
  const std::string word(word_of(verdict));
  ++counts.tests;
  std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", escaped(view.lab), escaped(line.id));
  if (verdict == Verdict::kAccepted) return text + "/>\n";
  const std::string element = element_of(verdict);
  (element == "skipped" ? counts.skipped : element == "error" ? counts.errors : counts.failures) += 1;
  text += fmt::format(">\n      <{} message=\"{}\"", element,
                      escaped(line.message.empty() ? word : line.message));
  if (element == "skipped") return text + "/>\n    </testcase>\n";
  return text + fmt::format(" type=\"{}\">{}</{}>\n    </testcase>\n", escaped(word),
                            escaped(case_text(line)), element);
}

std::string suite(const View& view, Counts& total) {
  Counts counts;
  std::string cases;
  for (const ScoredCase& line : view.cases) cases += test_case(view, line, counts);
  total.tests += counts.tests;
  total.failures += counts.failures;
  total.errors += counts.errors;
  total.skipped += counts.skipped;
  std::string text =
      fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
                  escaped(view.person.id), counts.tests, counts.failures, counts.errors, counts.skipped);
  text += "    <properties>\n";
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, escaped(value));
  };
  add("points", fmt::format("{:.2f}", view.points.value_or(0)));
  add("max_points", fmt::format("{:.2f}", view.max_points));
  add("verdict", view.verdict);
  add("made_from", view.made_from);
  return text + "    </properties>\n" + cases + "  </testsuite>\n";
}

}  // namespace

std::string junit_xml(const Views& views) {
  Counts total;
  std::string suites;
  for (const View view : views) suites += suite(view, total);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "errors=\"{}\">\n{}"
      "</testsuites>\n",
      escaped(View(views.front()).run), total.tests, total.failures, total.errors, suites);
}

}  // namespace warpgrade
