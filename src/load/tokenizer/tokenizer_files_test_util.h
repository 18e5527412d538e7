// Small tokenizer files for tests, and a way to damage them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "load/json.h"

namespace ingot::testing {

/// Returns a byte-level BPE tokenizer.json with all common components. Tokens: 0 a, 1 b, 2 ab,
/// 3 (a space), 4 unk, 5 <s>, 6 </s>, 7 <tool>.
inline const std::string& byte_level_json() {
  static const std::string text = R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 5, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 6, "content": "</s>", "single_word": false, "lstrip": true, "rstrip": true,
       "normalized": false, "special": true},
      {"id": 7, "content": "<tool>", "single_word": true, "lstrip": false, "rstrip": false,
       "normalized": true, "special": false}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"},
      {"type": "Replace", "pattern": {"String": "x"}, "content": "a"}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "\\s+|\\S+"}, "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
    "post_processor": {"type": "Sequence", "processors": [
      {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false},
      {"type": "TemplateProcessing",
       "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                  {"Sequence": {"id": "A", "type_id": 0}},
                  {"SpecialToken": {"id": "</s>", "type_id": 0}}],
       "pair": [],
       "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]},
                          "</s>": {"id": "</s>", "ids": [6], "tokens": ["</s>"]}}}]},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": "unk",
      "continuing_subword_prefix": null, "end_of_word_suffix": "", "fuse_unk": true,
      "byte_fallback": false, "ignore_merges": true,
      "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "unk": 4}, "merges": ["a b"]}})";
  return text;
}

/// Returns a Unigram tokenizer.json. Tokens: 0 <unk>, 1 U+2581, 2 a, 3 U+2581 followed by a.
inline const std::string& unigram_json() {
  static const std::string text = R"({"added_tokens": [],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"},
      {"type": "Lowercase"}, {"type": "StripAccents"},
      {"type": "Strip", "strip_left": true, "strip_right": true},
      {"type": "Prepend", "prepend": "a"}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
      {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}]},
    "post_processor": null,
    "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
    "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false,
      "vocab": [["<unk>", 0.0], ["▁", -2], ["a", -1.5], ["▁a", -1]]}})";
  return text;
}

/// Returns a WordPiece tokenizer.json (BERT). Tokens: 0 [UNK], 1 [CLS], 2 [SEP], 3 a, 4 ##b.
inline const std::string& wordpiece_json() {
  static const std::string text = R"({"added_tokens": [
      {"id": 0, "content": "[UNK]", "special": true},
      {"id": 1, "content": "[CLS]", "special": true},
      {"id": 2, "content": "[SEP]", "special": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
      "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100,
      "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##b": 4}}})";
  return text;
}

/// Returns `text` with its first `from` replaced by `to`. `text` must contain `from`.
inline std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? cat("no '", from, "'") : text.replace(at, from.size(), to);
}

/// The text of `root`, in which `to` replaces value number `index`. Values are counted from 0 in
/// text order. If `index` is too large, nothing is replaced.
class DamagedJson {
 public:
  DamagedJson(const Json& root, std::size_t index, std::string_view to) : index_(index), to_(to) {
    write(root);
  }
  const std::string& text() const { return out_; }
  bool is_damaged() const { return seen_ > index_; }

 private:
  void write(const Json& value) {
    if (seen_++ == index_) {
      out_ += to_;
    } else if (const Json::Array* list = value.as_array()) {
      write_all('[', ']', list->size(), [&](std::size_t i) { write((*list)[i]); });
    } else if (const Json::Object* object = value.as_object()) {
      write_all('{', '}', object->size(), [&](std::size_t i) {
        out_ += Json((*object)[i].first).dump() + ":";
        write((*object)[i].second);
      });
    } else {
      out_ += value.dump();
    }
  }
  template <class Write>
  void write_all(char open, char close, std::size_t count, const Write& write_one) {
    out_ += open;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_ += ',';
      write_one(i);
    }
    out_ += close;
  }

  std::size_t index_;
  std::string_view to_;
  std::string out_;
  std::size_t seen_ = 0;
};

/// Returns JSON texts of all types, to replace a value.
inline const std::vector<std::string>& json_values() {
  static const std::vector<std::string> values = {"null",  "true", "7",     "-1",
                                                  "1e300", "0.5",  "\"x\"", "\"\"",
                                                  "[]",    "{}",   "[[]]",  "99999999999"};
  return values;
}

/// Encodes `value` as a varint, the form of integers in protocol buffers.
inline std::string proto_varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string proto_number(std::uint64_t field, std::uint64_t value) {
  return proto_varint(field << 3) + proto_varint(value);
}
inline std::string proto_bytes(std::uint64_t field, std::string_view bytes) {
  return cat(proto_varint(field << 3 | 2), proto_varint(bytes.size()), bytes);
}
inline std::string proto_float(std::uint64_t field, float value) {
  char bytes[sizeof value];
  __builtin_memcpy(bytes, &value, sizeof value);
  return cat(proto_varint(field << 3 | 5), std::string_view(bytes, sizeof bytes));
}

/// Encodes a piece of a SentencePiece model.
inline std::string proto_piece(std::string_view text, float score, std::uint64_t type) {
  return proto_bytes(1, proto_bytes(1, text) + proto_float(2, score) + proto_number(3, type));
}

/// Makes a SentencePiece model. Tokens: 0 <unk>, 1 <s>, 2 </s>, 3 U+2581, 4 a, 5 b, 6 ab, 7 [x].
inline std::string sentencepiece_model(std::uint64_t model_type, std::string_view normalizer = "") {
  return proto_piece("<unk>", 0, 2) + proto_piece("<s>", 0, 3) + proto_piece("</s>", 0, 3) +
         proto_piece("▁", -1, 1) + proto_piece("a", -2, 1) + proto_piece("b", -3, 1) +
         proto_piece("ab", -0.5F, 1) + proto_piece("[x]", 0, 4) +
         proto_bytes(2, proto_number(3, model_type)) + proto_bytes(3, normalizer);
}

}  // namespace ingot::testing
