// Grammars of whole replies: reasoning, content and calls in a template's frames.
#pragma once

#include <span>
#include <vector>

#include "constraint/grammar.h"
#include "constraint/schema/json_schema.h"
#include "text/chat/tools/dialect_trial.h"
#include "text/chat/tools/tool.h"
#include "text/chat/tools/tool_dialect.h"

namespace ingot {

/// See ToolDialect::add_reply.
NodeId add_reply_grammar(Grammar& grammar, const DialectFacts& facts, const ReplyBegin& begin,
                         std::span<const Tool> tools, const ToolChoice& choice,
                         std::vector<SchemaNote>& notes, CompileBudget& budget);
/// See ToolDialect::add_content_reply.
NodeId add_content_grammar(Grammar& grammar, const DialectFacts& facts, const ReplyBegin& begin,
                           NodeId content, CompileBudget& budget);

}  // namespace ingot
