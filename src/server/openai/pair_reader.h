// PairReader: reads the pairs of texts of rerank and score requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/embed/reranker.h"
#include "server/common/embed_inputs.h"
#include "server/common/endpoint.h"
#include "server/common/message_text.h"
#include "server/common/model_choice.h"
#include "server/common/params.h"

namespace ingot {

/// What responses of rerank and score have in common.
struct ScoreForm {
  std::string head;  ///< the response's first members, without the closing brace
  Json warnings;
  bool raw = false;  ///< whether scores are the head's outputs, without the sigmoid
  std::size_t count = 0;
};

/// The texts of a member of the body.
struct MemberTexts {
  std::string_view name;
  std::vector<std::string> texts;
  bool is_list = false;  ///< false: the member is one text

  /// Returns the path of a text in the body, such as "documents[3]".
  std::string place(std::size_t i) const {
    return is_list ? entry_place(name, i) : std::string(name);
  }
};

/// Reads the members that rerank and score requests share, and turns their texts into pairs.
class PairReader {
 public:
  /// Reads the shared members of `body`, which must outlive this object, as `call` must.
  ///
  /// Errors: ApiError naming a member that is wrong or not honoured.
  PairReader(const Call& call, const Json& body);

  /// Returns the body's members, for members that are not shared.
  Params& params() { return params_; }
  /// Reads a text, or a list of texts.
  ///
  /// Errors: ApiError naming the member or its entry; those of Call::require_wanted.
  MemberTexts read_texts(std::string_view name);
  /// Encodes a query, once for its number of documents. `param` is its path in the body.
  ///
  /// Errors: ApiError naming `param`.
  void begin_query(const std::string& text, std::size_t documents, std::string_view param);
  /// Adds the query's pair with a document. `param` is the document's path in the body. Warns about
  /// tokens that are cut off the query or the document.
  ///
  /// Errors: ApiError naming `param`; those of Call::require_wanted.
  void add_document(const std::string& document, const std::string& param);
  /// Ends reading. Returns what the writer needs. `prefix` begins the response's id.
  ScoreForm finish(std::string_view prefix);
  /// Returns the pairs, with the response's writer.
  Generation take(std::unique_ptr<ResponseWriter> writer);

 private:
  void read_document_limit();
  void warn_of_cut(const InputTokens& input, const std::string& param);

  const Call& call_;
  Params params_;
  ChosenModel model_;
  Generation generation_;
  bool raw_ = false;
  InputLimit limit_;
  std::int64_t document_max_ = kNoCut;  ///< limit on a document's tokens
  Reranker::Query query_;
  std::string query_place_;  ///< the query's path in the body
  std::int64_t tokens_ = 0;  ///< tokens of all pairs so far
};

}  // namespace ingot
