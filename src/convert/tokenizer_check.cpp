// Compares two tokenizers by their values and by what they make of texts.
#include "convert/tokenizer_check.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/pretokenize/added_tokens.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

namespace {

using std::string_view_literals::operator""sv;

/// Texts in which kinds of tokenizers differ: spaces at each place, line breaks, digits,
/// punctuation, letters of one and two code points, scripts with and without spaces, compatible
/// forms, invisible characters, the mark for spaces, ill-formed bytes.
constexpr std::string_view kTexts[] = {
    ""sv,
    " "sv,
    "   "sv,
    "Hello world"sv,
    " in front"sv,
    "behind "sv,
    "a line\n"sv,
    "  two  spaces   three  "sv,
    "a\nb\r\nc\n\n\n\td  \n e"sv,
    "don't we'll I'M it's THEY'RE"sv,
    "x=1234567, 3.14 and 1e-9"sv,
    "!? ... ,;-- (a)[b]{c} <d> \"e\" `f` #g @h_i"sv,
    "int main() {\n    return 0;\n}\n"sv,
    "UPPER lower Mixed camelCase snake_case"sv,
    "na\u00EFve caf\u00E9 \u00DCn\u00EF \u00C7A stra\u00DFe"sv,
    "e\u0301 a\u0327\u0301 o\u0308"sv,
    "\u041F\u0440\u0438\u0432\u0435\u0442, \u043C\u0438\u0440!"sv,
    "\u65E5\u672C\u8A9E\u306E\u6587\u7AE0\u3002\u4E2D\u6587"sv,
    "\uD55C\uAD6D\uC5B4 \u1112\u1161\u11AB"sv,
    "\u0627\u0644\u0639\u0631\u0628\u064A\u0629 \u05E9\u05DC\u05D5\u05DD"sv,
    "\u0939\u093F\u0928\u094D\u0926\u0940 \u0E44\u0E17\u0E22 \u0967\u0968"sv,
    "\U0001F642 \U0001F469\u200D\U0001F467 \U0001F1E9\U0001F1EA"sv,
    "\uFB01 \u2460 \uFF12 \u212B \u00BD \u2026"sv,
    "\u00A0a\u3000b\u2003c"sv,
    "\u200Bz\u00ADy\uFEFFx"sv,
    "\u2581a\u2581b"sv,
    "bad \xFF\xFE \xC3 bytes"sv,
    "a\0b\x01\x7F"sv,
};

/// What a caller may ask of an encoding.
constexpr EncodeOptions kOptions[] = {
    {},
    {.parse_user_defined = true},
    {.add_begin = true, .add_end = true, .parse_special = true},
};

/// The two sides of a merge, with one separator for all.
std::string merge_of(const TokenizerData& data, std::size_t i) {
  std::string merge(data.merges[i]);
  const std::size_t cut = merge.find(data.merge_separator);
  if (cut != std::string::npos) merge[cut] = '\n';
  return merge;
}

std::string differing_values(const TokenizerData& want, const TokenizerData& got) {
  if (got.tokens.size() < want.tokens.size()) return cat(got.tokens.size(), " tokens are left");
  for (std::size_t i = 0; i < want.tokens.size(); ++i) {
    if (want.tokens[i].empty()) continue;
    if (got.types[i] != want.types[i]) return cat("token ", i, " has another type");
    const bool scored = !want.scores.empty() && want.model != TokenizerModel::kBpe;
    if (!scored) continue;
    if (got.scores.empty() ||
        static_cast<float>(got.scores[i]) != static_cast<float>(want.scores[i])) {
      return cat("token ", i, " has another score");
    }
  }
  if (got.model != want.model) return {};  // merges became scores: texts show whether they agree
  for (std::size_t i = 0; i < std::max(want.merges.size(), got.merges.size()); ++i) {
    const bool both = i < want.merges.size() && i < got.merges.size();
    if (!both || merge_of(want, i) != merge_of(got, i)) return cat("merge ", i, " is another one");
  }
  return {};
}

bool decode_alike(const Tokenizer& want, const Tokenizer& got, std::span<const std::int32_t> ids) {
  const DetokenizeOptions all{.keep_control = true};
  return detokenize(got, ids, all) == detokenize(want, ids, all);
}

/// Compares the text of each token, at a text's start and inside.
std::string differing_pieces(const Tokenizer& want, const Tokenizer& got) {
  bool has_parts = false;
  for (std::int32_t id = 0; id < want.size(); ++id) {
    const std::string_view piece = want.piece(id);
    if (piece.empty() && want.type(id) == TokenType::kUnused) continue;
    has_parts = has_parts || !is_utf8(piece);
    const std::int32_t twice[] = {id, id};
    if (got.piece(id) != piece || !decode_alike(want, got, twice)) {
      return cat("token ", id, " is decoded to another text");
    }
  }
  const bool same = !has_parts || got.replaces_every_byte() == want.replaces_every_byte();
  return same ? "" : "ill-formed bytes are decoded to another text";
}

bool encodes_alike(const Tokenizer& want, const Tokenizer& got, std::string_view text) {
  const std::vector<std::int32_t> prompt = want.encode_prompt(text, true);
  const bool plain =
      std::all_of(std::begin(kOptions), std::end(kOptions), [&](const EncodeOptions& options) {
        return got.encode(text, options) == want.encode(text, options);
      });
  return plain && got.encode_prompt(text, true) == prompt && decode_alike(want, got, prompt);
}

std::string differing_texts(const TokenizerData& data, const Tokenizer& want, const Tokenizer& got,
                            const std::vector<AddedToken>& lost) {
  // Wherever the text of one of these stands, whatever is beside it.
  std::vector<AddedToken> plain;
  for (const AddedToken& token : lost) plain.push_back({.content = token.content, .id = token.id});
  const AddedTokens passed_over(plain);
  std::vector<std::string> texts(std::begin(kTexts), std::end(kTexts));
  for (const AddedToken& token : data.added) {
    texts.push_back(cat("a ", token.content, "b ", token.content, token.content));
  }
  for (const std::string& text : texts) {
    const bool compares = passed_over.empty() || AddedTokenFinder(passed_over, text).next().id < 0;
    if (!compares || encodes_alike(want, got, text)) continue;
    return cat("the text '", printable(text), "' becomes other tokens");
  }
  return {};
}

}  // namespace

std::string tokenizer_difference(const TokenizerData& want, const TokenizerData& got,
                                 const std::vector<AddedToken>& lost) {
  if (std::string values = differing_values(want, got); !values.empty()) return values;
  std::vector<std::string> details;
  const auto source = make_tokenizer(want, details);
  const auto file = make_tokenizer(got, details);
  if (file->fim() != source->fim()) return "other tokens stand for filling in the middle";
  if (std::string pieces = differing_pieces(*source, *file); !pieces.empty()) return pieces;
  return differing_texts(want, *source, *file, lost);
}

}  // namespace ingot
