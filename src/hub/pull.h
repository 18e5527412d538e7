// Downloading a model from the Hugging Face hub into its cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hub/model_name.h"

namespace ingot {

/// Where the hub and its cache are, and how to talk to it.
struct HubOptions {
  std::string cache;  ///< the folder that holds the repositories' folders
  std::string endpoint = "https://huggingface.co";
  std::string token;  ///< empty: none
  std::string user_agent = "ingot";
  int timeout_seconds = 10;  ///< to connect, and for a transfer that stands still
  bool offline = false;      ///< the cache alone
};

/// Hears how a pull goes. Called by the thread that pulls; what it throws ends the pull, and what
/// has been downloaded is continued by the next one.
class PullWatch {
 public:
  virtual ~PullWatch() = default;
  /// Ten times a second or more: bytes that are there, of all that the model has (0: not known
  /// yet).
  virtual void progress(std::uint64_t done, std::uint64_t total) = 0;
  /// Something worth a line: another attempt, waiting for another process.
  virtual void note(std::string_view text) = 0;
};

/// Brings a model into the cache and returns the path under which it can be opened.
///
/// Each file is checked against its size and checksum before it gets its name; the revision's
/// reference is written when all are there. Where the hub cannot be reached, or with `offline`,
/// what is in the cache counts.
///
/// Errors: Error{kUnavailable} when the hub cannot be reached or keeps failing; model_error when it
/// has no such model, does not give it to this user, or what it sends is not what it announced;
/// Error{kInvalid} when the name fits several models; Error{kIo} when the cache cannot be written.
std::string pull_model(const ModelName& name, const HubOptions& options, PullWatch& watch);

}  // namespace ingot
