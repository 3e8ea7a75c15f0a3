#include "course/batch/error_of.h"

#include <exception>

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"

namespace warpgrade {

std::optional<std::string> error_of(const std::function<void()>& work) {
  constexpr std::size_t kMostWords = 1000;
  try {
    work();
    return std::nullopt;
  } catch (const Interrupted&) {
    throw;
  } catch (const DiskFull&) {
    throw;
  } catch (const GpuWedged&) {
    throw;
  } catch (const std::exception& error) {
    return plain_line(error.what(), kMostWords);
  } catch (...) {
    return "an exception of an unknown type";
  }
}

}  // namespace warpgrade
