// Saving a running engine's session to a file, and restoring one from a file.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/engine.h"
#include "runtime/session/session_file.h"

namespace ingot {

/// Writes a session to `path`, with the cached keys and values of its tokens. `domain` is that of
/// requests that find them; of `session.model` only the weights' fingerprint has to be set. Copies
/// a few blocks between two steps, so other requests continue; a block that is evicted before it is
/// copied is missing from the file. Returns how many tokens have keys in the file.
///
/// Errors: Error{kIo}; those of Engine::between_steps; std::bad_alloc.
std::int64_t save_session(Engine& engine, const std::string& path, Session session,
                          const std::array<std::uint64_t, 2>& domain = {});

/// Loads a session's keys and values, so that requests of `domain` that begin with its tokens find
/// them. Loads from the front as far as blocks are free, a few blocks between two steps. Tokens
/// without keys are computed, to the same bits. Returns how many tokens have keys now.
///
/// Errors: Error{kModel} when the session belongs to another model, with nothing changed;
/// Error{kIo}; those of Engine::between_steps; std::bad_alloc.
std::int64_t restore_session(Engine& engine, const SessionFile& file,
                             const ModelFingerprint& weights,
                             const std::array<std::uint64_t, 2>& domain = {});

}  // namespace ingot
