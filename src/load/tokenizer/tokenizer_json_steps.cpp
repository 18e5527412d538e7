// Reads the components around the model of a tokenizer.json: normalizer, pre_tokenizer,
// post_processor, decoder.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "load/base64.h"
#include "load/tokenizer/tokenizer_json.h"

namespace ingot {

namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();

/// Calls `read(type, keys)` for a component, or for each component of a sequence, in order.
/// `list_key` names the members of a sequence. An absent or null component has none.
template <class Read>
void for_each_component(const JsonKeys& root, std::string_view member, std::string_view list_key,
                        const Read& read) {
  const Json* component = root.object(member);
  if (component == nullptr) return;
  std::vector<std::pair<const Json*, std::string>> open = {{component, cat(member, ".")}};
  std::size_t steps = 0;
  while (!open.empty()) {
    const auto [value, prefix] = std::move(open.back());
    open.pop_back();
    const JsonKeys keys(*value, root.file(), prefix, "tokenizer");
    const std::string& type = keys.required_text("type");
    if (++steps > kTokenizerStepsMax) {
      root.fail(cat(member, " has more than ", kTokenizerStepsMax, " steps"));
    }
    if (type != "Sequence") {
      read(type, keys);
      continue;
    }
    const Json::Array& list = keys.required_array(list_key);
    for (std::size_t i = list.size(); i-- > 0;) {
      const std::string name = cat(prefix, list_key, "[", i, "]");
      if (list[i].as_object() == nullptr) {
        root.fail(cat(name, " is ", shown(list[i]), ", expected an object"));
      }
      open.emplace_back(&list[i], name + ".");
    }
  }
}

/// Appends what `read(type, keys)` makes of each component.
template <class Step, class Read>
void append_steps(const JsonKeys& root, std::string_view member, std::string_view list_key,
                  const Read& read, std::vector<Step>& steps) {
  for_each_component(root, member, list_key, [&](const std::string& type, const JsonKeys& keys) {
    steps.push_back(read(type, keys));
  });
}

/// The value with this name in a table of {name, value}. Refuses the member `key` if there is none.
template <class Value, std::size_t n>
Value value_of(const std::pair<std::string_view, Value> (&table)[n], std::string_view name,
               const JsonKeys& keys, std::string_view key,
               std::string_view expectation = "which is not supported") {
  const auto at =
      std::find_if(table, table + n, [&](const auto& entry) { return entry.first == name; });
  if (at == table + n) keys.refuse(key, expectation);
  return at->second;
}

bool flag(const JsonKeys& keys, std::string_view key, bool fallback) {
  return keys.boolean(key).value_or(fallback);
}

/// Reads {"String": ...} or {"Regex": ...}.
TextPattern read_pattern(const JsonKeys& keys) {
  const JsonKeys inner(keys.required_object("pattern"), keys.file(), keys.prefix() + "pattern.",
                       "tokenizer");
  const std::string* literal = inner.text("String");
  if (literal != nullptr) return {*literal, false};
  return {inner.required_text("Regex"), true};
}

/// Reads a behavior. Split requires it; the default of Punctuation is Isolated.
SplitBehavior read_behavior(const JsonKeys& keys, bool required) {
  using enum SplitBehavior;
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Removed", kRemoved},
      {"Isolated", kIsolated},
      {"MergedWithPrevious", kMergedWithPrevious},
      {"MergedWithNext", kMergedWithNext},
      {"Contiguous", kContiguous}};
  if (!required && keys.get("behavior") == nullptr) return kIsolated;
  return value_of(kNames, keys.required_text("behavior"), keys, "behavior");
}

void read_bert_normalizer(const JsonKeys& keys, NormalizerStep& step) {
  step.clean_text = flag(keys, "clean_text", true);
  step.space_cjk = flag(keys, "handle_chinese_chars", true);
  step.lowercase = flag(keys, "lowercase", true);
  step.strip_accents = flag(keys, "strip_accents", step.lowercase);
}

void read_charsmap(const JsonKeys& keys, NormalizerStep& step) {
  const auto bytes = decode_base64(keys.required_text("precompiled_charsmap"));
  if (!bytes) keys.refuse("precompiled_charsmap", "expected base 64");
  step.content = *bytes;
}

NormalizerStep read_normalizer(const std::string& type, const JsonKeys& keys) {
  using enum NormalizerStep::Kind;
  constexpr std::pair<std::string_view, NormalizerStep::Kind> kNames[] = {
      {"BertNormalizer", kBert},
      {"Lowercase", kLowercase},
      {"NFC", kNfc},
      {"NFD", kNfd},
      {"NFKC", kNfkc},
      {"NFKD", kNfkd},
      {"Nmt", kNmt},
      {"Precompiled", kPrecompiled},
      {"Prepend", kPrepend},
      {"Replace", kReplace},
      {"Strip", kStrip},
      {"StripAccents", kStripAccents}};
  NormalizerStep step;
  step.kind = value_of(kNames, type, keys, "type");
  if (step.kind == kBert) read_bert_normalizer(keys, step);
  if (step.kind == kPrecompiled) read_charsmap(keys, step);
  if (step.kind == kPrepend) step.content = keys.required_text("prepend");
  if (step.kind == kReplace) {
    step.pattern = read_pattern(keys);
    step.content = keys.required_text("content");
  }
  if (step.kind == kStrip) {
    step.left = flag(keys, "strip_left", true);
    step.right = flag(keys, "strip_right", true);
  }
  return step;
}

