// Adds the settings that a tokenizer's kind or pattern name implies.
#include "load/tokenizer/tokenizer_kinds.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace ingot {

namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

/// Settings that a pattern's name implies.
struct PatternFacts {
  std::string_view name;
  bool nfc = false;
  bool ignore_merges = false;
  bool adds_bos = false;
};

/// From the tokenizer.json files of the models after which the patterns are named. Any other name
/// implies no settings.
constexpr PatternFacts kPatternFacts[] = {
    {.name = "command-r", .nfc = true},
    {.name = "falcon3", .ignore_merges = true, .adds_bos = true},
    {.name = "gpt-neox", .nfc = true},
    {.name = "llama-bpe", .ignore_merges = true, .adds_bos = true},
    {.name = "llama-v3", .ignore_merges = true, .adds_bos = true},
    {.name = "llama3", .ignore_merges = true, .adds_bos = true},
    {.name = "modern-bert", .nfc = true},
    {.name = "mpt", .nfc = true},
    {.name = "olmo", .nfc = true},
    {.name = "pixtral", .ignore_merges = true, .adds_bos = true},
    {.name = "qwen2", .nfc = true},
    {.name = "qwen35", .nfc = true},
    {.name = "tekken", .ignore_merges = true, .adds_bos = true},
};

PatternFacts facts_of(std::string_view name) {
  for (const PatternFacts& facts : kPatternFacts) {
    if (facts.name == name) return facts;
  }
  return {};
}

template <class Step>
Step step_of(typename Step::Kind kind) {
  Step step;
  step.kind = kind;
  return step;
}

constexpr auto normalizer = step_of<NormalizerStep>;
constexpr auto pretokenizer = step_of<PretokenizerStep>;
constexpr auto decoder = step_of<DecoderStep>;

/// Turns each U+2581 into a space.
DecoderStep unmark_spaces() {
  DecoderStep step = decoder(DecoderStep::Kind::kReplace);
  step.pattern.text = kSpaceMark;
  step.content = std::string(1, ' ');
  return step;
}

/// Adds control and user-defined tokens to the added tokens. If `is_text(content)`, a user-defined
/// token is found in every text.
template <class IsText>
void add_by_type(TokenizerData& data, const IsText& is_text) {
  for (std::size_t i = 0; i < data.types.size(); ++i) {
    const TokenType type = data.types[i];
    const auto id = static_cast<std::int32_t>(i);
    if (data.tokens[i].empty()) continue;
    AddedToken token{.content = std::string(data.tokens[i]), .id = id};
    if (type == TokenType::kControl || (type == TokenType::kUnknown && data.unknown == id)) {
      token.special = true;
    } else if (type == TokenType::kUserDefined) {
      token.always = token.normalized = is_text(token.content);
    } else {
      continue;
    }
    data.added.push_back(std::move(token));
  }
}

}  // namespace

std::optional<std::uint8_t> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const std::string_view digits = token.substr(3, 2);
  if (digits.find_first_not_of("0123456789ABCDEF") != std::string_view::npos) return std::nullopt;
  std::uint8_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

std::string without_space_marks(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t mark = std::min(text.find(kSpaceMark, at), text.size());
    out += text.substr(at, mark - at);
    if (mark < text.size()) out += ' ';
    at = mark + kSpaceMark.size();
  }
  return out;
}

void describe_sentencepiece(TokenizerData& data, const SentencePieceSettings& settings) {
  data.space_marks = true;
  data.byte_fallback = true;
  data.fuse_unknown = true;
  if (!settings.charsmap.empty()) {
    data.normalizers.push_back(normalizer(NormalizerStep::Kind::kPrecompiled));
    data.normalizers.back().content = settings.charsmap;
  }
  NormalizerStep spaces = normalizer(NormalizerStep::Kind::kSpaces);
  spaces.add_prefix = settings.add_prefix;
  spaces.squeeze = settings.squeeze;
  data.normalizers.push_back(std::move(spaces));

  data.decoders = {unmark_spaces(), decoder(DecoderStep::Kind::kByteFallback),
                   decoder(DecoderStep::Kind::kFuse)};
  if (settings.add_prefix) {
    DecoderStep strip = decoder(DecoderStep::Kind::kStrip);
    strip.content = std::string(1, ' ');
    strip.start = 1;
    data.decoders.push_back(std::move(strip));
  }
  add_by_type(data, [](std::string& content) {
    content = without_space_marks(content);
    return true;
  });
}

void describe_byte_level(TokenizerData& data, std::string_view name) {
  const PatternFacts facts = facts_of(name);
  if (facts.nfc) data.normalizers.push_back(normalizer(NormalizerStep::Kind::kNfc));
  data.ignore_merges = facts.ignore_merges;
  data.pretokenizers = {pretokenizer(PretokenizerStep::Kind::kNamed),
                        pretokenizer(PretokenizerStep::Kind::kByteLevel)};
  data.pretokenizers[0].name = name;
  data.decoders = {decoder(DecoderStep::Kind::kByteLevel)};
  add_by_type(data, [](std::string& content) {
    return content.find_first_not_of(' ') == std::string::npos;
  });
}

void describe_spaced_bpe(TokenizerData& data) {
  data.byte_fallback = true;
  data.fuse_unknown = true;
  data.normalizers = {normalizer(NormalizerStep::Kind::kReplace)};
  data.normalizers[0].pattern.text = std::string(1, ' ');
  data.normalizers[0].content = kSpaceMark;
  data.decoders = {unmark_spaces(), decoder(DecoderStep::Kind::kByteFallback),
                   decoder(DecoderStep::Kind::kFuse)};
  add_by_type(data, [](std::string&) { return false; });
}

bool pattern_adds_bos(std::string_view name) { return facts_of(name).adds_bos; }

void describe_bert(TokenizerData& data, const BertSettings& settings) {
  data.continuing_prefix = "##";
  NormalizerStep step = normalizer(NormalizerStep::Kind::kBert);
  step.clean_text = true;
  step.space_cjk = settings.space_cjk;
  step.strip_accents = settings.strip_accents;
  step.lowercase = settings.lowercase;
  data.normalizers = {std::move(step)};
  data.pretokenizers = {pretokenizer(PretokenizerStep::Kind::kBert)};
  DecoderStep join = decoder(DecoderStep::Kind::kWordPiece);
  join.content = data.continuing_prefix;
  join.cleanup = true;
  data.decoders = {std::move(join)};
  add_by_type(data, [](std::string&) { return false; });
}

}  // namespace ingot
