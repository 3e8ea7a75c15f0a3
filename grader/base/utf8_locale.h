// libarchive converts members' names to the thread's locale. In the locale "C" it has no letters
// beyond ASCII.
#pragma once

#include <locale.h>

namespace warpgrade {

// As long as it lives, this thread reads and writes names as UTF-8, whatever the user's locale is.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)), before_(uselocale(utf8_)) {}
  ~Utf8Locale() {
    uselocale(before_);
    if (utf8_ != nullptr) freelocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t utf8_, before_;
};

}  // namespace warpgrade
