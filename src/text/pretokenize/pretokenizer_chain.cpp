// PretokenizerChain: builds and runs a tokenizer's pre-tokenization steps, recursing once per step.
#include "text/pretokenize/pretokenizer_chain.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "text/tokenizer/vocabulary.h"

namespace ingot {
namespace {

using StepKind = PretokenizerStep::Kind;

Pattern pattern_of(const TextPattern& pattern, const TokenizerData& data) {
  return pattern.regex ? Pattern::regex(pattern.text, data.file)
                       : Pattern::literal(pattern.text, data.file);
}

}  // namespace

PretokenizerChain::PretokenizerChain(const TokenizerData& data) {
  check_steps(data, data.pretokenizers.size(), "pre-tokenization");
  for (const PretokenizerStep& step : data.pretokenizers) {
    if (byte_level_) {
      add_behind_bytes(step, data);
    } else {
      add(step, data);
    }
  }
}

PretokenizerChain::Step& PretokenizerChain::add_step(Kind kind) {
  Step& step = steps_.emplace_back();
  step.kind = kind;
  return step;
}

PretokenizerChain::Step& PretokenizerChain::add_cut(Kind kind, SplitBehavior behavior,
                                                    bool invert) {
  Step& step = add_step(kind);
  step.behavior = behavior;
  step.invert = invert;
  if (behavior == SplitBehavior::kRemoved) keeps_all_ = false;
  return step;
}

void PretokenizerChain::add_scanner(Scanner scanner, SplitBehavior behavior, bool invert) {
  add_cut(Kind::kScanner, behavior, invert).scanner = scanner;
}

void PretokenizerChain::add_pattern(Pattern pattern, SplitBehavior behavior, bool invert) {
  add_cut(Kind::kPattern, behavior, invert).pattern = std::move(pattern);
}

void PretokenizerChain::add(const PretokenizerStep& step, const TokenizerData& data) {
  using enum SplitBehavior;
  switch (step.kind) {
    case StepKind::kNamed: {
      const std::span<const Scanner> scanners = find_pretokenizer(step.name);
      if (scanners.empty()) {
        throw vocabulary_error(
            data, cat("tokenizer.ggml.pre '", printable(step.name),
                      "' is not supported for byte-level bpe; supported: ", pretokenizer_names()));
      }
      for (const Scanner scanner : scanners) add_scanner(scanner, kIsolated);
      return;
    }
    case StepKind::kByteLevel:
      byte_level_ = true;
      if (step.add_prefix_space) add_step(Kind::kPrefixSpace);
      if (step.use_regex) add_scanner(Scanner::kGpt2, kIsolated);
      return;
    case StepKind::kBert:
      add_scanner(Scanner::kSpace, kRemoved);
      add_scanner(Scanner::kPunctuation, kIsolated);
      return;
    case StepKind::kDelimiter:
      return add_pattern(Pattern::literal(step.pattern.text, data.file), kRemoved, false);
    case StepKind::kDigits:
      return add_scanner(step.individual ? Scanner::kNumber : Scanner::kNumbers, kIsolated);
    case StepKind::kMetaspace:
      add_step(Kind::kMetaspace).data = step;
      steps_.back().pattern = Pattern::literal(step.replacement, data.file);
      return;
    case StepKind::kPunctuation:
      return add_scanner(Scanner::kPunctuation, step.behavior);
    case StepKind::kSplit:
      return add_pattern(pattern_of(step.pattern, data), step.behavior, step.invert);
    case StepKind::kWhitespace:
      return add_scanner(Scanner::kWord, kRemoved, true);
    case StepKind::kWhitespaceSplit:
      return add_scanner(Scanner::kSpace, kRemoved);
  }
}

/// In files, steps behind ByteLevel cut letters of GPT-2's byte alphabet. Pieces are bytes here, so
/// only steps with equal results on bytes are supported.
void PretokenizerChain::add_behind_bytes(const PretokenizerStep& step, const TokenizerData& data) {
  if (step.kind == StepKind::kDigits && !step.individual) {
    return add_scanner(Scanner::kByteNumbers, SplitBehavior::kIsolated);
  }
  if (step.kind == StepKind::kSplit) {
    Pattern pattern = pattern_of(step.pattern, data);
    if (pattern.scanner() == Scanner::kDigitsBy3) {
      return add_pattern(std::move(pattern), step.behavior, step.invert);
    }
  }
  throw vocabulary_error(data, "a step of pre-tokenization behind ByteLevel is not supported");
}

void PretokenizerChain::split_from(std::size_t at, std::string_view text, bool begins_text,
                                   EachPiece each) const {
  if (at == steps_.size()) {
    each(text);
    return;
  }
  const Step& step = steps_[at];
  const auto next = [&](std::string_view piece) {
    split_from(at + 1, piece, begins_text && piece.data() == text.data(), each);
  };
  switch (step.kind) {
    case Kind::kScanner:
      if (at + 1 == steps_.size()) {
        return ingot::split(step.scanner, text, step.behavior, step.invert, each);
      }
      return ingot::split(step.scanner, text, step.behavior, step.invert, next);
    case Kind::kPattern:
      return step.pattern->split(text, step.behavior, step.invert, next);
    case Kind::kMetaspace:
      return split_metaspace(at, text, begins_text, each);
    case Kind::kPrefixSpace:
      if (text.starts_with(' ')) return split_from(at + 1, text, begins_text, each);
      return split_from(at + 1, cat(' ', text), begins_text, each);
  }
}

void PretokenizerChain::split_metaspace(std::size_t at, std::string_view text, bool begins_text,
                                        EachPiece each) const {
  using enum PretokenizerStep::Prepend;
  const Step& step = steps_[at];
  const std::string& mark = step.data.replacement;
  const bool prepends =
      step.data.prepend == kAlways || (step.data.prepend == kFirst && begins_text);
  std::string marked;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t space = std::min(text.find(' ', from), text.size());
    marked += text.substr(from, space - from);
    if (space < text.size()) marked += mark;
    from = space + 1;
  }
  if (prepends && !marked.starts_with(mark)) marked.insert(0, mark);
  const auto next = [&](std::string_view piece) {
    split_from(at + 1, piece, begins_text && piece.data() == marked.data(), each);
  };
  if (!step.data.split) return next(marked);
  step.pattern->split(marked, SplitBehavior::kMergedWithNext, false, next);
}

}  // namespace ingot
