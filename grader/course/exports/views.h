// The views of a class (course/feedback/view.h). Several lists share a view: a class's are hundreds of MB.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace warpgrade {

class Views {
 public:
  using Shared = std::shared_ptr<nlohmann::json>;

  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = nlohmann::json;
    using difference_type = std::ptrdiff_t;
    using pointer = const nlohmann::json*;
    using reference = const nlohmann::json&;

    const_iterator() = default;
    explicit const_iterator(std::vector<Shared>::const_iterator at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    const_iterator& operator++() {
      ++at_;
      return *this;
    }
    const_iterator operator++(int) { return const_iterator(at_++); }
    bool operator==(const const_iterator&) const = default;

   private:
    std::vector<Shared>::const_iterator at_;
  };

  Views() = default;
  Views(std::initializer_list<nlohmann::json> views) : Views(std::vector<nlohmann::json>(views)) {}
  Views(std::vector<nlohmann::json> views) {
    views_.reserve(views.size());
    for (nlohmann::json& view : views) push_back(std::move(view));
  }

  void push_back(nlohmann::json view) { views_.push_back(std::make_shared<nlohmann::json>(std::move(view))); }
  void push_back(Shared view) { views_.push_back(std::move(view)); }

  const_iterator begin() const { return const_iterator(views_.begin()); }
  const_iterator end() const { return const_iterator(views_.end()); }
  const nlohmann::json& front() const { return *views_.front(); }
  bool empty() const { return views_.empty(); }
  std::size_t size() const { return views_.size(); }

  // The lists that share a view see the change.
  template <typename Change>
  void change_each(Change change) {
    for (const Shared& view : views_) change(*view);
  }

  template <typename Is>
  void erase_if(Is is) {
    std::erase_if(views_, [&](const Shared& view) { return is(*view); });
  }

 private:
  std::vector<Shared> views_;
};

}  // namespace warpgrade
