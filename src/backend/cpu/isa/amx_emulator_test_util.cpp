// AmxEmulator: decodes and computes AMX instructions in a handler of SIGILL.
//
// Source: Intel SDM, volume 2, for encodings and operations. docs/decisions/0021-bf16-order.md says
// how TDPBF16PS adds.
#include "backend/cpu/isa/amx_emulator_test_util.h"

#include <ucontext.h>

#include <atomic>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "base/half.h"

namespace ingot::testing_support {

namespace {

constexpr int kTileCount = 8;
constexpr int kTileRowsMax = 16;
constexpr int kTileRowBytesMax = 64;

/// A tile register. Bytes outside its shape are 0.
struct Tile {
  int rows = 0;
  int row_bytes = 0;
  std::uint8_t bytes[kTileRowsMax][kTileRowBytesMax] = {};

  void clear() { std::memset(bytes, 0, sizeof bytes); }

  template <class Element>
  Element get(int row, int column) const {
    Element element;
    std::memcpy(&element, bytes[row] + column * int{sizeof element}, sizeof element);
    return element;
  }
  template <class Element>
  void set(int row, int column, Element element) {
    std::memcpy(bytes[row] + column * int{sizeof element}, &element, sizeof element);
  }
};

/// The tiles of a thread.
struct Tiles {
  bool configured = false;
  Tile tile[kTileCount];
};
constinit thread_local Tiles tiles;

std::atomic<std::int64_t> configurations{0};
std::atomic<std::int64_t> releases{0};
std::atomic<std::int64_t> products{0};

/// Bytes of code that are read one after the other.
class Code {
 public:
  explicit Code(std::uint64_t address) : address_(address) {}
  std::uint64_t address() const { return address_; }

  template <class T>
  T read() {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address_), sizeof value);
    address_ += sizeof value;
    return value;
  }

 private:
  std::uint64_t address_;
};

/// VEX.pp.
enum class Prefix : std::uint8_t { kNone, k66, kF3, kF2 };

/// A VEX instruction of 128 bits with map 0F38 and W = 0: the form of all AMX instructions.
struct Instruction {
  std::uint8_t opcode = 0;
  Prefix prefix = Prefix::kNone;
  std::uint8_t reg = 0;   ///< ModRM.reg
  std::uint8_t rm = 0;    ///< ModRM.rm, if the instruction has no memory operand
  std::uint8_t vvvv = 0;  ///< VEX.vvvv; 0 if the instruction does not use it
  bool has_memory = false;
  bool has_index = false;     ///< whether the memory operand has a SIB byte
  std::uint64_t address = 0;  ///< the memory operand's address without the index
  std::uint64_t stride = 0;   ///< the scaled index: from one row of a tile to the next
};

/// The inverted upper bits of register numbers in the first byte of a VEX prefix.
struct HighBits {
  std::uint8_t bits;
  bool r() const { return (bits & 0x80) == 0; }
  int index() const { return (bits & 0x40) == 0 ? 8 : 0; }
  int base() const { return (bits & 0x20) == 0 ? 8 : 0; }
};

