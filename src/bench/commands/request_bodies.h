// RequestBodies: writes the requests of a traffic as JSON.
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
  std::vector<std::int32_t> prompt_ids;  ///< the ids in prompts of completions
  std::uint64_t seed = 0;
  double temperature = 0;
  bool ignore_eos = true;
};

/// Writes streaming requests. Prompts are ids or words that depend only on the seed, the request
/// (or block) and the position; or prompts of conversations.
class RequestBodies {
 public:
  /// `conversations` may be empty; both it and `traffic` outlive this.
  RequestBodies(const Traffic& traffic, const std::vector<Conversation>& conversations,
                BodyOptions options);

  /// The body of request `number` of the traffic.
  std::string write(std::size_t number) const;
  /// The path that requests are posted to.
  std::string path() const;

 private:
  std::string prompt(std::size_t number, const Request& request) const;

  const std::vector<Conversation>& conversations_;
  BodyOptions options_;
  RequestWriter writer_;
};

/// The conversation for a request of a run; all conversations occur about equally often.
std::size_t conversation_of(std::size_t number, std::size_t conversations, std::uint64_t seed);

}  // namespace ingot
