// Reads the vocabulary, model and added tokens of a tokenizer.json.
#include "load/tokenizer/tokenizer_json.h"

#include <cfloat>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "load/config.h"
#include "load/tokenizer/token_ids.h"
#include "load/tokenizer/tokenizer_kinds.h"

namespace ingot {

namespace {

/// Most characters of a word that a file may allow. Files usually say 100.
constexpr std::int64_t kWordCharsMax = 65'536;

/// Reads the member `model`.
class ModelSection {
 public:
  ModelSection(const Json& model, const std::string& file, TokenizerData& data)
      : keys_(model, file, "model.", "tokenizer"), data_(data) {}

  void read() {
    const std::string type = type_name();
    if (type == "BPE") {
      read_bpe();
    } else if (type == "Unigram") {
      read_unigram();
    } else if (type == "WordPiece") {
      read_wordpiece();
    } else {
      keys_.refuse("type", "supported are BPE, Unigram and WordPiece");
    }
  }

 private:
  /// Old files do not state the type: other members tell.
  std::string type_name() const {
    if (keys_.mentions("type")) return keys_.required_text("type");
    if (keys_.mentions("merges")) return "BPE";
    const Json* vocab = keys_.get("vocab");
    if (vocab != nullptr && vocab->as_array() != nullptr) return "Unigram";
    if (keys_.mentions("max_input_chars_per_word")) return "WordPiece";
    keys_.missing("type");
  }

  void read_bpe() {
    data_.model = TokenizerModel::kBpe;
    const auto dropout = keys_.number("dropout");
    if (dropout && *dropout != 0) {
      keys_.refuse("dropout", Json(*dropout), "expected null or 0: it makes tokens random");
    }
    refuse_unless_empty("continuing_subword_prefix");
    refuse_unless_empty("end_of_word_suffix");
    read_vocabulary();
    data_.unknown = read_unknown();
    data_.fuse_unknown = keys_.boolean("fuse_unk").value_or(false);
    data_.byte_fallback = keys_.boolean("byte_fallback").value_or(false);
    data_.ignore_merges = keys_.boolean("ignore_merges").value_or(false);
    mark_byte_tokens();
    read_merges();
  }

  /// Reads merges. They are all lists of two pieces, or all texts "left right". Pieces in lists may
  /// have spaces, so a byte that UTF-8 does not use separates them in `data`.
  void read_merges() {
    const Json::Array& merges = keys_.required_array("merges");
    if (merges.size() > kTokenizerMergesMax) {
      keys_.fail(
          cat("model.merges has ", merges.size(), " entries, more than ", kTokenizerMergesMax));
    }
    const bool pairs = !merges.empty() && merges.front().as_array() != nullptr;
    data_.merge_separator = pairs ? '\xFF' : ' ';
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const std::string* text = merges[i].as_string();
      const Json::Array* pair = merges[i].as_array();
      const bool is_pair = pair != nullptr && pair->size() == 2 &&
                           (*pair)[0].as_string() != nullptr && (*pair)[1].as_string() != nullptr;
      if (pairs ? !is_pair : text == nullptr) {
        keys_.fail(cat("model.merges[", i, "] is ", shown(merges[i]), ", expected ",
                       pairs ? "two strings" : "a string"));
      }
      data_.merges.add(
          pairs ? cat(*(*pair)[0].as_string(), data_.merge_separator, *(*pair)[1].as_string())
                : *text);
    }
  }

  void read_unigram() {
    data_.model = TokenizerModel::kUnigram;
    const Json::Array& vocab = keys_.required_array("vocab");
    if (vocab.empty()) keys_.fail("model.vocab is empty");
    std::vector<double> scores;
    for (std::size_t i = 0; i < vocab.size(); ++i) {
      const Json::Array* pair = vocab[i].as_array();
      const std::string* text =
          pair != nullptr && pair->size() == 2 ? (*pair)[0].as_string() : nullptr;
      const std::optional<double> score = text != nullptr ? (*pair)[1].number() : std::nullopt;
      if (!score) keys_.fail(cat("model.vocab[", i, "] is no pair of a string and a number"));
      if (!(std::abs(*score) <= FLT_MAX)) {
        keys_.fail(cat("model.vocab[", i, "] has the score ", *score, ", which is out of range"));
      }
      ids_.add(*text, static_cast<std::int64_t>(i));
      scores.push_back(*score);
    }
    if (const auto wrong = ids_.index()) keys_.fail(cat("model.vocab: ", *wrong));
    ids_.fill(data_);
    data_.scores = std::move(scores);
    const auto unknown = keys_.integer("unk_id", 0, static_cast<std::int64_t>(vocab.size()) - 1);
    if (unknown) data_.unknown = static_cast<std::int32_t>(*unknown);
    data_.byte_fallback = keys_.boolean("byte_fallback").value_or(false);
    data_.fuse_unknown = true;
    mark_byte_tokens();
  }