/// Reads `prepend_scheme`, or in old files `add_prefix_space`.
PretokenizerStep::Prepend read_prepend(const JsonKeys& keys) {
  using enum PretokenizerStep::Prepend;
  constexpr std::pair<std::string_view, PretokenizerStep::Prepend> kNames[] = {
      {"always", kAlways}, {"first", kFirst}, {"never", kNever}};
  const std::string* name = keys.text("prepend_scheme");
  const bool adds = flag(keys, "add_prefix_space", true);
  if (name == nullptr) return adds ? kAlways : kNever;
  return value_of(kNames, *name, keys, "prepend_scheme", "expected always, first or never");
}

void read_metaspace(const JsonKeys& keys, PretokenizerStep& step) {
  step.replacement = keys.required_text("replacement");
  if (step.replacement.empty()) keys.fail(cat(keys.prefix(), "replacement is empty"));
  step.prepend = read_prepend(keys);
  step.split = flag(keys, "split", true);
}

PretokenizerStep read_pretokenizer(const std::string& type, const JsonKeys& keys) {
  using enum PretokenizerStep::Kind;
  constexpr std::pair<std::string_view, PretokenizerStep::Kind> kNames[] = {
      {"BertPreTokenizer", kBert},
      {"ByteLevel", kByteLevel},
      {"CharDelimiterSplit", kDelimiter},
      {"Digits", kDigits},
      {"Metaspace", kMetaspace},
      {"Punctuation", kPunctuation},
      {"Split", kSplit},
      {"Whitespace", kWhitespace},
      {"WhitespaceSplit", kWhitespaceSplit}};
  PretokenizerStep step;
  step.kind = value_of(kNames, type, keys, "type");
  if (step.kind == kByteLevel) {
    step.add_prefix_space = flag(keys, "add_prefix_space", true);
    step.use_regex = flag(keys, "use_regex", true);
  }
  if (step.kind == kDelimiter) step.pattern.text = keys.required_text("delimiter");
  if (step.kind == kDigits) step.individual = flag(keys, "individual_digits", false);
  if (step.kind == kMetaspace) read_metaspace(keys, step);
  if (step.kind == kPunctuation) step.behavior = read_behavior(keys, /*required=*/false);
  if (step.kind == kSplit) {
    step.pattern = read_pattern(keys);
    step.behavior = read_behavior(keys, /*required=*/true);
    step.invert = flag(keys, "invert", false);
  }
  return step;
}

DecoderStep read_decoder(const std::string& type, const JsonKeys& keys) {
  using enum DecoderStep::Kind;
  constexpr std::pair<std::string_view, DecoderStep::Kind> kNames[] = {
      {"ByteFallback", kByteFallback}, {"ByteLevel", kByteLevel}, {"Fuse", kFuse},
      {"Metaspace", kMetaspace},       {"Replace", kReplace},     {"Strip", kStrip},
      {"WordPiece", kWordPiece}};
  DecoderStep step;
  step.kind = value_of(kNames, type, keys, "type");
  if (step.kind == kMetaspace) {
    step.content = keys.required_text("replacement");
    step.add_prefix = read_prepend(keys) != PretokenizerStep::Prepend::kNever;
  }
  if (step.kind == kReplace) {
    step.pattern = read_pattern(keys);
    if (step.pattern.regex) keys.fail(cat(keys.prefix(), "pattern.Regex is not supported"));
    step.content = keys.required_text("content");
  }
  if (step.kind == kStrip) {
    step.content = keys.required_text("content");
    step.start = static_cast<std::int32_t>(keys.required_integer("start", 0, kIntMax));
    step.stop = static_cast<std::int32_t>(keys.required_integer("stop", 0, kIntMax));
  }
  if (step.kind == kWordPiece) {
    step.content = keys.required_text("prefix");
    step.cleanup = flag(keys, "cleanup", true);
  }
  return step;
}

/// Reads the special tokens that a post-processor adds around a text, and to a pair of texts.
class FrameReader {
 public:
  explicit FrameReader(TokenizerData& data) : data_(data) {}

