// Pattern: runs PCRE2 with a limit on steps, which a callout before every item counts.
#include "text/pretokenize/pattern.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "load/pcre2_handles.h"
#include "text/pretokenize/regex_syntax.h"
#include "text/unicode/normalize.h"

namespace ingot {
namespace {

Error pattern_error(std::string_view file, std::string_view source, std::string_view reason) {
  return model_error(file, "tokenizer", cat("pattern '", printable(source), "': ", reason));
}

void check_pattern_size(std::string_view source, std::string_view file) {
  if (source.size() > kPatternBytesMax) {
    throw pattern_error(file, source,
                        cat(source.size(), " bytes are more than ", kPatternBytesMax));
  }
}

Pcre2Code compile(std::string_view source, std::string_view file) {
  const std::string pattern = to_pcre2(source, file);
  const Pcre2CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  std::size_t at = 0;
  Pcre2Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                               PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_AUTO_CALLOUT, &error,
                               &at, context.get()));
  if (!code) throw pattern_error(file, source, cat("not supported: ", pcre2_text(error)));
  return code;
}

/// Counts the steps of all matches in one text.
class Steps {
 public:
  explicit Steps(std::size_t left) : left_(left) {}

  static int count(pcre2_callout_block* block, void* self) {
    return static_cast<Steps*>(self)->take(block->current_position) ? 0 : PCRE2_ERROR_CALLOUT;
  }

 private:
  bool take(std::size_t at) {
    const std::size_t passed = at > last_ ? at - last_ : last_ - at;
    last_ = at;
    if (passed >= left_) return false;
    left_ -= passed + 1;
    return true;
  }

  std::size_t left_;
  std::size_t last_ = 0;
};

/// `text` with a control character in place of each invalid byte of UTF-8. Patterns do not ask for
/// its category.
std::string with_valid_bytes(std::string_view text) {
  std::string valid(text);
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char step = decode_utf8(text.substr(at));
    if (!step.valid) valid.replace(at, step.size, step.size, '\x01');
    at += step.size;
  }
  return valid;
}

}  // namespace

class Pattern::Regex {
 public:
  Regex(std::string_view source, std::string_view file) : code_(compile(source, file)) {}

  void find_all(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> each) const {
    if (is_utf8(text)) return find_in_valid(text, each);
    find_in_valid(with_valid_bytes(text), each);
  }

 private:
  void find_in_valid(std::string_view text,
                     FunctionRef<void(std::size_t, std::size_t)> each) const {
    Steps steps(kRegexStepsMin + kRegexStepsPerByte * text.size());
    const Pcre2MatchContext context(pcre2_match_context_create(nullptr));
    pcre2_set_callout(context.get(), Steps::count, &steps);
    pcre2_set_heap_limit(context.get(), kRegexHeapKiB);
    const Pcre2MatchData data(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    const std::size_t* const match = pcre2_get_ovector_pointer(data.get());
    for (std::size_t at = 0, last = PCRE2_UNSET; at <= text.size();) {
      const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                    text.size(), at, PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) return;
      if (found < 0) {
        throw Error(ErrorCode::kInvalid,
                    cat("the tokenizer's pattern does not come to an end in this text of ",
                        text.size(), " bytes: ", pcre2_text(found)));
      }
      const auto [begin, end] = std::pair(match[0], match[1]);
      if (begin != end || end != last) each(begin, end);
      last = at = end;
      if (begin == end) at += at < text.size() ? decode_utf8(text.substr(at)).size : 1;
    }
  }

  Pcre2Code code_;
};

Pattern::Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Pattern Pattern::literal(std::string_view text, std::string_view file) {
  check_pattern_size(text, file);
  Pattern pattern;
  pattern.literal_ = PieceTrie({{text, 0}});
  return pattern;
}

Pattern Pattern::regex(std::string_view source, std::string_view file) {
  check_pattern_size(source, file);
  Pattern pattern;
  pattern.scanner_ = find_scanner(source);
  if (!pattern.scanner_) pattern.regex_ = std::make_unique<const Regex>(source, file);
  return pattern;
}

void Pattern::find_all(std::string_view text,
                       FunctionRef<void(std::size_t, std::size_t)> each) const {
  if (regex_) return regex_->find_all(text, each);
  if (scanner_) return ingot::find_all(*scanner_, text, each);
  PieceFinder finder(literal_, text);
  PieceTrie::Match match;
  for (std::size_t at = finder.find(0, match); match.size > 0;
       at = finder.find(at + match.size, match)) {
    each(at, at + match.size);
  }
}

void Pattern::split(std::string_view text, SplitBehavior behavior, bool invert,
                    EachPiece each) const {
  if (scanner_) return ingot::split(*scanner_, text, behavior, invert, each);
  MatchCutter cutter(text, behavior, invert, each);
  find_all(text, [&](std::size_t begin, std::size_t end) { cutter.match(begin, end); });
  cutter.finish();
}

std::string Pattern::replace(std::string_view text, std::string_view content,
                             std::size_t bytes_max) const {
  std::string out;
  std::size_t at = 0;
  find_all(text, [&](std::size_t begin, std::size_t end) {
    check_normalized_size(out.size() + (begin - at) + content.size(), bytes_max);
    out += text.substr(at, begin - at);
    out += content;
    at = end;
  });
  check_normalized_size(out.size() + (text.size() - at), bytes_max);
  return out += text.substr(at);
}

}  // namespace ingot
