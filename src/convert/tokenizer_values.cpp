// Writes a tokenizer's description as GGUF keys, and refuses properties that these cannot express.
#include "convert/tokenizer_values.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "convert/tokenizer_check.h"
#include "convert/tokenizer_steps.h"
#include "load/gguf/gguf_metadata.h"
#include "load/gguf/gguf_tokenizer.h"
#include "text/pretokenize/pretokenize.h"

namespace ingot {

namespace {

/// Names of pre-tokenizers. The usual name comes before others with equal meaning.
constexpr std::string_view kPatternNames[] = {
    "qwen2",         "llama-bpe",        "gpt-2",       "tekken",
    "gpt-4o",        "qwen35",           "starcoder",   "falcon",
    "deepseek-llm",  "deepseek-coder",   "deepseek-v3", "mpt",
    "gpt-neox",      "command-r",        "dbrx",        "glm4",
    "hunyuan-dense", "seed-coder",       "stablelm2",   "exaone4",
    "smollm",        "deepseek-r1-qwen", "modern-bert", "roberta-bpe",
    "hunyuan",       "smaug-bpe",        "falcon3",     "llama4"};

/// The largest size of a chat template's name, in bytes. It becomes a part of a key, and names are
/// words such as "tool_use".
constexpr std::size_t kTemplateNameMax = 128;

/// The largest token that merges make, in bytes: trying its cuts takes time with the square.
constexpr std::size_t kPieceMax = 4096;

bool is_byte_level(const TokenizerData& data) {
  return std::any_of(data.pretokenizers.begin(), data.pretokenizers.end(), [](const auto& step) {
    return step.kind == PretokenizerStep::Kind::kByteLevel;
  });
}

/// A merge's two sides.
std::pair<std::string_view, std::string_view> sides(const TokenizerData& data, std::size_t merge) {
  const std::string_view text = data.merges[merge];
  const std::size_t cut = text.find(data.merge_separator);
  if (cut == std::string_view::npos)
    refuse_tokenizer(data, cat("merge ", merge, " has no two sides"));
  return {text.substr(0, cut), text.substr(cut + 1)};
}

/// Writes the keys of one tokenizer.
class TokenizerWriter {
 public:
  /// `vocab`: the number of rows of the embedding.
  TokenizerWriter(const TokenizerData& data, const Config& config, std::int64_t vocab,
                  GgufValues& out, std::vector<std::string>& warnings)
      : data_(data),
        config_(config),
        rows_(std::max(data.tokens.size(), to_size(vocab))),
        out_(out),
        warnings_(warnings) {}

  void write() {
    if (data_.model == TokenizerModel::kBpe && is_byte_level(data_)) {
      write_bytes();
    } else if (data_.model == TokenizerModel::kWordPiece) {
      write_words();
    } else if (data_.model == TokenizerModel::kUnigram) {
      write_unigram();
    } else if (data_.model == TokenizerModel::kSentencePieceBpe || data_.byte_fallback) {
      write_spaced();
    } else {
      refuse_tokenizer(data_, "a tokenizer of this kind cannot be written to GGUF yet");
    }
  }

 private:
  void write_bytes();
  void write_words();
  void write_unigram();
  void write_spaced();
  void write_pieces(std::span<const double> scores);
  void write_merged_pieces();
  std::string find_scores(std::vector<double>& scores) const;
  void write_merges();
  void write_tokens();
  void write_scores(std::span<const double> scores);
  /// The piece with this id; empty if there is none.
  std::string_view piece(std::size_t id) const {
    return id < data_.tokens.size() ? std::string_view(data_.tokens[id]) : std::string_view();
  }
  StringTable words() const;
  std::optional<std::int32_t> begin() const;
  std::optional<std::int32_t> end() const;
  void write_ids();
  void write_templates();
  std::vector<AddedToken> lost_tokens(const TokenizerData& again) const;
  void check();

