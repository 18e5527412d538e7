// Commands of tools: input, output, limits, and every way to end.
#include "cli/chat/tool_command.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>

namespace ingot {
namespace {

using End = CommandResult::End;

bool never() { return false; }

CommandResult run(std::vector<std::string> argv, std::string_view input = "",
                  const CommandLimits& limits = {}) {
  std::signal(SIGPIPE, SIG_IGN);
  return run_tool_command(argv, input, limits, never);
}

TEST(ToolCommand, GetsItsInputAndGivesItsOutput) {
  std::string long_input;  // more than a pipe holds
  for (int i = 0; i < 50'000; ++i) long_input += static_cast<char>('a' + i % 26);
  for (const std::string& input : {std::string(), std::string("{\"a\":1}"), long_input}) {
    const CommandResult result = run({"cat"}, input);
    EXPECT_EQ(result.end, End::kExited);
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.output, input);
  }
}

TEST(ToolCommand, WordsGoToNoShell) {
  EXPECT_EQ(run({"printf", "%s|", "$HOME", "a b", "*", ";"}).output, "$HOME|a b|*|;|");
}

TEST(ToolCommand, MayLeaveItsInputUnread) {
  const CommandResult result = run({"true"}, std::string(1 << 20, 'x'));
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_EQ(result.code, 0);
}

TEST(ToolCommand, MayLeaveAProcessBehind) {
  const CommandResult result = run({"sh", "-c", "sleep 3 & echo here"});
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_EQ(result.output, "here\n");
}

TEST(ToolCommand, SaysHowItEnded) {
  EXPECT_EQ(run({"sh", "-c", "exit 7"}).code, 7);
  const CommandResult killed = run({"sh", "-c", "kill -TERM $$"});
  EXPECT_EQ(killed.end, End::kSignal);
  EXPECT_EQ(killed.code, SIGTERM);
  const CommandResult none = run({"/no/such/program"});
  EXPECT_EQ(none.end, End::kNotBegun);
  EXPECT_EQ(none.code, ENOENT);
}

TEST(ToolCommand, OutputIsBounded) {
  const CommandResult endless = run({"yes"}, "", {.output_bytes = 1000});
  EXPECT_EQ(endless.end, End::kCut);
  EXPECT_EQ(endless.output.size(), 1000U);
  const CommandResult full = run({"printf", "12345"}, "", {.output_bytes = 5});
  EXPECT_EQ(full.end, End::kExited);
  EXPECT_EQ(full.output, "12345");
  const CommandResult cut = run({"printf", "123456"}, "", {.output_bytes = 5});
  EXPECT_EQ(cut.end, End::kCut);
  EXPECT_EQ(cut.output, "12345");
}

TEST(ToolCommand, TimeIsBounded) {
  const CommandLimits limits{.time = std::chrono::milliseconds(50)};
  EXPECT_EQ(run({"sleep", "1000"}, "", limits).end, End::kTimeout);
  // Also for a command that closes its output and continues.
  EXPECT_EQ(run({"sh", "-c", "exec >&-; exec sleep 1000"}, "", limits).end, End::kTimeout);
}

TEST(ToolCommand, TheCallerStopsIt) {
  const std::vector<std::string> argv{"sleep", "1000"};
  int asked = 0;
  const auto stop = [&] { return ++asked > 2; };
  EXPECT_EQ(run_tool_command(argv, "", {}, stop).end, End::kStopped);
  const auto fail = []() -> bool { throw std::runtime_error("stop"); };
  EXPECT_THROW(run_tool_command(argv, "", {}, fail), std::runtime_error);
}

TEST(ToolCommand, TheModelIsToldTheEnd) {
  EXPECT_EQ(tool_result_text({.output = "42\n"}), "42\n");
  EXPECT_EQ(tool_result_text({}), "[no output]");
  EXPECT_EQ(tool_result_text({.code = 3, .output = "bad"}), "bad\n[exit status 3]");
  EXPECT_EQ(tool_result_text({.code = 3}), "[exit status 3]");
  EXPECT_EQ(tool_result_text({.end = End::kSignal, .code = 9}), "[ended by signal 9]");
  EXPECT_EQ(tool_result_text({.end = End::kCut, .output = "abc\n"}),
            "abc\n[output cut at 4 bytes]");
  EXPECT_EQ(tool_result_text({.end = End::kTimeout}), "[stopped: it took too long]");
  EXPECT_EQ(tool_result_text({.end = End::kStopped}), "[stopped by the user]");
  EXPECT_EQ(tool_result_text({.output = "\xff"}), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace ingot
