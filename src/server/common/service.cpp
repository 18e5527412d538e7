// Service: checks requests against limits, starts them, and tracks the running ones.
#include "server/common/service.h"

#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "runtime/request_fields.h"
#include "runtime/session/session.h"
#include "server/common/params.h"
#include "server/common/prompt_feed.h"
#include "text/chat/constraint_tokens.h"
#include "text/chat/end_tokens.h"
#include "text/chat/marker_tokens.h"

namespace ingot {

namespace {

ApiError model_lacks(std::string_view what) {
  return {400, "not_supported", cat("the model has no ", what)};
}

/// Says why chats with tools are refused. Clients do not learn the file's folder.
std::string tools_refusal(const Error& error) {
  const std::string text = error.plain_message();
  const std::size_t file_end = text.find(" (tool_use)");
  const std::size_t folder_end = text.rfind('/', file_end);
  const bool has_folder = file_end != text.npos && folder_end != text.npos;
  return cat("the chat template for tools cannot be used: ",
             has_folder ? text.substr(folder_end + 1) : text);
}

}  // namespace

ServedChat::ServedChat(const ChatTemplate& chat, const Tokenizer& tokenizer, std::int64_t ids)
    : chat(chat),
      dialect(find_tool_dialect(chat)),
      markers(marker_tokens(tokenizer, dialect->markers(), ids, kMarkersMax)) {}

Service::Service(ServiceOptions options, const Instance& instance, Engine& engine,
                 ServedAdapters& adapters, const EngineMetrics& metrics, const StepLog& steps,
                 HttpMetrics& http_metrics, std::optional<ChatTemplates> templates)
    : options_(std::move(options)),
      instance_(instance),
      tokenizer_(instance.tokenizer()),
      engine_(engine),
      adapters_(adapters),
      metrics_(metrics),
      steps_(steps),
      http_metrics_(http_metrics),
      templates_(std::move(templates)),
      limits_(engine.request_limits()),
      end_tokens_(end_tokens_json(instance.end_tokens(), tokenizer_)) {
  Request defaults = default_request(place::kChat);
  set_model_defaults(defaults, instance.config(), instance.name());
  sampling_defaults_ = defaults.sampling;
  const ChatTemplate* standard = templates_ ? templates_->find(false) : nullptr;
  const ChatTemplate* tools = templates_ ? templates_->find(true) : nullptr;
  if (standard != nullptr) chat_.emplace(*standard, *tokenizer_, limits_.ids);
  if (tools != nullptr && tools != standard) {
    tools_chat_.emplace(*tools, *tokenizer_, limits_.ids);
    tools_chat_->is_for_tools = true;
  }
  if (can_do(instance.config(), ModelUse::kScore)) reranker_.emplace(instance);
  if (RAND_bytes(secret_.data(), static_cast<int>(secret_.size())) != 1) {
    throw Error(ErrorCode::kInternal, "the system gives no random numbers");
  }
}

std::int64_t Service::now() { return std::time(nullptr); }

EngineCounts Service::counts() const {
  EngineCounts counts = metrics_.snapshot();
  const EngineLoad load = engine_.load();
  counts.running = static_cast<std::int64_t>(load.running);
  counts.waiting = static_cast<std::int64_t>(load.waiting);
  return counts;
}

void Service::require(ModelUse use) const {
  if (!can(use)) throw ApiError(400, "not_supported", refusal(instance_.config(), use));
}

const Reranker& Service::reranker() const {
  require(ModelUse::kScore);
  return *reranker_;
}

const Tokenizer& Service::tokenizer() const {
  if (tokenizer_ == nullptr) throw model_lacks("tokenizer: send token ids");
  return *tokenizer_;
}

const ServedChat& Service::chat(bool has_tools) const {
  if (const ServedChat* found = find_chat(has_tools)) return *found;
  if (has_tools && templates_ && templates_->tools_error()) {
    throw ApiError(400, "not_supported", tools_refusal(*templates_->tools_error()));
  }
  throw model_lacks(tools_chat_ ? "chat template without tools: use /v1/completions"
                                : "chat template: use /v1/completions");
}

const ServedChat* Service::find_chat(bool has_tools) const {
  if (has_tools && templates_ && templates_->tools_error()) return nullptr;
  if (has_tools && tools_chat_) return &*tools_chat_;
  return chat_ ? &*chat_ : nullptr;
}

ConstraintCache& Service::constraints(const ServedChat* chat) const {
  const Tokenizer& vocabulary = tokenizer();
  const bool is_tools = tools_chat_ && chat == &*tools_chat_;
  if (chat == nullptr && chat_) chat = &*chat_;
  LazyConstraints& lazy = is_tools ? tools_constraints_ : constraints_;
  std::call_once(lazy.made, [&] {
    const auto markers =
        chat == nullptr ? std::span<const std::string>() : chat->dialect->markers();
    const auto ids = static_cast<std::int32_t>(limits_.ids);
    lazy.cache = std::make_unique<ConstraintCache>(make_token_trie(vocabulary, ids, markers));
  });
  return *lazy.cache;
}

std::string_view Service::piece(std::int32_t id) const {
  return tokenizer_ == nullptr ? std::string_view() : tokenizer_->piece(id);
}

void Service::check_room(std::size_t prompt_tokens, std::string_view param) const {
  const auto tokens = static_cast<std::int64_t>(prompt_tokens);
  if (tokens < limits_.context) return;
  throw prompt_too_long(std::string(param), tokens, limits_.context, true);
}

void Service::check_text_room(std::size_t bytes, std::string_view param) const {
  const auto bytes_per_token = tokenizer().text_bytes_per_token_max();
  if (!bytes_per_token) return;
  // A lower bound, because no token stands for more than `bytes_per_token` bytes.
  const auto tokens_min = static_cast<std::int64_t>(bytes / *bytes_per_token);
  if (tokens_min <= limits_.context) return;
  throw prompt_too_long(std::string(param), tokens_min, limits_.context, false);
}

std::vector<std::int32_t> Service::encode(std::string_view text, std::string_view param,
                                          TextUse use) const {
  check_text_room(text.size(), param);
  auto ids = as_api([&] { return tokenizer().encode_prompt(text, use == TextUse::kPrompt); });
  check_room(ids.size(), param);
  return ids;
}

std::vector<std::int32_t> Service::encode_gap(const FimText& text, std::string_view param,
                                              std::string_view suffix) const {
  if (!tokenizer().fim()) {
    throw ApiError(400, "not_supported",
                   cat(suffix, ": the model has no fill-in-the-middle tokens"),
                   std::string(suffix));
  }
  std::size_t bytes = text.prefix.size() + text.suffix.size();
  for (const FimFile& file : text.files) {
    // Without a token for names, the prompt has no names.
    bytes += file.text.size() + (tokenizer().fim()->file ? file.name.size() : 0);
  }
  check_text_room(bytes, param);
  auto ids = as_api([&] { return encode_fim(tokenizer(), text); });
  check_room(ids.size(), param);
  return ids;
}

std::vector<std::string> Service::model_names() const {
  std::vector<std::string> names{options_.model_name};
  names.insert(names.end(), options_.aliases.begin(), options_.aliases.end());
  return names;
}

bool Service::has_model_name(const std::string& name) const {
  const auto& aliases = options_.aliases;
  return name == options_.model_name ||
         std::find(aliases.begin(), aliases.end(), name) != aliases.end();
}

std::string Service::fingerprint_with(std::span<const AdapterChoice> choices) const {
  ModelFingerprint fingerprint = options_.fingerprint;
  for (const AdapterChoice& choice : choices) {
    const LoadedAdapter& loaded = *choice.adapter;
    fingerprint =
        ingot::fingerprint_with(fingerprint, cat("adapter ", to_string(loaded.adapter->identity),
                                                 " ", choice.scale * loaded.source.scale));
  }
  return system_fingerprint(fingerprint, to_string(instance_.kv_type()),
                            instance_.backend().numerics());
}

std::array<std::uint64_t, 2> Service::domain(std::size_t key, std::string_view salt) const {
  if (key == 0 && salt.empty()) return {};
  std::string text = cat(key);
  text += '\0';
  text += salt;
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
  INGOT_CHECK(size == 32, "HMAC-SHA-256 gave ", size, " bytes");
  std::array<std::uint64_t, 2> domain{};
  std::memcpy(domain.data(), mac.data(), sizeof domain);
  return domain;
}

namespace {

std::size_t choices_of(const Generation& generation) {
  return generation.prompts.size() * to_size(generation.choices);
}

/// Maximum log-probabilities that the response can hold.
std::int64_t scores_of(const Generation& generation) {
  const Request& request = generation.request;
  const std::int64_t top = std::max(request.sampling.logprobs, request.prompt_logprobs) + 1;
  const bool has_prompt = request.prompt_logprobs >= 0;
  std::int64_t tokens = 0;
  for (const GenerationPrompt& prompt : generation.prompts) {
    tokens += prompt.max_tokens + (has_prompt ? std::ssize(prompt.ids) : 0);
  }
  return generation.choices * tokens * top;
}

}  // namespace

/// Checks a generation's size. Errors: ApiError if it can never be served, or if its response would
/// be too large.
void Service::check_size(const Generation& generation) const {
  // Later prompts wait outside the queue, but the choices of one prompt are under way together.
  const std::size_t each = to_size(generation.choices);
  if (each > engine_.under_way_max()) {
    throw invalid_request("n", cat("n: the request asks for ", each,
                                   " continuations, there is room for ", engine_.under_way_max()));
  }
  const std::size_t choices = choices_of(generation);
  if (choices > kResponseChoicesMax) {
    throw invalid_request("n", cat("n: the request asks for ", choices,
                                   " continuations, possible are ", kResponseChoicesMax));
  }
  const std::int64_t scores = scores_of(generation);
  if (scores <= kScoresMax) return;
  throw invalid_request("logprobs",
                        cat("logprobs: the response could hold ", scores, " of them, possible are ",
                            kScoresMax, ": ask for fewer tokens, prompts or choices"));
}

/// Counts the request's choices against its API key. Errors: ApiError if the key has too many.
void Service::enter(const std::string& id, std::size_t key, std::size_t choices) {
  const std::lock_guard lock(mutex_);
  std::size_t& entries = per_key_[key];
  // Key 0 stands for all clients if the server has no keys. A key's only request may have any size.
  if (key > 0 && entries > 0 && entries + choices > options_.limits.waiting_per_key())
    throw overloaded();
  running_[id] = {.key = key, .choices = choices, .generation = {}};
  entries += choices;
}

/// Returns whether a running request may have this number of choices under way. Counts the choices
/// against its API key. The limit is half of the key's places, so that the key's other requests
/// have room, or twice the number of choices that run at once, if that is less. Twice the number
/// gives ended choices a successor.
bool Service::extend(const std::string& id, std::size_t choices) {
  const std::size_t running_max = engine_.under_way_max() - engine_.options().waiting_max;
  const std::size_t most = std::min(2 * running_max, options_.limits.waiting_per_key() / 2);
  const std::lock_guard lock(mutex_);
  const auto at = running_.find(id);
  if (at == running_.end()) return false;
  Running& request = at->second;
  if (choices <= request.choices) return true;
  std::size_t& entries = per_key_[request.key];
  const std::size_t more = choices - request.choices;
  const bool has_key_room = request.key == 0 || entries + more <= options_.limits.waiting_per_key();
  if (choices > most || !has_key_room) return false;
  entries += more;
  request.choices = choices;
  return true;
}

/// Sets the limits on a generation's time.
void Service::set_limits(Request& request, const Notify& notify) const {
  request.notify = notify;
  if (options_.limits.request_seconds < request.end_seconds) {
    request.end_seconds = options_.limits.request_seconds;
    request.end_limit = "request_timeout";
  }
  request.queue_seconds = options_.limits.queue_seconds;
  request.first_token_seconds =
      std::min(request.first_token_seconds, options_.limits.first_token_seconds());
}

std::shared_ptr<RunningGeneration> Service::start(Generation&& generation, const std::string& id,
                                                  std::size_t key, const Notify& notify) {
  if (draining_.load()) throw draining();
  check_size(generation);
  set_limits(generation.request, notify);
  enter(id, key, to_size(generation.choices));
  auto running = std::make_shared<RunningGeneration>();
  running->adapters = generation.request.adapters;
  try {
    running->later_choices = choices_of(generation);
    const auto feed = std::make_shared<PromptFeed>(
        engine_, generation, [this, id](std::size_t choices) { return extend(id, choices); });
    running->submit_later = [feed](std::size_t under_way) { return feed->submit(under_way); };
    as_api([&] { running->begin_later(0); });
    if (running->streams.empty()) {
      if (draining_.load() || engine_.has_failed()) {
        throw ApiError(503, "unavailable", "the server is being stopped");
      }
      throw overloaded();
    }
  } catch (...) {
    forget(id);
    throw;
  }
  adapters_.count(running->adapters);
  running->writer = std::move(generation.writer);
  running->stream = generation.stream;
  const std::lock_guard lock(mutex_);
  running_[id].generation = running;
  return running;
}

AdapterLoad Service::adapter_load() {
  AdapterLoad load;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, request] : running_) {
    const auto generation = request.generation.lock();
    if (generation == nullptr || generation->adapters == nullptr) continue;
    const std::vector<std::string>& names = generation->adapters->names;
    (generation->has_started() ? load.running : load.waiting).insert(names.begin(), names.end());
  }
  return load;
}

