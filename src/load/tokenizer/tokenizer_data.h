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

/// The type of a token. The values are those of GGUF's token_type.
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
  kBpe,               ///< merges adjacent pieces, in the order of `merges`
  kSentencePieceBpe,  ///< merges the adjacent pieces that form the token with the best score
  kUnigram,           ///< chooses the segmentation with the highest sum of scores
  kWordPiece,         ///< takes the longest token that matches, from left to right
};

/// A literal text or a regular expression to search for.
struct TextPattern {
  std::string text;
  bool regex = false;

  bool operator==(const TextPattern&) const = default;
};

/// What a pre-tokenizer does with a match of its pattern.
enum class SplitBehavior : std::uint8_t {
  kRemoved,             ///< drops each match; the texts between the matches are pieces
  kIsolated,            ///< each match is a piece of its own
  kMergedWithPrevious,  ///< each match joins the piece before it
  kMergedWithNext,      ///< each match joins the piece after it
  kContiguous,          ///< adjacent matches form one piece
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
    kStrip,        ///< removes white space at the start (if `left`) and at the end (if `right`)
    kReplace,      ///< replaces matches of `pattern` with `content`
    kPrepend,      ///< puts `content` before the text, unless the text is empty
    kBert,         ///< applies each BERT step whose member (`clean_text`, `space_cjk`, ...) is true
    kNmt,          ///< removes control characters; replaces white space with spaces
    kPrecompiled,  ///< applies the SentencePiece map in `content`
    kSpaces,       ///< turns U+2581 into spaces; `add_prefix` adds a space, `squeeze` joins spaces
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
    kNamed,            ///< cuts with the pattern that GGUF calls `name`: "gpt-2", "llama-bpe", ...
    kByteLevel,        ///< cuts with GPT-2's pattern if `use_regex`; then maps bytes to symbols
    kBert,             ///< drops white space, isolates punctuation
    kDelimiter,        ///< cuts at the character in `pattern`, and drops this character
    kDigits,           ///< isolates runs of \p{N}, or single characters of \p{N} if `individual`
    kMetaspace,        ///< replaces spaces with `replacement`, which begins a piece if `split`
    kPunctuation,      ///< cuts at punctuation, as `behavior` says
    kSplit,            ///< cuts at matches of `pattern`, as `behavior` and `invert` say
    kWhitespace,       ///< takes the matches of \w+|[^\w\s]+ as pieces
    kWhitespaceSplit,  ///< cuts at white space, and drops the white space
  };
  /// Which texts get kMetaspace's `replacement` in front: none, the first text of the input, or
  /// all. A text ends where an added token begins.
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
    kByteLevel,     ///< turns letters of GPT-2's byte alphabet into bytes
    kByteFallback,  ///< turns "<0xHH>" into a byte
    kFuse,          ///< joins the tokens, so that later steps apply to the whole text
    kReplace,       ///< replaces matches of `pattern` with `content`
    kStrip,         ///< drops `content` up to `start` times in front and `stop` times at the end
    kMetaspace,     ///< turns `content` into a space; `add_prefix`: the first token drops `content`
    kWordPiece,     ///< joins words with spaces; if `cleanup`, omits spaces before punctuation
  };
  Kind kind{};
  TextPattern pattern;
  std::string content;
  std::int32_t start = 0, stop = 0;
  bool add_prefix = false, cleanup = false;
};

/// An added token. The tokenizer finds added tokens in a text before it applies its model.
struct AddedToken {
  std::string content;
  std::int32_t id = -1;
  bool special = false;      ///< a control token such as <|im_end|>, which is not text
  bool single_word = false;  ///< matches only if no word character is next to the match
  bool lstrip = false;       ///< a match includes the white space before the token
  bool rstrip = false;       ///< a match includes the white space after the token
  bool normalized = false;   ///< true: searched in the normalised text; false: in the original text
  bool always = false;       ///< found in every text, whatever EncodeOptions say
};

/// A chat template with its name, such as "tool_use".
struct NamedTemplate {
  std::string name;
  std::string text;
};

