// Fuzz target: any bytes as what a connection receives. Heads and bodies come out the same whether
// the bytes arrive one by one or together, and only what is well-formed comes out.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "server/http/http_chunks.h"
#include "server/http/http_head.h"

namespace {

/// Small, so that inputs reach the bounds.
constexpr ingot::HttpLimits kLimits = {
    .line_bytes_max = 64, .head_bytes_max = 256, .fields_max = 8, .body_bytes_max = 128};

/// A line for each request that the bytes bring, and what ends them.
class Talk {
 public:
  explicit Talk(std::size_t piece) : piece_(piece) {}

  std::string run(std::string_view bytes) {
    while (!bytes.empty() && !ended_) {
      const std::string_view piece = bytes.substr(0, piece_);
      input_ += piece;
      bytes.remove_prefix(piece.size());
      while (step()) continue;
    }
    return log_;
  }

 private:
  /// Takes what can be taken; whether there may be more.
  bool step() {
    if (ended_ || input_.empty()) return false;
    if (!in_body_) return read_head();
    return head_.is_chunked ? read_chunks() : read_length();
  }

  bool refuse(const ingot::HttpRefusal& refusal) {
    INGOT_CHECK(refusal.status == 0 || (refusal.status >= 400 && refusal.status < 600), "status ",
                refusal.status);
    log_ += ingot::cat("refused ", refusal.status, "\n");
    ended_ = true;
    return false;
  }

  bool read_head() {
    auto read = head_reader_.read(input_);
    if (!read) {
      INGOT_CHECK(input_.size() <= kLimits.head_bytes_max, "a head without bounds");
      return false;
    }
    if (const auto* refusal = std::get_if<ingot::HttpRefusal>(&*read)) return refuse(*refusal);
    head_ = std::move(std::get<ingot::HttpHead>(*read));
    check_head();
    input_.erase(0, head_.bytes);
    log_ += ingot::cat(head_.request.method, " ", head_.authority, head_.request.path, " ",
                       head_.length, " ", int{head_.is_chunked}, int{head_.keep_alive},
                       int{head_.wants_continue}, int{head_.is_gzip}, "\n");
    if (head_.length > kLimits.body_bytes_max) return refuse({413, {}});
    in_body_ = head_.is_chunked || head_.length > 0;
    body_.clear();
    chunks_ = ingot::HttpChunkReader(kLimits.body_bytes_max);
    return true;
  }

  void check_head() const {
    INGOT_CHECK(head_.bytes <= kLimits.head_bytes_max && head_.bytes <= input_.size(), "bytes");
    INGOT_CHECK(ingot::is_http_token(head_.request.method), "a method");
    INGOT_CHECK(head_.request.path.starts_with('/'), "a path");
    INGOT_CHECK(head_.request.fields.size() <= kLimits.fields_max, "fields");
    INGOT_CHECK(!head_.is_chunked || head_.length == 0, "two lengths");
    std::size_t hosts = 0;
    for (const auto& [name, value] : head_.request.fields) {
      INGOT_CHECK(ingot::is_http_token(name), "a name");
      INGOT_CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
                  "a value of several lines");
      hosts += name == "host" ? 1 : 0;
    }
    INGOT_CHECK(hosts == 1 || (hosts == 0 && head_.is_http_1_0), hosts, " hosts");
  }

  bool read_length() {
    const std::size_t count = std::min<std::size_t>(input_.size(), head_.length - body_.size());
    body_ += input_.substr(0, count);
    input_.erase(0, count);
    if (body_.size() == head_.length) end_body();
    return !in_body_;
  }

  bool read_chunks() {
    const std::size_t used = chunks_.read(input_, body_);
    INGOT_CHECK(used <= input_.size() && body_.size() <= kLimits.body_bytes_max, "a body");
    if (chunks_.refusal()) return refuse(*chunks_.refusal());
    input_.erase(0, used);
    if (chunks_.has_ended()) {
      end_body();
    } else {
      INGOT_CHECK(input_.empty(), "unused bytes");
    }
    return !in_body_;
  }

  void end_body() {
    log_ += ingot::cat("body ", body_, "\n");
    in_body_ = false;
  }

  std::size_t piece_;
  std::string input_;
  std::string log_;
  ingot::HttpHeadReader head_reader_{kLimits};
  ingot::HttpChunkReader chunks_{kLimits.body_bytes_max};
  ingot::HttpHead head_;
  std::string body_;
  bool in_body_ = false;
  bool ended_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = Talk(size + 1).run(bytes);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}}) {
    const std::string same = Talk(piece).run(bytes);
    INGOT_CHECK(same == whole, "pieces of ", piece, " give ", ingot::printable(same, 200),
                ", and the whole ", ingot::printable(whole, 200));
  }
  return 0;
}
