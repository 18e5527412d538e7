// Finds the settings in GGUF that say the same as a tokenizer's steps.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/pretokenize/pretokenize.h"

namespace ingot {

/// Throws the error of a tokenizer that GGUF cannot express: model_error with the reason and with
/// the option that leaves the tokenizer out.
[[noreturn]] void refuse_tokenizer(const TokenizerData& data, std::string_view reason);

/// Returns the scanners that do what a byte-level model's pre-tokenizer does; nullopt if there are
/// none.
std::optional<std::vector<Scanner>> scanners_of(const TokenizerData& data);

/// Returns whether a BPE model whose tokens have U+2581 for spaces adds a space in front of texts.
///
/// Errors: `refuse_tokenizer` if its steps do anything else than mark spaces.
bool adds_prefix(const TokenizerData& data);

/// Returns how a Unigram model treats spaces, as a step of kind kSpaces. Files describe this as
/// SentencePiece does, or as several steps.
///
/// Errors: `refuse_tokenizer` if its steps do anything else than apply a precompiled map and treat
///         spaces.
NormalizerStep spaces_of_unigram(const TokenizerData& data);

}  // namespace ingot
