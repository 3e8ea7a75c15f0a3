// Text from outside, made fit for JSON, terminals and pages: the one place that decides which characters are.
// (reports/warpgrade_reports/text.py is the same for Python; a test holds both against Unicode's own tables.)
//
// Unfit are characters that act instead of being seen:
// - controls (category Cc), except newline and tab where a text has several lines;
// - LINE SEPARATOR and PARAGRAPH SEPARATOR (Zl, Zp), at which some readers end a line; so is U+0085, of Cc;
// - the property Bidi_Control (Unicode's annex 9, table "Explicit Directional Formatting Characters"): they
//   show text in another order than it has ("Trojan Source", CVE-2021-42574);
// - noncharacters (The Unicode Standard, section 23.7), which no text that is exchanged has. All else stays:
// letters of every script are ordered right without these marks, and emoji keep their joiners.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace warpgrade {

// The text as valid UTF-8 (RFC 3629): each byte that belongs to no well-formed sequence becomes U+FFFD. Text
// that is valid already comes back unchanged. Compilers and programs may print any bytes; nlohmann's dump()
// throws on some of them, so text is made valid where it enters.
std::string valid_utf8(std::string_view text);

// The text as a terminal, a page and a record can show it: valid UTF-8, where each unfit character other than
// newline and tab is U+FFFD; CR LF becomes LF.
std::string plain_text(std::string_view text);

// The same for every text in a value; the names of fields stay.
void make_plain(nlohmann::json& value);

// The same on one line, for names, titles and messages: newlines and tabs become spaces, spaces at the end
// are left out, and what is longer than `most_bytes` is cut between two characters and ends in "...".
std::string plain_line(std::string_view text, std::size_t most_bytes = 300);

// The last `most_bytes` of valid UTF-8, from the beginning of a character on.
std::string_view tail_of(std::string_view text, std::size_t most_bytes);

// Puts `with` wherever `what` stands, from left to right; what was put in is not looked at again. `what`
// is not empty.
void replace_all(std::string& text, std::string_view what, std::string_view with);

// The word of `known` that `word` was probably meant to be, at most a third of its letters away
// (Levenshtein's distance, V. I. Levenshtein 1966; two neighbours exchanged count once); "" for none.
std::string nearest_word(const std::string& word, const std::set<std::string>& known);

}  // namespace warpgrade