  const TokenizerData& data_;
  const Config& config_;
  std::size_t rows_;  ///< number of tokens that the file lists
  GgufValues& out_;
  std::vector<std::string>& warnings_;
};

/// The description that a reader of the keys gets.
TokenizerData read_back(const GgufValues& values, const TokenizerData& data) {
  const std::string bytes = values.file();
  const GgufFile file = parse_gguf(std::as_bytes(std::span(bytes)), data.file);
  GgufKeys keys(file);
  return std::move(*gguf_tokenizer(keys));
}

/// Writes pieces by id with their types; ids without a piece become unused tokens. Readers take the
/// number of the embedding's rows from the list, so rows without a token get one too.
void TokenizerWriter::write_tokens() {
  StringTable tokens;
  std::vector<std::int32_t> types;
  std::map<std::int32_t, bool> added;
  for (const AddedToken& token : data_.added) added.emplace(token.id, token.special);
  for (std::size_t i = 0; i < rows_; ++i) {
    const std::string_view token = piece(i);
    TokenType type = i < data_.types.size() ? data_.types[i] : TokenType::kNormal;
    if (const auto found = added.find(static_cast<std::int32_t>(i)); found != added.end()) {
      if (type == TokenType::kNormal) {
        type = found->second ? TokenType::kControl : TokenType::kUserDefined;
      }
    }
    if (token.empty()) type = TokenType::kUnused;
    tokens.add(token.empty() ? cat("[PAD", i, "]") : token);
    types.push_back(static_cast<std::int32_t>(type));
  }
  out_.set_texts("tokenizer.ggml.tokens", tokens);
  out_.set_ints("tokenizer.ggml.token_type", types);
}

void TokenizerWriter::write_scores(std::span<const double> scores) {
  std::vector<float> narrow(scores.begin(), scores.end());
  narrow.resize(rows_);
  out_.set_floats("tokenizer.ggml.scores", narrow);
}

/// The token that is written as BOS: the stated one, or the one in front of texts.
std::optional<std::int32_t> TokenizerWriter::begin() const {
  if (data_.bos || data_.frame_begin.size() != 1) return data_.bos;
  return data_.frame_begin.front();
}

/// The token that is written as EOS. An embedder's texts end with it.
std::optional<std::int32_t> TokenizerWriter::end() const {
  const bool pools = config_.pooling != PoolingKind::kNone;
  if (data_.frame_end.size() == 1 && (pools || !data_.eos)) return data_.frame_end.front();
  if (data_.eos || config_.ends.empty()) return data_.eos;
  return config_.ends.front().id;
}

void TokenizerWriter::write_ids() {
  const auto set = [&](std::string_view name, std::optional<std::int32_t> id) {
    if (id) out_.set_uint32(cat("tokenizer.ggml.", name), static_cast<std::uint32_t>(*id));
  };
  std::vector<std::int32_t> ends = ids_of(config_.ends);
  const auto eos = end();
  std::erase(ends, eos.value_or(-1));
  set("bos_token_id", begin());
  set("eos_token_id", eos);
  set("eot_token_id", ends.empty() ? data_.eot : ends.front());
  set("unknown_token_id", data_.unknown);
  set("padding_token_id", data_.padding);
  set("eom_token_id", ends.size() > 1 ? std::optional(ends[1]) : data_.eom);
  if (ends.size() > 2) {
    warnings_.push_back(cat("GGUF has room for three end tokens: token ", ends[2],
                            ends.size() > 3 ? " and others no longer end" : " no longer ends",
                            " a text"));
  }
  const auto frames = [&](const std::vector<std::int32_t>& frame, std::optional<std::int32_t> id) {
    if (frame.empty()) return false;
    if (frame.size() > 1 || frame.front() != id) {
      refuse_tokenizer(data_,
                       "texts are framed by more than BOS and EOS, which GGUF cannot express");
    }
    return true;
  };
  out_.set_boolean("tokenizer.ggml.add_bos_token", frames(data_.frame_begin, begin()));
  out_.set_boolean("tokenizer.ggml.add_eos_token", frames(data_.frame_end, eos));
}

void TokenizerWriter::write_templates() {
  const TemplateSet& templates = data_.templates;
  if (templates.standard) out_.set_text("tokenizer.chat_template", *templates.standard);
  if (templates.named.empty()) return;
  StringTable names;
  for (const NamedTemplate& named : templates.named) {
    if (named.name.size() > kTemplateNameMax) {
      refuse_tokenizer(data_, cat("the name of a chat template has ", named.name.size(),
                                  " bytes, possible are ", kTemplateNameMax));
    }
    names.add(named.name);
    out_.set_text(cat("tokenizer.chat_template.", named.name), named.text);
  }
  out_.set_texts("tokenizer.chat_templates", names);
}

void TokenizerWriter::write_merges() {
  StringTable merges;
  for (std::size_t i = 0; i < data_.merges.size(); ++i) {
    const auto [left, right] = sides(data_, i);
    merges.add(cat(left, " ", right));
  }
  out_.set_texts("tokenizer.ggml.merges", merges);
}

/// Byte-level BPE: writes a pre-tokenizer name that has the file's pattern and all its other
/// properties.
void TokenizerWriter::write_bytes() {
  out_.set_text("tokenizer.ggml.model", "gpt2");
  write_tokens();
  write_merges();
  write_ids();
  write_templates();
  const auto wanted = scanners_of(data_);
  std::string reason = "its pre-tokenizer has no name in GGUF";
  for (const std::string_view name : kPatternNames) {
    const auto scanners = find_pretokenizer(name);
    if (!wanted || !std::equal(wanted->begin(), wanted->end(), scanners.begin(), scanners.end())) {
      continue;
    }
    out_.set_text("tokenizer.ggml.pre", name);
    const TokenizerData again = read_back(out_, data_);
    if (again.normalizers == data_.normalizers && again.ignore_merges == data_.ignore_merges) {
      return check();
    }
    reason = "GGUF has no name for its pre-tokenizer with this normal form and way of merging";
  }
  refuse_tokenizer(data_, reason);
}

/// The tokens of a WordPiece model in GGUF's spelling: U+2581 in front of a piece that begins a
/// word, and nothing in front of a piece that continues one. Special tokens stay.
StringTable TokenizerWriter::words() const {
  StringTable out;
  for (std::size_t i = 0; i < rows_; ++i) {
    const std::string_view token = piece(i);
    if (token.empty()) {
      out.add(cat("[PAD", i, "]"));
    } else if (token.starts_with(data_.continuing_prefix)) {
      out.add(token.substr(data_.continuing_prefix.size()));
    } else if (token.starts_with('[') && token.ends_with(']')) {
      out.add(token);
    } else {
      out.add(cat("\xE2\x96\x81", token));
    }
  }
  return out;
}

/// BERT's tokenizer, which in GGUF lowers case and removes accents.
void TokenizerWriter::write_words() {
  out_.set_text("tokenizer.ggml.model", "bert");
  out_.set_text("tokenizer.ggml.pre", "default");
  write_tokens();
  out_.set_texts("tokenizer.ggml.tokens", words());
  write_ids();
  if (begin()) {
    out_.set_uint32("tokenizer.ggml.cls_token_id", static_cast<std::uint32_t>(*begin()));
  }
  if (end()) {
    // Files spell the key so.
    out_.set_uint32("tokenizer.ggml.seperator_token_id", static_cast<std::uint32_t>(*end()));
  }
  write_templates();
  const TokenizerData again = read_back(out_, data_);
  const bool same = again.normalizers == data_.normalizers &&
                    again.continuing_prefix == data_.continuing_prefix &&
                    again.word_chars_max == data_.word_chars_max &&
                    data_.pretokenizers.size() == 1 &&
                    data_.pretokenizers.front().kind == PretokenizerStep::Kind::kBert;
  if (!same)
    refuse_tokenizer(data_,
                     "GGUF's WordPiece lowers case and removes accents, as this one does not");
  check();
}

/// Finds scores that lead a reader to the merges of the list: a piece's score is its place in the
/// list, as in SentencePiece. The list must have every pair that makes a piece, because a reader of
/// scores would merge any such pair. Returns why there are no such scores; empty: there are.
std::string TokenizerWriter::find_scores(std::vector<double>& scores) const {
  std::map<std::string, std::size_t> pairs;
  std::string last;
  for (std::size_t i = 0; i < data_.merges.size(); ++i) {
    const auto [left, right] = sides(data_, i);
    const std::string made = cat(left, right);
    if (made.size() > kPieceMax) {
      refuse_tokenizer(
          data_, cat("a merge makes a token of ", made.size(), " bytes, possible are ", kPieceMax));
    }
    ++pairs[made];
    if (made == last) continue;
    last = made;
    if (pairs[made] > 1) return "its merges are not in the order of scores";
  }
  std::map<std::string_view, std::int32_t> ids;
  for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
    ids.emplace(data_.tokens[i], static_cast<std::int32_t>(i));
  }
  scores.assign(data_.tokens.size(), 0);
  double rank = 0;
  last.clear();
  for (std::size_t i = 0; i < data_.merges.size(); ++i) {
    const auto [left, right] = sides(data_, i);
    const std::string made = cat(left, right);
    if (made == last) continue;
    last = made;
    const auto id = ids.find(std::string_view(made));
    std::size_t ways = 0;
    for (std::size_t cut = 1; id != ids.end() && cut < made.size(); ++cut) {
      const std::string_view text(made);
      ways += ids.count(text.substr(0, cut)) * ids.count(text.substr(cut));
    }
    if (id == ids.end() || ways != pairs[made]) {
      return cat("its merges do not make '", printable(made), "' in every way");
    }
    at(scores, id->second) = -rank++;
  }
  return {};
}

/// SentencePiece's Unigram model, which GGUF calls t5.
void TokenizerWriter::write_unigram() {
  const NormalizerStep spaces = spaces_of_unigram(data_);
  for (const NormalizerStep& step : data_.normalizers) {
    if (step.kind != NormalizerStep::Kind::kPrecompiled) continue;
    out_.set_bytes("tokenizer.ggml.precompiled_charsmap", step.content);
  }
  if (!data_.pretokenizers.empty()) {
    warnings_.push_back(
        "GGUF takes the character U+0085 for a letter and U+2581 for a space, which the source "
        "does not");
  }
  out_.set_text("tokenizer.ggml.model", "t5");
  out_.set_text("tokenizer.ggml.pre", "default");
  write_tokens();
  write_scores(data_.scores);
  write_ids();
  out_.set_boolean("tokenizer.ggml.add_space_prefix", spaces.add_prefix);
  out_.set_boolean("tokenizer.ggml.remove_extra_whitespaces", spaces.squeeze);
  write_templates();
  check();
}

/// A BPE model whose tokens have marks for spaces.
void TokenizerWriter::write_spaced() {
  if (data_.ignore_merges) {
    refuse_tokenizer(data_,
                     "whole words become tokens without merges, for which GGUF has no key here");
  }
  if (data_.model == TokenizerModel::kSentencePieceBpe) {
    write_pieces(data_.scores);
  } else {
    write_merged_pieces();
  }
}

/// SentencePiece's BPE model, which GGUF calls llama: the best score merges first.
void TokenizerWriter::write_pieces(std::span<const double> scores) {
  const bool prefix = adds_prefix(data_);
  out_.set_text("tokenizer.ggml.model", "llama");
  out_.set_text("tokenizer.ggml.pre", "default");
  write_tokens();
  write_scores(scores);
  write_ids();
  out_.set_boolean("tokenizer.ggml.add_space_prefix", prefix);
  write_templates();
  check();
}

/// Writes merges as scores, which most readers know, or as they are, for which GGUF has the model
/// gemma4.
void TokenizerWriter::write_merged_pieces() {
  const bool prefix = adds_prefix(data_);
  std::vector<double> scores;
  const std::string reason = find_scores(scores);
  if (reason.empty()) {
    write_pieces(scores);
    warnings_.push_back("the tokenizer's merges are stored as scores, which give the same tokens");
    return;
  }
  if (prefix) refuse_tokenizer(data_, reason);
  out_.set_text("tokenizer.ggml.model", "gemma4");
  write_tokens();
  write_merges();
  write_ids();
  out_.set_boolean("tokenizer.ggml.add_space_prefix", false);
  write_templates();
  check();
}

/// The added tokens that a reader of the keys finds in other places of texts.
std::vector<AddedToken> TokenizerWriter::lost_tokens(const TokenizerData& again) const {
  std::map<std::int32_t, const AddedToken*> by_id;
  for (const AddedToken& token : again.added) by_id.emplace(token.id, &token);
  std::vector<AddedToken> lost;
  for (const AddedToken& token : data_.added) {
    const auto found = by_id.find(token.id);
    const bool kept = found != by_id.end() && found->second->special == token.special &&
                      found->second->always == token.always &&
                      found->second->normalized == token.normalized && !token.single_word &&
                      !token.lstrip && !token.rstrip;
    if (!kept) lost.push_back(token);
  }
  return lost;
}

/// Checks that a reader of the keys gets the tokenizer back. Warns of what GGUF does not store.
void TokenizerWriter::check() {
  const TokenizerData again = read_back(out_, data_);
  bool same = again.frame_begin == data_.frame_begin && again.frame_end == data_.frame_end &&
              again.bos == begin() && again.eos == end() && again.unknown == data_.unknown &&
              again.padding == data_.padding && again.tokens.size() >= data_.tokens.size();
  for (std::size_t i = 0; same && i < data_.tokens.size(); ++i) same = again.tokens[i] == piece(i);
  if (!same) refuse_tokenizer(data_, "GGUF cannot hold its tokens as they are");
  const bool joins_pairs = config_.labels > 0 && config_.label_tokens.empty();
  if (joins_pairs && again.pair != data_.pair) {
    refuse_tokenizer(data_, "GGUF has no key for the form of a pair of texts");
  }
  const std::vector<AddedToken> lost = lost_tokens(again);
  const std::string difference = tokenizer_difference(data_, again, lost);
  if (!difference.empty())
    refuse_tokenizer(data_, cat("GGUF would give another one: ", difference));
  if (lost.empty()) return;
  warnings_.push_back(cat("GGUF cannot express how added token ", printable(lost.front().content),
                          " is found in texts",
                          lost.size() > 1 ? cat(", nor ", lost.size() - 1, " others") : "",
                          ": as it is, in all texts, without the white space beside it"));
}

}  // namespace

void write_tokenizer(const Checkpoint& checkpoint, std::int64_t vocab, GgufValues& out,
                     std::vector<std::string>& warnings) {
  const TokenizerData* data = checkpoint.tokenizer();
  if (data == nullptr) {
    throw model_error(checkpoint.name(), "tokenizer",
                      "the folder has no supported tokenizer; --no-tokenizer leaves it out");
  }
  TokenizerWriter(*data, checkpoint.config(), vocab, out, warnings).write();
}

}  // namespace ingot