  void read(const std::string& type, const JsonKeys& keys) {
    if (type == "ByteLevel") return;  // affects only offsets
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      const std::int32_t begin = read_pair(keys, "cls"), end = read_pair(keys, "sep");
      wrap({begin}, {end});
      set_pair(type == "BertProcessing" ? bert_pair(begin, end) : roberta_pair(begin, end));
    } else if (type == "TemplateProcessing") {
      read_template(keys);
    } else {
      keys.refuse("type", "which is not supported");
    }
  }

 private:
  using Ids = std::vector<std::int32_t>;

  /// Adds ids around the ids that are already there.
  void wrap(const Ids& begin, const Ids& end) {
    data_.frame_begin.insert(data_.frame_begin.begin(), begin.begin(), begin.end());
    data_.frame_end.insert(data_.frame_end.end(), end.begin(), end.end());
  }

  /// Sets the form of pairs. With two processors that add tokens, there is none.
  void set_pair(std::vector<PairPart> pair) {
    data_.pair = std::exchange(is_framed_, true) ? std::vector<PairPart>() : std::move(pair);
  }

  std::int32_t check_id(const JsonKeys& keys, std::string_view key, const Json& id) const {
    const std::int64_t* value = id.as_int();
    if (value == nullptr || *value < 0 || *value >= std::ssize(data_.types)) {
      keys.refuse(key, id, cat("expected an id below ", data_.types.size()));
    }
    return static_cast<std::int32_t>(*value);
  }

  /// Reads ["</s>", 2], a token and its id.
  std::int32_t read_pair(const JsonKeys& keys, std::string_view key) const {
    const Json::Array& pair = keys.required_array(key);
    if (pair.size() != 2 || pair[0].as_string() == nullptr) {
      keys.fail(cat(keys.prefix(), key, " is no pair of a token and its id"));
    }
    return check_id(keys, cat(key, "[1]"), pair[1]);
  }

  /// Reads `single`: special tokens, the text, special tokens.
  void read_template(const JsonKeys& keys) {
    const Json* specials = keys.object("special_tokens");
    Ids begin;
    Ids end;
    int texts = 0;
    for (const Json& part : keys.required_array("single")) {
      if (const Json* special = part.find("SpecialToken")) {
        for (const std::int32_t id : special_ids(keys, specials, *special, "single")) {
          (texts == 0 ? begin : end).push_back(id);
        }
        continue;
      }
      const Json* text = part.find("Sequence");
      const std::string* name = text != nullptr ? text->find_string("id") : nullptr;
      if (name == nullptr || *name != "A" || ++texts > 1) {
        keys.fail(cat(keys.prefix(), "single must hold special tokens and once the sequence A"));
      }
    }
    if (texts == 0) keys.fail(cat(keys.prefix(), "single lacks the sequence A"));
    wrap(begin, end);
    set_pair(read_pair_template(keys, specials));
  }

  /// Reads `pair`; empty if it does not have both texts once, or has other parts.
  std::vector<PairPart> read_pair_template(const JsonKeys& keys, const Json* specials) const {
    std::vector<PairPart> pair;
    int first = 0, second = 0;
    const Json::Array* parts = keys.array("pair");
    if (parts == nullptr) return {};
    for (const Json& part : *parts) {
      const Json* special = part.find("SpecialToken");
      const Json* piece = special != nullptr ? special : part.find("Sequence");
      if (piece == nullptr) return {};
      const Json* type = piece->find("type_id");
      const std::int64_t* number = type != nullptr ? type->as_int() : nullptr;
      if (number == nullptr || *number < 0 || *number > kIntMax) return {};
      PairPart next{.type = static_cast<std::int32_t>(*number)};
      if (special != nullptr) {
        for (const std::int32_t id : special_ids(keys, specials, *special, "pair")) {
          next.id = id;
          pair.push_back(next);
        }
        continue;
      }
      const std::string* name = piece->find_string("id");
      if (name == nullptr || (*name != "A" && *name != "B")) return {};
      next.kind = *name == "A" ? PairPart::Kind::kFirst : PairPart::Kind::kSecond;
      ++(*name == "A" ? first : second);
      pair.push_back(next);
    }
    return first == 1 && second == 1 ? pair : std::vector<PairPart>();
  }

  /// The ids of a special token of the template `where`.
  Ids special_ids(const JsonKeys& keys, const Json* specials, const Json& special,
                  std::string_view where) const {
    const std::string* name = special.find_string("id");
    if (name == nullptr) {
      keys.fail(cat(keys.prefix(), where, " has a special token without a name"));
    }
    const Json* entry = specials != nullptr ? specials->find(*name) : nullptr;
    const Json* list = entry != nullptr ? entry->find("ids") : nullptr;
    if (list == nullptr || list->as_array() == nullptr) {
      keys.fail(cat(keys.prefix(), "special_tokens has no ids for '", printable(*name, 64), "'"));
    }
    Ids ids;
    for (const Json& id : *list->as_array()) ids.push_back(check_id(keys, "special_tokens", id));
    return ids;
  }

  TokenizerData& data_;
  bool is_framed_ = false;  ///< whether a processor has added tokens
};

}  // namespace

void read_tokenizer_steps(const JsonKeys& root, TokenizerData& data) {
  append_steps(root, "normalizer", "normalizers", read_normalizer, data.normalizers);
  append_steps(root, "pre_tokenizer", "pretokenizers", read_pretokenizer, data.pretokenizers);
  FrameReader frame(data);
  for_each_component(
      root, "post_processor", "processors",
      [&](const std::string& type, const JsonKeys& keys) { frame.read(type, keys); });
  append_steps(root, "decoder", "decoders", read_decoder, data.decoders);
  data.join_with_spaces = root.get("decoder") == nullptr;
}

}  // namespace ingot
