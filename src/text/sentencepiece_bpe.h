// SentencePiece BPE (Llama 1 and 2, Mistral, Phi-3): characters are merged by the score of what
// they join to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "load/tokenizer_data.h"

namespace ingot {

class Tokenizer;

/// A SentencePiece BPE tokenizer; see make_tokenizer. User-defined pieces are matched first in
/// every mode, as the reference does. Characters that no piece has, and bytes that are not valid
/// UTF-8, become the tokens of their bytes; in a vocabulary without byte tokens each run of such
/// characters becomes one unknown token. U+2581 in a text is the same as a space. Pieces of type
/// "unused" take no part in merging; "normal" ones, which do, have at most 512 bytes.
///
/// With `parse_special` each stretch of text between control tokens gets its own space in front, as
/// llama.cpp does.
std::unique_ptr<Tokenizer> make_sentencepiece_bpe(const TokenizerData& data,
                                                  std::vector<std::string>& warnings);

}  // namespace ingot
