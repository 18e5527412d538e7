// Between the public types and the engine's own.
#pragma once

#include <array>
#include <cstdint>
#include <new>

#include "ingot/ingot.h"
#include "runtime/instance.h"
#include "runtime/request.h"
#include "runtime/session/session.h"
#include "runtime/stream.h"

namespace ingot::api {

/// The public error for one of the engine's.
Error to_error(const ingot::Error& error);

/// Runs `body`; the engine's errors leave as the public type.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const ingot::Error& error) {
    throw to_error(error);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kDoesNotFit, "out of memory");
  }
}

/// Errors: ingot::Error{kInvalid} naming the member, its value and what is possible.
InstanceOptions instance_options(const OpenOptions& options);
/// Everything but the size of the KV pool. Errors: as of `instance_options`.
StartOptions start_options(const OpenOptions& options, const Instance& instance);
ModelInfo model_info(const Instance& instance, std::int64_t context);

/// A domain as the engine knows it.
inline std::array<std::uint64_t, 2> domain_of(std::uint64_t domain) { return {domain, 0}; }

/// Errors: ingot::Error{kInvalid} without a tokenizer.
const Tokenizer& require_tokenizer(const Instance& instance);
ingot::EncodeOptions encode_options(const EncodeOptions& options);

/// The request that a prompt begins. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Prompt& prompt, const Instance& instance);
/// A whole request. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Request& request, const Instance& instance);

/// What came of a request, for a file. Errors: ingot::Error{kInvalid} for embeddings.
ingot::Session to_session(const Request& request, const Result& result, const Instance& instance);
/// The request that goes on with a session.
Request to_request(const ingot::Session& session);

/// What the engine is made with, of options that `instance_options` has checked.
EngineOptions engine_options(const OpenOptions& options);

/// The engine's results, as they are.
Delta to_delta(ingot::Delta&& delta);
std::vector<TokenLogprobs> to_logprobs(const std::vector<ingot::TokenLogprobs>& scores);

}  // namespace ingot::api
