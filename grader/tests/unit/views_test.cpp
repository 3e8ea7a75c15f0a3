// A class's views are held once, whatever the number of lists that have them.
#include "course/exports/views.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

using nlohmann::json;

TEST(Views, ListsShareAViewAndItsChanges) {
  const auto shared = std::make_shared<json>(json{{"points", 1}});
  Views own, graded;
  own.push_back(shared);
  graded.push_back(shared);
  EXPECT_EQ(&own.front(), &graded.front());
  graded.change_each([](json& view) { view["login"] = "ada"; });
  EXPECT_EQ(own.front().at("login"), "ada");
}

TEST(Views, WhoIsLeftOutOfOneListStaysInTheOther) {
  const auto shared = std::make_shared<json>(json{{"points", 1}});
  Views own, graded;
  own.push_back(shared);
  graded.push_back(shared);
  graded.push_back(json{{"points", 2}});
  graded.erase_if([](const json& view) { return view.at("points") == 1; });
  ASSERT_EQ(graded.size(), 1U);
  EXPECT_EQ(graded.front().at("points"), 2);
  EXPECT_EQ(own.size(), 1U);
}

}  // namespace
}  // namespace warpgrade