/// Returns a general register by its number in instructions.
std::uint64_t general_register(const greg_t* registers, int number) {
  constexpr int kPlaces[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<std::uint64_t>(registers[kPlaces[number]]);
}

/// Returns the displacement of a memory operand, sign-extended.
std::uint64_t read_displacement(Code& code, int mod, bool replaces_base) {
  if (mod == 1) return static_cast<std::uint64_t>(std::int64_t{code.read<std::int8_t>()});
  if (mod == 2 || replaces_base) {
    return static_cast<std::uint64_t>(std::int64_t{code.read<std::int32_t>()});
  }
  return 0;
}

/// Reads the memory operand. No AMX instruction has an immediate, so the operand ends the
/// instruction, and relative addresses begin there.
void read_memory(Code& code, int mod, HighBits high, const greg_t* registers, Instruction& i) {
  int base = i.rm;
  i.has_memory = true;
  i.has_index = base == 4;
  if (i.has_index) {
    const auto sib = code.read<std::uint8_t>();
    const int index = (sib >> 3 & 7) + high.index();
    constexpr int kNoIndex = 4;
    if (index != kNoIndex) i.stride = general_register(registers, index) << (sib >> 6);
    base = sib & 7;
  }
  const bool no_base = mod == 0 && base == 5;
  i.address = read_displacement(code, mod, no_base);
  if (!no_base) {
    i.address += general_register(registers, base + high.base());
  } else if (!i.has_index) {
    i.address += code.address();
  }
}

/// Decodes an instruction; returns whether it has the form of an AMX instruction.
bool decode(Code& code, const greg_t* registers, Instruction& i) {
  constexpr std::uint8_t kVex3 = 0xC4;
  constexpr int kMap0F38 = 2;
  if (code.read<std::uint8_t>() != kVex3) return false;
  const HighBits high{code.read<std::uint8_t>()};
  const auto vex = code.read<std::uint8_t>();  // W vvvv L pp
  if ((high.bits & 31) != kMap0F38 || (vex & 0x84) != 0 || high.r()) return false;
  i.prefix = static_cast<Prefix>(vex & 3);
  i.vvvv = static_cast<std::uint8_t>(~vex >> 3 & 15);
  i.opcode = code.read<std::uint8_t>();
  const auto modrm = code.read<std::uint8_t>();
  i.reg = modrm >> 3 & 7;
  i.rm = modrm & 7;
  const int mod = modrm >> 6;
  if (mod != 3) {
    read_memory(code, mod, high, registers, i);
    return true;
  }
  return high.base() == 0;
}

/// The operand of LDTILECFG.
struct Configuration {
  std::uint8_t palette;
  std::uint8_t start_row;
  std::uint8_t reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};
static_assert(sizeof(Configuration) == 64);

/// Returns whether a configuration starts at row 0, gives each of the eight tiles a shape, and has
/// zeros elsewhere.
bool is_valid(const Configuration& c) {
  if (c.palette != 1 || c.start_row != 0) return false;
  for (const std::uint8_t byte : c.reserved) {
    if (byte != 0) return false;
  }
  for (int t = 0; t < 16; ++t) {
    const int rows = c.rows[t];
    const int row_bytes = c.row_bytes[t];
    if (t >= kTileCount) {
      if (rows != 0 || row_bytes != 0) return false;
    } else if (rows < 1 || rows > kTileRowsMax || row_bytes < 4 || row_bytes > kTileRowBytesMax ||
               row_bytes % 4 != 0) {
      return false;
    }
  }
  return true;
}

bool configure(const Instruction& i) {
  Configuration c;
  std::memcpy(&c, reinterpret_cast<const void*>(i.address + i.stride), sizeof c);
  if (i.reg != 0 || i.vvvv != 0 || !is_valid(c)) return false;
  tiles.configured = true;
  for (int t = 0; t < kTileCount; ++t) {
    tiles.tile[t] = {};
    tiles.tile[t].rows = c.rows[t];
    tiles.tile[t].row_bytes = c.row_bytes[t];
  }
  configurations.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool release(const Instruction& i) {
  if (i.reg != 0 || i.rm != 0 || i.vvvv != 0) return false;
  releases.fetch_add(tiles.configured ? 1 : 0, std::memory_order_relaxed);
  tiles.configured = false;
  return true;
}

bool clear(const Instruction& i) {
  if (!tiles.configured || i.rm != 0 || i.vvvv != 0) return false;
  tiles.tile[i.reg].clear();
  return true;
}

/// Returns the address of a row of the memory operand.
std::uint8_t* row_in_memory(const Instruction& i, int row) {
  return reinterpret_cast<std::uint8_t*>(i.address + static_cast<std::uint64_t>(row) * i.stride);
}

bool load(const Instruction& i) {
  if (!tiles.configured || !i.has_index || i.vvvv != 0) return false;
  Tile& tile = tiles.tile[i.reg];
  for (int r = 0; r < tile.rows; ++r) {
    std::memcpy(tile.bytes[r], row_in_memory(i, r), static_cast<std::size_t>(tile.row_bytes));
  }
  return true;
}

bool store(const Instruction& i) {
  if (!tiles.configured || !i.has_index || i.vvvv != 0) return false;
  const Tile& tile = tiles.tile[i.reg];
  for (int r = 0; r < tile.rows; ++r) {
    std::memcpy(row_in_memory(i, r), tile.bytes[r], static_cast<std::size_t>(tile.row_bytes));
  }
  return true;
}

/// Adds to each 32-bit sum of a tile, whose row is a row of `a`, and whose column is one of `b`.
template <class Sum, class Add>
bool multiply(const Instruction& i, const Add& add) {
  if (!tiles.configured || i.vvvv >= kTileCount) return false;
  if (i.reg == i.rm || i.reg == i.vvvv || i.rm == i.vvvv) return false;
  Tile& sums = tiles.tile[i.reg];
  const Tile& a = tiles.tile[i.rm];
  const Tile& b = tiles.tile[i.vvvv];
  if (a.rows != sums.rows || b.row_bytes != sums.row_bytes || a.row_bytes != 4 * b.rows) {
    return false;
  }
  for (int r = 0; r < sums.rows; ++r) {
    for (int c = 0; c < sums.row_bytes / 4; ++c) {
      sums.set<Sum>(r, c, add(sums.get<Sum>(r, c), a, r, b, c));
    }
  }
  products.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// A denormal is read and written as zero.
float flushed(float x) { return std::abs(x) < FLT_MIN ? std::copysign(0.0f, x) : x; }

float element(const Tile& tile, int row, int column) {
  return flushed(bfloat16_to_float(tile.get<std::uint16_t>(row, column)));
}

/// Adds e + o to a sum: chains over the even and over the odd elements.
float add_bfloat16(float sum, const Tile& a, int row, const Tile& b, int column) {
  float chains[2] = {};
  for (int k = 0; k < 2 * b.rows; ++k) {
    float& chain = chains[k % 2];
    const float weight = element(b, k / 2, 2 * column + k % 2);
    chain = flushed(std::fma(element(a, row, k), weight, chain));
  }
  return flushed(flushed(sum) + flushed(chains[0] + chains[1]));
}

/// Adds the products of signed bytes of `a` with bytes of `b`, of type Byte.
template <class Byte>
std::int32_t add_bytes(std::int32_t sum, const Tile& a, int row, const Tile& b, int column) {
  for (int k = 0; k < 4 * b.rows; ++k) {
    sum += a.get<std::int8_t>(row, k) * b.get<Byte>(k / 4, 4 * column + k % 4);
  }
  return sum;
}

bool multiply_bfloat16(const Instruction& i) { return multiply<float>(i, add_bfloat16); }
bool multiply_signed(const Instruction& i) {
  return multiply<std::int32_t>(i, add_bytes<std::int8_t>);
}
bool multiply_unsigned(const Instruction& i) {
  return multiply<std::int32_t>(i, add_bytes<std::uint8_t>);
}

/// An AMX instruction. `compute` returns false for operands that the instruction refuses.
struct Operation {
  std::uint8_t opcode;
  Prefix prefix;
  bool has_memory;
  bool (*compute)(const Instruction&);
};

constexpr Operation kOperations[] = {{0x49, Prefix::kNone, true, configure},          // LDTILECFG
                                     {0x49, Prefix::kNone, false, release},           // TILERELEASE
                                     {0x49, Prefix::kF2, false, clear},               // TILEZERO
                                     {0x4B, Prefix::kF2, true, load},                 // TILELOADD
                                     {0x4B, Prefix::kF3, true, store},                // TILESTORED
                                     {0x5C, Prefix::kF3, false, multiply_bfloat16},   // TDPBF16PS
                                     {0x5E, Prefix::kF2, false, multiply_signed},     // TDPBSSD
                                     {0x5E, Prefix::kF3, false, multiply_unsigned}};  // TDPBSUD

/// Computes the instruction at `code` and moves `code` behind it; returns whether it could.
bool compute(Code& code, const greg_t* registers) {
  Instruction i;
  if (!decode(code, registers, i)) return false;
  for (const Operation& operation : kOperations) {
    if (operation.opcode == i.opcode && operation.prefix == i.prefix &&
        operation.has_memory == i.has_memory) {
      return operation.compute(i);
    }
  }
  return false;
}

/// The handler of SIGILL. It interrupts only the instruction that raised the signal, so it may call
/// any function. The system gives it the default rounding mode, with denormals.
void handle_illegal_instruction(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Code code(static_cast<std::uint64_t>(registers[REG_RIP]));
  if (compute(code, registers)) {
    registers[REG_RIP] = static_cast<greg_t>(code.address());
  } else {
    signal(SIGILL, SIG_DFL);  // the instruction runs again and ends the process
  }
}

}  // namespace

AmxEmulator::AmxEmulator() {
  configurations = 0;
  releases = 0;
  products = 0;
  struct sigaction action {};
  action.sa_sigaction = handle_illegal_instruction;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before_);
}

AmxEmulator::~AmxEmulator() { sigaction(SIGILL, &before_, nullptr); }

AmxCounts AmxEmulator::counts() const {
  return {.configurations = configurations, .releases = releases, .products = products};
}

}  // namespace ingot::testing_support