  void read_wordpiece() {
    data_.model = TokenizerModel::kWordPiece;
    read_vocabulary();
    data_.unknown = read_unknown();
    if (!data_.unknown) keys_.missing("unk_token");
    const std::string* prefix = keys_.text("continuing_subword_prefix");
    data_.continuing_prefix = prefix != nullptr ? *prefix : "##";
    const auto chars = keys_.integer("max_input_chars_per_word", 1, kWordCharsMax);
    data_.word_chars_max = static_cast<std::int32_t>(chars.value_or(100));
  }

  void read_vocabulary() {
    const Json::Object& members = *keys_.required_object("vocab").as_object();
    if (members.empty()) keys_.refuse("vocab", "expected at least one token");
    for (const auto& [text, id] : members) {
      const std::int64_t* value = id.as_int();
      if (value == nullptr) {
        keys_.fail(cat("model.vocab['", printable(text, 64), "'] is ", shown(id),
                       ", expected an integer"));
      }
      ids_.add(text, *value);
    }
    if (const auto wrong = ids_.index()) keys_.fail(cat("model.vocab: ", *wrong));
    ids_.fill(data_);
  }

  void mark_byte_tokens() {
    if (!data_.byte_fallback) return;
    for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
      if (byte_of_token(data_.tokens[i])) data_.types[i] = TokenType::kByte;
    }
  }

  /// The id of the token that a member names. The vocabulary must have it.
  std::optional<std::int32_t> read_unknown() const {
    const std::string* text = keys_.text("unk_token");
    if (text == nullptr) return std::nullopt;
    const auto id = ids_.find(*text);
    if (!id) keys_.refuse("unk_token", "which is not in the vocabulary");
    return id;
  }

  void refuse_unless_empty(std::string_view key) const {
    const std::string* text = keys_.text(key);
    if (text != nullptr && !text->empty()) keys_.refuse(key, "which is not supported");
  }

  JsonKeys keys_;
  TokenizerData& data_;
  TokenIds ids_;
};

}  // namespace

AddedToken read_added_token(const JsonKeys& keys) {
  AddedToken token{.content = keys.required_text("content")};
  if (token.content.empty()) keys.fail(cat(keys.prefix(), "content is empty"));
  token.special = keys.boolean("special").value_or(false);
  token.single_word = keys.boolean("single_word").value_or(false);
  token.lstrip = keys.boolean("lstrip").value_or(false);
  token.rstrip = keys.boolean("rstrip").value_or(false);
  token.normalized = keys.boolean("normalized").value_or(!token.special);
  return token;
}

void read_added_tokens(const JsonKeys& root, TokenizerData& data) {
  const Json::Array* list = root.array("added_tokens");
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json& entry = (*list)[i];
    if (entry.as_object() == nullptr) {
      root.fail(cat("added_tokens[", i, "] is ", shown(entry), ", expected an object"));
    }
    const JsonKeys keys(entry, root.file(), cat("added_tokens[", i, "]."), "tokenizer");
    AddedToken token = read_added_token(keys);
    token.id = static_cast<std::int32_t>(keys.required_integer("id", 0, kVocabMax - 1));
    data.added.push_back(std::move(token));
  }
  if (const auto wrong = place_added_tokens(data)) root.fail(cat("added_tokens: ", *wrong));
}

TokenizerData read_tokenizer_json(const Json& root, const std::string& file) {
  if (root.as_object() == nullptr) {
    throw model_error(file, "tokenizer", cat("is ", root.kind(), ", expected an object"));
  }
  const JsonKeys keys(root, file, "", "tokenizer");
  const std::string* version = keys.text("version");
  if (version != nullptr && *version != "1.0") {
    keys.refuse("version", "supported is 1.0");
  }
  const Json& model = keys.required_object("model");
  TokenizerData data;
  data.file = file;
  ModelSection(model, file, data).read();
  read_added_tokens(keys, data);
  read_tokenizer_steps(keys, data);
  return data;
}

}  // namespace ingot
