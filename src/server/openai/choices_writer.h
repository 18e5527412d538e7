// ChoicesWriter: writes the parts that responses of chats and completions share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

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
  /// `head` comes from `response_head_json`. `once`: more JSON members for the whole
  /// response or for a stream's first chunk. A comma precedes each member. `prompt_tokens`: tokens
  /// of all prompts.
  ChoicesWriter(std::string head, std::string once, StreamParams stream, std::size_t choices,
                std::int64_t prompt_tokens)
      : head_(std::move(head)), once_(std::move(once)), stream_(stream), choices_(choices) {
    so_far_.prompt_tokens = prompt_tokens;
  }

  /// Counts a delta's tokens, for the usage of chunks.
  void count(const Delta& delta) { so_far_.completion_tokens += std::ssize(delta.ids); }

  /// `begin_chunk` appends a chunk's text before the choice, `end_chunk` the text after the choice.
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
  Usage so_far_;  ///< tokens of all choices that `count` has seen
};

/// Returns the JSON value of "finish_reason"; "null" if `finish` is empty (a choice that runs).
std::string finish_json(std::string_view finish);
/// Returns the JSON member "warnings" with a comma in front; empty if there are no warnings.
std::string warnings_member(const Json& warnings);

}  // namespace ingot
