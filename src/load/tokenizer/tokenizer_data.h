// TokenizerData: a tokenizer as its files describe it, in one form for all kinds of files. Shapes
// are checked; text/ checks the meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// Many short strings in one allocation, in order.
class StringTable {
 public:
  void add(std::string_view s) {
    bytes_ += s;
    ends_.push_back(bytes_.size());
  }
  void reserve(std::size_t strings, std::size_t bytes) {
    ends_.reserve(strings);
    bytes_.reserve(bytes);
  }
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

/// The use of a piece; the values are GGUF's token_type.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

/// How a piece of text becomes ids.
enum class TokenizerModel : std::uint8_t {
  kBpe,               ///< neighbours merge in the order of `merges`
  kSentencePieceBpe,  ///< neighbours merge whose joined piece has the best score
  kUnigram,           ///< the segmentation with the best sum of scores
  kWordPiece,         ///< the longest piece first
};

/// A literal text or a regular expression that a component searches for.
struct TextPattern {
  std::string text;
  bool regex = false;

  bool operator==(const TextPattern&) const = default;
};

/// How a pre-tokenizer treats the matches of its pattern.
enum class SplitBehavior : std::uint8_t {
  kRemoved,             ///< they separate pieces and belong to none
  kIsolated,            ///< each is a piece
  kMergedWithPrevious,  ///< each ends the piece before it
  kMergedWithNext,      ///< each begins the piece behind it
  kContiguous,          ///< neighbouring ones are one piece
};

/// One step of normalisation. Which members count depends on the kind.
struct NormalizerStep {
  enum class Kind : std::uint8_t {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kStripAccents,
    kStrip,        ///< white space: left, right
    kReplace,      ///< pattern by content
    kPrepend,      ///< content in front of what is not empty
    kBert,         ///< clean_text, space_cjk, strip_accents, lowercase
    kNmt,          ///< control characters away, odd spaces to spaces
    kPrecompiled,  ///< content: a SentencePiece map
    kSpaces,       ///< U+2581 to a space; add_prefix: one in front; squeeze: one between words
  };
  Kind kind{};
  TextPattern pattern;
  std::string content;
  bool left = false, right = false;
  bool clean_text = false, space_cjk = false, strip_accents = false, lowercase = false;
  bool add_prefix = false, squeeze = false;

  bool operator==(const NormalizerStep&) const = default;
};

/// One step of cutting a normalised text into the pieces that the model sees one by one.
struct PretokenizerStep {
  enum class Kind : std::uint8_t {
    kNamed,            ///< name: as GGUF files call a pattern, "gpt-2", "llama-bpe", ...
    kByteLevel,        ///< bytes are symbols; add_prefix_space; use_regex: GPT-2's pattern
    kBert,             ///< white space separates, punctuation is isolated
    kDelimiter,        ///< pattern: one character that separates
    kDigits,           ///< runs of numbers are isolated; individual: each one
    kMetaspace,        ///< spaces become `replacement`, which begins pieces where `split`
    kPunctuation,      ///< behavior
    kSplit,            ///< pattern, behavior, invert
    kWhitespace,       ///< \w+|[^\w\s]+
    kWhitespaceSplit,  ///< white space separates
  };
  /// When kMetaspace puts its replacement in front: of no piece, of the one that begins the text,
  /// of all.
  enum class Prepend : std::uint8_t { kNever, kFirst, kAlways };
  Kind kind{};
  std::string name;
  TextPattern pattern;
  SplitBehavior behavior{};
  bool invert = false;
  bool individual = false;
  bool add_prefix_space = false, use_regex = false;
  std::string replacement;
  Prepend prepend{};
  bool split = false;
};

/// One step from tokens to text.
struct DecoderStep {
  enum class Kind : std::uint8_t {
    kByteLevel,     ///< letters of the byte alphabet to bytes
    kByteFallback,  ///< "<0xHH>" to its byte
    kFuse,          ///< what follows sees the whole text
    kReplace,       ///< pattern by content
    kStrip,         ///< up to `start` times content in front, `stop` times behind
    kMetaspace,     ///< content to spaces; add_prefix: none in front of the text
    kWordPiece,     ///< spaces but before `content`; cleanup: none before punctuation
  };
  Kind kind{};
  TextPattern pattern;
  std::string content;
  std::int32_t start = 0, stop = 0;
  bool add_prefix = false, cleanup = false;
};

/// A token that is looked for in texts as it is.
struct AddedToken {
  std::string content;
  std::int32_t id = -1;
  bool special = false;      ///< a control token, not text
  bool single_word = false;  ///< only where no word character stands beside it
  bool lstrip = false;       ///< takes the white space in front of it along
  bool rstrip = false;       ///< takes the white space behind it along
  bool normalized = false;   ///< is looked for in the normalised text
  bool always = false;       ///< is text: looked for also where nothing is to be parsed
};

/// A chat template that is chosen by name.
struct NamedTemplate {
  std::string name;
  std::string text;
};

/// A tokenizer, whatever files it came from. Ids are within the vocabulary; everything else is
/// checked by text/.
struct TokenizerData {
  std::string file;  ///< for error messages
  TokenizerModel model = TokenizerModel::kBpe;

  StringTable tokens;            ///< by id, as the model spells them; empty for an id without one
  std::vector<TokenType> types;  ///< one a token; empty when the file has none
  std::vector<double> scores;    ///< one a token; empty when the file has none
  StringTable merges;            ///< left, `merge_separator`, right; best first
  char merge_separator = ' ';
  bool ignore_merges = false;         ///< a piece that is a token is not merged
  bool byte_fallback = false;         ///< unknown characters become byte tokens where there are any
  bool fuse_unknown = false;          ///< neighbouring unknown characters become one token
  bool space_marks = false;           ///< tokens spell spaces as U+2581, normalised texts do not
  std::string continuing_prefix;      ///< WordPiece: in front of pieces that do not begin a word
  std::int32_t word_chars_max = 100;  ///< WordPiece: a longer word is unknown

  std::vector<NormalizerStep> normalizers;
  std::vector<PretokenizerStep> pretokenizers;
  std::vector<DecoderStep> decoders;
  bool join_with_spaces = false;  ///< decoding without steps puts spaces between tokens
  std::vector<AddedToken> added;
  std::vector<std::int32_t> frame_begin, frame_end;  ///< around a text that is framed

  std::optional<std::int32_t> bos, eos, unknown, padding, eot;
  std::optional<std::string> chat_template;
  std::vector<NamedTemplate> named_templates;
  std::vector<std::string> warnings;  ///< what was assumed while reading, a line each
};

/// Most steps of normalisation, of pre-tokenization and of decoding; real files have up to 6.
constexpr std::size_t kTokenizerStepsMax = 32;

}  // namespace ingot
