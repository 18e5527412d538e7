// pull_model: downloads a model from the Hugging Face hub into its cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hub/model_name.h"

namespace ingot {

/// Addresses of the hub and its cache, and how to reach the hub.
struct HubOptions {
  std::string cache;  ///< the folder that holds the repositories' folders
  std::string endpoint = "https://huggingface.co";
  std::string token;  ///< empty: none
  std::string user_agent = "ingot";
  int timeout_seconds = 10;  ///< to connect, and without a new byte
  bool offline = false;      ///< use the cache alone
};

/// Receives the progress of a pull, in its thread. An exception from it ends the pull; the next
/// pull continues the downloads.
class PullWatch {
 public:
  virtual ~PullWatch() = default;
  /// Called at least ten times a second: bytes downloaded so far, and the model's bytes (0: not
  /// known yet).
  virtual void progress(std::uint64_t done, std::uint64_t total) = 0;
  /// One line about an event: another attempt, waiting for another process.
  virtual void note(std::string_view text) = 0;
};

/// Downloads a model into the cache and returns the path under which it can be opened.
///
/// Each file is checked against its size and checksum before it gets its name; the revision's
/// reference is written after the last file. Where the hub cannot be reached, or with `offline`,
/// the model comes from the cache.
///
/// Errors: Error{kUnavailable} when the hub cannot be reached or keeps failing; model_error when it
/// has no such model, refuses it to this user, or sends other bytes than it announced;
/// Error{kInvalid} when the name fits several models; Error{kIo} when the cache cannot be written.
std::string pull_model(const ModelName& name, const HubOptions& options, PullWatch& watch);

}  // namespace ingot
