// ChoicesWriter: the common part of responses to chats and completions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/common/common_params.h"
#include "server/common/response_json.h"
#include "server/common/service.h"
#include "server/http/request_handler.h"

namespace ingot {

/// Writes a response with a list of choices, or a stream of chunks with one choice each.
class ChoicesWriter : public ResponseWriter {
 public:
  void finish(std::string& out) final;
  void write_error(const ApiError& error, std::string& out) final;

 protected:
  /// `head` comes from `response_head_json`; `once` are members of the response, or of a stream's
  /// first chunk, each with a comma in front.
  ChoicesWriter(std::string head, std::string once, StreamParams stream, std::size_t choices)
      : head_(std::move(head)), once_(std::move(once)), stream_(stream), choices_(choices) {}

  /// Append the text of a chunk in front of its choice, and behind it.
  void begin_chunk(std::string& out);
  void end_chunk(std::string& out) const;
  /// Appends a choice of a whole response.
  virtual void append_choice(std::string& out, std::size_t number) = 0;

  bool is_stream() const { return stream_.stream; }

  Usage usage_;

 private:
  void append_head(std::string& out);

  const std::string head_;
  std::string once_;
  StreamParams stream_;
  std::size_t choices_;
};

/// The value of "finish_reason": null before a choice has ended.
std::string finish_json(std::string_view finish);
/// The member "warnings" with a comma in front; empty where there are none.
std::string warnings_member(const Json& warnings);

}  // namespace ingot
