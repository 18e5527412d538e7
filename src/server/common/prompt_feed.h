// PromptFeed: gives the prompts of one generation to the engine a few at a time, so that a long
// list leaves room in the queue for other requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/engine.h"
#include "server/common/endpoint.h"

namespace ingot {

/// Submits prompts in order: a few at first, and the next prompts when choices end.
class PromptFeed {
 public:
  /// Returns whether the generation may have this number of choices under way.
  using Allow = std::function<bool(std::size_t choices)>;

  /// Feeds the prompts of `generation`, whose writer stays there. `engine` must outlive this
  /// object.
  PromptFeed(Engine& engine, Generation& generation, Allow allow);

  /// Submits prompts while there is room. During a drain, only choices that end make room. Returns
  /// the streams of their choices. `under_way`: number
  /// of the generation's choices that were submitted and have not ended. If it is 0, submits at
  /// least one prompt, unless the engine refuses requests or the first prompt finds a full queue.
  ///
  /// Errors: those of Engine::submit_choices.
  std::vector<Stream> submit(std::size_t under_way);

 private:
  std::vector<Stream> submit_next(std::size_t under_way);
  Request take_request(double now);

  Engine& engine_;
  Request common_;  ///< the fields that the prompts share; a prompt gets a copy when it begins
  std::vector<GenerationPrompt> prompts_;
  std::int32_t choices_;  ///< number of choices of each prompt
  Allow allow_;
  std::shared_ptr<void> drain_hold_;  ///< makes a drain wait for prompts that were not submitted
  std::size_t next_ = 0;              ///< index of the next prompt to submit
  std::size_t places_ = 0;            ///< most choices that were under way at once
  double begin_ = 0;  ///< time of the first submission, in seconds of the engine's clock
};

}  // namespace ingot
