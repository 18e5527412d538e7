// RequestBodies: the requests of a traffic as JSON for a server.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/client/conversations.h"
#include "bench/traffic/traffic.h"

namespace ingot {

/// What all requests have in common.
struct BodyOptions {
  bool is_chat = false;
  std::string model;
  std::vector<std::int32_t> prompt_ids;  ///< that prompts of completions are made of
  std::uint64_t seed = 0;
  double temperature = 0;
  bool ignore_eos = true;
};

/// Writes requests that stream their answers. Prompts are ids or words, a function of the seed, the
/// request (or block) and the position alone; or those of conversations.
class RequestBodies {
 public:
  /// `conversations` may be empty; it and `traffic` outlive this.
  RequestBodies(const Traffic& traffic, const std::vector<Conversation>& conversations,
                BodyOptions options);

  /// The request of this number in the traffic.
  std::string write(std::size_t number) const;
  /// Where requests go.
  std::string path() const;

 private:
  std::string prompt(std::size_t number, const Request& request) const;

  const std::vector<Conversation>& conversations_;
  BodyOptions options_;
  RequestWriter writer_;
};

/// The conversation that a request of a run begins with: each one about as often as the others.
std::size_t conversation_of(std::size_t number, std::size_t conversations, std::uint64_t seed);

}  // namespace ingot
