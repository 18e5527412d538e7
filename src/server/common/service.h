// Service: gives all endpoints the model, the engine, limits and running requests.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.h"
#include "constraint/constraint.h"
#include "runtime/embed/reranker.h"
#include "runtime/engine.h"
#include "runtime/instance.h"
#include "runtime/observe/engine_metrics.h"
#include "runtime/observe/step_log.h"
#include "server/common/api_keys.h"
#include "server/common/endpoint.h"
#include "server/common/served_adapters.h"
#include "server/http/http_metrics.h"
#include "server/http/request_handler.h"
#include "text/chat/named_templates.h"
#include "text/chat/tools/tool_dialect.h"

namespace ingot {

/// Limits on requests, which the operator sets.
struct ServiceLimits {
  std::int32_t queue = 512;  ///< number of requests that may wait to run
  /// `max_tokens` of a chat that does not set it; less if the context has less room.
  std::int64_t max_tokens_default = 4096;
  bool by_priority = false;       ///< whether the engine schedules by `priority`
  double max_ttft_ms = 0;         ///< limit on the time from submission to the first token; 0: none
  double queue_seconds = 120;     ///< limit on the time from submission to the first step
  double request_seconds = 3600;  ///< limit on the time from submission to the end
  double drain_seconds = 30;      ///< time that running requests get after `begin_drain`

  double first_token_seconds() const { return max_ttft_ms > 0 ? max_ttft_ms / 1000 : kNever; }
  /// Maximum number of choices of one API key that wait or run: half of the queue, so that other
  /// keys have room.
  std::size_t waiting_per_key() const { return to_size(std::max(1, queue / 2)); }
};

/// Settings of a Service: the model's name, the API keys, the limits.
struct ServiceOptions {
  ServiceLimits limits{};
  std::string model_name;              ///< the model's name in requests and responses
  std::vector<std::string> aliases{};  ///< other names of the model
  bool any_model = false;              ///< whether requests may name any model
  std::string version;                 ///< version of the program
  ModelFingerprint fingerprint{};      ///< identifies the model
  std::size_t keys = 0;                ///< number of API keys
  std::set<std::size_t> operators{};   ///< numbers of the keys of operators
  Json settings{};                     ///< the options, without paths, for GET /props
  std::function<void()> stop{};        ///< begins an orderly stop of the process
};

/// Maximum number of log-probabilities in a response: about 50 MB, at 100 bytes each.
inline constexpr std::int64_t kScoresMax = std::int64_t{1} << 19;
/// Maximum number of choices in a response, of all prompts together. Bounds the response's memory.
inline constexpr std::size_t kResponseChoicesMax = 2048;

/// Seconds after which a step or tick counts as stuck. Long, because steps of the largest models
/// take seconds on small machines.
inline constexpr double kStepSecondsMax = 60;
/// Seconds of a tick after which /readyz fails, so that load balancers use other servers.
inline constexpr double kReadyTickSecondsMax = 5;

/// How a text becomes tokens.
enum class TextUse {
  kPrompt,       ///< the model continues it; names of special tokens become these tokens
  kPlainPrompt,  ///< the model continues it; names of special tokens stay text
};

/// A chat template, and how the model writes calls and reasoning behind its prompts.
struct ServedChat {
  /// `chat` must outlive this object. `ids`: number of tokens that the model can draw.
  ServedChat(const ChatTemplate& chat, const Tokenizer& tokenizer, std::int64_t ids);

  /// Returns whether the template's source contains `text`, such as a variable's name.
  bool knows(std::string_view text) const { return chat.source().find(text) != std::string::npos; }

  const ChatTemplate& chat;
  std::shared_ptr<const ToolDialect> dialect;
  /// The control tokens whose names the dialect reads in replies: see Request::markers.
  std::vector<std::int32_t> markers;
  bool is_for_tools = false;  ///< whether chats without tools have another template
};

/// Names of the adapters of requests under way. An adapter can be in both lists.
struct AdapterLoad {
  std::set<std::string> running;
  std::set<std::string> waiting;
};

/// Gives endpoints access to the model and the engine. Thread-safe.
class Service {
 public:
  /// `instance` must have been started. All referenced objects must outlive the service.
  Service(ServiceOptions options, const Instance& instance, Engine& engine,
          ServedAdapters& adapters, const EngineMetrics& metrics, const StepLog& steps,
          HttpMetrics& http_metrics, std::optional<ChatTemplates> templates);

