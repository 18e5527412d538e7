// .npy files: round trip, the layout that NumPy defines, and refusal of anything else.
#include "cli/npy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

class NpyTest : public testing::Test {
 protected:
  NpyTest() {
    path_ = (std::filesystem::path(testing::TempDir()) /
             cat("npy_", testing::UnitTest::GetInstance()->current_test_info()->name(), ".npy"))
                .string();
  }
  ~NpyTest() override { std::filesystem::remove(path_); }

  void put(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  std::string get() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }
  /// A version 1 file with this header text and `data` bytes behind it.
  static std::string file(std::string_view header, std::size_t data) {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size() & 0xff);
    bytes += static_cast<char>(header.size() >> 8);
    return bytes + std::string(header) + std::string(data, '\0');
  }
  std::string refusal() const {
    try {
      read_npy(path_, [](std::int64_t, std::int64_t) {});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kModel);
      return e.message();
    }
    return "accepted";
  }

  std::string path_;
};

TEST_F(NpyTest, RoundTrip) {
  const std::vector<float> values{1.5f, -2, 3, 0.25f, 1e-30f, 6};
  NpyWriter writer(path_, 2, 3);
  writer.write(values.data(), 3);
  writer.write(values.data() + 3, 3);
  writer.finish();
  const Matrix m = read_npy(path_, [](std::int64_t, std::int64_t) {});
  EXPECT_EQ(m.rows, 2);
  EXPECT_EQ(m.cols, 3);
  EXPECT_EQ(m.values, values);
}

TEST_F(NpyTest, WritesTheLayoutThatNumpyDefines) {
  NpyWriter writer(path_, 1, 1);
  const float one = 1;
  writer.write(&one, 1);
  writer.finish();
  const std::string bytes = get();
  EXPECT_EQ(bytes.substr(0, 8), std::string_view("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ((bytes.size() - 4) % 64, 0u);
  EXPECT_EQ(bytes[bytes.size() - 5], '\n');
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }");
}

TEST_F(NpyTest, RefusesWhatIsNotAFloat32Matrix) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";
  put(file(good, 16));
  EXPECT_EQ(refusal(), "accepted");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string header = good;
    return header.replace(header.find(from), from.size(), to);
  };
  for (const std::string& header :
       {with("<f4", "<f8"), with("<f4", ">f4"), with("False", "True"), with("(2, 2)", "(4,)"),
        with("(2, 2)", "(1, 2, 2)"), with("(2, 2)", "(2, 3)"), with("(2, 2)", "(-2, -2)"),
        with("(2, 2)", "(4294967296, 4294967296)"), with("(2, 2)", "(2, 2"),
        with("(2, 2)", "(2, 99999999999999999999)"), with("'shape'", "'shap'"), std::string()}) {
    put(file(header, 16));
    EXPECT_NE(refusal(), "accepted") << header;
  }
}

TEST_F(NpyTest, RefusesEveryTruncation) {
  const std::string whole =
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", 16);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    put(std::string_view(whole).substr(0, n));
    EXPECT_NE(refusal(), "accepted") << n;
  }
  put(whole + "x");
  EXPECT_NE(refusal(), "accepted");
}

TEST_F(NpyTest, AnUnfinishedFileNeverAppears) {
  {
    NpyWriter writer(path_, 2, 3);
    const float one = 1;
    writer.write(&one, 1);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace ingot
