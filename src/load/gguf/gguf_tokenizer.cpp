// Reads a tokenizer's vocabulary and settings from GGUF metadata.
#include "load/gguf/gguf_tokenizer.h"

#include <cmath>
#include <set>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "load/config.h"
#include "load/tokenizer/tokenizer_kinds.h"

namespace ingot {

namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kPre = "tokenizer.ggml.pre";

StringTable strings(const GgufEntry& entry) {
  StringTable table;
  table.reserve(entry.count, entry.data.size() - entry.count * 8);  // 8: bytes of a length
  entry.for_each_string([&](std::string_view text) { table.add(text); });
  return table;
}

/// GGUF files write U+2581 in front of a piece that begins a word; BERT writes "##" in front of a
/// piece that continues one. Names in brackets are the same tokens in both spellings.
StringTable spelled_by_bert(const StringTable& tokens) {
  constexpr std::string_view kMark = "\xE2\x96\x81";
  StringTable out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view token = tokens[i];
    if (token.starts_with(kMark)) {
      out.add(token.substr(kMark.size()));
    } else if (token.starts_with('[') && token.ends_with(']')) {
      out.add(token);
    } else {
      out.add(cat("##", token));
    }
  }
  return out;
}

/// Reads the keys of one tokenizer.
class Reader {
 public:
  explicit Reader(GgufKeys& keys) : keys_(keys) {}

  std::unique_ptr<TokenizerData> read(std::string_view model, const GgufEntry& tokens) {
    out_->file = keys_.file().name;
    out_->tokens = strings(tokens);
    read_merges();
    read_scores();
    read_types();
    read_settings();
    if (model == "llama" || model == "t5") {
      describe_pieces(model == "t5");
    } else if (model == "gpt2") {
      describe_bytes();
    } else if (model == "bert") {
      describe_words();
    } else if (model == "gemma4") {
      describe_gemma();
    } else {
      keys_.refuse(kModel, "is not supported; supported: llama, gpt2, bert, t5, gemma4");
    }
    drop_padding();
    return std::move(out_);
  }

 private:
  std::size_t size() const { return out_->tokens.size(); }
  /// The array with an element for each token, or null.
  const GgufEntry* per_token(std::string_view key, GgufType type) {
    const GgufEntry* entry = keys_.array(key, type);
    if (entry != nullptr && entry->count != size()) {
      keys_.refuse(key, cat("must have an entry for each of the ", size(), " tokens"));
    }
    return entry;
  }

  void read_merges() {
    constexpr std::string_view kKey = "tokenizer.ggml.merges";
    const GgufEntry* merges = keys_.array(kKey, GgufType::kString);
    if (merges == nullptr) return;
    if (merges->count > kTokenizerMergesMax) {
      keys_.refuse(kKey, cat("must have at most ", kTokenizerMergesMax, " elements"));
    }
    out_->merges = strings(*merges);
  }

  void read_scores() {
    constexpr std::string_view kKey = "tokenizer.ggml.scores";
    const GgufEntry* entry = per_token(kKey, GgufType::kFloat32);
    if (entry == nullptr) return;
    out_->scores.resize(entry->count);
    for (std::size_t i = 0; i < out_->scores.size(); ++i) {
      const auto score = entry->number<float>(i);
      if (!std::isfinite(score)) {
        keys_.refuse(kKey, cat("has the score ", score, " for token ", i, ", must be finite"));
      }
      out_->scores[i] = static_cast<double>(score);
    }
  }

  void read_types() {
    constexpr std::string_view kKey = "tokenizer.ggml.token_type";
    const GgufEntry* entry = per_token(kKey, GgufType::kInt32);
    out_->types.resize(size(), TokenType::kNormal);
    if (entry == nullptr) return;
    has_types_ = true;
    for (std::size_t i = 0; i < out_->types.size(); ++i) {
      const auto type = entry->number<std::int32_t>(i);
      if (type < 1 || type > 6) {
        keys_.refuse(kKey, cat("has the type ", type, " for token ", i, ", must be 1 to 6"));
      }
      out_->types[i] = static_cast<TokenType>(type);
    }
  }