bool Service::is_late(std::size_t key) {
  // With priorities a request may overtake waiting ones, and its head does not tell its priority.
  if (options_.limits.by_priority) return false;
  std::size_t own = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto at = per_key_.find(key);
    if (at != per_key_.end()) own = at->second;
  }
  // The other half of the time is for the prompt, and for a machine that becomes slower.
  const double time = std::min({options_.limits.first_token_seconds(),
                                options_.limits.queue_seconds, options_.limits.request_seconds});
  return engine_.expected_wait(own) > time / 2;
}

bool Service::cancel(const std::string& id, std::size_t key) {
  std::shared_ptr<RunningGeneration> generation;
  {
    const std::lock_guard lock(mutex_);
    const auto at = running_.find(id);
    if (at == running_.end() || at->second.key != key) return false;
    generation = at->second.generation.lock();
  }
  if (generation == nullptr) return false;
  generation->cancel();
  return true;
}

void Service::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto at = running_.find(id);
  if (at == running_.end()) return;
  const auto key = per_key_.find(at->second.key);
  key->second -= at->second.choices;
  if (key->second == 0) per_key_.erase(key);
  running_.erase(at);
}

void Service::begin_drain() {
  draining_.store(true);
  engine_.begin_drain(options_.limits.drain_seconds);
}

}  // namespace ingot
