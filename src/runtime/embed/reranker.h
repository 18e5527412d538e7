// Reranker: makes a model's inputs of a query and documents, and scores of its results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/embed/input_tokens.h"
#include "runtime/instance.h"
#include "text/chat/chat_template.h"

namespace ingot {

/// Returns the template with which a model reads a query and a document: a template named "rerank"
/// with the places {query} and {document}, as llama.cpp writes it; or a chat template that reads
/// the roles query and document, as sentence-transformers writes it. Nothing if there is none.
std::optional<std::string> find_rerank_template(const TemplateSet& templates);

/// How a model that scores pairs of texts reads them: by its template, or else as a pair.
class Reranker {
 public:
  /// `instance`, which may have been started, must outlive this object.
  ///
  /// Errors: model_error if the model scores no pairs, has a wrong template, or has neither a
  ///         template nor a form for pairs.
  explicit Reranker(const Instance& instance);

  /// A query, encoded once for any number of documents.
  struct Query {
    std::string text;
    /// The query's tokens; with a template, the tokens of the template with an empty document.
    std::vector<std::int32_t> ids;
    std::int64_t head = 0;           ///< with a template: number of tokens before a document
    std::vector<std::int32_t> tail;  ///< with a template: the tokens behind a document
  };

  /// Encodes a query. Errors: those of Tokenizer::encode and of the template.
  Query read_query(std::string_view text) const;
  /// Returns the input for a query and a document. If it has more tokens than `limits` allow, cuts
  /// tokens off as encode_pair does; with a template, cuts the document's last tokens off. The
  /// template and its query stay, even if they alone are too long.
  ///
  /// Errors: those of encode_pair and of the template.
  InputTokens encode(const Query& query, std::string_view document,
                     const PairLimits& limits = {}) const;
  /// Returns the score of a pooled result: the output of the model's head, without an activation.
  /// If there are two outputs, for yes and no, this is the first minus the second.
  static float score(std::span<const float> pooled);

 private:
  std::vector<std::int32_t> fill(const std::string& query, std::string_view document) const;
  void find_ends(Query& query) const;
  InputTokens fill_and_cut(const Query& query, const std::string& document,
                           const PairLimits& limits) const;

  const Tokenizer& tokenizer_;
  const EmbedderSettings& settings_;
  bool has_types_;
  std::optional<std::string> form_{};         ///< a template with the places {query} and {document}
  std::unique_ptr<const ChatTemplate> chat_;  ///< a template with roles; null: there is none
};

}  // namespace ingot