/// The chat templates of a model.
///
/// Source: Hugging Face's transformers, get_chat_template: "default" is for all chats, but
/// "tool_use" for chats with tools.
struct TemplateSet {
  std::optional<std::string> standard;  ///< the template named "default", or without a name
  std::vector<NamedTemplate> named;     ///< all others; each name occurs once, and is not "default"

  /// Adds a template. The first text of each name stays.
  void add(std::string_view name, std::string text);
};

/// Limit on the number of named templates. Real models have up to 3.
inline constexpr std::size_t kNamedTemplatesMax = 64;

/// The tokens of fill-in-the-middle that a file states. Other files have tokens with known texts.
struct FimIds {
  std::optional<std::int32_t> prefix{}, suffix{}, middle{};  ///< stand before each of these texts
  std::optional<std::int32_t> padding{};
  std::optional<std::int32_t> repository{};  ///< stands before a repository's name
  std::optional<std::int32_t> file{};        ///< stands before a file's name

  bool operator==(const FimIds&) const = default;
};

/// An element of a pair of texts as one sequence: a special token, or one of the two texts.
struct PairPart {
  enum class Kind : std::uint8_t { kToken, kFirst, kSecond };
  Kind kind = Kind::kToken;
  std::int32_t id = 0;    ///< the special token's id
  std::int32_t type = 0;  ///< token type of the special token, or of all tokens of the text

  bool operator==(const PairPart&) const = default;
};

/// Returns the form of BERT's pairs: `begin`, the first text, `end`, the second text, `end`. The
/// second text and the last token have token type 1.
std::vector<PairPart> bert_pair(std::int32_t begin, std::int32_t end);
/// Returns the form of RoBERTa's pairs: `begin`, the first text, `end`, `end`, the second text,
/// `end`. All token types are 0.
std::vector<PairPart> roberta_pair(std::int32_t begin, std::int32_t end);

/// A tokenizer as read from its files. The loader checks only that ids are within the vocabulary;
/// code in text/ checks everything else.
struct TokenizerData {
  std::string file;  ///< the file's name for error messages
  TokenizerModel model = TokenizerModel::kBpe;

  StringTable tokens;            ///< text of each id in the file's spelling; "" for an unused id
  std::vector<TokenType> types;  ///< type of each token; empty if the file has none
  std::vector<double> scores;    ///< score of each token; empty if the file has none
  StringTable merges;            ///< pairs to merge, best first: left + `merge_separator` + right
  char merge_separator = ' ';
  bool ignore_merges = false;         ///< BPE keeps a piece whole if the whole piece is a token
  bool byte_fallback = false;         ///< unknown characters become byte tokens, if these exist
  bool fuse_unknown = false;          ///< a run of unknown characters becomes one token
  bool space_marks = false;           ///< tokens have U+2581 where normalised texts have spaces
  std::string continuing_prefix;      ///< WordPiece: prefix of pieces inside a word ("##")
  std::int32_t word_chars_max = 100;  ///< WordPiece: a word with more characters is unknown

  std::vector<NormalizerStep> normalizers;
  std::vector<PretokenizerStep> pretokenizers;
  std::vector<DecoderStep> decoders;
  bool join_with_spaces = false;  ///< whether decoding puts spaces between tokens
  std::vector<AddedToken> added;
  std::vector<std::int32_t> frame_begin, frame_end;  ///< ids that stand around a whole text
  /// A pair of texts, in order; it has each text once. Empty: the file has no form for pairs.
  std::vector<PairPart> pair;

  std::optional<std::int32_t> bos, eos, unknown, padding;
  std::optional<std::int32_t> eot, eom;  ///< ends of a turn and of a message, if the file has them
  FimIds fim;
  TemplateSet templates;
  std::vector<std::string>
      warnings;                      ///< lines on which a user can act: assumptions, ignored values
  std::vector<std::string> details;  ///< lines on which no user can act, for `ingot inspect`
};

/// Limit on the steps of normalisation, pre-tokenization or decoding. Real files have up to 6.
constexpr std::size_t kTokenizerStepsMax = 32;
/// Limit on the number of merges: about ten times the length of the longest real list.
constexpr std::size_t kTokenizerMergesMax = std::size_t{1} << 22;

}  // namespace ingot
