// Service: the model and the engine behind the endpoints, and their limits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine.h"
#include "runtime/instance.h"
#include "runtime/observe/engine_metrics.h"
#include "runtime/observe/step_log.h"
#include "server/common/api_keys.h"
#include "server/common/endpoint.h"
#include "server/http/http_metrics.h"
#include "server/http/request_handler.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// What operators choose about requests.
struct ServiceLimits {
  std::int32_t queue = 512;  ///< requests that may wait
  /// Where a request does not say, and its room is larger.
  std::int64_t max_tokens_default = 4096;
  bool by_priority = false;       ///< the engine looks at `priority`
  double max_ttft_ms = 0;         ///< from submission to the first token; 0 = no limit
  double queue_seconds = 120;     ///< from submission to the first step
  double request_seconds = 3600;  ///< from submission to the end
  double drain_seconds = 30;      ///< that running requests have after `begin_drain`

  double first_token_seconds() const { return max_ttft_ms > 0 ? max_ttft_ms / 1000 : kNever; }
  /// Choices of one key that wait or run: half of the queue, so that one key leaves room for the
  /// others.
  std::size_t waiting_per_key() const { return static_cast<std::size_t>(std::max(1, queue / 2)); }
};

/// What a service is told about its model, its keys and its limits.
struct ServiceOptions {
  ServiceLimits limits{};
  std::string model_name;             ///< that clients send, and see in responses
  std::string version;                ///< the program's
  std::string fingerprint{};          ///< see system_fingerprint()
  std::size_t keys = 0;               ///< API keys that there are
  std::set<std::size_t> operators{};  ///< numbers of keys that may see all counts
  Json settings{};                    ///< the options, for GET /props: without paths
  std::function<void()> stop{};       ///< ends the process in order
};

/// Log-probabilities in a response, of some 100 bytes each: a response has at most some 50 MB.
inline constexpr std::int64_t kScoresMax = std::int64_t{1} << 19;

/// An engine is stuck when a step or tick takes longer: steps of the largest models take seconds on
/// small machines.
inline constexpr double kStepSecondsMax = 60;
/// During a longer tick /readyz fails: load balancers should send requests to other servers.
inline constexpr double kReadyTickSecondsMax = 5;

/// A model's chat template, with its text.
struct ServedChat {
  ChatTemplate chat;
  std::string source;
};

/// What endpoints need of the model and the engine. All of it may be called from several threads at
/// once.
class Service {
 public:
  /// The instance was started; it, its engine, its metrics and its steps outlive this.
  Service(ServiceOptions options, const Instance& instance, Engine& engine,
          const EngineMetrics& metrics, const StepLog& steps, HttpMetrics& http_metrics,
          std::optional<ServedChat> chat);

  const ServiceOptions& options() const { return options_; }
  Engine& engine() { return engine_; }
  EngineCounts counts() const { return metrics_.snapshot(); }
  /// Records of the engine's last steps, the oldest first.
  std::vector<StepRecord> steps() const { return steps_.snapshot(); }
  HttpMetrics& http_metrics() { return http_metrics_; }
  std::int64_t context() const { return limits_.context; }
  const RequestLimits& limits() const { return limits_; }
  const std::vector<std::int32_t>& end_ids() const { return end_ids_; }
  /// The sampling parameters of requests that do not set them: those that the model recommends.
  const SamplingParams& sampling_defaults() const { return sampling_defaults_; }
  /// Seconds since 1970.
  static std::int64_t now();
  std::int64_t started() const { return started_; }

  /// The model's tokenizer. Errors: ApiError where it has none.
  const Tokenizer& tokenizer() const;
  /// The model's chat template. Errors: ApiError where it has none.
  const ChatTemplate& chat() const;
  bool has_chat() const { return chat_.has_value(); }
  /// The chat template's text; null without one.
  const std::string* chat_source() const { return chat_ ? &chat_->source : nullptr; }
  /// Whether the chat template's text contains `text`: it can only render names that it contains.
  bool chat_knows(std::string_view text) const;
  bool has_tokenizer() const { return tokenizer_ != nullptr; }
  /// Bytes that a token stands for; empty without a tokenizer.
  std::string_view piece(std::int32_t id) const;
  /// Tokens of a text with the tokenizer's own frame. Errors: ApiError, also where they cannot fit
  /// into the context.
  std::vector<std::int32_t> encode(std::string_view text, std::string_view param) const;
  /// Errors: ApiError{context_length_exceeded} where a prompt leaves no room for a token.
  void check_room(std::size_t prompt_tokens, std::string_view param) const;
  /// `check_room` for a text of `bytes` bytes, as far as that is known without encoding it.
  void check_text_room(std::size_t bytes, std::string_view param) const;

  /// Errors: ApiError{model_not_found} where a request names another model.
  void check_model(const Json* name) const;
  void check_model(const std::string& name) const;

  /// The domain of cached prefixes for a key and the salt of a request.
  std::array<std::uint64_t, 2> domain(std::size_t key, std::string_view salt) const;

  /// Whether a key may see all counts. With several keys, counts that depend on cached prompts
  /// reveal prompts of other keys.
  bool sees_all_counts(std::size_t key) const {
    return key == 0 || options_.keys == 1 || options_.operators.count(key) > 0;
  }
  /// Hands a generation to the engine, under the request's id. Errors: ApiError.
  std::shared_ptr<RunningGeneration> start(Generation&& generation, const std::string& id,
                                           std::size_t key, const Notify& notify);
  /// Cancels a request of that key; false where there is none.
  bool cancel(const std::string& id, std::size_t key);
  /// The request has ended.
  void forget(const std::string& id);

  /// Whether as many requests are under way as may: more would be refused.
  bool is_full() const { return engine_.under_way() >= engine_.under_way_max(); }
  /// Whether a new request of this key would wait longer for its first step than it may.
  bool is_late(std::size_t key);
  /// Has the process end in order; from any thread.
  void ask_to_stop() const {
    if (options_.stop) options_.stop();
  }
  /// No new work is taken from here on, and what runs is cancelled after the drain's time.
  void begin_drain();
  bool is_draining() const { return draining_.load(); }
  /// Whether requests are served: the server is not being stopped, and the engine computes.
  bool is_serving() const { return !draining_.load() && is_alive(); }
  /// Whether requests are served and the engine's current tick is not too long.
  bool is_ready() const {
    return is_serving() && engine_.tick_seconds_now() < kReadyTickSecondsMax;
  }
  /// Whether the engine computes: no step has failed, and its thread is not stuck.
  bool is_alive() const {
    return !engine_.has_failed() && engine_.tick_seconds_now() < kStepSecondsMax;
  }

 private:
  void check_size(const Generation& generation) const;
  void enter(const std::string& id, std::size_t key, std::size_t choices);

  struct Running {
    std::size_t key = 0;
    std::size_t choices = 0;
    std::weak_ptr<RunningGeneration> generation;
  };

  ServiceOptions options_;
  const Tokenizer* tokenizer_;
  Engine& engine_;
  const EngineMetrics& metrics_;
  const StepLog& steps_;
  HttpMetrics& http_metrics_;
  std::optional<ServedChat> chat_;
  SamplingParams sampling_defaults_;
  RequestLimits limits_;
  std::int64_t started_ = now();
  std::vector<std::int32_t> end_ids_;
  std::array<std::uint8_t, 32> secret_{};  ///< the process's own, for domains

  std::mutex mutex_;
  std::map<std::string, Running> running_;
  std::map<std::size_t, std::size_t> per_key_;
  std::atomic<bool> draining_{false};
};

}  // namespace ingot
