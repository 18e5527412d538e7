// Logging to stderr through spdlog, without timestamps.
#include "cli/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/text.h"
#include "cli/progress.h"

namespace ingot {

namespace {

LogLevel level_now = LogLevel::kInfo;

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = spdlog::stderr_logger_mt("ingot");
    made->set_pattern("%l: %v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

void write(LogLevel level, spdlog::level::level_enum name, std::string_view text) {
  if (level < level_now) return;
  hide_progress();
  logger().log(name, text);
}

}  // namespace

void set_log_level(LogLevel level) { level_now = level; }

LogLevel log_level() { return level_now; }

void log_debug(std::string_view text) { write(LogLevel::kDebug, spdlog::level::debug, text); }

void log_info(std::string_view text) { write(LogLevel::kInfo, spdlog::level::info, text); }

void log_warning(std::string_view text) { write(LogLevel::kWarning, spdlog::level::warn, text); }

void log_always(std::string_view text) {
  std::string line(text);
  line += '\n';
  hide_progress();
  std::fputs(line.c_str(), stderr);
}

void log_alarm(std::string_view text) {
  const bool is_terminal = isatty(STDERR_FILENO) == 1;
  log_always(cat(is_terminal ? "\x1b[1;31m" : "", "warning: ", text, is_terminal ? "\x1b[0m" : ""));
}

void log_error(std::string_view text) { write(LogLevel::kError, spdlog::level::err, text); }

std::string stderr_message(const Error& error) {
  return isatty(STDERR_FILENO) == 1 ? error.plain_message() : error.message();
}

}  // namespace ingot
