// PromptFeed: submits later prompts to the places of choices that have ended.
#include "server/common/prompt_feed.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace ingot {

PromptFeed::PromptFeed(Engine& engine, Generation& generation, Allow allow)
    : engine_(engine),
      common_(std::move(generation.request)),
      prompts_(std::move(generation.prompts)),
      choices_(generation.choices),
      allow_(std::move(allow)) {
  if (prompts_.size() > 1) drain_hold_ = engine.expect_successors();
}

std::vector<Stream> PromptFeed::submit(std::size_t under_way) {
  std::vector<Stream> all;
  while (next_ < prompts_.size()) {
    std::vector<Stream> streams = submit_next(under_way + all.size());
    if (streams.empty()) break;
    for (Stream& stream : streams) all.push_back(std::move(stream));
  }
  return all;
}

/// Returns the next prompt's request. Takes the prompt's ids.
Request PromptFeed::take_request(double now) {
  GenerationPrompt& prompt = prompts_[next_];
  Request request = common_;
  request.prompt = std::move(prompt.ids);
  request.types = std::move(prompt.types);
  request.max_tokens = prompt.max_tokens;
  request.ignore_eos = prompt.ignore_eos;
  // The limit counts from the first prompt's submission.
  if (next_ == 0) begin_ = now;
  request.elapsed_seconds = now - begin_;
  if (next_ == 0) return request;
  // Only the first prompt has limits on its beginning, because later prompts wait for its choices.
  request.queue_seconds = kNever;
  request.first_token_seconds = kNever;
  return request;
}

/// Submits one prompt. Returns no streams if there is no room for it.
std::vector<Stream> PromptFeed::submit_next(std::size_t under_way) {
  const std::size_t then = under_way + to_size(choices_);
  // The generation keeps its places. Otherwise other requests could take all places. Then no choice
  // of the generation would end, and only such an end starts the next prompt.
  const bool is_successor = then <= places_;
  // A later prompt waits for room. The engine refuses and counts only whole requests.
  if (next_ > 0 && !is_successor && !engine_.has_room(to_size(choices_))) return {};
  if (!is_successor && !allow_(then)) return {};
  // All prompts share the lists. Later prompts begin in a thread of connections, which must not
  // prepare them.
  if (next_ == 0 && engine_.has_room(to_size(choices_))) engine_.prepare_sampling(common_);
  Request request = take_request(engine_.options().now());
  auto streams = engine_.submit_choices(std::move(request), choices_,
                                        is_successor ? QueuePlace::kSuccessor : QueuePlace::kNew);
  if (streams.empty()) {
    // NOLINTNEXTLINE(bugprone-use-after-move): not taken
    prompts_[next_].ids = std::move(request.prompt);
    prompts_[next_].types = std::move(request.types);
    return {};
  }
  places_ = std::max(places_, then);
  if (++next_ == prompts_.size()) drain_hold_.reset();
  return streams;
}

}  // namespace ingot
