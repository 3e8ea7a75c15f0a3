// Text that a submission, a compiler or a student writes: report lines, compilers' logs, expressions,
// the desk's lines.
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "base/json.h"
#include "base/text.h"
#include "course/desk/protocol.h"
#include "judge/compile/build_messages.h"
#include "judge/compile/compiler.h"
#include "judge/compile/inspect.h"
#include "judge/compile/link_problem.h"
#include "judge/declaration/expression.h"
#include "judge/declaration/signature.h"
#include "judge/judging/report_lines.h"
#include "support.h"
#include "targets.h"

namespace warpgrade::fuzz {

void report_lines(std::string_view input) {
  for (const Report report : {Report::kDiagnostics, Report::kCounters}) {
    const nlohmann::json list = read_report(input, report);
    expect(list.is_array() && list.size() <= 2000, "more objects than the limit");
    list.dump();  // throws for what is no UTF-8
  }
}

void compiler_log(std::string_view input) {
  const std::string log = plain_text(input);  // as the box hands it on
  for (const KernelResources& kernel : parse_ptxas(log)) {
    const nlohmann::json json = kernel.to_json();
    json.dump();
    expect(KernelResources::from_json(json).to_json() == json, "figures that change when they are read back");
  }
  const ShownNames shown{{{"/run/warpgrade/source/", ""}, {"/tmp/", "build/"}}, {"/opt/judge/"}};
  const std::string words = with_shown_names(log, shown);
  expect(valid_utf8(first_error(words, "")) == first_error(words, ""), "an error that is no UTF-8");
  first_error(words, "spmm.cu");
  explain_device_link(words);
  forbidden_header(log);
  if (const auto problem = explain_link({{"spmm.cu", ""}, {"", ""}}, words, "warpgrade/spmm.h"))
    expect(problem->message.find('\n') == std::string::npos, "a message of several lines");
}

void expression(std::string_view input) {
  using namespace declaration;
  const std::string text(input);
  reads<std::invalid_argument, std::domain_error>([&] {
    const Expression read(text);
    Values values;
    std::int64_t next = -2;
    for (const std::string& name : read.names()) values[name] = Value::of(next += 3);
    reads<std::domain_error>([&] { read.whole(values); });
    for (auto& [name, value] : values)
      value = Value::of(INT64_MIN + static_cast<std::int64_t>(name.size()) - 1);
    reads<std::domain_error>([&] { read.whole(values); });
    for (auto& [name, value] : values) value = Value::of_real(1e300);
    reads<std::domain_error>([&] { read.real(values); });
    read.whole({});
  });
  reads<std::invalid_argument>([&] { parse_signature(text); });
}

void desk_line(std::string_view input) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  const std::string_view part = input.substr(0, 60'000);  // what the socket takes at once
  if (::write(ends[1], part.data(), part.size()) < 0) expect(false, "a socket that takes nothing");
  shutdown(ends[1], SHUT_WR);
  reads<desk::ChannelError>([&] {
    desk::Channel channel(ends[0], ends[0], desk::kMostAskBytes);
    const auto until = desk::Channel::Clock::now() + std::chrono::seconds(5);
    while (const auto line = channel.next(until)) {
      desk::text_of(*line, "ask");
      if (const auto bytes = desk::whole_of(*line, "bytes"); bytes && *bytes >= 0 && *bytes < 4096)
        channel.bytes(static_cast<std::size_t>(*bytes), until);
    }
  });
  close(ends[0]);
  close(ends[1]);
}

}  // namespace warpgrade::fuzz
