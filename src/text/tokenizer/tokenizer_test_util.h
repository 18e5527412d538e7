// Small vocabularies for tests of tokenizers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "load/tokenizer/tokenizer_data.h"
#include "load/tokenizer/tokenizer_kinds.h"
#include "text/tokenizer/byte_alphabet.h"

namespace ingot::testing {

/// A piece of a test's vocabulary.
struct TestPiece {
  std::string text;
  TokenType type = TokenType::kNormal;
  float score = 0;
};

/// Returns a vocabulary of `pieces`, without other settings.
inline TokenizerData make_pieces(const std::vector<TestPiece>& pieces) {
  TokenizerData data;
  data.file = "test.gguf";
  for (const TestPiece& p : pieces) {
    data.tokens.add(p.text);
    data.types.push_back(p.type);
  }
  return data;
}

/// Returns a byte-level vocabulary with the pre-tokenizer `pre`. The caller adds merges.
inline TokenizerData byte_level_pieces(std::string_view pre, const std::vector<TestPiece>& pieces) {
  TokenizerData data = make_pieces(pieces);
  describe_byte_level(data, pre);
  return data;
}

/// Returns `bytes` in GPT-2's byte alphabet.
inline std::string to_letters(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, byte_to_letter(static_cast<std::uint8_t>(c)));
  return text;
}

/// Returns the byte-level tokens of all 256 bytes: token b stands for byte b.
inline std::vector<TestPiece> byte_letters() {
  std::vector<TestPiece> pieces;
  for (int b = 0; b < 256; ++b)
    pieces.push_back({to_letters(std::string(1, static_cast<char>(b)))});
  return pieces;
}

/// Returns a byte-level vocabulary. Token b stands for byte b. Tokens from id 256 are the joined
/// pairs of `merges`, then the pieces of `added`. Without merges, a last token "qz" is a merged
/// pair.
inline TokenizerData byte_level_data(std::string_view pre,
                                     const std::vector<std::pair<std::string, std::string>>& merges,
                                     const std::vector<TestPiece>& added = {}) {
  std::vector<TestPiece> pieces = byte_letters();
  for (const auto& [left, right] : merges) pieces.push_back({to_letters(left + right)});
  pieces.insert(pieces.end(), added.begin(), added.end());
  if (merges.empty()) pieces.push_back({"qz"});
  TokenizerData data = byte_level_pieces(pre, pieces);
  if (merges.empty()) data.merges.add("q z");
  for (const auto& [left, right] : merges)
    data.merges.add(to_letters(left) + " " + to_letters(right));
  return data;
}

/// Returns a SentencePiece vocabulary: 0 <unk>, 1 <s>, 2 </s>, byte tokens from id 3 (if `bytes`),
/// `normal` with scores 0, -1, -2, ..., then `added`. With add_begin, texts begin with <s>.
inline TokenizerData sentencepiece_data(const std::vector<std::string>& normal,
                                        const std::vector<TestPiece>& added = {}, bool bytes = true,
                                        const SentencePieceSettings& settings = {}) {
  std::vector<TestPiece> pieces = {
      {"<unk>", TokenType::kUnknown}, {"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}};
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (std::size_t b = 0; bytes && b < 256; ++b) {
    pieces.push_back({std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">", TokenType::kByte});
  }
  float score = 0;
  for (const std::string& text : normal) pieces.push_back({text, TokenType::kNormal, score--});
  pieces.insert(pieces.end(), added.begin(), added.end());
  TokenizerData data = make_pieces(pieces);
  data.model = TokenizerModel::kSentencePieceBpe;
  for (const TestPiece& p : pieces) data.scores.push_back(static_cast<double>(p.score));
  data.unknown = 0;
  data.bos = 1;
  data.eos = 2;
  data.frame_begin = {1};
  describe_sentencepiece(data, settings);
  return data;
}

/// Returns the vocabulary of a BPE model over characters, as in Llama 2's tokenizer.json: 0 <unk>,
/// 1 <s>, 2 </s>, byte tokens from id 3, then `characters`, then the results of `merges`.
inline TokenizerData char_bpe_data(const std::vector<std::string>& characters,
                                   const std::vector<std::pair<std::string, std::string>>& merges) {
  std::vector<std::string> normal = characters;
  for (const auto& [left, right] : merges) normal.push_back(left + right);
  TokenizerData data = sentencepiece_data(normal);
  data.model = TokenizerModel::kBpe;
  data.scores.clear();
  data.space_marks = false;
  for (const auto& [left, right] : merges) data.merges.add(left + " " + right);
  NormalizerStep prepend;
  prepend.kind = NormalizerStep::Kind::kPrepend;
  prepend.content = "▁";
  NormalizerStep replace;
  replace.kind = NormalizerStep::Kind::kReplace;
  replace.pattern.text = " ";
  replace.content = "▁";
  data.normalizers = {prepend, replace};
  return data;
}

/// Returns the vocabulary of `sentencepiece_data` for a Unigram model.
inline TokenizerData unigram_data(const std::vector<std::string>& normal,
                                  const std::vector<TestPiece>& added = {}, bool bytes = true) {
  TokenizerData data = sentencepiece_data(normal, added, bytes);
  data.model = TokenizerModel::kUnigram;
  return data;
}

/// Returns a BERT vocabulary: [PAD], [UNK], [CLS], [SEP], [MASK], then the pieces `normal`.
inline TokenizerData wordpiece_data(const std::vector<std::string>& normal,
                                    const BertSettings& settings = {}) {
  std::vector<TestPiece> pieces;
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    pieces.push_back({name, TokenType::kControl});
  }
  for (const std::string& text : normal) pieces.push_back({text});
  TokenizerData data = make_pieces(pieces);
  data.model = TokenizerModel::kWordPiece;
  data.unknown = 1;
  data.frame_begin = {2};
  data.frame_end = {3};
  describe_bert(data, settings);
  return data;
}

}  // namespace ingot::testing
