// What PyTorch's structs say of an operation and of plain values.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <variant>

namespace {

uint64_t bits(double value) {
  uint64_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

using Keywords = std::unordered_map<std::string, at::IValue>;

#ifdef MINDTORCH_REACH
// What PyTorch copies or calls a function for, taken where it is: each operator would pay for it. What is named to instantiate a
// template may be private. Where these members are not there, this is built without.
using Described = std::variant<std::string, std::reference_wrapper<const c10::FunctionSchema>>;

const Keywords& keywords_of(const at::RecordFunction& function);
const Described& described(const at::RecordFunction& function);
int64_t int_of(const at::IValue& value);
uint64_t tag_of(const at::IValue& value);

template <auto Kwinputs, auto Fn, auto Payload, auto Tag>
struct Reach {
  // What is something else would be converted, and the reference be to nothing.
  static_assert(std::is_same_v<decltype(Kwinputs), Keywords at::RecordFunction::*>);
  static_assert(std::is_same_v<decltype(Fn), Described at::RecordFunction::*>);

  friend const Keywords& keywords_of(const at::RecordFunction& function) {
    return function.*Kwinputs;
  }
  friend const Described& described(const at::RecordFunction& function) {
    return function.*Fn;
  }
  friend int64_t int_of(const at::IValue& value) {
    return (value.*Payload).u.as_int;
  }
  friend uint64_t tag_of(const at::IValue& value) {
    return static_cast<uint64_t>(value.*Tag);
  }
};

template struct Reach<&at::RecordFunction::kwinputs_, &at::RecordFunction::fn_, &at::IValue::payload, &at::IValue::tag>;

// What a number is, and none, without asking which of them it is. Of what is true or false, only a byte is written.
inline uint64_t bits_of(const at::IValue& value) {
  const auto bits = static_cast<uint64_t>(int_of(value));
  return value.isBool() ? bits & 0xff : bits;
}

// Null of what has a name only.
inline const c10::FunctionSchema* schema_of(const at::RecordFunction& function) {
  const auto* schema = std::get_if<1>(&described(function));
  return schema != nullptr ? &schema->get() : nullptr;
}

inline const std::string& name_of(const at::RecordFunction& function) {
  const auto* schema = schema_of(function);
  return schema != nullptr ? schema->name() : *std::get_if<0>(&described(function));
}
#else
// Some of the older versions have none.
template <typename Function>
Keywords keywords_of(const Function& function) {
  if constexpr (requires { function.kwinputs(); }) {
    return function.kwinputs();
  } else {
    return {};
  }
}

constexpr const c10::FunctionSchema* schema_of(const at::RecordFunction&) {
  return nullptr;
}

std::string_view name_of(const at::RecordFunction& function) {
  return function.name();
}

int64_t int_of(const at::IValue& value) {
  return value.toInt();
}

uint64_t tag_of(const at::IValue& value) {
  return value.isNone() ? 0 : value.isInt() ? 1 : value.isDouble() ? 2 : 3;
}

uint64_t bits_of(const at::IValue& value) {
  return value.isInt() ? int_of(value) : value.isDouble() ? bits(value.toDouble()) : value.isBool() ? value.toBool() : 0;
}
#endif

} // namespace
