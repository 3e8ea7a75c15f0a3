// The same work for each of many things, on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace warpgrade {

// Calls work(i) for i in [0, count) on `workers` threads; the first exception stops the rest and is
// thrown again.
void parallel(std::size_t count, std::size_t workers, const std::function<void(std::size_t)>& work);

}  // namespace warpgrade
