// An operation's beginning.
#pragma once

#include "hot.h"
#include "inputs.h"
#include "members.h"
#include "operators.h"
#include "tables.h"

#include <ATen/record_function.h>

#include <memory>
#include <string_view>

namespace {

// Only to be freed with the span in it.
struct Anywhere : at::ObserverContext {
  explicit Anywhere(void* span) : span(span) {}
  void* span;
};

bool ends_anywhere(at::RecordScope scope) {
  return scope != at::RecordScope::FUNCTION && scope != at::RecordScope::BACKWARD_FUNCTION;
}

// Older versions do not tell this.
template <typename Function>
std::string_view overload_of(const Function& function) {
  if constexpr (requires { function.overload_name(); }) {
    return function.overload_name();
  } else {
    return {};
  }
}

Text text_of(std::string_view text) {
  return {text.data(), text.size()};
}

Op op_of(const at::RecordFunction& function) {
  return {
      text_of(name_of(function)),
      text_of((unusual() & OVERLOADS) != 0 ? overload_of(function) : std::string_view()),
      nullptr,
      0,
      false,
      {0, 0},
      function.seqNr(),
      function.threadId(),
      function.forwardThreadId(),
      static_cast<uint64_t>(function.scope())};
}

std::unique_ptr<at::ObserverContext> begin_anywhere(const Op& op) {
  return std::make_unique<Anywhere>(recorder.begin_anywhere(&op));
}

// By what an operation is known that most programs have.
inline __attribute__((always_inline)) Hash brief_hash(const at::RecordFunction& function) {
  const auto* schema = schema_of(function);
  return C10_LIKELY(schema != nullptr) ? Hash(*schema, hot.changes) : Hash(name_of(function));
}

// By what it is to be known: by less than its name only if that stands for it. Nobody asks in brief while overloads are wanted.
Hash lasting_hash(const at::RecordFunction& function) {
  const auto* schema = schema_of(function);
  // Before it is asked whether the operator is there: what is gone by then was counted since, or will be.
  const uint32_t changes = hot.changes;
  const bool is_brief = schema != nullptr && (unusual() & OVERLOADS) == 0 && OperatorReach::has(*schema);
  return is_brief ? Hash(*schema, changes) : Hash(name_of(function));
}

// With the words of its inputs. They are looked at once, so that words and hash are of the same.
__attribute__((noinline)) std::unique_ptr<at::ObserverContext> begin_with_words(
    const at::RecordFunction& function, Op op, Hash hash) {
  Words words;
  Both both{words, hash};
  for (const auto& input : function.inputs()) {
    encode(both, input);
  }
  if (const auto& keywords = keywords_of(function); !keywords.empty()) {
    encode_keywords(words, keywords);
    hash.push_all(words);
  }
  op.inputs = words.data();
  op.input_words = words.size();
  op.lacks_inputs = false;
  const bool is_scope = ends_anywhere(function.scope());
  // A scope without inputs may have a new name each time, and has little else to be told.
  if (!is_scope || words.size() > 0) {
    op.hash[0] = hash.one();
    op.hash[1] = hash.other();
  }
  if (is_scope) {
    return begin_anywhere(op);
  }
  recorder.begin(&function, &op);
  return nullptr;
}

// An operation of which there is more to tell than most have, or one that the recorder does not know.
template <bool Inputs>
__attribute__((noinline)) std::unique_ptr<at::ObserverContext> begin_in_full(const at::RecordFunction& function) noexcept {
  try {
    Op op = op_of(function);
    if (Inputs && (ends_anywhere(function.scope()) || !keywords_of(function).empty())) {
      return begin_with_words(function, op, Hash(name_of(function)));
    }
    if (ends_anywhere(function.scope())) {
      return begin_anywhere(op);
    }
    const auto inputs = Inputs ? function.inputs() : c10::ArrayRef<const at::IValue>();
    const Hash without_inputs = lasting_hash(function);
    const Hash hash = with_inputs(without_inputs, inputs);
    op.lacks_inputs = !inputs.empty();
    op.hash[0] = hash.one();
    op.hash[1] = hash.other();
    return recorder.begin(&function, &op) ? nullptr : begin_with_words(function, op, without_inputs);
  } catch (...) {
    // An input that cannot be looked at. The operation goes on, and is not recorded.
    return nullptr;
  }
}

// Whether it was enough to say so little.
template <bool Inputs>
inline __attribute__((always_inline)) bool begin_briefly(const at::RecordFunction& function) {
  try {
    if (Inputs && !keywords_of(function).empty()) {
      return false;
    }
    const auto inputs = Inputs ? function.inputs() : c10::ArrayRef<const at::IValue>();
    const Hash hash = with_inputs(brief_hash(function), inputs);
    if (C10_LIKELY(function.scope() == at::RecordScope::FUNCTION)) {
      return recorder.begin_known(&function, function.seqNr(), hash.one(), hash.other());
    }
    return recorder.begin_known_node(
        &function, function.seqNr(), hash.one(), hash.other(), function.forwardThreadId());
  } catch (...) {
    // As above.
    return true;
  }
}

} // namespace
