// Converts between the public types and those of the engine.
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

/// The public form of an engine's error.
Error to_error(const ingot::Error& error);

/// Runs `body`, and rethrows the engine's errors as the public type.
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

/// Errors: ingot::Error{kInvalid} naming the member, its value and the possible ones.
InstanceOptions instance_options(const OpenOptions& options);
/// All options of the start except the size of the KV pool. Errors: those of `instance_options`.
StartOptions start_options(const OpenOptions& options, const Instance& instance);
ModelInfo model_info(const Instance& instance, std::int64_t context);

/// The engine's form of a domain.
inline std::array<std::uint64_t, 2> domain_of(std::uint64_t domain) { return {domain, 0}; }

/// Errors: ingot::Error{kInvalid} without a tokenizer.
const Tokenizer& require_tokenizer(const Instance& instance);
ingot::EncodeOptions encode_options(const EncodeOptions& options);

/// A request with this prompt. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Prompt& prompt, const Instance& instance);
/// A request with all its parameters. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Request& request, const Instance& instance);

/// A finished request as a session, for a file. Errors: ingot::Error{kInvalid} for embeddings.
ingot::Session to_session(const Request& request, const Result& result, const Instance& instance);
/// The request that continues a session.
Request to_request(const ingot::Session& session);

/// The engine's options, from options that `instance_options` has checked.
EngineOptions engine_options(const OpenOptions& options);

/// The public forms of the engine's results, with equal contents.
Delta to_delta(ingot::Delta&& delta);
std::vector<TokenLogprobs> to_logprobs(const std::vector<ingot::TokenLogprobs>& scores);

}  // namespace ingot::api
