// Table of characters that become several characters in upper or title case, such as ß (SS).
#pragma once

#include <string_view>

namespace ingot {

/// A character, with its upper case and its title case in UTF-8.
struct SpecialCase {
  char32_t code;
  std::string_view upper;
  std::string_view title;
};

/// All characters whose upper or title case has several characters, sorted by code point.
///
/// Source:  the unconditional mappings of Unicode's SpecialCasing.txt.
inline constexpr SpecialCase kSpecialCases[] = {
    {0x00DF, "SS", "Ss"}, {0x0149, "ʼN", "ʼN"},   {0x01F0, "J̌", "J̌"},     {0x0390, "Ϊ́", "Ϊ́"},
    {0x03B0, "Ϋ́", "Ϋ́"},   {0x0587, "ԵՒ", "Եւ"},   {0x1E96, "H̱", "H̱"},     {0x1E97, "T̈", "T̈"},
    {0x1E98, "W̊", "W̊"},   {0x1E99, "Y̊", "Y̊"},     {0x1E9A, "Aʾ", "Aʾ"},   {0x1F50, "Υ̓", "Υ̓"},
    {0x1F52, "Υ̓̀", "Υ̓̀"},   {0x1F54, "Υ̓́", "Υ̓́"},     {0x1F56, "Υ̓͂", "Υ̓͂"},     {0x1F80, "ἈΙ", "ᾈ"},
    {0x1F81, "ἉΙ", "ᾉ"},  {0x1F82, "ἊΙ", "ᾊ"},    {0x1F83, "ἋΙ", "ᾋ"},    {0x1F84, "ἌΙ", "ᾌ"},
    {0x1F85, "ἍΙ", "ᾍ"},  {0x1F86, "ἎΙ", "ᾎ"},    {0x1F87, "ἏΙ", "ᾏ"},    {0x1F88, "ἈΙ", "ᾈ"},
    {0x1F89, "ἉΙ", "ᾉ"},  {0x1F8A, "ἊΙ", "ᾊ"},    {0x1F8B, "ἋΙ", "ᾋ"},    {0x1F8C, "ἌΙ", "ᾌ"},
    {0x1F8D, "ἍΙ", "ᾍ"},  {0x1F8E, "ἎΙ", "ᾎ"},    {0x1F8F, "ἏΙ", "ᾏ"},    {0x1F90, "ἨΙ", "ᾘ"},
    {0x1F91, "ἩΙ", "ᾙ"},  {0x1F92, "ἪΙ", "ᾚ"},    {0x1F93, "ἫΙ", "ᾛ"},    {0x1F94, "ἬΙ", "ᾜ"},
    {0x1F95, "ἭΙ", "ᾝ"},  {0x1F96, "ἮΙ", "ᾞ"},    {0x1F97, "ἯΙ", "ᾟ"},    {0x1F98, "ἨΙ", "ᾘ"},
    {0x1F99, "ἩΙ", "ᾙ"},  {0x1F9A, "ἪΙ", "ᾚ"},    {0x1F9B, "ἫΙ", "ᾛ"},    {0x1F9C, "ἬΙ", "ᾜ"},
    {0x1F9D, "ἭΙ", "ᾝ"},  {0x1F9E, "ἮΙ", "ᾞ"},    {0x1F9F, "ἯΙ", "ᾟ"},    {0x1FA0, "ὨΙ", "ᾨ"},
    {0x1FA1, "ὩΙ", "ᾩ"},  {0x1FA2, "ὪΙ", "ᾪ"},    {0x1FA3, "ὫΙ", "ᾫ"},    {0x1FA4, "ὬΙ", "ᾬ"},
    {0x1FA5, "ὭΙ", "ᾭ"},  {0x1FA6, "ὮΙ", "ᾮ"},    {0x1FA7, "ὯΙ", "ᾯ"},    {0x1FA8, "ὨΙ", "ᾨ"},
    {0x1FA9, "ὩΙ", "ᾩ"},  {0x1FAA, "ὪΙ", "ᾪ"},    {0x1FAB, "ὫΙ", "ᾫ"},    {0x1FAC, "ὬΙ", "ᾬ"},
    {0x1FAD, "ὭΙ", "ᾭ"},  {0x1FAE, "ὮΙ", "ᾮ"},    {0x1FAF, "ὯΙ", "ᾯ"},    {0x1FB2, "ᾺΙ", "Ὰͅ"},
    {0x1FB3, "ΑΙ", "ᾼ"},  {0x1FB4, "ΆΙ", "Άͅ"},    {0x1FB6, "Α͂", "Α͂"},     {0x1FB7, "Α͂Ι", "ᾼ͂"},
    {0x1FBC, "ΑΙ", "ᾼ"},  {0x1FC2, "ῊΙ", "Ὴͅ"},    {0x1FC3, "ΗΙ", "ῌ"},    {0x1FC4, "ΉΙ", "Ήͅ"},
    {0x1FC6, "Η͂", "Η͂"},   {0x1FC7, "Η͂Ι", "ῌ͂"},    {0x1FCC, "ΗΙ", "ῌ"},    {0x1FD2, "Ϊ̀", "Ϊ̀"},
    {0x1FD3, "Ϊ́", "Ϊ́"},   {0x1FD6, "Ι͂", "Ι͂"},     {0x1FD7, "Ϊ͂", "Ϊ͂"},     {0x1FE2, "Ϋ̀", "Ϋ̀"},
    {0x1FE3, "Ϋ́", "Ϋ́"},   {0x1FE4, "Ρ̓", "Ρ̓"},     {0x1FE6, "Υ͂", "Υ͂"},     {0x1FE7, "Ϋ͂", "Ϋ͂"},
    {0x1FF2, "ῺΙ", "Ὼͅ"},  {0x1FF3, "ΩΙ", "ῼ"},    {0x1FF4, "ΏΙ", "Ώͅ"},    {0x1FF6, "Ω͂", "Ω͂"},
    {0x1FF7, "Ω͂Ι", "ῼ͂"},  {0x1FFC, "ΩΙ", "ῼ"},    {0xFB00, "FF", "Ff"},   {0xFB01, "FI", "Fi"},
    {0xFB02, "FL", "Fl"}, {0xFB03, "FFI", "Ffi"}, {0xFB04, "FFL", "Ffl"}, {0xFB05, "ST", "St"},
    {0xFB06, "ST", "St"}, {0xFB13, "ՄՆ", "Մն"},   {0xFB14, "ՄԵ", "Մե"},   {0xFB15, "ՄԻ", "Մի"},
    {0xFB16, "ՎՆ", "Վն"}, {0xFB17, "ՄԽ", "Մխ"},
};

}  // namespace ingot
