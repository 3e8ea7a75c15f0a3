// The same work for each of many things, done ahead of who takes the results in order.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <stdexcept>
#include <utility>

namespace warpgrade {

// next() gives work(0), work(1), ... up to work(count - 1): `workers` of them are done by threads meanwhile,
// so that few results are in memory. An exception of the work is thrown where its result is taken.
template <class Result>
class Ahead {
 public:
  Ahead(std::size_t count, std::size_t workers, std::function<Result(std::size_t)> work)
      : count_(count), work_(std::move(work)) {
    for (std::size_t i = 0; i < workers; ++i) start_one();
  }

  Result next() {
    if (running_.empty()) throw std::logic_error("all results are taken");
    std::future<Result> first = std::move(running_.front());
    running_.pop_front();
    Result result = first.get();
    start_one();
    return result;
  }

 private:
  void start_one() {
    if (started_ == count_) return;
    running_.push_back(std::async(std::launch::async, work_, started_));
    ++started_;
  }

  std::size_t count_, started_ = 0;
  std::function<Result(std::size_t)> work_;
  std::deque<std::future<Result>> running_;  // gone before the work that they call
};

}  // namespace warpgrade
