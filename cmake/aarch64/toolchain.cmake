# CMake toolchain for 64-bit Arm: Debian's cross compiler, and QEMU's user mode to run its programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
# Headers alone, the same for every processor; the rest of /usr/include is not.
set(nlohmann_json_DIR ${CMAKE_CURRENT_LIST_DIR})
