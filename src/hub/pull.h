// pull_model: downloads a model from the Hugging Face hub into its cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hub/model_name.h"

namespace ingot {

/// Options for reaching the hub and its cache.
struct HubOptions {
  std::string cache;  ///< folder of the cache, which holds a folder per repository
  std::string endpoint = "https://huggingface.co";
  std::string token;  ///< access token of the user; may be empty
  std::string user_agent = "ingot";
  int timeout_seconds = 10;  ///< time limit for connecting, and for each wait for bytes
  bool offline = false;      ///< true to make no requests and use only the cache
};

/// Callback for the progress of a pull, called in the pull's thread. An exception from it ends the
/// pull; the next pull continues the downloads.
class PullWatch {
 public:
  virtual ~PullWatch() = default;
  /// Called at least ten times a second with the model's bytes that the cache has so far, and
  /// the bytes of the whole model (0 while unknown).
  virtual void progress(std::uint64_t done, std::uint64_t total) = 0;
  /// Called with a line about an event, such as a retry or a wait for another process.
  virtual void note(std::string_view text) = 0;
};

/// Downloads a model into the cache and returns the path to open.
///
/// Each file's size and checksum are checked before the file gets its final name. The revision's
/// reference is written after the last file. If the hub cannot be reached, or with `offline`, the
/// model comes from the cache.
///
/// Errors: Error{kUnavailable} if the hub cannot be reached or keeps failing; model_error if it has
/// no such model, refuses it to this user, or sends other bytes than announced; Error{kInvalid} if
/// several models have the name; Error{kIo} if the cache cannot be written.
std::string pull_model(const ModelName& name, const HubOptions& options, PullWatch& watch);

}  // namespace ingot
