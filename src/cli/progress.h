// A progress bar for long work: on a terminal only, quiet in a pipe.
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

/// Draws "label [####    ] 40 %" on stderr while it lives, and clears the line when it goes.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::uint64_t done, std::uint64_t total);

 private:
  std::string label_;
  bool enabled_ = false;
  int percent_ = -1;
};

}  // namespace ingot
