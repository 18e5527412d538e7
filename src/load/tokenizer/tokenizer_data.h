// TokenizerData: a tokenizer's vocabulary and settings, in one form for all kinds of files. Code in
// text/ checks the data and makes a Tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A list of many short strings, stored in one allocation.
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

/// The type of a token. The numbers are GGUF's token_type.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

/// The algorithm that turns a piece of text into tokens.
enum class TokenizerModel : std::uint8_t {
  kBpe,               ///< merges neighbours in the order of `merges`
  kSentencePieceBpe,  ///< merges the neighbours that give the piece with the best score
  kUnigram,           ///< takes the segmentation with the best sum of scores
  kWordPiece,         ///< takes the longest piece, from left to right
};

/// A literal text, or a regular expression, to search for.
struct TextPattern {
  std::string text;
  bool regex = false;

  bool operator==(const TextPattern&) const = default;
};

/// What a pre-tokenizer does with a match of its pattern.
enum class SplitBehavior : std::uint8_t {
  kRemoved,             ///< a match separates pieces and is dropped
  kIsolated,            ///< a match is a piece
  kMergedWithPrevious,  ///< a match ends the piece before it
  kMergedWithNext,      ///< a match begins the piece behind it
  kContiguous,          ///< adjacent matches are one piece
};

/// One step of normalisation. Each kind uses only the members that its comment names.
struct NormalizerStep {
  enum class Kind : std::uint8_t {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kStripAccents,
    kStrip,        ///< removes white space at the start (`left`) and the end (`right`)
    kReplace,      ///< replaces `pattern` by `content`
    kPrepend,      ///< puts `content` in front, unless the text is empty
    kBert,         ///< BERT's steps: `clean_text`, `space_cjk`, `strip_accents`, `lowercase`
    kNmt,          ///< removes control characters; makes all white space spaces
    kPrecompiled,  ///< applies the SentencePiece map in `content`
    kSpaces,       ///< U+2581 becomes a space; `add_prefix` adds a space; `squeeze` joins spaces
  };
  Kind kind{};
  TextPattern pattern;
  std::string content;
  bool left = false, right = false;
  bool clean_text = false, space_cjk = false, strip_accents = false, lowercase = false;
  bool add_prefix = false, squeeze = false;

  bool operator==(const NormalizerStep&) const = default;
};

/// One step of pre-tokenization, which cuts a normalised text into pieces for the model.
struct PretokenizerStep {
  enum class Kind : std::uint8_t {
    kNamed,            ///< cuts by GGUF's pattern `name`: "gpt-2", "llama-bpe", ...
    kByteLevel,        ///< maps bytes to symbols; see `add_prefix_space`, `use_regex`
    kBert,             ///< drops white space, isolates punctuation
    kDelimiter,        ///< drops the one character in `pattern`
    kDigits,           ///< isolates runs of \p{N}, or each character of \p{N} if `individual`
    kMetaspace,        ///< spaces become `replacement`, which begins a piece if `split`
    kPunctuation,      ///< cuts at punctuation by `behavior`
    kSplit,            ///< cuts at `pattern` by `behavior` and `invert`
    kWhitespace,       ///< pieces are the matches of \w+|[^\w\s]+
    kWhitespaceSplit,  ///< drops white space
  };
  /// The texts between added tokens that get kMetaspace's `replacement` in front: none, the first
  /// text of the input, or all texts.
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

/// One step of decoding tokens to text.
struct DecoderStep {
  enum class Kind : std::uint8_t {
    kByteLevel,     ///< letters of GPT-2's byte alphabet become bytes
    kByteFallback,  ///< "<0xHH>" becomes a byte
    kFuse,          ///< joins the tokens: later steps apply to the whole text
    kReplace,       ///< replaces `pattern` by `content`
    kStrip,         ///< removes `content` up to `start` times in front, `stop` times at the end
    kMetaspace,     ///< `content` becomes a space; in the first token with `add_prefix`, nothing
    kWordPiece,     ///< joins words with spaces; if `cleanup`, no space before punctuation
  };
  Kind kind{};
  TextPattern pattern;
  std::string content;
  std::int32_t start = 0, stop = 0;
  bool add_prefix = false, cleanup = false;
};

/// An added token, which is searched for in a text before the text is tokenized.
struct AddedToken {
  std::string content;
  std::int32_t id = -1;
  bool special = false;      ///< a control token such as <|im_end|>, which is not text
  bool single_word = false;  ///< matches only if no word character precedes or follows
  bool lstrip = false;       ///< a match includes white space in front
  bool rstrip = false;       ///< a match includes white space behind
  bool normalized = false;   ///< searched for in the normalised text, not in the original
  bool always = false;       ///< searched for in every text, whatever EncodeOptions say
};

/// A chat template with its name, such as "default" or "tool_use".
struct NamedTemplate {
  std::string name;
  std::string text;
};

/// A tokenizer as read from its files. Ids are within the vocabulary; text/ checks everything
/// else.
struct TokenizerData {
  std::string file;  ///< for error messages
  TokenizerModel model = TokenizerModel::kBpe;

  StringTable tokens;            ///< text of each id in the file's spelling; "" for an unused id
  std::vector<TokenType> types;  ///< type of each token; empty if the file has none
  std::vector<double> scores;    ///< score of each token; empty if the file has none
  StringTable merges;            ///< pairs to merge, best first: left + `merge_separator` + right
  char merge_separator = ' ';
  bool ignore_merges = false;         ///< a whole piece that is a token is taken without merging
  bool byte_fallback = false;         ///< unknown characters become byte tokens, if there are any
  bool fuse_unknown = false;          ///< a run of unknown characters becomes one token
  bool space_marks = false;           ///< tokens spell spaces as U+2581, normalised texts do not
  std::string continuing_prefix;      ///< WordPiece: marks pieces inside a word ("##")
  std::int32_t word_chars_max = 100;  ///< WordPiece: a word of more characters is unknown

  std::vector<NormalizerStep> normalizers;
  std::vector<PretokenizerStep> pretokenizers;
  std::vector<DecoderStep> decoders;
  bool join_with_spaces = false;  ///< decoding puts spaces between tokens
  std::vector<AddedToken> added;
  std::vector<std::int32_t> frame_begin, frame_end;  ///< ids added by `add_special` at each end

  std::optional<std::int32_t> bos, eos, unknown, padding, eot;
  std::optional<std::string> chat_template;
  std::vector<NamedTemplate> named_templates;
  std::vector<std::string> warnings;  ///< assumptions made while reading, a line each
};

/// Limit on steps of normalisation, pre-tokenization or decoding. Real files have up to 6 steps.
constexpr std::size_t kTokenizerStepsMax = 32;
/// Limit on the number of merges: about ten times the longest real list.
constexpr std::size_t kTokenizerMergesMax = std::size_t{1} << 22;

}  // namespace ingot
