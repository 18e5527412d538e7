// Maps names in GGUF files and regular expressions of tokenizer.json to scanners.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/text.h"
#include "text/pretokenize/pretokenize.h"

namespace ingot {
namespace {

using enum Scanner;

constexpr Scanner kGpt2Chain[] = {kGpt2};
constexpr Scanner kLlama3Chain[] = {kLlama3};
constexpr Scanner kQwen2Chain[] = {kQwen2};
constexpr Scanner kQwen35Chain[] = {kQwen35};
constexpr Scanner kSeedChain[] = {kSeed};
constexpr Scanner kO200kChain[] = {kO200k};
constexpr Scanner kTekkenChain[] = {kTekken};
/// Cuts at each number, then by GPT-2's pattern.
constexpr Scanner kStarcoderChain[] = {kNumber, kGpt2};
constexpr Scanner kFalconChain[] = {kPunctuationRun, kGpt2, kByteNumbers, kDigitsBy3};
/// The pattern that llama.cpp uses for "default".
constexpr Scanner kDefaultChain[] = {kDefaultPunctuation, kGpt2, kNumbers, kDigitsBy3};
constexpr Scanner kDeepseekLlmChain[] = {kNewline,     kDeepseekLetters, kDeepseekPunctuation,
                                         kSpacesAtEnd, kCjkAndBefore,    kNumber};
constexpr Scanner kDeepseekCoderChain[] = {kNewline, kSpacedLetters, kSpacedPunctuation,
                                           kCjkAndBefore, kNumber};
constexpr Scanner kDeepseek3Chain[] = {kNumbersBy3, kCjkAndKana, kDeepseek3};

struct Name {
  std::string_view name;
  std::span<const Scanner> scanners;
};

constexpr Name kNames[] = {
    {"chatglm-bpe", kLlama3Chain},
    {"codeshell", kStarcoderChain},
    {"command-r", kStarcoderChain},
    {"dbrx", kLlama3Chain},
    {"deepseek-coder", kDeepseekCoderChain},
    {"deepseek-llm", kDeepseekLlmChain},
    {"deepseek-r1-qwen", kQwen2Chain},
    {"deepseek-v3", kDeepseek3Chain},
    {"default", kDefaultChain},
    {"exaone", kStarcoderChain},
    {"exaone4", kGpt2Chain},
    {"falcon", kFalconChain},
    {"falcon3", kLlama3Chain},
    {"glm4", kLlama3Chain},
    {"gpt-2", kGpt2Chain},
    {"gpt-4o", kO200kChain},
    {"hunyuan", kQwen2Chain},
    {"hunyuan-dense", kDeepseek3Chain},
    {"llama-bpe", kLlama3Chain},
    {"llama-v3", kLlama3Chain},
    {"llama3", kLlama3Chain},
    {"llama4", kO200kChain},
    {"minerva-7b", kStarcoderChain},
    {"modern-bert", kGpt2Chain},
    {"gpt-neox", kGpt2Chain},
    {"mpt", kGpt2Chain},
    {"olmo", kGpt2Chain},
    {"phi-2", kGpt2Chain},
    {"qwen2", kQwen2Chain},
    {"qwen35", kQwen35Chain},
    {"refact", kStarcoderChain},
    {"roberta-bpe", kGpt2Chain},
    {"seed-coder", kSeedChain},
    {"smaug-bpe", kLlama3Chain},
    {"smollm", kStarcoderChain},
    {"stablelm2", kQwen2Chain},
    {"starcoder", kStarcoderChain},
    {"tekken", kTekkenChain},
};

struct Regex {
  std::string_view regex;
  Scanner scanner;
};

constexpr Regex kRegexes[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", kGpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kLlama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kQwen2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
     R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kQwen35},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1})"
     R"(| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kSeed},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kO200k},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kTekken},
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
     R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kDeepseek3},
    {R"(\p{N}{1,3})", kNumbersBy3},
    {R"([0-9][0-9][0-9])", kDigitsBy3},
    {R"([一-龥぀-ゟ゠-ヿ]+)", kCjkAndKana},
    {R"([一-龥ࠀ-一가-퟿]+)", kCjkAndBefore},
    {R"(\s?\p{L}+)", kSpacedLetters},
    {R"(\s?\p{P}+)", kSpacedPunctuation},
    {R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)", kDeepseekPunctuation},
    {"[\r\n]", kNewline},
    {R"(\p{N})", kNumber},
    {R"(\p{N}+)", kNumbers},
    {R"(\s)", kSpace},
};

}  // namespace

std::span<const Scanner> find_pretokenizer(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kNames), std::end(kNames),
                                      [&](const Name& known) { return known.name == name; });
  return at == std::end(kNames) ? std::span<const Scanner>() : at->scanners;
}

std::string pretokenizer_names() {
  std::string names;
  for (const Name& known : kNames) names += cat(names.empty() ? "" : ", ", known.name);
  return names;
}

std::optional<Scanner> find_scanner(std::string_view regex) {
  const auto* const at = std::find_if(std::begin(kRegexes), std::end(kRegexes),
                                      [&](const Regex& known) { return known.regex == regex; });
  if (at == std::end(kRegexes)) return std::nullopt;
  return at->scanner;
}

}  // namespace ingot
