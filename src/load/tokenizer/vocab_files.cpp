// Reads vocab.json with merges.txt, and vocab.txt.
#include "load/tokenizer/vocab_files.h"

#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "load/config.h"
#include "load/tokenizer/token_ids.h"
#include "load/tokenizer/tokenizer_kinds.h"

namespace ingot {

namespace {

constexpr std::string_view kGpt2 = "GPT2Tokenizer";

[[noreturn]] void fail(const std::string& file, std::string_view reason) {
  throw model_error(file, "tokenizer", reason);
}

/// The pre-tokenizer pattern of a class of byte-level tokenizers.
std::string_view pattern_of(std::string_view tokenizer_class, const std::string& file) {
  constexpr std::pair<std::string_view, std::string_view> kPatterns[] = {
      {kGpt2, "gpt-2"}, {"RobertaTokenizer", "gpt-2"}, {"Qwen2Tokenizer", "qwen2"}};
  std::string_view name = tokenizer_class;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  for (const auto& [known, pattern] : kPatterns) {
    if (known == name) return pattern;
  }
  fail(file, cat("tokenizer_class '", printable(tokenizer_class, 64),
                 "' is not supported with vocab.json and merges.txt; supported: GPT2Tokenizer, "
                 "RobertaTokenizer, Qwen2Tokenizer; a tokenizer.json would do"));
}

/// The settings with the defaults of their tokenizer class. Without a class it is the given one.
TokenizerSettings with_defaults(TokenizerSettings settings, std::string_view fallback,
                                const std::string& file, std::vector<std::string>& warnings) {
  if (!settings.tokenizer_class) {
    warnings.push_back(cat(printable(file), ": no tokenizer_class beside it, using ", fallback));
    settings.tokenizer_class = fallback;
  }
  if (auto defaults = class_defaults(*settings.tokenizer_class)) {
    defaults->file = file;
    complete_settings(settings, std::move(*defaults));
  }
  return settings;
}

void read_merges(const NamedText& merges, TokenizerData& data) {
  if (!is_utf8(merges.text)) fail(merges.file, "is not valid UTF-8");
  bool first = true;
  for_each_line(merges.text, [&](std::string_view line) {
    const bool is_head = std::exchange(first, false) && line.starts_with("#version");
    if (is_head || line.empty()) return;
    if (data.merges.size() == kTokenizerMergesMax)
      fail(merges.file, cat("more than ", kTokenizerMergesMax, " lines"));
    data.merges.add(line);
  });
}

}  // namespace

TokenizerData read_vocab_and_merges(const Json& vocab, const std::string& vocab_file,
                                    const NamedText& merges, const TokenizerSettings& settings) {
  TokenizerData data;
  data.file = vocab_file;
  TokenIds ids;
  // The file was recognised as a vocabulary, so every value is an integer.
  for (const auto& [text, id] : *vocab.as_object()) ids.add(text, *id.as_int());
  if (const auto wrong = ids.index()) fail(vocab_file, *wrong);
  ids.fill(data);
  if (data.tokens.size() == 0) fail(vocab_file, "there are no tokens");
  read_merges(merges, data);
  const TokenizerSettings all = with_defaults(settings, kGpt2, vocab_file, data.warnings);
  describe_byte_level(data, pattern_of(*all.tokenizer_class, all.file));
  apply_settings(data, all);
  return data;
}

TokenizerData read_vocab_txt(const NamedText& vocab, const TokenizerSettings& settings) {
  if (!is_utf8(vocab.text)) fail(vocab.file, "is not valid UTF-8");
  TokenizerData data;
  data.file = vocab.file;
  data.model = TokenizerModel::kWordPiece;
  for_each_line(vocab.text, [&](std::string_view line) { data.tokens.add(line); });
  if (data.tokens.size() == 0) fail(vocab.file, "there are no tokens");
  if (data.tokens.size() > to_size(kVocabMax)) {
    fail(vocab.file, cat("more than ", kVocabMax, " lines"));
  }
  data.types.resize(data.tokens.size(), TokenType::kNormal);
  const TokenizerSettings all = with_defaults(settings, "BertTokenizer", vocab.file, data.warnings);
  const std::string& name = *all.tokenizer_class;
  if (name != "BertTokenizer" && name != "BertTokenizerFast") {
    fail(all.file, cat("tokenizer_class '", printable(name, 64),
                       "' is not supported with vocab.txt; supported: BertTokenizer"));
  }
  const bool lowercase = all.lowercase.value_or(true);
  describe_bert(data, {.lowercase = lowercase,
                       .strip_accents = all.strip_accents.value_or(lowercase),
                       .space_cjk = all.space_cjk.value_or(true)});
  apply_settings(data, all);
  TokenIds ids(data);
  if (const auto wrong = ids.index()) fail(vocab.file, *wrong);
  const auto find = [&](const std::optional<AddedToken>& token) {
    return token ? ids.find(token->content) : std::nullopt;
  };
  data.unknown = find(all.unknown);
  if (!data.unknown) fail(vocab.file, "there is no unknown token ([UNK])");
  const auto cls = find(all.cls), sep = find(all.sep);
  if (cls) data.frame_begin = {*cls};
  if (sep) data.frame_end = {*sep};
  if (cls && sep) data.pair = bert_pair(*cls, *sep);
  return data;
}

}  // namespace ingot
