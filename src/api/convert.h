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

/// Runs `body` and returns its result. Rethrows engine errors and std::bad_alloc as public Errors.
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

/// Returns options for opening a model. Errors: ingot::Error{kInvalid} naming a wrong member.
InstanceOptions instance_options(const OpenOptions& options);
/// Returns options for starting a model, except the KV pool's size. The caller checks `options`.
StartOptions start_options(const OpenOptions& options, const Instance& instance);
ModelInfo model_info(const Instance& instance, std::int64_t context);

/// Returns the engine's 128-bit domain for a 64-bit domain of the public API.
inline std::array<std::uint64_t, 2> domain_of(std::uint64_t domain) { return {domain, 0}; }

/// Returns the model's tokenizer. Errors: ingot::Error{kInvalid} if the model has no tokenizer.
const Tokenizer& require_tokenizer(const Instance& instance);
ingot::EncodeOptions encode_options(const EncodeOptions& options);

/// Whether the model continues a prompt's text.
enum class PromptEnd {
  kOpen,   ///< the model continues the text: no EOS ends it
  kWhole,  ///< the model only reads the text: EOS ends it, as the tokenizer's file says
};

/// Makes an engine's request with only a prompt. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Prompt& prompt, const Instance& instance, PromptEnd end);
/// Makes an engine's request for hidden states. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Prompt& prompt, const HiddenOptions& options,
                          const Instance& instance);
/// Makes an engine's request with all parameters. Errors: ingot::Error{kInvalid}.
ingot::Request to_request(const Request& request, const Instance& instance);

/// Makes a session to continue a request. Errors: ingot::Error{kInvalid} for prompt embeddings.
ingot::Session to_session(const Request& request, const Result& result, const Instance& instance);
/// Makes the public request that continues a session.
Request to_request(const ingot::Session& session);

/// Returns options of the engine. `instance_options` must have accepted `options` before.
EngineOptions engine_options(const OpenOptions& options);

/// Converts deltas and log-probabilities of the engine to the public types.
Delta to_delta(ingot::Delta&& delta);
std::vector<TokenLogprobs> to_logprobs(const std::vector<ingot::TokenLogprobs>& scores);

}  // namespace ingot::api
