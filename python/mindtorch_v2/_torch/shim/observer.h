// Who is told of operations.
#pragma once

#include "hot.h"
#include "operation.h"
#include "place.h"

#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace {

// Who observes. One takes another's place by coming before that goes, so that nothing is missed.
int observer_count = 0;
std::atomic<bool> is_observed{false};
bool latest_turn = false;
thread_local const at::RecordFunction* told_of = nullptr;
thread_local bool told_in_turn = false;

// Says whether an operation is to be recorded by the observer of this turn. Where there are two, both are told of what begins,
// one right after the other; and one that was told to go may be told of what began before.
__attribute__((noinline)) bool is_news(const at::RecordFunction& function, bool turn) {
  if (!is_observed.load(std::memory_order_relaxed)) {
    return false;
  }
  const bool known = told_of == &function && told_in_turn != turn;
  told_of = known ? nullptr : &function;
  told_in_turn = turn;
  return !known;
}

template <bool Turn, bool Inputs>
std::unique_ptr<at::ObserverContext> begin_in_turn(const at::RecordFunction& function) {
  const uint32_t now = unusual();
  if (C10_UNLIKELY((now & OBSERVERS) != 0) && !is_news(function, Turn)) {
    return nullptr;
  }
  if ((now & MEMORY) != 0) {
    see_memory_here(Inputs);
  }
  const bool is_plain = !ends_anywhere(function.scope()) && (now & OVERLOADS) == 0;
  if (C10_LIKELY(is_plain) && C10_LIKELY(begin_briefly<Inputs>(function))) {
    return nullptr;
  }
  return begin_in_full<Inputs>(function);
}

__attribute__((noinline)) void end_other(const at::RecordFunction& function, at::ObserverContext* context) {
  if (told_of == &function) {
    told_of = nullptr;
  }
  if (context != nullptr) {
    recorder.end_anywhere(static_cast<Anywhere*>(context)->span);
  } else if (!ends_anywhere(function.scope())) {
    recorder.end(&function);
  }
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  const bool is_plain = !ends_anywhere(function.scope()) && (unusual() & OBSERVERS) == 0;
  if (C10_LIKELY(is_plain && context == nullptr)) {
    recorder.end(&function);
  } else {
    end_other(function, context);
  }
}

uint64_t observe(bool inputs, bool overloads) {
  try {
    set_unusual(OVERLOADS, overloads);
    set_unusual(OBSERVERS, observer_count != 0);
    is_observed = true;
    latest_turn = !latest_turn;
    const auto with_inputs = latest_turn ? &begin_in_turn<true, true> : &begin_in_turn<false, true>;
    const auto without = latest_turn ? &begin_in_turn<true, false> : &begin_in_turn<false, false>;
    const auto begin_now = inputs ? with_inputs : without;
    const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(begin_now, &end).needsInputs(inputs));
    ++observer_count;
    return handle;
  } catch (...) {
    return 0;
  }
}

void ignore(uint64_t handle) {
  try {
    if (--observer_count == 0) {
      is_observed = false;
      set_unusual(OBSERVERS, true);
    }
    at::removeCallback(handle);
  } catch (...) {
    // It is told of what happens, and records nothing.
  }
}

} // namespace
