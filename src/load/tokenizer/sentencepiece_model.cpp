// Reads SentencePiece's tokenizer.model: decodes its protocol buffer within limits.
#include "load/tokenizer/sentencepiece_model.h"

#include <cmath>
#include <optional>
#include <utility>

#include "base/byte_reader.h"
#include "base/index.h"
#include "base/text.h"
#include "load/config.h"
#include "load/tokenizer/tokenizer_kinds.h"

namespace ingot {

namespace {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// A field of a message: its number, and its value by wire type.
struct Field {
  std::uint64_t number = 0;
  WireType type{};
  std::uint64_t varint = 0;
  float fixed = 0;
  std::span<const std::byte> bytes;
  std::uint64_t offset = 0;
};

/// Reads the fields of a message in any order. Callers skip unknown fields.
class MessageReader {
 public:
  MessageReader(std::span<const std::byte> bytes, const std::string& file, std::uint64_t offset)
      : in_(bytes, file), file_(file), offset_(offset) {}

  /// The next field, or nothing at the end of the message.
  std::optional<Field> next() {
    if (in_.remaining() == 0) return std::nullopt;
    Field field;
    field.offset = offset_ + in_.offset();
    const std::uint64_t key = varint();
    field.number = key >> 3;
    field.type = static_cast<WireType>(key & 7);
    switch (field.type) {
      case WireType::kVarint:
        field.varint = varint();
        return field;
      case WireType::kFixed64:
        need(8);
        in_.bytes(8);
        return field;
      case WireType::kBytes: {
        const std::uint64_t size = varint();
        need(size);
        field.offset = offset_ + in_.offset();
        field.bytes = in_.bytes(size);
        return field;
      }
      case WireType::kFixed32:
        need(4);
        field.fixed = in_.read<float>();
        return field;
    }
    fail(field.offset, cat("field ", field.number, " has the wire type ", key & 7));
  }

  [[noreturn]] void fail(std::uint64_t offset, std::string_view reason) const {
    throw model_error(file_, "sentencepiece model", offset, reason);
  }

 private:
  void need(std::uint64_t size) const {
    if (size <= in_.remaining()) return;
    fail(offset_ + in_.offset(), cat("needs ", size, " bytes, ", in_.remaining(), " are left"));
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      need(1);
      const auto b = in_.read<std::uint8_t>();
      value |= std::uint64_t{b & 0x7FU} << shift;
      if (b < 0x80) return value;
    }
    fail(offset_ + in_.offset(), "a number has more than 10 bytes");
  }

  ByteReader in_;
  const std::string& file_;
  std::uint64_t offset_;  // byte of the file at which the message begins
};

std::string_view text_of(const Field& field) {
  return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
}

/// Reads a ModelProto. Field numbers and defaults are from sentencepiece_model.proto.
class ModelReader {
 public:
  ModelReader(std::span<const std::byte> bytes, const std::string& file)
      : root_(bytes, file, 0), file_(file) {}

  TokenizerData read() {
    data_.file = file_;
    while (const auto field = root_.next()) {
      if (field->number == 1) read_piece(message(*field));
      if (field->number == 2) read_trainer(message(*field));
      if (field->number == 3) read_normalizer(message(*field));
      if (field->number == 5) read_denormalizer(message(*field));
    }
    if (data_.tokens.size() == 0) root_.fail(0, "there are no pieces");
    set_roles();
    describe();
    return std::move(data_);
  }

 private:
  MessageReader message(const Field& field) const {
    if (field.type != WireType::kBytes) {
      root_.fail(field.offset, cat("field ", field.number, " is no message"));
    }
    return {field.bytes, file_, field.offset};
  }

  void read_piece(MessageReader in) {
    std::string_view text;
    float score = 0;
    std::uint64_t type = 1;
    std::uint64_t offset = 0;
    while (const auto field = in.next()) {
      offset = field->offset;
      if (field->number == 1 && field->type == WireType::kBytes) text = text_of(*field);
      if (field->number == 2 && field->type == WireType::kFixed32) score = field->fixed;
      if (field->number == 3 && field->type == WireType::kVarint) type = field->varint;
    }
    const std::size_t id = data_.tokens.size();
    if (id == to_size(kVocabMax)) {
      in.fail(offset, cat("there are more than ", kVocabMax, " pieces"));
    }
    if (type < 1 || type > 6) in.fail(offset, cat("piece ", id, " has the type ", type));
    if (!std::isfinite(score)) in.fail(offset, cat("piece ", id, " has the score ", score));
    data_.tokens.add(text);
    data_.scores.push_back(static_cast<double>(score));
    data_.types.push_back(static_cast<TokenType>(type));
  }