  /// Token types for a file without types: by the tokens' roles, and byte tokens for text pieces.
  void guess_types() {
    for (const auto id : {out_->bos, out_->eos, out_->eot, out_->eom, out_->padding}) {
      if (id) at(out_->types, *id) = TokenType::kControl;
    }
    if (!out_->space_marks) return;
    if (out_->unknown) at(out_->types, *out_->unknown) = TokenType::kUnknown;
    for (std::size_t i = 0; i < size(); ++i) {
      if (out_->types[i] == TokenType::kNormal && byte_of_token(out_->tokens[i])) {
        out_->types[i] = TokenType::kByte;
      }
    }
  }

  void read_settings() {
    out_->bos = read_id("tokenizer.ggml.bos_token_id");
    out_->eos = read_needed("tokenizer.ggml.eos_token_id");
    out_->eot = read_needed("tokenizer.ggml.eot_token_id");
    out_->eom = read_needed("tokenizer.ggml.eom_token_id");
    out_->unknown = read_id("tokenizer.ggml.unknown_token_id");
    out_->padding = read_id("tokenizer.ggml.padding_token_id");
    read_fim();
    add_bos_ = keys_.boolean("tokenizer.ggml.add_bos_token");
    add_eos_ = keys_.boolean("tokenizer.ggml.add_eos_token");
    read_templates();
  }

  /// Reads "tokenizer.chat_template", and "tokenizer.chat_template.NAME" for each name. The list
  /// "tokenizer.chat_templates" has the same names.
  ///
  /// Source: gguf-py, GGUFWriter.add_chat_template.
  void read_templates() {
    constexpr std::string_view kNamed = "tokenizer.chat_template.";
    if (const auto text = keys_.text("tokenizer.chat_template")) {
      out_->templates.add("default", std::string(*text));
    }
    const std::vector<const GgufEntry*> named = keys_.unread(kNamed);
    if (named.size() > kNamedTemplatesMax) {
      keys_.fail(cat("has ", named.size(), " named chat templates, at most ", kNamedTemplatesMax));
    }
    for (const GgufEntry* entry : named) {
      const auto text = keys_.text(entry->key);
      out_->templates.add(entry->key.substr(kNamed.size()), std::string(*text));
    }
  }

  /// Reads the tokens of fill-in-the-middle. Older files have keys without "fim_".
  void read_fim() {
    const auto read = [&](std::string_view key, std::string_view older = {}) {
      const auto id = read_needed(cat("tokenizer.ggml.", key));
      return id || older.empty() ? id : read_needed(cat("tokenizer.ggml.", older));
    };
    out_->fim = {.prefix = read("fim_pre_token_id", "prefix_token_id"),
                 .suffix = read("fim_suf_token_id", "suffix_token_id"),
                 .middle = read("fim_mid_token_id", "middle_token_id"),
                 .padding = read("fim_pad_token_id"),
                 .repository = read("fim_rep_token_id"),
                 .file = read("fim_sep_token_id")};
  }

  /// Reads an id, which may lie beyond the vocabulary. Nothing if it is absent or -1.
  std::optional<std::int64_t> stated_id(std::string_view key) const {
    const GgufEntry* entry = keys_.any(key);
    if (entry == nullptr) return std::nullopt;
    if (entry->type == GgufType::kInt32 && entry->number<std::int32_t>() == -1) return std::nullopt;
    const std::optional<std::int64_t> id = keys_.uint32(key);
    return id == std::int64_t{0xffffffff} ? std::nullopt : id;
  }

  bool is_token(std::int64_t id) const { return static_cast<std::uint64_t>(id) < size(); }
  std::string beyond() const { return cat("is beyond the vocabulary of ", size(), " tokens"); }

