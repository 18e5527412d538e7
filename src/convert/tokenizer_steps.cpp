// Reads steps of normalisation and pre-tokenization as settings of GGUF, or names what GGUF lacks.
#include "convert/tokenizer_steps.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

using Normalizing = NormalizerStep::Kind;
using Cutting = PretokenizerStep::Kind;
using Prepend = PretokenizerStep::Prepend;

constexpr std::string_view kMark = "\xE2\x96\x81";  // U+2581

/// A step's name in tokenizer.json.
std::string_view name_of(Normalizing kind) {
  switch (kind) {
    case Normalizing::kNfc:
      return "NFC";
    case Normalizing::kNfd:
      return "NFD";
    case Normalizing::kNfkc:
      return "NFKC";
    case Normalizing::kNfkd:
      return "NFKD";
    case Normalizing::kLowercase:
      return "Lowercase";
    case Normalizing::kStripAccents:
      return "StripAccents";
    case Normalizing::kStrip:
      return "Strip";
    case Normalizing::kReplace:
      return "Replace";
    case Normalizing::kPrepend:
      return "Prepend";
    case Normalizing::kBert:
      return "BertNormalizer";
    case Normalizing::kNmt:
      return "Nmt";
    case Normalizing::kPrecompiled:
      return "Precompiled";
    case Normalizing::kSpaces:
      return "Spaces";
  }
  return "?";
}

[[noreturn]] void refuse_step(const TokenizerData& data, const NormalizerStep& step) {
  refuse_tokenizer(
      data,
      cat("GGUF has no key for the step ", name_of(step.kind),
          step.kind == Normalizing::kReplace ? cat(" of '", printable(step.pattern.text), "'") : "",
          " of its normalisation"));
}

[[noreturn]] void refuse_pretokenizer(const TokenizerData& data) {
  refuse_tokenizer(data, "GGUF has no key for its pre-tokenizer");
}

bool is_metaspace(const PretokenizerStep& step) {
  return step.kind == Cutting::kMetaspace && step.replacement == kMark;
}

/// Refuses a model whose pre-tokenizer cuts in front of spaces, if a token has a space behind
/// another character: readers of GGUF do not cut there.
void refuse_inner_spaces(const TokenizerData& data) {
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    const std::string_view token = data.tokens[i];
    const std::size_t mark = token.find(kMark, 1);
    const bool is_text = i < data.types.size() && data.types[i] == TokenType::kNormal;
    if (!is_text || mark == std::string_view::npos) continue;
    refuse_tokenizer(data, cat("its pre-tokenizer cuts in token '", printable(token),
                               "', which GGUF cannot express"));
  }
}

/// Metaspace of a BPE model. GGUF adds a space in front of every text between special tokens, or of
/// none.
void check_metaspace(const TokenizerData& data, const PretokenizerStep& step) {
  if (step.prepend == Prepend::kFirst) {
    refuse_tokenizer(data,
                     "only the first text of an input gets a space in front (prepend_scheme "
                     "first), which GGUF cannot express");
  }
  if (step.prepend == Prepend::kAlways) {
    refuse_tokenizer(data,
                     "texts get a space in front unless they begin with one (prepend_scheme "
                     "always), which GGUF cannot express");
  }
  if (step.split) refuse_inner_spaces(data);
}

/// Whether steps are those to which transformers converts SentencePiece's treatment of spaces:
/// none at the end, and one in place of several.
bool joins_spaces(std::span<const NormalizerStep> steps) {
  return steps.size() == 2 && steps[0].kind == Normalizing::kStrip && !steps[0].left &&
         steps[0].right && steps[1].kind == Normalizing::kReplace && steps[1].pattern.regex &&
         steps[1].pattern.text == " {2,}" && (steps[1].content == kMark || steps[1].content == " ");
}

