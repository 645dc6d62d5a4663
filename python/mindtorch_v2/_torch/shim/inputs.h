// An operation's inputs, from PyTorch's structs.
#pragma once

#include "hash.h"
#include "members.h"
#include "words.h"

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace {

// Both, of the same look at an input.
struct Both {
  Words& words;
  Hash& hash;

  void push(uint64_t word) {
    words.push(word);
    hash.push(word);
  }

  void push(uint64_t first, uint64_t second) {
    words.push(first, second);
    hash.push(first, second);
  }

  void push_scalar(const at::IValue& value) {
    words.push_scalar(value);
    hash.push_scalar(value);
  }

  void push_tensor(uint64_t first, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
    words.push_tensor(first, sizes, strides);
    hash.push_tensor(first, sizes, strides);
  }
};

// Inputs go to a `Hash`, to `Words`, or to both.
template <typename Sink>
inline __attribute__((always_inline)) void encode(Sink& sink, const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  if (!tensor.defined() || impl->is_nested() || impl->has_symbolic_sizes_strides()) {
    sink.push(first_word(NONE, 0, 0));
    return;
  }
  const auto sizes = impl->sizes();
  const auto type = static_cast<uint64_t>(tensor.scalar_type());
  const auto strides = impl->layout() == at::kStrided ? impl->strides() : c10::IntArrayRef();
  // Tensors of classes of their own may say anything.
  if (strides.size() == sizes.size()) {
    sink.push_tensor(first_word(TENSOR, type, sizes.size()), sizes, strides);
  } else {
    sink.push_tensor(first_word(UNSTRIDED, type, sizes.size()), sizes, {});
  }
}

template <typename Sink>
void encode_tensors(Sink& sink, c10::ArrayRef<at::IValue> tensors) {
  sink.push(first_word(LIST, 0, tensors.size()));
  for (const auto& tensor : tensors) {
    encode(sink, tensor.toTensor());
  }
}

template <typename Sink>
void encode_numbers(Sink& sink, c10::ArrayRef<at::IValue> list) {
  const Kind kind = list.empty() ? INTS : list[0].isDouble() ? FLOATS : list[0].isBool() ? BOOLS : INTS;
  sink.push(first_word(kind, 0, list.size()));
  for (const auto& item : list) {
    sink.push(
        item.isInt() ? static_cast<uint64_t>(int_of(item))
            : item.isDouble() ? bits(item.toDouble())
            : item.isBool() ? static_cast<uint64_t>(item.toBool())
                            : 0);
  }
}

template <typename Sink>
void encode_list(Sink& sink, const at::IValue& value) {
  const auto list = value.toListRef();
  // PyTorch compares types to tell lists of tensors, which takes long, and what is in most lists tells that they are none.
  if ((list.empty() || list[0].isTensor()) && value.isTensorList()) {
    encode_tensors(sink, list);
  } else if (list.empty() || (list.size() <= LONGEST_LIST && (list[0].isInt() || list[0].isDouble() || list[0].isBool()))) {
    encode_numbers(sink, list);
  } else {
    sink.push(first_word(NONE, 0, 0));
  }
}

// What is seldom given comes last.
template <typename Sink>
void encode_other(Sink& sink, const at::IValue& value) {
  if (value.isList()) {
    encode_list(sink, value);
  } else {
    sink.push(first_word(NONE, 0, 0));
  }
}

// Apart. A hash is given and taken, so that it can stay where the processor computes.
__attribute__((noinline)) Hash with_other(Hash hash, const at::IValue& value) {
  encode_other(hash, value);
  return hash;
}

// Tensors are what most inputs are, and numbers or nothing what most others are: no more is done for them than has to be.
template <typename Sink>
inline __attribute__((always_inline)) void encode(Sink& sink, const at::IValue& value) {
  if (C10_LIKELY(value.isTensor())) {
    encode(sink, value.toTensor());
  } else if (C10_LIKELY(value.isNone() || value.isBool() || value.isInt() || value.isDouble())) {
    sink.push_scalar(value);
  } else if constexpr (std::is_same_v<Sink, Hash>) {
    sink = with_other(sink, value);
  } else {
    encode_other(sink, value);
  }
}

inline __attribute__((always_inline)) Hash with_inputs(Hash hash, c10::ArrayRef<const at::IValue> inputs) {
  for (const auto& input : inputs) {
    encode(hash, input);
  }
  return hash;
}

void encode_text(Words& words, Kind kind, const std::string& text) {
  words.push(first_word(kind, 0, text.size()));
  const size_t count = (text.size() + 7) / 8;
  uint64_t* place = words.add(count);
  if (count > 0) {
    place[count - 1] = 0;
    std::memcpy(place, text.data(), text.size());
  }
}

// What has a keyword may be a string, or a list of strings.
void encode_value(Words& words, const at::IValue& value) {
  if (value.isString()) {
    encode_text(words, TEXT, value.toStringRef());
  } else if (value.isList() && !value.toListRef().empty() && value.toListRef()[0].isString()) {
    const auto items = value.toListRef();
    words.push(first_word(LIST, 0, items.size()));
    for (const auto& item : items) {
      encode_value(words, item);
    }
  } else {
    encode(words, value);
  }
}

__attribute__((noinline)) void encode_keywords(Words& words, const Keywords& keywords) {
  for (const auto& [keyword, value] : keywords) {
    encode_text(words, KEYWORD, keyword);
    encode_value(words, value);
  }
}

} // namespace
