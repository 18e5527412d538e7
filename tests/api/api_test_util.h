// The library on the tiny model, and results as text.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "base/text.h"
#include "ingot/ingot.h"
#include "load/checkpoint.h"

namespace ingot::api {

inline OpenOptions tiny_options() {
  OpenOptions options;
  options.path = INGOT_TINY_MODEL;
  options.threads = 2;
  options.context = 128;
  return options;
}

/// The rows of the tiny model's embedding matrix that ids stand for; the file holds floats.
inline std::vector<float> embedding_rows(const Checkpoint& checkpoint,
                                         const std::vector<std::int32_t>& ids) {
  const TensorInfo* table = checkpoint.find("token_embd.weight");
  const auto hidden = static_cast<std::size_t>(table->shape[1]);
  std::vector<float> rows;
  for (const std::int32_t id : ids) {
    const float* row =
        reinterpret_cast<const float*>(table->data) + static_cast<std::size_t>(id) * hidden;
    rows.insert(rows.end(), row, row + hidden);
  }
  return rows;
}

inline Request text_request(std::string text, std::int64_t tokens = 24) {
  Request request;
  request.prompt.text = std::move(text);
  request.max_tokens = tokens;
  request.digest = true;
  return request;
}

/// Everything but the times, as one text: equal texts mean equal results, bit for bit.
inline std::string describe(const Result& r) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  std::string all = cat(static_cast<int>(r.finish), " ", r.digest, " ", r.text, "\nprompt");
  for (const std::int32_t id : r.prompt_ids) all += cat(" ", id);
  all += "\nids";
  for (const std::int32_t id : r.ids) all += cat(" ", id);
  for (const auto* list : {&r.logprobs, &r.prompt_logprobs}) {
    all += "\nlogprobs";
    for (const TokenLogprobs& t : *list) {
      all += cat(" ", t.token.id, ":", bits(t.token.logprob));
      for (const TokenScore& s : t.top) all += cat("/", s.id, ":", bits(s.logprob));
    }
  }
  return all;
}

/// The code and message of the error that `body` ends with; 'none' without one.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return cat(static_cast<int>(error.code()), " ", std::string(error.what()));
  }
  return "none";
}

inline std::string code(ErrorCode c) { return cat(static_cast<int>(c), " "); }

}  // namespace ingot::api
