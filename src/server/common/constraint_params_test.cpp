// Constraints of a request: every way to write them, and what is refused.
#include "server/common/constraint_params.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace ingot {
namespace {

Json body_of_text(const std::string& text) { return parse_json(text, "test", "json"); }

std::optional<ConstraintSpec> spec_of(const std::string& members, std::string* warned = nullptr) {
  const Json body = body_of_text(cat("{", members, "}"));
  Params params(body);
  auto spec = read_constraint(params);
  params.finish();
  if (warned != nullptr && !params.warnings().is_null()) *warned = params.warnings().dump();
  return spec;
}

std::string refused_spec(const std::string& members) {
  try {
    spec_of(members);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    EXPECT_NE(error.message.find(error.param), std::string::npos) << error.message;
    return error.param;
  }
  return "nothing";
}

/// Writes a constraint as "name kind contents".
std::string shown_spec(const std::optional<ConstraintSpec>& spec) {
  struct Writer {
    std::string operator()(const ConstraintSpec::AnyJson& form) const {
      return form.is_object ? "object" : "json";
    }
    std::string operator()(const ConstraintSpec::JsonSchema& form) const {
      return cat("schema ", form.schema.dump(), form.is_strict ? " strict" : "",
                 form.any_order ? " any" : "");
    }
    std::string operator()(const ConstraintSpec::Regex& form) const {
      return cat("regex ", form.pattern);
    }
    std::string operator()(const ConstraintSpec::OneOf& form) const {
      std::string texts = "choice";
      for (const std::string& text : form.texts) texts += cat(" ", text);
      return texts;
    }
    std::string operator()(const ConstraintSpec::Gbnf& form) const {
      return cat("gbnf ", form.text);
    }
    std::string operator()(const ConstraintSpec::StructuralTags& form) const {
      std::string text = "tags";
      for (const auto& tag : form.tags) {
        text += cat(" ", tag.begin, "|", tag.schema.dump(), "|", tag.end);
      }
      for (const std::string& trigger : form.triggers) text += cat(" ", trigger);
      return text;
    }
  };
  return spec ? cat(spec->name, " ", std::visit(Writer{}, spec->form)) : "nothing";
}

std::string format_of(std::string_view members) {
  return cat("\"response_format\":{\"type\":", members, "}");
}

TEST(ConstraintParams, FormatsOfText) {
  EXPECT_EQ(shown_spec(spec_of("")), "nothing");
  EXPECT_EQ(shown_spec(spec_of(R"("response_format":null)")), "nothing");
  EXPECT_EQ(shown_spec(spec_of(format_of("\"text\""))), "nothing");
}

TEST(ConstraintParams, FormatsOfJson) {
  EXPECT_EQ(shown_spec(spec_of(format_of("\"json_object\""))), "response_format object");
  EXPECT_EQ(shown_spec(spec_of(format_of(R"("json_object","schema":{"type":"object"})"))),
            R"(response_format.schema schema {"type":"object"})");
  const std::string schema = R"("schema":{"type":"object"})";
  EXPECT_EQ(shown_spec(spec_of(
                format_of(cat(R"("json_schema","json_schema":{"name":"n",)", schema, "}")))),
            R"(response_format.json_schema.schema schema {"type":"object"})");
  EXPECT_EQ(shown_spec(spec_of(
                format_of(cat(R"("json_schema","json_schema":{"strict":true,)", schema, "}")))),
            R"(response_format.json_schema.schema schema {"type":"object"} strict)");
  EXPECT_EQ(shown_spec(spec_of(format_of(cat(R"("json_schema","name":"n",)", schema)))),
            R"(response_format.schema schema {"type":"object"})");
  EXPECT_EQ(shown_spec(spec_of(format_of(R"("json_schema","schema":true)"))),
            "response_format.schema schema true");
}

TEST(ConstraintParams, OtherFormats) {
  EXPECT_EQ(shown_spec(spec_of(format_of(R"("regex","pattern":"a+")"))),
            "response_format.pattern regex a+");
  EXPECT_EQ(shown_spec(spec_of(format_of(R"("grammar","grammar":"root ::= x")"))),
            "response_format.grammar gbnf root ::= x");
}

TEST(ConstraintParams, RefusesBadFormats) {
  EXPECT_EQ(refused_spec(R"("response_format":"json")"), "response_format");
  EXPECT_EQ(refused_spec(R"("response_format":{})"), "response_format.type");
  EXPECT_EQ(refused_spec(format_of("\"x\"")), "response_format.type");
  EXPECT_EQ(refused_spec(format_of("5")), "response_format.type");
  EXPECT_EQ(refused_spec(format_of("\"json_schema\"")), "response_format.schema");
  EXPECT_EQ(refused_spec(format_of(R"("json_schema","json_schema":{})")),
            "response_format.json_schema.schema");
  for (const char* schema : {"[]", "5", "\"x\"", "\"[]\""}) {
    EXPECT_EQ(refused_spec(format_of(cat(R"("json_schema","schema":)", schema))),
              "response_format.schema");
  }
  EXPECT_EQ(refused_spec(format_of(R"("json_schema","schema":{},"strict":1)")),
            "response_format.strict");
  EXPECT_EQ(refused_spec(format_of("\"regex\"")), "response_format.pattern");
}

TEST(ConstraintParams, GuidedMembers) {
  EXPECT_EQ(shown_spec(spec_of(R"("guided_json":{"type":"string"})")),
            R"(guided_json schema {"type":"string"})");
  EXPECT_EQ(shown_spec(spec_of(R"("guided_json":"{\"type\":\"string\"}")")),
            R"(guided_json schema {"type":"string"})");
  EXPECT_EQ(shown_spec(spec_of(R"("guided_regex":"a")")), "guided_regex regex a");
  EXPECT_EQ(shown_spec(spec_of(R"("guided_choice":["a","b"])")), "guided_choice choice a b");
  EXPECT_EQ(shown_spec(spec_of(R"("guided_grammar":"g")")), "guided_grammar gbnf g");
  EXPECT_EQ(shown_spec(spec_of(R"("grammar":"g")")), "grammar gbnf g");
  EXPECT_EQ(shown_spec(spec_of(R"("grammar":"")")), "nothing");
  EXPECT_EQ(refused_spec(R"("guided_grammar":"")"), "guided_grammar");
  EXPECT_EQ(refused_spec(R"("structured_outputs":{"grammar":""})"), "structured_outputs.grammar");
  EXPECT_EQ(refused_spec(R"("structured_outputs":{})"), "structured_outputs");
  EXPECT_EQ(shown_spec(spec_of(R"("structured_outputs":null,"guided_grammar":null)")), "nothing");
  EXPECT_EQ(shown_spec(spec_of(R"("json_schema":{})")), "json_schema schema {}");
  EXPECT_EQ(refused_spec(R"("guided_choice":[])"), "guided_choice");
  EXPECT_EQ(refused_spec(R"("guided_choice":"a")"), "guided_choice");
  EXPECT_EQ(refused_spec(R"("guided_choice":["a",1])"), "guided_choice[1]");
  EXPECT_EQ(refused_spec(R"("guided_json":"x")"), "guided_json");
}

TEST(ConstraintParams, StructuredOutputs) {
  const auto outputs = [](std::string_view members) {
    return cat("\"structured_outputs\":{", members, "}");
  };
  EXPECT_EQ(shown_spec(spec_of(outputs(R"("json":{"type":"string"})"))),
            R"(structured_outputs.json schema {"type":"string"})");
  EXPECT_EQ(shown_spec(spec_of(outputs(R"("regex":"a")"))), "structured_outputs.regex regex a");
  EXPECT_EQ(shown_spec(spec_of(outputs(R"("choice":["a"])"))),
            "structured_outputs.choice choice a");
  EXPECT_EQ(shown_spec(spec_of(outputs(R"("grammar":"g")"))), "structured_outputs.grammar gbnf g");
  EXPECT_EQ(shown_spec(spec_of(outputs(R"("json_object":true)"))),
            "structured_outputs.json_object object");
  EXPECT_EQ(shown_spec(spec_of(outputs(R"("json_object":false)"))), "nothing");
  EXPECT_EQ(refused_spec(outputs(R"("regex":"a","choice":["a"])")), "structured_outputs.choice");
  EXPECT_EQ(refused_spec(outputs(R"("disable_additional_properties":true)")),
            "structured_outputs.disable_additional_properties");
}

TEST(ConstraintParams, StructuralTags) {
  const std::string tags =
      R"("structures":[{"begin":"<f>","schema":{},"end":"</f>"}],"triggers":["<"])";
  const std::string shown_tags = "tags <f>|{}|</f> <";
  EXPECT_EQ(shown_spec(spec_of(format_of(cat("\"structural_tag\",", tags)))),
            cat("response_format ", shown_tags));
  const std::string newer =
      R"("format":{"type":"triggered_tags","triggers":["<"],"tags":[{"begin":"<f>","content":)"
      R"({"type":"json_schema","json_schema":{}},"end":"</f>"}]})";
  EXPECT_EQ(shown_spec(spec_of(format_of(cat("\"structural_tag\",", newer)))),
            cat("response_format ", shown_tags));
  const std::string text = Json(cat("{\"type\":\"structural_tag\",", tags, "}")).dump();
  EXPECT_EQ(shown_spec(spec_of(cat("\"structured_outputs\":{\"structural_tag\":", text, "}"))),
            cat("structured_outputs.structural_tag ", shown_tags));
}

TEST(ConstraintParams, RefusesBadStructuralTags) {
  const auto tags = [](std::string_view members) {
    return refused_spec(format_of(cat("\"structural_tag\",", members)));
  };
  EXPECT_EQ(tags(R"("structures":[])"), "response_format.structures");
  EXPECT_EQ(tags(R"("structures":[1])"), "response_format.structures[0]");
  EXPECT_EQ(tags(R"("structures":[{"begin":"<f>","end":""}])"), "response_format.structures[0]");
  const std::string tag = R"("structures":[{"begin":"<f>","schema":{},"end":"</f>"}])";
  EXPECT_EQ(tags(tag), "response_format.triggers");
  EXPECT_EQ(tags(cat(tag, R"(,"triggers":["[",""])")), "response_format.triggers[0]");
  EXPECT_EQ(tags(cat(tag, R"(,"triggers":[""])")), "response_format.triggers[0]");
  EXPECT_EQ(tags(R"("format":{"type":"any_text"})"), "response_format.format.type");
}

TEST(ConstraintParams, SeveralExcludeEachOther) {
  EXPECT_EQ(refused_spec(cat(format_of("\"json_object\""), R"(,"guided_regex":"a")")),
            "guided_regex");
  EXPECT_EQ(refused_spec(R"("grammar":"g","json_schema":{})"), "json_schema");
  EXPECT_EQ(shown_spec(spec_of(cat(format_of("\"text\""), R"(,"guided_regex":"a")"))),
            "guided_regex regex a");
}

TEST(ConstraintParams, AnyOrderOfProperties) {
  EXPECT_EQ(shown_spec(spec_of(R"("json_schema":{},"property_order":"any")")),
            "json_schema schema {} any");
  EXPECT_EQ(shown_spec(spec_of(R"("json_schema":{},"property_order":"schema")")),
            "json_schema schema {}");
  std::string warned;
  spec_of(R"("property_order":"any")", &warned);
  EXPECT_NE(warned.find("property_order"), warned.npos);
  EXPECT_EQ(refused_spec(R"("property_order":"x")"), "property_order");
}

TEST(ConstraintParams, WarnsAboutUnknownMembers) {
  std::string warned;
  spec_of(format_of(R"("json_schema","schema":{},"colour":1)"), &warned);
  EXPECT_NE(warned.find(R"("param":"response_format.colour","code":"unknown")"), warned.npos)
      << warned;
}

TEST(ConstraintParams, FormatsOfOtherMembers) {
  const Json body = body_of_text(R"({"format":{"type":"json_schema","schema":{}}})");
  Params params(body, "output_config.");
  EXPECT_EQ(shown_spec(read_output_format(params, "format", true)),
            "output_config.format.schema schema {} strict");
}

}  // namespace
}  // namespace ingot