  /// Reads the id of a token that a text can do without. An id beyond the vocabulary is ignored.
  std::optional<std::int32_t> read_id(std::string_view key) const {
    const std::optional<std::int64_t> id = stated_id(key);
    if (!id) return std::nullopt;
    if (is_token(*id)) return static_cast<std::int32_t>(*id);
    out_->warnings.push_back(
        cat(printable(out_->file, 4096), ": ", key, " = ", *id, " ", beyond(), ": it is ignored"));
    return std::nullopt;
  }

  /// Reads the id of a token that texts need: without it, texts would not end, or the middle of a
  /// text would follow another token. An id beyond the vocabulary is refused.
  std::optional<std::int32_t> read_needed(std::string_view key) const {
    const std::optional<std::int64_t> id = stated_id(key);
    if (!id) return std::nullopt;
    if (!is_token(*id)) keys_.refuse(key, beyond());
    return static_cast<std::int32_t>(*id);
  }

  void frame(std::optional<std::int32_t> begin, bool adds_begin, std::optional<std::int32_t> end,
             bool adds_end) {
    if (adds_begin && begin) out_->frame_begin.push_back(*begin);
    if (adds_end && end) out_->frame_end.push_back(*end);
  }

  /// The pre-tokenizer's name, or `fallback` if the file has none. If the name `matters`, this is
  /// a warning: another name could give other tokens.
  std::string read_pre(std::string_view fallback, bool matters) {
    if (const auto pre = keys_.text(kPre)) return std::string(*pre);
    auto& lines = matters ? out_->warnings : out_->details;
    lines.push_back(cat(printable(out_->file, 4096), ": no tokenizer.ggml.pre, using ", fallback));
    return std::string(fallback);
  }

  void describe_pieces(bool unigram) {
    if (const std::string pre = read_pre("default", false); pre != "default") {
      keys_.refuse(kPre, "is not supported for sentencepiece; supported: default");
    }
    out_->model = unigram ? TokenizerModel::kUnigram : TokenizerModel::kSentencePieceBpe;
    out_->space_marks = true;
    if (!has_types_) guess_types();
    const auto add_prefix = keys_.boolean("tokenizer.ggml.add_space_prefix");
    const auto squeeze = keys_.boolean("tokenizer.ggml.remove_extra_whitespaces");
    describe_sentencepiece(*out_, {.charsmap = read_charsmap(),
                                   .add_prefix = add_prefix.value_or(true),
                                   .squeeze = squeeze.value_or(false)});
    // If the file does not say: T5 (Unigram) adds EOS, Llama (BPE) adds BOS.
    frame(out_->bos, add_bos_.value_or(!unigram), out_->eos, add_eos_.value_or(unigram));
    // XLM-RoBERTa's texts have both.
    if (unigram && !out_->frame_begin.empty() && !out_->frame_end.empty()) {
      out_->pair = roberta_pair(*out_->bos, *out_->eos);
    }
  }

  void describe_bytes() {
    // Files of GPT-NeoX have no pattern name, because they are older than these names.
    const bool neox = keys_.text("general.architecture") == "gptneox";
    const std::string name = read_pre(neox ? "gpt-neox" : "gpt-2", !neox);
    out_->model = TokenizerModel::kBpe;
    if (!has_types_) guess_types();
    out_->unknown.reset();  // bytes without a token are dropped, not mapped to the unknown token
    describe_byte_level(*out_, name);
    frame(out_->bos, add_bos_.value_or(pattern_adds_bos(name)), out_->eos,
          add_eos_.value_or(false));
  }

  /// Files may state a pattern's name, which has no effect here, and scores, which none reads.
  void describe_gemma() {
    keys_.text(kPre);
    if (out_->merges.size() == 0) keys_.fail("tokenizer.ggml.merges is missing");
    out_->model = TokenizerModel::kBpe;
    if (!has_types_) guess_types();
    describe_spaced_bpe(*out_);
    frame(out_->bos, add_bos_.value_or(true), out_->eos, add_eos_.value_or(false));
  }

