// The history's file: what is added is found, and it does not grow without end.
#include "cli/chat/line_history.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/error.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"

namespace ingot {
namespace {

TEST(LineHistory, WhatIsAddedIsFoundByTheNextSession) {
  const TempFolder folder;
  const std::string path = folder.path("state/ingot/chat_history");
  EXPECT_EQ(LineHistory(path).load(), std::vector<std::string>());
  LineHistory(path).add("one");
  LineHistory(path).add("");
  LineHistory(path).add("two\n\\n\\\n\n");
  LineHistory(path).add("\x1f");
  LineHistory(path).add("\xc3\xa9 \\ two");
  EXPECT_EQ(LineHistory(path).load(),
            (std::vector<std::string>{"one", "two\n\\n\\\n\n", "\x1f", "\xc3\xa9 \\ two"}));
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST(LineHistory, KeepsTheNewestLines) {
  const TempFolder folder;
  std::string text;
  for (std::size_t i = 0; i < 2 * LineHistory::kMessagesMax; ++i) text += cat("line ", i, "\n");
  const LineHistory history(folder.write("history", text));
  for (int times = 0; times < 2; ++times) {
    const auto lines = history.load();
    ASSERT_EQ(lines.size(), LineHistory::kMessagesMax);
    EXPECT_EQ(lines.front(), cat("line ", LineHistory::kMessagesMax));
    EXPECT_EQ(lines.back(), cat("line ", 2 * LineHistory::kMessagesMax - 1));
  }
  struct stat info {};
  ASSERT_EQ(stat(folder.path("history").c_str(), &info), 0);
  EXPECT_LT(info.st_size, static_cast<off_t>(text.size() * 2 / 3)) << "it was not cut";
}

TEST(LineHistory, ReadsOldFiles) {
  const TempFolder folder;
  const LineHistory history(folder.write("history", "\"\"\"\none\\\n\\n\n\n/quit"));
  EXPECT_EQ(history.load(), (std::vector<std::string>{"\"\"\"", "one\\", "\\n", "/quit"}));
}

TEST(LineHistory, LinesWithoutTextAreNoMessages) {
  const TempFolder folder;
  std::string text;
  for (std::size_t i = 0; i < 2 * LineHistory::kMessagesMax; ++i) text += "\x1f\n\nx\n";
  const LineHistory history(folder.write("history", text));
  EXPECT_EQ(history.load(), std::vector<std::string>(LineHistory::kMessagesMax, "x"));
}

TEST(LineHistory, LongMessagesKeepTheFileSmall) {
  const TempFolder folder;
  const LineHistory history(folder.path("history"));
  history.add(std::string(LineHistory::kMessageBytesMax + 1, 'x'));
  EXPECT_EQ(history.load().size(), 0u);
  const std::string lines(LineHistory::kMessageBytesMax, '\n');  // twice as long in the file
  for (std::size_t i = 0; i < 100; ++i) {
    history.add(lines);
    struct stat info {};
    ASSERT_EQ(stat(folder.path("history").c_str(), &info), 0);
    ASSERT_LE(info.st_size, static_cast<off_t>(LineHistory::kBytesMax));
  }
  const auto messages = history.load();
  EXPECT_GE(messages.size(), 10u);
  EXPECT_EQ(messages.back(), lines);
}

TEST(LineHistory, WhatIsNoFileOrTooLargeIsRefused) {
  const TempFolder folder;
  EXPECT_THROW(LineHistory(folder.path()).load(), Error);
  EXPECT_THROW(LineHistory(folder.path()).add("x"), Error);
  const std::string large = folder.write("large", std::string(LineHistory::kBytesMax + 1, 'x'));
  EXPECT_THROW(LineHistory(large).load(), Error);
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
  EXPECT_THROW(LineHistory(folder.path("fifo")).load(), Error);
  EXPECT_THROW(LineHistory(folder.path("fifo")).add("x"), Error);
}

TEST(LineHistory, IsWhereTheStateOfProgramsIs) {
  setenv("HOME", "/home/someone", 1);
  setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(chat_history_path(), "/state/ingot/chat_history");
  setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_EQ(chat_history_path(), "/home/someone/.local/state/ingot/chat_history");
  unsetenv("XDG_STATE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(chat_history_path(), std::nullopt);
}

}  // namespace
}  // namespace ingot