  void read_trainer(MessageReader in) {
    while (const auto field = in.next()) {
      if (field->type != WireType::kVarint) continue;
      const auto value = static_cast<std::int64_t>(field->varint);
      if (field->number == 3) model_type_ = value;
      if (field->number == 35) byte_fallback_ = value != 0;
      if (field->number == 41) bos_ = value;
      if (field->number == 42) eos_ = value;
      if (field->number == 43) padding_ = value;
      if (field->number == 24 && value != 0) {
        in.fail(field->offset, "treat_whitespace_as_suffix is not supported");
      }
    }
  }

  void read_normalizer(MessageReader in) {
    while (const auto field = in.next()) {
      if (field->number == 2 && field->type == WireType::kBytes)
        settings_.charsmap = text_of(*field);
      if (field->type != WireType::kVarint) continue;
      const bool value = field->varint != 0;
      if (field->number == 3) settings_.add_prefix = value;
      if (field->number == 4) settings_.squeeze = value;
      if (field->number == 5 && !value) {
        in.fail(field->offset, "escape_whitespaces = false is not supported");
      }
    }
  }

  void read_denormalizer(MessageReader in) const {
    while (const auto field = in.next()) {
      if (field->number == 2 && !field->bytes.empty()) {
        in.fail(field->offset, "a denormalizer is not supported");
      }
    }
  }

  /// The unknown piece has type kUnknown; BOS, EOS and padding must be control pieces.
  void set_roles() {
    for (std::size_t i = 0; i < data_.types.size(); ++i) {
      if (data_.types[i] != TokenType::kUnknown) continue;
      if (data_.unknown) {
        root_.fail(0, cat("pieces ", *data_.unknown, " and ", i, " are both unknown"));
      }
      data_.unknown = static_cast<std::int32_t>(i);
    }
    if (!data_.unknown) root_.fail(0, "there is no unknown piece");
    data_.bos = role(bos_, "bos");
    data_.eos = role(eos_, "eos");
    data_.padding = role(padding_, "pad");
  }

  std::optional<std::int32_t> role(std::int64_t id, std::string_view name) const {
    if (id < 0) return std::nullopt;
    if (id >= static_cast<std::int64_t>(data_.tokens.size())) {
      root_.fail(0, cat(name, "_id is ", id, ", there are ", data_.tokens.size(), " pieces"));
    }
    const auto at = to_size(id);
    if (data_.types[at] != TokenType::kControl) return std::nullopt;
    return static_cast<std::int32_t>(id);
  }

  void describe() {
    constexpr std::int64_t kUnigram = 1;
    constexpr std::int64_t kBpe = 2;
    if (model_type_ != kUnigram && model_type_ != kBpe) {
      root_.fail(0, cat("model_type is ", model_type_, ", supported are 1 (unigram) and 2 (bpe)"));
    }
    const bool bpe = model_type_ == kBpe;
    data_.model = bpe ? TokenizerModel::kSentencePieceBpe : TokenizerModel::kUnigram;
    describe_sentencepiece(data_, settings_);
    data_.byte_fallback = byte_fallback_;
    if (bpe && data_.bos) data_.frame_begin = {*data_.bos};
    if (!bpe && data_.eos) data_.frame_end = {*data_.eos};
  }

  MessageReader root_;
  const std::string& file_;
  TokenizerData data_;
  SentencePieceSettings settings_{.charsmap = {}, .add_prefix = true, .squeeze = true};
  std::int64_t model_type_ = 1;
  bool byte_fallback_ = false;
  std::int64_t bos_ = 1, eos_ = 2, padding_ = -1;
};

}  // namespace

bool is_sentencepiece_model(std::string_view bytes) {
  // 0A: field 1, a message; in it 0A: field 1, the text; behind that 15: field 2, the score.
  if (bytes.size() < 8 || bytes[0] != '\x0A' || bytes[2] != '\x0A') return false;
  const auto piece = static_cast<unsigned char>(bytes[1]);
  const auto text = static_cast<unsigned char>(bytes[3]);
  if (piece >= 0x80 || text >= 0x80 || bytes.size() < 5U + text) return false;
  return text < piece && bytes[4U + text] == '\x15';
}

TokenizerData read_sentencepiece_model(std::span<const std::byte> bytes, const std::string& file) {
  return ModelReader(bytes, file).read();
}

}  // namespace ingot
