// Session file head: writes and parses model, request fields, tokens and block flags.
#include "runtime/session/session_head.h"

#include <cstring>

#include "base/checked.h"
#include "runtime/request_fields.h"

namespace ingot {

namespace {

constexpr std::string_view kMagic = "ingotses";
constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kNumericsBytesMax = 64;
constexpr std::uint32_t kKvHeadsMax = 1 << 16;
/// The most layers in a head, more than any model has. It bounds the number of groups.
constexpr std::size_t kLayersMax = 4096;
/// The most groups of layers: PrefixIndex supports no more.
constexpr std::size_t kGroupsMax = 64;

/// Appends little-endian values to a string of bytes.
class HeadWriter {
 public:
  template <class T>
  requires(std::integral<T> || std::floating_point<T>) void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  void put_ids(std::span<const std::int32_t> ids) {
    put(static_cast<std::uint32_t>(ids.size()));
    bytes_.append(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
  }
  void put_raw(std::string_view text) { bytes_ += text; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

void put_model(HeadWriter& head, const SessionModel& m) {
  head.put(static_cast<std::uint32_t>(m.order_version));
  head.put_text(m.numerics);
  for (const std::uint64_t half : m.weights) head.put(half);
  head.put(static_cast<std::uint32_t>(m.kv_type));
  head.put(static_cast<std::uint32_t>(m.kv_heads));
  head.put(static_cast<std::uint32_t>(m.head_dim));
  head.put_ids(m.windows);
  for (const SessionShape& s : m.shapes) {
    head.put(static_cast<std::uint32_t>(s.kv_heads));
    head.put(static_cast<std::uint32_t>(s.head_dim));
    head.put(static_cast<std::uint32_t>(s.value_dim));
    head.put(s.source);
  }
}

/// The request fields of a session as a JSON object.
std::string fields_text(const Session& session) {
  const Request request = request_of(session);
  Json j = Json::object();
  for (const RequestField& field : request_fields()) {
    if ((field.places & place::kSession) == 0) continue;
    j.set(std::string(field.name), field_json(field, request));
  }
  return j.dump();
}

/// Parses and checks the bytes that HeadWriter writes.
class HeadReader {
 public:
  explicit HeadReader(ByteReader& in) : in_(in) {}

  /// Parses the whole head in order.
  SessionBlocks read(Session& session) {
    magic();
    model(session.model);
    fields(session);
    tokens(session);
    return blocks(session.tokens.size(), session_groups(session.model).size());
  }

 private:
  void magic() {
    if (in_.remaining() < kMagic.size() || in_.text(kMagic.size()) != kMagic) {
      in_.fail_at(0, "it is not a session of ingot");
    }
    const std::uint64_t at = in_.offset();
    const auto version = in_.read<std::uint32_t>();
    if (version != kVersion) {
      in_.fail_at(at, cat("it has version ", version, ", this program reads ", kVersion));
    }
  }

  void model(SessionModel& m) {
    std::uint64_t at = in_.offset();
    const auto order = in_.read<std::uint32_t>();
    if (order != kOrderVersion) {
      in_.fail_at(
          at, cat("it was made with order version ", order, ", this program has ", kOrderVersion));
    }
    m.numerics = text(kNumericsBytesMax);
    for (std::uint64_t& half : m.weights) half = in_.read<std::uint64_t>();
    m.kv_type = static_cast<KvType>(number(0, static_cast<std::uint32_t>(KvType::kInt8)));
    m.kv_heads = static_cast<std::int32_t>(number(0, kKvHeadsMax));
    const bool differ = m.kv_heads == 0;
    m.head_dim = static_cast<std::int32_t>(number(differ ? 0 : 1, differ ? 0 : kHeadDimLimit));
    at = in_.offset();
    m.windows = ids();
    if (m.windows.size() > kLayersMax) in_.fail_at(at, cat(m.windows.size(), " layers"));
    for (std::size_t i = 0; differ && i < m.windows.size(); ++i) m.shapes.push_back(shape(i));
  }

  /// Parses the shape of layer `i`, which may read an earlier layer's keys and values.
  SessionShape shape(std::size_t i) {
    SessionShape s;
    s.kv_heads = static_cast<std::int32_t>(number(1, kKvHeadsMax));
    s.head_dim = static_cast<std::int32_t>(number(1, kHeadDimLimit));
    s.value_dim = static_cast<std::int32_t>(number(0, kHeadDimLimit));
    const std::uint64_t at = in_.offset();
    s.source = in_.read<std::int32_t>();
    if (s.source < -1 || s.source >= static_cast<std::int32_t>(i)) {
      in_.fail_at(at, cat("layer ", i, " reads layer ", s.source));
    }
    return s;
  }

  /// Parses the request fields. Missing fields keep their defaults.
  void fields(Session& session) {
    in_.section("fields");
    const std::string json = text(in_.remaining());
    const std::uint64_t at = in_.offset() - json.size();
    const Json all = parse_json(json, in_.file(), "fields", {}, at);
    if (all.as_object() == nullptr) in_.fail_at(at, cat("they are ", all.kind()));
    Request request;
    for (const auto& [name, value] : *all.as_object()) {
      const RequestField* field = find_field(name, place::kSession);
      if (field == nullptr) in_.fail_at(at, cat("no request has ", printable(name)));
      try {
        set_field(request, *field, value, place::kSession);
      } catch (const Error& error) {
        in_.fail_at(at, error.message());
      }
    }
    session.sampling = std::move(request.sampling);
    session.stop = std::move(request.stop);
    session.ignore_eos = request.ignore_eos;
  }

  void tokens(Session& session) {
    in_.section("tokens");
    const std::uint64_t at = in_.offset();
    session.tokens = ids();
    if (session.tokens.empty()) in_.fail_at(at, "it has no tokens");
    session.generated = number(0, static_cast<std::uint32_t>(session.tokens.size()));
  }

  /// Parses the flags of the blocks that the file contains.
  SessionBlocks blocks(std::size_t tokens, std::size_t groups) {
    in_.section("blocks");
    if (groups > kGroupsMax) in_.fail(cat(groups, " different windows, at most ", kGroupsMax));
    SessionBlocks blocks;
    const auto most = static_cast<std::uint32_t>(groups > 0 ? tokens / kBlockTokens : 0);
    blocks.blocks = number(0, most);
    const auto flags =
        (Checked(static_cast<std::uint64_t>(blocks.blocks)) * groups).at_most(in_.remaining());
    if (!flags) in_.fail(cat(blocks.blocks, " blocks are more than the file holds"));
    for (const std::byte flag : in_.bytes(*flags)) {
      if (flag > std::byte{1}) in_.fail("the flag of a block is not 0 or 1");
      blocks.there.push_back(static_cast<std::uint8_t>(flag));
    }
    return blocks;
  }

  std::uint32_t number(std::uint32_t low, std::uint32_t high) {
    const std::uint64_t at = in_.offset();
    const auto value = in_.read<std::uint32_t>();
    if (value >= low && value <= high) return value;
    in_.fail_at(at, cat(value, " is not in [", low, ", ", high, "]"));
  }
  /// Parses a number of entries, each of at least `bytes` bytes.
  std::uint32_t count(std::uint64_t bytes) {
    const std::uint64_t at = in_.offset();
    const auto entries = in_.read<std::uint32_t>();
    if ((Checked(entries) * bytes).at_most(in_.remaining())) return entries;
    in_.fail_at(at, cat(entries, " entries are more than the file holds"));
  }
  std::string text(std::uint64_t bytes_max) {
    const std::uint64_t at = in_.offset();
    const auto bytes = in_.read<std::uint32_t>();
    if (bytes > bytes_max) in_.fail_at(at, cat("a text has ", bytes, " bytes"));
    return std::string(in_.text(bytes));
  }
  /// Parses a list of numbers from 0 on.
  std::vector<std::int32_t> ids() {
    const std::uint32_t entries = count(sizeof(std::int32_t));
    const std::uint64_t at = in_.offset();
    const auto raw = in_.bytes(std::uint64_t{entries} * sizeof(std::int32_t));
    std::vector<std::int32_t> ids(entries);
    if (entries > 0) std::memcpy(ids.data(), raw.data(), raw.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0) in_.fail_at(at + i * sizeof(std::int32_t), cat(ids[i], " is less than 0"));
    }
    return ids;
  }

  ByteReader& in_;
};

}  // namespace

std::string format_session_head(const Session& session, const SessionBlocks& blocks) {
  HeadWriter head;
  head.put_raw(kMagic);
  head.put(kVersion);
  put_model(head, session.model);
  head.put_text(fields_text(session));
  head.put_ids(session.tokens);
  head.put(static_cast<std::uint32_t>(session.generated));
  head.put(static_cast<std::uint32_t>(blocks.blocks));
  for (const std::uint8_t flag : blocks.there) head.put(flag);
  return head.take();
}

SessionBlocks parse_session_head(ByteReader& in, Session& session) {
  return HeadReader(in).read(session);
}

}  // namespace ingot