  const ServiceOptions& options() const { return options_; }
  ServedAdapters& adapters() { return adapters_; }
  const ServedAdapters& adapters() const { return adapters_; }
  Engine& engine() { return engine_; }
  /// Returns the engine's counts, with the numbers of requests that run and wait at this moment.
  EngineCounts counts() const;
  /// Returns the records of the engine's last steps, the oldest first.
  std::vector<StepRecord> steps() const { return steps_.snapshot(); }
  HttpMetrics& http_metrics() { return http_metrics_; }
  std::int64_t context() const { return limits_.context; }
  /// Returns the limit on the tokens of an input to embed or score.
  std::int64_t input_tokens_max() const {
    return limits_.whole_rows > 0 ? std::min(limits_.whole_rows, limits_.context) : limits_.context;
  }
  /// Returns whether the model can do this work.
  bool can(ModelUse use) const { return can_do(instance_.config(), use); }
  /// Errors: ApiError{not_supported} with the reason if the model cannot do this work.
  void require(ModelUse use) const;
  /// Returns whether the model was made for embeddings, and its settings for them.
  bool is_embedder() const { return ingot::is_embedder(instance_.config()); }
  const EmbedderSettings& embedder() const { return instance_.embedder(); }
  /// Returns whether embeddings are scaled to length 1.
  bool normalises() const { return instance_.normalises(); }
  /// Returns how the model reads pairs of texts. Errors: ApiError if it does not score them.
  const Reranker& reranker() const;
  const RequestLimits& limits() const { return limits_; }
  /// Returns the tokens that end a text: see `end_tokens_json`.
  const Json& end_tokens() const { return end_tokens_; }
  /// Returns the model's recommended sampling parameters, the defaults of requests.
  const SamplingParams& sampling_defaults() const { return sampling_defaults_; }
  /// Returns the time now, in seconds since 1970.
  static std::int64_t now();
  std::int64_t started() const { return started_; }

  /// Returns the model's tokenizer. Errors: ApiError if the model has none.
  const Tokenizer& tokenizer() const;
  /// Returns the template for chats with or without tools. Errors: ApiError if the model has none,
  /// or none that can be used.
  const ServedChat& chat(bool has_tools) const;
  /// Works as `chat`; returns null in place of an error.
  const ServedChat* find_chat(bool has_tools) const;
  /// Returns whether chats with tools have a template of their own.
  bool has_tools_chat() const { return tools_chat_.has_value(); }
  /// Returns the compiled constraints of replies to `chat`, or of texts without a chat. The first
  /// call makes the trie of the vocabulary. Errors: ApiError if the model has no tokenizer.
  ConstraintCache& constraints(const ServedChat* chat = nullptr) const;
  bool has_tokenizer() const { return tokenizer_ != nullptr; }
  /// Returns the bytes of a token's text; empty if the model has no tokenizer.
  std::string_view piece(std::int32_t id) const;
  /// Encodes a text. Errors: ApiError, also if the tokens leave no room in the context.
  std::vector<std::int32_t> encode(std::string_view text, std::string_view param,
                                   TextUse use) const;
  /// Returns the prompt for the text between a prefix and a suffix. `suffix` names the suffix's
  /// member. Errors: ApiError naming `suffix` if the model has no fill-in-the-middle tokens;
  /// ApiError naming `param` if the tokens leave no room in the context.
  std::vector<std::int32_t> encode_gap(const FimText& text, std::string_view param,
                                       std::string_view suffix) const;
  /// Checks that a prompt leaves room for a token. Errors: ApiError{context_length_exceeded}.
  void check_room(std::size_t prompt_tokens, std::string_view param) const;
  /// Refuses a text that surely exceeds the context, before encoding. Errors: as `check_room`.
  void check_text_room(std::size_t bytes, std::string_view param) const;

