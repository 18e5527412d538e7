// pull_model: downloads a model from the Hugging Face hub into its cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hub/model_name.h"

namespace ingot {

/// Options for reaching the hub and its cache.
struct HubOptions {
  std::string cache;  ///< folder of the cache; it has a folder for each repository
  std::string endpoint = "https://huggingface.co";
  std::string token;  ///< the user's access token; empty: none
  std::string user_agent = "ingot";
  int timeout_seconds = 10;  ///< time limit for connecting, and for each wait for bytes
  bool offline = false;      ///< true: make no requests, use only the cache
};

/// How far a pull is, in bytes.
struct PullProgress {
  std::uint64_t done = 0;      ///< bytes of the model that are in the cache so far
  std::uint64_t total = 0;     ///< bytes of the whole model; 0 while unknown
  std::uint64_t received = 0;  ///< bytes that this pull received; never decreases
};

/// Callbacks for the progress of a pull. pull_model calls them in its caller's thread. If a
/// callback throws, the pull ends; the next pull continues the downloads.
class PullWatch {
 public:
  virtual ~PullWatch() = default;
  /// Receives the progress at least ten times a second.
  virtual void progress(const PullProgress& progress) = 0;
  /// Receives a line about an event, such as a retry or a wait for another process.
  virtual void note(std::string_view text) = 0;
  /// Receives a line that names the quantisation which is taken by default (ModelFiles::note).
  virtual void choice(std::string_view text) = 0;
};

/// Downloads a model into the cache and returns the path to open.
///
/// Checks each file's size and checksum before it gives the file its final name. Writes the
/// revision's reference after the last file. Takes the model from the cache if the hub cannot be
/// reached or if `offline` is set.
///
/// Errors: Error{kUnavailable} if the hub is unreachable or keeps failing; model_error if the hub
/// has no such model, refuses it to this user, or sends other bytes than announced; Error{kInvalid}
/// if several models have the name; Error{kIo} if the cache cannot be written.
std::string pull_model(const ModelName& name, const HubOptions& options, PullWatch& watch);

}  // namespace ingot