/// The steps behind the precompiled map, if there is one.
std::span<const NormalizerStep> behind_map(const TokenizerData& data) {
  const std::span<const NormalizerStep> steps(data.normalizers);
  const bool has_map = !steps.empty() && steps[0].kind == Normalizing::kPrecompiled;
  return steps.subspan(has_map ? 1 : 0);
}

NormalizerStep squeezed_spaces() {
  NormalizerStep spaces;
  spaces.kind = Normalizing::kSpaces;
  spaces.add_prefix = spaces.squeeze = true;
  return spaces;
}

}  // namespace

void refuse_tokenizer(const TokenizerData& data, std::string_view reason) {
  throw model_error(data.file, "tokenizer",
                    cat(reason, "; --no-tokenizer leaves the tokenizer out"));
}

std::optional<std::vector<Scanner>> scanners_of(const TokenizerData& data) {
  using Kind = PretokenizerStep::Kind;
  std::vector<Scanner> all;
  for (const PretokenizerStep& step : data.pretokenizers) {
    std::optional<Scanner> scanner;
    if (step.kind == Kind::kNamed) {
      const auto named = find_pretokenizer(step.name);
      if (named.empty()) return std::nullopt;
      all.insert(all.end(), named.begin(), named.end());
      continue;
    }
    if (step.kind == Kind::kByteLevel && !step.add_prefix_space) {
      if (!step.use_regex) continue;
      scanner = Scanner::kGpt2;
    } else if (step.kind == Kind::kDigits) {
      scanner = step.individual ? Scanner::kNumber : Scanner::kNumbers;
    } else if (step.kind == Kind::kSplit && step.pattern.regex && !step.invert &&
               step.behavior == SplitBehavior::kIsolated) {
      scanner = find_scanner(step.pattern.text);
    }
    if (!scanner) return std::nullopt;
    all.push_back(*scanner);
  }
  return all;
}

bool adds_prefix(const TokenizerData& data) {
  bool prefix = false;
  bool has_marks = false;
  for (const NormalizerStep& step : data.normalizers) {
    const bool marks = step.kind == Normalizing::kReplace && !step.pattern.regex &&
                       step.pattern.text == " " && step.content == kMark;
    const bool prepends = step.kind == Normalizing::kPrepend && step.content == kMark;
    const bool spaces = step.kind == Normalizing::kSpaces && !step.squeeze;
    if (!marks && !prepends && !spaces) refuse_step(data, step);
    prefix = prefix || prepends || (spaces && step.add_prefix);
    has_marks = has_marks || marks;
  }
  const auto& steps = data.pretokenizers;
  if (steps.empty()) return prefix;
  if (steps.size() > 1) refuse_pretokenizer(data);
  // Gemma's files cut at spaces, after all of them became U+2581.
  const bool cuts_nothing = steps[0].kind == Cutting::kSplit && !steps[0].pattern.regex &&
                            steps[0].pattern.text == " " && !steps[0].invert;
  if (has_marks && cuts_nothing) return prefix;
  if (!data.normalizers.empty() || !is_metaspace(steps[0])) refuse_pretokenizer(data);
  check_metaspace(data, steps[0]);
  return false;
}

NormalizerStep spaces_of_unigram(const TokenizerData& data) {
  const std::span<const NormalizerStep> steps = behind_map(data);
  const auto& cuts = data.pretokenizers;
  if (steps.size() == 1 && steps[0].kind == Normalizing::kSpaces && cuts.empty()) return steps[0];
  const bool joins = joins_spaces(steps);
  if (!steps.empty() && !joins) refuse_step(data, steps[0]);
  const bool cuts_words = !joins && cuts.size() == 2 && cuts[0].kind == Cutting::kWhitespaceSplit;
  const bool marks = (joins ? cuts.size() == 1 : cuts_words) && is_metaspace(cuts.back()) &&
                     cuts.back().prepend == Prepend::kAlways;
  if (!marks) refuse_pretokenizer(data);
  if (cuts_words || cuts.back().split) refuse_inner_spaces(data);
  return squeezed_spaces();
}

}  // namespace ingot
