// Grammars of a call's arguments, for each form of call.
#pragma once

#include <string>
#include <vector>

#include "constraint/grammar.h"
#include "constraint/schema/json_schema.h"
#include "text/chat/tools/call_frames.h"
#include "text/chat/tools/tool.h"

namespace ingot {

/// What grammars of calls are built with.
struct CallGrammar {
  Grammar& grammar;
  std::vector<SchemaNote>& notes;
  CompileBudget& budget;
  bool has_short_ids = false;

  /// Adds a frame: its holes are ids and numbers, and the name of the tool.
  NodeId frame(std::string_view text, std::string_view name = {});
  /// Adds the texts of a pattern that spans the whole text.
  NodeId pattern(std::string_view pattern);
};

/// Adds what stands between a tool's name and the end of its arguments: the frame's `middle` (or
/// `empty`) and the arguments. Arguments fit the tool's schema.
///
/// Errors: those of ToolDialect::add_reply.
NodeId add_arguments(CallGrammar& out, const CallFrames& frames, const Tool& tool);

}  // namespace ingot
