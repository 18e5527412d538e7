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
  std::vector<std::int32_t> prompt_ids;  ///< ids from which prompts of completions are drawn
  std::uint64_t seed = 0;
  double temperature = 0;
  bool ignore_eos = true;
};

/// Writes bodies of streaming requests. Prompts are taken from conversations, or are random ids or
/// words that depend only on the seed, the request (or block) and the position.
class RequestBodies {
 public:
  /// `traffic` and `conversations`, which may be empty, must outlive the new object.
  RequestBodies(const Traffic& traffic, const std::vector<Conversation>& conversations,
                BodyOptions options);

  /// The body of request `number` of the traffic.
  std::string write(std::size_t number) const;
  /// The path to which requests are posted.
  std::string path() const;

 private:
  std::string prompt(std::size_t number, const Request& request) const;

  const std::vector<Conversation>& conversations_;
  BodyOptions options_;
  RequestWriter writer_;
};

/// Index of the conversation for request `number`. All conversations occur about equally often.
std::size_t conversation_of(std::size_t number, std::size_t conversations, std::uint64_t seed);

}  // namespace ingot
