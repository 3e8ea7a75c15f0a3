// One run of the desk, judged: its folder made, its cases told as the policy lets its student see them, its
// page rendered. Begun again after a death it goes on from the records that are there.
#pragma once

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/batch/options.h"
#include "course/desk/config.h"
#include "course/desk/queue.h"
#include "course/record/run_folder.h"

namespace warpgrade::desk {

struct Ending {
  std::string state, verdict, message;
};

class JudgedRun : public GradeWatcher {
 public:
  JudgedRun(Queue& queue, const Config& config, const Request& request, std::string gpu);

  // Throws whatever kept it from being judged.
  Ending execute();

  void compiled() override;
  void case_started(const std::string& case_id) override;
  void case_recorded(const Record& record) override;
  bool wants_to_stop() override;

 private:
  void lay_out();
  GradeOptions grade_options();
  void judge();
  void send_remaining_cases();
  void read_view();
  nlohmann::json line_of(const std::string& case_id) const;
  void send_case(const std::string& case_id);
  bool render_page();
  Ending ending() const;

  Queue& queue_;
  const Config& config_;
  const Request& request_;
  std::string gpu_;
  Policy policy_;
  RunFolder folder_;
  Log log_;
  double begun_;
  bool cancelled_ = false, out_of_time_ = false;
  nlohmann::json run_, scores_, view_;
  std::vector<Record> records_;
};

}  // namespace warpgrade::desk
