// RequestBodies: writes the JSON bodies of a serving benchmark's requests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/client/conversations.h"
#include "bench/traffic/traffic.h"

namespace ingot {

/// Settings shared by all requests.
struct BodyOptions {
  bool is_chat = false;
  std::string model;
  std::vector<std::int32_t> prompt_ids;  ///< token ids for random prompts of completions
  std::uint64_t seed = 0;
  double temperature = 0;
  bool ignore_eos = true;
};

/// Writes bodies of streaming requests. Prompts come from conversations or are random. A random
/// prompt's ids or words depend only on the seed, their position, and the request or shared block.
class RequestBodies {
 public:
  /// `conversations` may be empty. `traffic` and `conversations` must outlive the new object.
  RequestBodies(const Traffic& traffic, const std::vector<Conversation>& conversations,
                BodyOptions options);

  /// Writes the body of request `number` of the traffic.
  std::string write(std::size_t number) const;
  /// Returns the path to which the client posts all requests.
  std::string path() const;

 private:
  std::string prompt(std::size_t number, const Request& request) const;

  const std::vector<Conversation>& conversations_;
  BodyOptions options_;
  RequestWriter writer_;
};

/// Returns the index of request `number`'s conversation. All indices are about equally frequent.
std::size_t conversation_of(std::size_t number, std::size_t conversations, std::uint64_t seed);

}  // namespace ingot
