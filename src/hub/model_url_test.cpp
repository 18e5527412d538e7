// Tests of addresses as names of models: what they mean, and which are refused.
#include "hub/model_url.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ingot {
namespace {

constexpr std::string_view kHub = "https://huggingface.co";

/// The name that an address stands for, or the reason of its refusal.
std::string meaning(std::string_view text, std::string_view endpoint = kHub) {
  try {
    const auto name = read_model_name(text, endpoint);
    return name ? to_string(*name) : "none";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalid) << text;
    return "refused: " + e.message();
  }
}

TEST(ModelUrl, PagesOfARepository) {
  for (const std::string host : {"hf.co/", "huggingface.co/", "https://huggingface.co/",
                                 "http://hf.co/", "HTTPS://HuggingFace.co/"}) {
    EXPECT_EQ(meaning(host + "u/n"), "u/n");
    EXPECT_EQ(meaning(host + "u/n/"), "u/n");
    EXPECT_EQ(meaning(host + "gpt2"), "gpt2");
    EXPECT_EQ(meaning(host + "u/n:Q4_K_M"), "u/n:Q4_K_M");
    EXPECT_EQ(meaning(host + "u/n@v1:sub/m.gguf"), "u/n@v1:sub/m.gguf");
    EXPECT_EQ(meaning(host + "u/n?library=transformers#files"), "u/n");
    EXPECT_EQ(meaning(host + "u/n/tree/main"), "u/n");
    EXPECT_EQ(meaning(host + "u/n/tree/main/"), "u/n");
    EXPECT_EQ(meaning(host + "gpt2/tree/main"), "gpt2");
    EXPECT_EQ(meaning(host + "u/n/tree/refs%2Fpr%2F1"), "u/n@refs/pr/1");
    EXPECT_EQ(meaning(host + "u/n/tree/v1:q8_0"), "u/n@v1:q8_0");
    EXPECT_EQ(meaning(host + "u/n/tree/main/BF16"), "u/n:BF16");
    EXPECT_EQ(meaning(host + "u/n/tree/main/BF16:Q8_0"), "u/n:Q8_0");
    EXPECT_EQ(meaning(host + "u/n/commit/" + std::string(40, 'a')), "u/n@" + std::string(40, 'a'));
  }
}

TEST(ModelUrl, Files) {
  for (const std::string page : {"resolve", "blob", "raw"}) {
    const std::string begin = "https://huggingface.co/u/n/" + page + "/main/";
    EXPECT_EQ(meaning(begin + "m-Q4_0.gguf?download=true"), "u/n:m-Q4_0.gguf");
    EXPECT_EQ(meaning(begin + "sub/my%20m.gguf"), "u/n:sub/my m.gguf");
    EXPECT_EQ(meaning(begin + "a:b.gguf"), "u/n:a:b.gguf");
    EXPECT_EQ(meaning(begin + "100%.gguf"), "u/n:100%.gguf");
    EXPECT_EQ(meaning(begin + "model-00001-of-00002.safetensors"), "u/n");
    EXPECT_EQ(meaning(begin + "model.safetensors.index.json"), "u/n");
  }
  EXPECT_EQ(meaning("hf.co/u/n?not=x&show_file_info=m-Q8_0.gguf#y"), "u/n:m-Q8_0.gguf");
  EXPECT_EQ(meaning("hf.co/u/n#show_file_info=m-Q8_0.gguf"), "u/n");
}

TEST(ModelUrl, TheEndpointIsAHost) {
  constexpr std::string_view kOwn = "http://127.0.0.1:8080/hub";
  EXPECT_EQ(meaning("http://127.0.0.1:8080/hub/u/n:Q8_0", kOwn), "u/n:Q8_0");
  EXPECT_EQ(meaning("127.0.0.1:8080/hub/u/n/tree/v1", kOwn), "u/n@v1");
  EXPECT_EQ(meaning("https://hf.co/u/n", kOwn), "u/n");
  EXPECT_NE(meaning("http://127.0.0.1:8081/hub/u/n", kOwn).find("not an address of the hub, http"),
            std::string::npos);
}

TEST(ModelUrl, PlainNamesStay) {
  EXPECT_EQ(meaning("u/n@v1:Q4_0"), "u/n@v1:Q4_0");
  EXPECT_EQ(meaning("gpt2"), "gpt2");
  EXPECT_EQ(meaning("u/n:https://x"), "none");
  EXPECT_EQ(meaning("../m.gguf"), "none");
  EXPECT_EQ(meaning("hf.com/u/n"), "none");
  EXPECT_EQ(meaning(""), "none");
}

TEST(ModelUrl, OtherAddressesAreRefused) {
  using std::string_literals::operator""s;
  for (const std::string& text : {"https://example.com/u/n"s,
                                  "https://huggingface.co.evil.com/u/n"s,
                                  "https://user@huggingface.co/u/n"s,
                                  "ftp://huggingface.co/u/n"s,
                                  "file:///etc/passwd"s,
                                  "s3://bucket/n"s,
                                  "https://"s,
                                  "https://huggingface.co"s,
                                  "hf.co/"s,
                                  "https://huggingface.co/datasets/u/n"s,
                                  "hf.co/spaces/u/n"s,
                                  "https://huggingface.co/u/n/discussions/1"s,
                                  "hf.co/u/n/tree"s,
                                  "hf.co/u/n/resolve/main"s,
                                  "hf.co/u/n/blob/main/../../x"s,
                                  "hf.co/u/n/resolve/main/%2e%2e/x"s,
                                  "hf.co/u/n/resolve/main/a%00b"s,
                                  "hf.co/u/n/tree/..%2F..%2Fx"s,
                                  "hf.co/../../etc"s,
                                  "hf.co/u/n/raw/main/a%0Ab"s,
                                  "hf.co//u/n"s}) {
    EXPECT_TRUE(meaning(text).starts_with("refused: '")) << text << ": " << meaning(text);
  }
  EXPECT_NE(meaning("hf.co/datasets/u/n").find("hub's datasets"), std::string::npos);
}

}  // namespace
}  // namespace ingot