  /// Returns the model's names: first the main one, then the aliases.
  std::vector<std::string> model_names() const;
  /// Returns whether the model itself has this name.
  bool has_model_name(const std::string& name) const;
  /// Returns "system_fingerprint" of responses: of the model with these adapters, in their order.
  std::string fingerprint_with(std::span<const AdapterChoice> choices = {}) const;

  /// Returns the cache domain of an API key and a salt. Only requests of one domain share prefixes.
  std::array<std::uint64_t, 2> domain(std::size_t key, std::string_view salt) const;

  /// Returns whether an API key may see all metrics. With several keys, counts that depend on
  /// cached prompts reveal prompts of other keys.
  bool sees_all_counts(std::size_t key) const {
    return key == 0 || options_.keys == 1 || options_.operators.count(key) > 0;
  }
  /// Returns whether an API key is an operator's: the key may load adapters.
  bool is_operator(std::size_t key) const { return options_.operators.count(key) > 0; }
  /// Returns the names of adapters of requests that run, and of requests that wait.
  AdapterLoad adapter_load();
  /// Submits a generation to the engine, under the request's id. Errors: ApiError.
  std::shared_ptr<RunningGeneration> start(Generation&& generation, const std::string& id,
                                           std::size_t key, const Notify& notify);
  /// Cancels the request `id` of this API key. Returns false if the key has no request `id`.
  bool cancel(const std::string& id, std::size_t key);
  /// Removes a request that has ended.
  void forget(const std::string& id);

  /// Returns whether the engine has its maximum number of requests, and would refuse another.
  bool is_full() const { return engine_.under_way() >= engine_.under_way_max(); }
  /// Returns whether a new request of this key would likely wait for over half of its time limit.
  bool is_late(std::size_t key);
  /// Begins an orderly stop of the process. Thread-safe.
  void ask_to_stop() const {
    if (options_.stop) options_.stop();
  }
  /// Refuses new work from now on, and cancels running requests after `drain_seconds`.
  void begin_drain();
  bool is_draining() const { return draining_.load(); }
  /// Returns whether requests are served: the server is not stopping, and the engine computes.
  bool is_serving() const { return !draining_.load() && is_alive(); }
  /// Returns whether requests are served and the engine's current tick is not too long.
  bool is_ready() const {
    return is_serving() && engine_.tick_seconds_now() < kReadyTickSecondsMax;
  }
  /// Returns whether the engine computes: no step has failed, and the engine's thread is not stuck.
  bool is_alive() const {
    return !engine_.has_failed() && engine_.tick_seconds_now() < kStepSecondsMax;
  }

 private:
  void check_size(const Generation& generation) const;
  void set_limits(Request& request, const Notify& notify) const;
  void enter(const std::string& id, std::size_t key, std::size_t choices);
  bool extend(const std::string& id, std::size_t choices);

  /// A cache that is made for the first request that needs it.
  struct LazyConstraints {
    std::once_flag made;
    std::unique_ptr<ConstraintCache> cache;
  };
  struct Running {
    std::size_t key = 0;
    std::size_t choices = 0;  ///< most choices that may be under way at once
    std::weak_ptr<RunningGeneration> generation;
  };

  ServiceOptions options_;
  const Instance& instance_;
  const Tokenizer* tokenizer_;
  Engine& engine_;
  ServedAdapters& adapters_;
  const EngineMetrics& metrics_;
  const StepLog& steps_;
  HttpMetrics& http_metrics_;
  std::optional<ChatTemplates> templates_;
  std::optional<Reranker> reranker_;  ///< present if the model scores pairs of texts
  std::optional<ServedChat> chat_;
  std::optional<ServedChat> tools_chat_;  ///< present if chats with tools have another template
  mutable LazyConstraints constraints_;   ///< for texts, and for replies to `chat_`
  mutable LazyConstraints tools_constraints_;
  SamplingParams sampling_defaults_;
  RequestLimits limits_;
  std::int64_t started_ = now();
  Json end_tokens_;
  std::array<std::uint8_t, 32> secret_{};  ///< random key of this process, for `domain`

  std::mutex mutex_;
  std::map<std::string, Running> running_;
  std::map<std::size_t, std::size_t> per_key_;
  std::atomic<bool> draining_{false};
};

}  // namespace ingot
