// Which operators there are. While none is gone, an operator is known by where its description is.
#pragma once

#include "hot.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>

namespace {

// Another operator may have the place of one that is gone.
struct Departures : c10::OpRegistrationListener {
  void onOperatorRegistered(const c10::OperatorHandle&) override {}

  void onOperatorDeregistered(const c10::OperatorHandle&) override {
    ++hot.departures;
  }
};

// From now on, for as long as PyTorch is there.
void watch_operators() {
  static const auto* handle = new c10::RegistrationHandleRAII(
      c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Departures>()));
  static_cast<void>(handle);
}

// Whether this is an operator's description. Anyone may have one of their own, of which nobody tells when it is gone.
bool is_operator(const c10::FunctionSchema& schema) {
  const auto found = c10::Dispatcher::singleton().findSchema(schema.operator_name());
  return found.has_value() && &found->schema() == &schema;
}

} // namespace
