// Reads and writes the session files of ingot run.
#include "cli/run_session.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/log.h"
#include "cli/options/options.h"
#include "runtime/session/engine_session.h"

namespace ingot {

namespace {

/// The key of a request's blocks.
PrefixKey key_of(const Request& request) {
  return {.adapter = number_of(request.adapters), .adapter_from = first_adapted_row(request)};
}

}  // namespace

RunSession::RunSession(const RunValues& values, const Instance& instance)
    : values_(values), instance_(instance) {
  if (values.session) file_.emplace(*values.session);
  if (!values.session && !values.save_session) return;
  const std::string adapter = default_adapter(values.model.adapters);
  weights_ = adapter == kNoAdapter ? instance.fingerprint() : instance.fingerprint_with(adapter);
  if (!file_) return;
  file_->require_model(
      session_model(instance.spec(), instance.kv_type(), instance.backend().numerics(), weights_));
  file_->require_session(request_limits(instance, values.model.ctx));
}

/// The added tokens follow other tokens, so the tokenizer adds no BOS or EOS.
std::vector<std::int32_t> RunSession::added_tokens() const {
  if (values_.tokens) return parse_tokens(*values_.tokens, instance_.spec().vocab);
  if (!values_.prompt) return {};
  return require_tokenizer(instance_, kUseTokens)
      .encode_prompt(*values_.prompt, !values_.plain_text, false);
}

Request RunSession::request(const Request& flags) const {
  Request request = request_of(file_->session());
  request.max_tokens = flags.max_tokens;
  copy_given(request, flags, *values_.app, place::kRun);
  const std::vector<std::int32_t> added = added_tokens();
  if (!added.empty()) request.continued = 0;
  request.prompt.insert(request.prompt.end(), added.begin(), added.end());
  return request;
}

void RunSession::restore(Engine& engine, std::shared_ptr<const AdapterList> adapters) const {
  if (!file_) return;
  Request saved = request_of(file_->session());
  saved.adapters = std::move(adapters);
  const std::int64_t tokens = restore_session(engine, *file_, weights_, key_of(saved));
  log_debug(cat(printable(file_->name(), 4096), ": ", tokens, " of ",
                file_->session().tokens.size(), " tokens need not be computed"));
}

void RunSession::save(Engine& engine, const Request& request,
                      std::span<const std::int32_t> drawn) const {
  if (!values_.save_session) return;
  Session session = session_of(request, drawn);
  session.model.weights = weights_;
  save_session(engine, *values_.save_session, std::move(session), key_of(request));
}

}  // namespace ingot
