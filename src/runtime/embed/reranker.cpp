// Reranker: fills templates, encodes pairs, and cuts long documents.
#include "runtime/embed/reranker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "runtime/embed/prompts.h"
#include "text/chat/marked_text.h"

namespace ingot {

namespace {

constexpr std::string_view kQueryPlace = "{query}";
constexpr std::string_view kDocumentPlace = "{document}";

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Whether a chat template reads messages with this role.
bool reads_role(const std::string& source, std::string_view role) {
  return contains(source, cat("\"", role, "\"")) || contains(source, cat("'", role, "'"));
}

const Tokenizer& scoring_tokenizer(const Instance& instance) {
  instance.require(ModelUse::kScore);
  if (instance.tokenizer() != nullptr) return *instance.tokenizer();
  throw model_error(instance.name(), "tokenizer", "there is none that ingot can read");
}

/// Refuses a form for pairs with token types that the model does not have.
void check_types(const Instance& instance, const Tokenizer& tokenizer) {
  const std::int64_t types = instance.token_types();
  if (types < 2) return;
  for (const PairPart& part : tokenizer.pair()) {
    if (part.type >= 0 && part.type < types) continue;
    throw model_error(instance.name(), "tokenizer",
                      cat("its form for pairs of texts has token type ", part.type,
                          ", the model has types from 0 to ", types - 1));
  }
}

/// A message of the roles that rerankers' templates read.
Json message(std::string_view role, std::string_view text) {
  Json one = Json::object();
  one.set("role", role);
  one.set("content", text);
  return one;
}

/// Puts the texts into the places of a form. Their bytes are data.
MarkedText fill_form(std::string_view form, std::string_view query, std::string_view document) {
  MarkedText text;
  while (!form.empty()) {
    const std::size_t query_at = form.find(kQueryPlace), document_at = form.find(kDocumentPlace);
    const std::size_t at = std::min(query_at, document_at);
    text.append(form.substr(0, at), Origin::kTemplate);
    if (at == std::string_view::npos) break;
    const bool is_query = query_at < document_at;
    text.append(is_query ? query : document, Origin::kData);
    form.remove_prefix(at + (is_query ? kQueryPlace : kDocumentPlace).size());
  }
  return text;
}

}  // namespace

std::optional<std::string> find_rerank_template(const TemplateSet& templates) {
  for (const NamedTemplate& named : templates.named) {
    if (named.name == "rerank") return named.text;
  }
  const auto& standard = templates.standard;
  if (!standard || !reads_role(*standard, "query") || !reads_role(*standard, "document")) return {};
  return standard;
}

Reranker::Reranker(const Instance& instance)
    : tokenizer_(scoring_tokenizer(instance)),
      settings_(instance.embedder()),
      has_types_(instance.token_types() > 1) {
  const std::optional<std::string>& source = instance.rerank_template();
  if (source && contains(*source, kQueryPlace) && contains(*source, kDocumentPlace)) {
    form_ = *source;
  } else if (source) {
    chat_ = std::make_unique<const ChatTemplate>(*source, instance.name(), tokenizer_);
  } else if (tokenizer_.pair().empty()) {
    throw model_error(
        instance.name(), "tokenizer",
        "it has no form for pairs of texts, and no template for a query and a document");
  } else {
    check_types(instance, tokenizer_);
  }
}

std::vector<std::int32_t> Reranker::fill(const std::string& query,
                                         std::string_view document) const {
  if (form_) {
    const MarkedText text = fill_form(*form_, query, document);
    return tokenizer_.encode(text.bytes, {.parse_special = true, .added_within = text.own});
  }
  ChatInput input;
  input.messages.push(message("query", query));
  input.messages.push(message("document", document));
  return chat_->encode(input);
}

Reranker::Query Reranker::read_query(std::string_view text) const {
  Query query{.text = input_text(settings_, "", text), .ids = {}, .tail = {}};
  query.ids = form_ || chat_ ? fill(query.text, "") : tokenizer_.encode(query.text);
  if (form_ || chat_) find_ends(query);
  return query;
}

/// Finds the tokens before and behind a document: the inputs for two unlike documents have them in
/// common. A token that joins the template's last byte and the document's first one is the
/// document's.
void Reranker::find_ends(Query& query) const {
  const std::vector<std::int32_t> one = fill(query.text, "a");
  const std::vector<std::int32_t> two = fill(query.text, "b");
  const auto head = std::mismatch(one.begin(), one.end(), two.begin(), two.end()).first;
  query.head = head - one.begin();
  const auto tail = std::mismatch(one.rbegin(), std::make_reverse_iterator(head), two.rbegin(),
                                  two.rend() - query.head)
                        .first;
  query.tail.assign(tail.base(), one.end());
}

InputTokens Reranker::encode(const Query& query, std::string_view document,
                             const PairLimits& limits) const {
  const std::string text = input_text(settings_, "", document);
  if (form_ || chat_) return fill_and_cut(query, text, limits);
  InputTokens input = encode_pair(tokenizer_, query.ids, text, limits);
  if (!has_types_) input.types.clear();
  return input;
}

InputTokens Reranker::fill_and_cut(const Query& query, const std::string& document,
                                   const PairLimits& limits) const {
  const std::int64_t ends = query.head + std::ssize(query.tail);
  if (std::max(ends, std::ssize(query.ids)) > limits.tokens || document.empty()) {
    return take_ids(query.ids);
  }
  InputTokens input = take_ids(fill(query.text, document));
  const std::int64_t own = input.uncut - ends;  // the document's
  const std::int64_t kept = std::min(limits.tokens - ends, limits.second);
  if (own <= kept) return input;
  input.ids.resize(to_size(query.head + kept));
  input.ids.insert(input.ids.end(), query.tail.begin(), query.tail.end());
  return input;
}

float Reranker::score(std::span<const float> pooled) {
  INGOT_CHECK(pooled.size() == 1 || pooled.size() == 2, pooled.size(), " outputs of a reranker");
  return pooled.size() == 1 ? pooled[0] : pooled[0] - pooled[1];
}

}  // namespace ingot
