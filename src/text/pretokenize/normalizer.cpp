// Normalizer: builds and runs a tokenizer's normalisation steps.
#include "text/pretokenize/normalizer.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "load/tokenizer/tokenizer_kinds.h"
#include "text/tokenizer/vocabulary.h"
#include "text/unicode/normalize.h"

namespace ingot {
namespace {

using Kind = NormalizerStep::Kind;

/// Runs NormalizerStep::Kind::kSpaces, SentencePiece's treatment of spaces.
std::string normalize_spaces(std::string_view text, const NormalizerStep& step) {
  if (text.empty()) return {};
  std::string out(step.add_prefix ? " " : "");
  out += without_space_marks(text);
  if (!step.squeeze) return out;
  // Leaves no space in front except the prefix, none at the end, one between words.
  const auto both_spaces = [](char a, char b) { return a == ' ' && b == ' '; };
  out.erase(std::unique(out.begin(), out.end(), both_spaces), out.end());
  if (out.ends_with(' ')) out.pop_back();
  if (!step.add_prefix && out.starts_with(' ')) out.erase(out.begin());
  return out;
}

}  // namespace

Normalizer::Normalizer(const TokenizerData& data) {
  check_steps(data, data.normalizers.size(), "normalisation");
  for (const NormalizerStep& step : data.normalizers) {
    Step& added = steps_.emplace_back();
    added.data = step;
    if (step.kind == Kind::kReplace) {
      added.pattern = step.pattern.regex ? Pattern::regex(step.pattern.text, data.file)
                                         : Pattern::literal(step.pattern.text, data.file);
    }
    if (step.kind == Kind::kPrecompiled) {
      added.charsmap = Charsmap::parse(step.content, data.file);
      added.data.content.clear();
    }
  }
}

std::string Normalizer::normalize(std::string_view text) const {
  const std::size_t bytes_max = normalized_bytes_max(text.size());
  std::string out(text);
  for (const Step& step : steps_) out = apply(step, out, bytes_max);
  return out;
}

std::string Normalizer::apply(const Step& step, std::string_view text,
                              std::size_t bytes_max) const {
  const NormalizerStep& data = step.data;
  switch (data.kind) {
    case Kind::kNfc:
      return to_normal_form(text, NormalForm::kNfc);
    case Kind::kNfd:
      return to_normal_form(text, NormalForm::kNfd);
    case Kind::kNfkc:
      return to_normal_form(text, NormalForm::kNfkc);
    case Kind::kNfkd:
      return to_normal_form(text, NormalForm::kNfkd);
    case Kind::kLowercase:
      return to_lower(text);
    case Kind::kStripAccents:
      return strip_marks(text);
    case Kind::kStrip:
      return std::string(strip(text, data.left, data.right));
    case Kind::kReplace:
      return step.pattern->replace(text, data.content, bytes_max);
    case Kind::kPrepend: {
      if (text.empty()) return {};
      check_normalized_size(text.size() + data.content.size(), bytes_max);
      return cat(data.content, text);
    }
    case Kind::kBert:
      return bert_normalize(text, {.clean_text = data.clean_text,
                                   .space_cjk = data.space_cjk,
                                   .strip_accents = data.strip_accents,
                                   .lowercase = data.lowercase});
    case Kind::kNmt:
      return nmt_normalize(text);
    case Kind::kPrecompiled:
      // One character can legitimately become 33 bytes.
      return step.charsmap.normalize(text, std::max(bytes_max, charsmap_bytes_max(text.size())));
    case Kind::kSpaces:
      return normalize_spaces(text, data);
  }
  return std::string(text);
}

std::optional<std::size_t> Normalizer::shrink_max() const {
  // Composing makes UTF-8 at most three times shorter (Unicode's FAQ on normalisation), a space is
  // a third of U+2581.
  constexpr std::size_t kComposed = 3;
  std::size_t factor = 1;
  for (const Step& step : steps_) {
    const NormalizerStep& data = step.data;
    if (data.kind == Kind::kNfc || (data.kind == Kind::kSpaces && !data.squeeze)) {
      factor *= kComposed;
    } else if (data.kind == Kind::kReplace) {
      if (data.pattern.regex || data.content.size() < data.pattern.text.size()) return std::nullopt;
    } else if (data.kind != Kind::kPrepend) {
      return std::nullopt;
    }
  }
  return factor;
}

}  // namespace ingot
