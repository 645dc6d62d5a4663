// Which operators there are. While none comes or goes, an operator is known by where its description is.
#pragma once

#include "hot.h"

#include <ATen/core/function_schema.h>

#ifdef MINDTORCH_REACH
#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#endif

namespace {

#ifdef MINDTORCH_REACH
// Counts both: until an operator is gone it may be told once more, and another may have its place then.
class OperatorReach : public c10::OpRegistrationListener {
 public:
  // From now on, for as long as PyTorch is there.
  static void watch() {
    try {
      new c10::RegistrationHandleRAII(
          c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<OperatorReach>()));
      is_watching = true;
    } catch (...) {
      // Operators are known by their names.
    }
  }

  // Whether this is an operator's description. Anyone may have one of their own, of which nobody tells when it is gone.
  static bool has(const c10::FunctionSchema& schema) {
    if (!is_watching) {
      return false;
    }
    const auto found = c10::Dispatcher::singleton().findSchema(schema.operator_name());
    return found.has_value() && &found->schema() == &schema;
  }

  void onOperatorRegistered(const c10::OperatorHandle&) override {
    ++hot.changes;
  }

  void onOperatorDeregistered(const c10::OperatorHandle&) override {
    ++hot.changes;
  }

 private:
  static inline bool is_watching = false;
};
#else
// Descriptions cannot be seen.
struct OperatorReach {
  static void watch() {}

  static bool has(const c10::FunctionSchema&) {
    return false;
  }
};
#endif

} // namespace
