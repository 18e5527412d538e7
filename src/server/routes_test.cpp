// Tests of the tables of routes: which need a key, and which paths exist.
#include "server/routes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace ingot {
namespace {

// R16: a route that is added needs a key unless this test changes.
TEST(Routes, OnlyProbesNeedNoKey) {
  const std::set<std::string_view> probes = {"/health", "/livez", "/readyz"};
  std::set<std::string_view> open;
  for (const Route& route : routes()) {
    if (route.access == Access::kPublic) open.insert(route.path);
    EXPECT_NE(route.handler, nullptr) << route.path;
  }
  EXPECT_EQ(open, probes);
}

// L09: what changes the adapters is for operators, and its path is hidden with all methods.
TEST(Routes, AdaptersAreForOperators) {
  for (const char* path : {"/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/v1/lora_adapters",
                           "/load_lora_adapter", "/v1/lora_adapters/"}) {
    for (const char* method : {"GET", "POST", "DELETE", "HEAD"}) {
      EXPECT_TRUE(find_route(routes(), method, path).is_for_operators) << method << " " << path;
    }
  }
  for (const char* path : {"/v1/models", "/lora-adapters", "/v1/nothing", "/metrics"}) {
    EXPECT_FALSE(find_route(routes(), "GET", path).is_for_operators) << path;
  }
}

TEST(Routes, EachIsFoundAsItIsWritten) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Route& route : routes()) {
    EXPECT_TRUE(seen.emplace(route.method, route.path).second) << route.path << " comes twice";
    std::string path(route.path);
    const std::size_t id = path.find("{id}");
    if (id != std::string::npos) path.replace(id, 4, "some-id");
    EXPECT_EQ(find_route(routes(), route.method, path).route, &route) << path;
    if (path != "/") {
      EXPECT_EQ(find_route(routes(), route.method, path + "/").route, &route) << path;
    }
    if (path.starts_with("/v1")) {
      EXPECT_EQ(find_route(routes(), route.method, path.substr(3)).route, &route) << path;
    }
    if (route.method == "GET") {
      EXPECT_EQ(find_route(routes(), "HEAD", path).route, &route) << path;
    }
  }
}

TEST(Routes, OtherMethodsAreTold) {
  for (const char* method : {"GET", "HEAD", "PUT", "OPTIONS", "TRACE", "post"}) {
    const RouteMatch match = find_route(routes(), method, "/v1/chat/completions");
    EXPECT_EQ(match.route, nullptr) << method;
    EXPECT_EQ(match.allowed, "POST") << method;
  }
}

TEST(Routes, OtherPathsLeadNowhere) {
  for (const char* path :
       {"", "//", "/v1", "/v1/", "/v1//models", "/V1/models", "/v1/models//", "/v1/requests/a/b",
        "/v1/v1/models", "/v1/requests/", "/v1/requests", "/%2e%2e/", "/v1/requests/../x/y",
        "/metricsx", "/health/x", "v1/models"}) {
    for (const char* method : {"GET", "POST", "DELETE"}) {
      const RouteMatch match = find_route(routes(), method, path);
      EXPECT_TRUE(match.route == nullptr && match.allowed.empty()) << method << " " << path;
    }
  }
}

TEST(Routes, ErrorsHaveTheFormOfThePathOrOfTheClient) {
  const auto form = [](std::string_view path, bool is_anthropic) {
    HttpRequest request;
    if (is_anthropic) request.fields.emplace_back("anthropic-version", "2023-06-01");
    return error_form(find_route(routes(), "GET", path), request);
  };
  for (const char* path : {"/v1/messages", "/v1/messages/", "/messages/count_tokens",
                           "/v1/messages/batches", "/v1/messages/a/b", "/messages/x"}) {
    EXPECT_EQ(form(path, false), ErrorForm::kAnthropic) << path;
    EXPECT_EQ(form(path, true), ErrorForm::kAnthropic) << path;
  }
  for (const char* path : {"/v1/models", "/models/org/x", "/v1/files", "/v1/messagesx"}) {
    EXPECT_EQ(form(path, false), ErrorForm::kOpenAi) << path;
    EXPECT_EQ(form(path, true), ErrorForm::kAnthropic) << path;
  }
  for (const char* path : {"/v1/chat/completions", "/v1/responses/input_tokens", "/metrics"}) {
    EXPECT_EQ(form(path, true), ErrorForm::kOpenAi) << path;
  }
}

TEST(Routes, TheIdIsTheLastPart) {
  EXPECT_EQ(path_name("/v1/requests/abc", "/requests/"), "abc");
  EXPECT_EQ(path_name("/v1/requests/abc/", "/requests/"), "abc");
  EXPECT_EQ(path_name("/requests/a-b_c", "/requests/"), "a-b_c");
}

TEST(Routes, ModelsMayHaveAFolder) {
  for (const char* path : {"/v1/models/org/x", "/models/org/x/", "/v1/models/org%2Fx"}) {
    const RouteMatch match = find_route(routes(), "GET", path);
    ASSERT_NE(match.route, nullptr) << path;
    EXPECT_EQ(path_name(path, "/models/"), "org/x");
  }
  EXPECT_EQ(path_name("/v1/models/models/", "/models/"), "models");
}

}  // namespace
}  // namespace ingot
