// Tool: a function that a request offers to the model, and which of them the model may call.
#pragma once

#include <string>
#include <vector>

#include "load/json.h"

namespace ingot {

/// A tool of a request.
struct Tool {
  enum class Kind {
    kFunction,  ///< its input is a JSON object: `parameters`
    kCustom,    ///< its input is text: `grammar`
  };
  enum class Grammar { kText, kRegex, kGbnf };

  Kind kind = Kind::kFunction;
  std::string name;
  std::string description{};
  Json parameters{};       ///< JSON Schema of an object; null: any object
  bool is_strict = false;  ///< whether keywords of `parameters` that cannot be enforced are errors
  Grammar grammar_kind = Grammar::kText;  ///< the form of a custom tool's `grammar`
  std::string grammar{};
  std::string path{};  ///< where the request holds it, for messages: "tools[2].function"
};

/// Which tools the model may and must call.
struct ToolChoice {
  enum class Use {
    kNone,      ///< the model answers in text
    kAuto,      ///< the model decides
    kRequired,  ///< the model calls at least one
  };
  Use use = Use::kAuto;
  std::vector<std::string> allowed{};  ///< names of the tools to call; empty: all
  bool parallel = true;                ///< whether a reply may have several calls
};

}  // namespace ingot
