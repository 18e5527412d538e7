// SessionFile: writes session files, and maps and checks them.
#include "runtime/session/session_file.h"

#include <array>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/index.h"
#include "base/output_file.h"

namespace ingot {

namespace {

/// A checksum over consecutive pieces.
class ChainedSum {
 public:
  void add(std::span<const std::byte> piece) {
    const std::array<std::uint64_t, 2> both{sum_, checksum(piece)};
    sum_ = checksum(std::as_bytes(std::span(both)));
  }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace

void write_session(
    const std::string& path, const Session& session, const SessionBlocks& blocks,
    FunctionRef<void(std::int64_t block, std::int32_t group, std::span<std::byte> out)> read) {
  OutputFile out(path);
  ChainedSum sum;
  const auto write = [&](std::span<const std::byte> piece) {
    out.write(piece);
    sum.add(piece);
  };
  const std::string head = format_session_head(session, blocks);
  write(std::as_bytes(std::span(head)));
  const std::vector<SessionGroup> groups = session_groups(session.model);
  std::vector<std::byte> rows;
  for (std::size_t i = 0; i < blocks.there.size(); ++i) {
    if (blocks.there[i] == 0) continue;
    const std::size_t g = i % groups.size();
    rows.resize(to_size(groups[g].block_bytes));
    read(static_cast<std::int64_t>(i / groups.size()), static_cast<std::int32_t>(g), rows);
    write(rows);
  }
  const std::uint64_t value = sum.value();
  out.write(std::as_bytes(std::span(&value, 1)));
  out.commit();
}

SessionFile::SessionFile(const std::string& path) : name_(path), mapped_(true), file_(File(path)) {
  parse(file_.bytes());
  expect_unchanged();
}

SessionFile::SessionFile(std::span<const std::byte> bytes, std::string name)
    : name_(std::move(name)) {
  parse(bytes);
}

void SessionFile::parse(std::span<const std::byte> bytes) {
  ByteReader in(bytes, name_);
  const SessionBlocks blocks = parse_session_head(in, session_);
  const std::vector<SessionGroup> groups = session_groups(session_.model);
  blocks_ = blocks.blocks;
  in.section("keys and values");
  ChainedSum sum;
  sum.add(bytes.first(in.offset()));
  payload_.resize(blocks.there.size());
  for (std::size_t i = 0; i < payload_.size(); ++i) {
    if (blocks.there[i] == 0) continue;
    const std::int64_t size = groups[i % groups.size()].block_bytes;
    payload_[i] = in.bytes(static_cast<std::uint64_t>(size));
    sum.add(payload_[i]);
  }
  in.section("checksum");
  if (in.read<std::uint64_t>() != sum.value()) in.fail_at(in.offset() - 8, "the file is damaged");
  if (in.remaining() > 0) in.fail(cat(in.remaining(), " bytes behind the end"));
}

std::span<const std::byte> SessionFile::block(std::int64_t i, std::int32_t g) const {
  if (i >= blocks_) return {};
  const std::size_t groups = payload_.size() / to_size(blocks_);
  return payload_[to_size(i) * groups + to_size(g)];
}

void SessionFile::expect_unchanged() const {
  if (mapped_) file_.expect_unchanged();
}

void SessionFile::require_session(const RequestLimits& limits) const {
  try {
    check_session(session_, limits);
  } catch (const Error& error) {
    throw model_error(name_, "session", error.message());
  }
}

void SessionFile::require_model(const SessionModel& mine) const {
  const SessionModel& its = session_.model;
  const auto refuse = [&](std::string_view reason) { throw model_error(name_, "header", reason); };
  if (its.numerics != mine.numerics) {
    refuse(cat("it was made with numerics ", printable(its.numerics), ", this program has ",
               mine.numerics));
  }
  if (its.kv_heads != mine.kv_heads || its.head_dim != mine.head_dim ||
      its.windows != mine.windows || its.shapes != mine.shapes) {
    refuse(cat("it belongs to another model: ", its.windows.size(), " layers of ", its.kv_heads,
               " kv heads of ", its.head_dim, ", this one has ", mine.windows.size(), " layers of ",
               mine.kv_heads, " of ", mine.head_dim));
  }
  if (its.kv_type != mine.kv_type) {
    refuse(cat("its keys and values are ", to_string(its.kv_type), ", here they are ",
               to_string(mine.kv_type), "; `kv_type` chooses"));
  }
  if (its.weights != mine.weights) {
    refuse(cat("it belongs to another model or adapter: its fingerprint is ",
               to_string(its.weights), ", this one's is ", to_string(mine.weights)));
  }
}

}  // namespace ingot
