// PCRE2 as an independent judge of patterns, for tests.
#pragma once

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>

#include <memory>
#include <string>
#include <string_view>

namespace ingot {

/// Translates the classes that ECMA-262 and PCRE2 define differently.
inline std::string for_pcre(std::string_view pattern) {
  static const std::string spaces =
      R"(\t-\r \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF)";
  static const std::string others =
      R"(\x00-\x08\x0E-\x1F!-\x9F\u00A1-\u167F\u1681-\u1FFF\u200B-\u2027\u202A-\u202E)"
      R"(\u2030-\u205E\u2060-\u2FFF\u3001-\uD7FF\uE000-\uFEFE\uFF00-\u{10FFFF})";
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's') {
        out += in_class ? spaces : "[" + spaces + "]";
      } else if (next == 'S') {
        out += in_class ? others : "[" + others + "]";
      } else {
        out += c;
        out += next;
      }
      continue;
    }
    if (c == '.' && !in_class) {
      out += R"([^\n\r\u2028\u2029])";
      continue;
    }
    if (c == '[' && in_class) out += '\\';
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

/// A pattern of PCRE2.
class Pcre {
 public:
  explicit Pcre(const std::string& pattern) {
    std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
        pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
    pcre2_set_compile_extra_options(context.get(), PCRE2_EXTRA_ALT_BSUX);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS, &error,
                              &offset, context.get()));
    if (code_ != nullptr) data_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }
  bool is_valid() const { return code_ != nullptr; }
  /// Returns 1, 0, or -1 if the matcher gave up.
  int matches(const std::string& text) const {
    const int rc = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                               0, 0, data_.get(), nullptr);
    return rc >= 0 ? 1 : rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
  }

 private:
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_{nullptr, pcre2_code_free};
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data_{nullptr,
                                                                            pcre2_match_data_free};
};

}  // namespace ingot