  void describe_words() {
    const std::string pre = read_pre("default", false);
    if (pre != "default" && pre != "bert-bge" && pre != "jina-v1-en" && pre != "jina-v2-en") {
      keys_.refuse(kPre,
                   "is not supported for wordpiece; supported: default, bert-bge, jina-v1-en, "
                   "jina-v2-en");
    }
    out_->model = TokenizerModel::kWordPiece;
    out_->tokens = spelled_by_bert(out_->tokens);
    if (!has_types_) guess_types();
    describe_bert(*out_, {});
    // All files have this spelling of the key.
    const auto cls = read_id("tokenizer.ggml.cls_token_id");
    const auto separator = read_id("tokenizer.ggml.seperator_token_id");
    frame(cls ? cls : out_->bos, add_bos_.value_or(true), separator ? separator : out_->eos,
          add_eos_.value_or(true));
    if (!out_->frame_begin.empty() && !out_->frame_end.empty()) {
      out_->pair = bert_pair(out_->frame_begin.front(), out_->frame_end.front());
    }
  }

  /// Whether a converter wrote the token only because the embedding has a row with this id.
  bool is_padding(std::size_t id) const {
    return out_->types[id] == TokenType::kUnused && out_->tokens[id] == cat("[PAD", id, "]");
  }

  /// The ids that have a role, however their tokens are called.
  std::set<std::int32_t> named_ids() const {
    std::set<std::int32_t> ids(out_->frame_begin.begin(), out_->frame_begin.end());
    ids.insert(out_->frame_end.begin(), out_->frame_end.end());
    const FimIds& fim = out_->fim;
    for (const auto id :
         {out_->bos, out_->eos, out_->eot, out_->eom, out_->unknown, out_->padding, fim.prefix,
          fim.suffix, fim.middle, fim.padding, fim.repository, fim.file}) {
      if (id) ids.insert(*id);
    }
    return ids;
  }

  /// Empties padding tokens, and drops those at the end: as in a folder, rows of the embedding
  /// without a token are never drawn. Padding of a file without other tokens stays.
  ///
  /// Source: llama.cpp, convert_hf_to_gguf.py (get_vocab_base): the name and the type.
  void drop_padding() {
    const std::set<std::int32_t> named = named_ids();
    const auto drops = [&](std::size_t id) {
      return is_padding(id) && !named.contains(static_cast<std::int32_t>(id));
    };
    std::size_t end = size();
    while (end > 0 && drops(end - 1)) --end;
    if (end == 0) return;
    StringTable kept;
    for (std::size_t i = 0; i < end; ++i) kept.add(drops(i) ? "" : out_->tokens[i]);
    out_->tokens = std::move(kept);
    out_->types.resize(end);
    if (!out_->scores.empty()) out_->scores.resize(end);
  }

  std::string read_charsmap() {
    constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
    const GgufEntry* entry = keys_.any(kKey);
    if (entry == nullptr) return {};
    const bool bytes = entry->is_array() &&
                       (entry->element == GgufType::kUint8 || entry->element == GgufType::kInt8);
    if (!bytes) keys_.refuse(kKey, "must be an array of uint8 or int8");
    return std::string(entry->text());
  }

  GgufKeys& keys_;
  std::unique_ptr<TokenizerData> out_ = std::make_unique<TokenizerData>();
  bool has_types_ = false;
  std::optional<bool> add_bos_, add_eos_;
};

}  // namespace

std::unique_ptr<TokenizerData> gguf_tokenizer(GgufKeys& keys) {
  const std::optional<std::string_view> model = keys.text(kModel);
  const GgufEntry* tokens = keys.array(kTokens, GgufType::kString);
  if (tokens == nullptr) {
    // "no_vocab" means no tokenizer. Any other model name without tokens is an error.
    if (model && *model != "no_vocab" && *model != "none") keys.fail(cat(kTokens, " is missing"));
    return nullptr;
  }
  if (!model) keys.fail(cat(kModel, " is missing"));
  if (tokens->count == 0 || tokens->count > static_cast<std::uint64_t>(kVocabMax)) {
    keys.refuse(kTokens, cat("must have 1 to ", kVocabMax, " elements"));
  }
  return Reader(keys).read(*model, *tokens);
}

}  // namespace ingot
