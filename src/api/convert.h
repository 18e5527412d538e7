// Converts between the types of the public C++ API and the types of the engine.
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

/// Converts an error of the engine to the public type.
Error to_error(const ingot::Error& error);

/// Runs `body`. Rethrows errors of the engine, and std::bad_alloc, as the public Error.
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

/// Options for opening a model. Errors: ingot::Error{kInvalid} naming a wrong member.
InstanceOptions instance_options(const OpenOptions& options);
/// Options for starting a model, except the KV pool's size. Errors: those of `instance_options`.
StartOptions start_options(const OpenOptions& options, const Instance& instance);
ModelInfo model_info(const Instance& instance, std::int64_t context);

/// The engine's 128-bit domain for a domain of the public API.
inline std::array<std::uint64_t, 2> domain_of(std::uint64_t domain) { return {domain, 0}; }

/// The model's tokenizer. Errors: ingot::Error{kInvalid} if the model has none.
const Tokenizer& require_tokenizer(const Instance& instance);
ingot::EncodeOptions encode_options(const EncodeOptions& options);

/// An engine's request with only a prompt. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Prompt& prompt, const Instance& instance);
/// An engine's request with all parameters. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Request& request, const Instance& instance);

/// The session that a file stores for a request. Errors: ingot::Error{kInvalid} for embeddings.
ingot::Session to_session(const Request& request, const Result& result, const Instance& instance);
/// The public request that continues a session.
Request to_request(const ingot::Session& session);

/// Options of the engine. `instance_options` must have accepted `options` before.
EngineOptions engine_options(const OpenOptions& options);

/// Convert results of the engine to the public types.
Delta to_delta(ingot::Delta&& delta);
std::vector<TokenLogprobs> to_logprobs(const std::vector<ingot::TokenLogprobs>& scores);

}  // namespace ingot::api
