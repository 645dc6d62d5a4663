// An operation's inputs as words, of which `inputs.rs` makes what is shown.
#pragma once

#include "members.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace {

// The first word of an input: what it is, the type of its elements, and how many there are.
enum Kind : uint64_t { TENSOR, UNSTRIDED, LIST, NONE, INT, FLOAT, BOOL, INTS, FLOATS, BOOLS, TEXT, KEYWORD };

// Lists that are longer are not shown, as PyTorch does it.
constexpr size_t LONGEST_LIST = 30;

constexpr uint64_t first_word(Kind kind, uint64_t type, uint64_t count) {
  return kind | type << 8 | count << 16;
}

// The words of an operation's inputs: on the stack, unless they are many.
class Words {
 public:
  Words() = default;
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  const uint64_t* data() const {
    return words_;
  }

  size_t size() const {
    return length_;
  }

  // Room for so many more.
  uint64_t* add(size_t count) {
    if (length_ + count > capacity_) {
      grow(length_ + count);
    }
    uint64_t* place = words_ + length_;
    length_ += count;
    return place;
  }

  void push(uint64_t word) {
    *add(1) = word;
  }

  void push(uint64_t first, uint64_t second) {
    uint64_t* place = add(2);
    place[0] = first;
    place[1] = second;
  }

  void push_scalar(const at::IValue& value) {
    if (value.isNone()) {
      push(first_word(NONE, 0, 0));
    } else {
      push(first_word(value.isInt() ? INT : value.isDouble() ? FLOAT : BOOL, 0, 0), bits_of(value));
    }
  }

  void push_tensor(uint64_t first, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
    uint64_t* place = add(1 + sizes.size() + strides.size());
    *place = first;
    std::copy(strides.begin(), strides.end(), std::copy(sizes.begin(), sizes.end(), place + 1));
  }

 private:
  __attribute__((noinline, cold)) void grow(size_t least) {
    std::unique_ptr<uint64_t[]> more(new uint64_t[2 * least]);
    std::copy(words_, words_ + length_, more.get());
    more_ = std::move(more);
    words_ = more_.get();
    capacity_ = 2 * least;
  }

  static constexpr size_t FEW = 128;

  uint64_t few_[FEW];
  std::unique_ptr<uint64_t[]> more_;
  uint64_t* words_ = few_;
  size_t length_ = 0;
  size_t capacity_ = FEW;
};

} // namespace
