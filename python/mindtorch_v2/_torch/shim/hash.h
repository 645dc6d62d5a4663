// What the recorder knows operations by.
#pragma once

#include "words.h"

#include <ATen/core/function_schema.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace {

// A hash of an operation's name, or of the operator that it is, and of what `Words` would tell of its inputs. The recorder knows
// operations by it that it was told before.
class Hash {
 public:
  explicit Hash(std::string_view name) {
    // In all bits, as texts are.
    const uint64_t length = name.size() * ODD[0];
    one_ ^= length;
    other_ ^= length;
    const char* text = name.data();
    const char* const end = text + name.size();
    if (C10_UNLIKELY(name.size() < 8)) {
      char few[8] = {};
      std::memcpy(few, text, name.size());
      push(word(few));
      return;
    }
    for (; end - text > 16; text += 16) {
      push(word(text), word(text + 8));
    }
    // The last 16 bytes, or all that there are.
    push(word(name.size() > 16 ? end - 16 : text), word(end - 8));
  }

  // Of an operator, for as long as none comes or goes: its name is far from what the processor has at hand.
  Hash(const c10::FunctionSchema& schema, uint64_t changes) {
    push(reinterpret_cast<uintptr_t>(&schema), changes);
  }

  uint64_t one() const {
    return one_;
  }

  uint64_t other() const {
    return other_;
  }

  void push(uint64_t first, uint64_t second = 0) {
    // The two halves do not wait for each other.
    one_ = folded(first ^ ODD[0], second ^ one_);
    other_ = folded(second ^ ODD[1], first ^ other_);
  }

  void push_scalar(const at::IValue& value) {
    // No first word is as high.
    push(tag_of(value) | uint64_t{1} << 63, bits_of(value));
  }

  // There are as many strides as sizes, or none. The first word is above them: few are as long as that.
  void push_tensor(uint64_t first, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
    one_ ^= first << 32;
    other_ ^= first << 32;
    const int64_t* second = strides.empty() ? sizes.data() : strides.data();
    size_t at = 0;
    do {
      push(sizes.empty() ? 0 : sizes[at], sizes.empty() ? 0 : second[at]);
    } while (++at < sizes.size());
  }

  void push_all(const Words& words) {
    std::for_each(words.data(), words.data() + words.size(), [this](uint64_t word) { push(word); });
  }

 private:
  static uint64_t word(const char* text) {
    uint64_t word;
    std::memcpy(&word, text, sizeof word);
    return word;
  }

  // A product of 128 bits, in 64 of which each depends on all that went into it.
  static uint64_t folded(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  }

  // Digits of pi, made odd, which nothing in a program is by chance.
  static constexpr uint64_t ODD[4] = {0xa4093822299f31d1, 0x082efa98ec4e6c89, 0x243f6a8885a308d3, 0x13198a2e03707345};

  uint64_t one_ = ODD[2];
  uint64_t other_ = ODD[3];
};

} // namespace
